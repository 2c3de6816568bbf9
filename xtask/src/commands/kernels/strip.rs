//! What modules carry for readers alone: names and sources in SPIR-V, comments in PTX
//!
//! Names of kernels stay: they are part of their entry points.

/// The header of a module of SPIR-V, in words.
const HEADER: usize = 5;

/// `OpSource`, `OpName`, `OpMemberName` of the SPIR-V specification, section 3.49.2.
const FOR_READERS: [u32; 3] = [3, 5, 6];

/// The same module of SPIR-V without what nobody needs; `None` if it is none.
pub(super) fn spirv(module: &[u8]) -> Option<Vec<u8>> {
    let (words, []) = module.as_chunks::<4>() else { return None };
    let mut rest = words.get(HEADER..)?;
    let mut kept = words[..HEADER].concat();
    while let Some(first) = rest.first() {
        let first = u32::from_le_bytes(*first);
        let (instruction, next) = rest.split_at_checked((first >> 16) as usize)?;
        if instruction.is_empty() {
            return None;
        }
        if !FOR_READERS.contains(&(first & 0xffff)) {
            kept.extend(instruction.as_flattened());
        }
        rest = next;
    }
    Some(kept)
}

/// The same PTX without comments, blank lines and unneeded spaces. It has no strings.
pub(super) fn ptx(module: &[u8]) -> Option<Vec<u8>> {
    let code = |line: &str| {
        let words: Vec<_> = line.split("//").take(1).flat_map(str::split_whitespace).collect();
        words.join(" ").replace(", ", ",")
    };
    let lines = str::from_utf8(module).ok()?.lines().map(code);
    Some(lines.filter(|line| !line.is_empty()).flat_map(|line| (line + "\n").into_bytes()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_and_all_else_stays() {
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
        let header = [0x0723_0203, 0x0001_0000, 0, 9, 0];
        let module = |code: &[u32]| words(&[&header[..], code].concat());
        let (capability, name) = ([2 << 16 | 17, 6], [3 << 16 | 5, 1, 0x61]);
        let whole = module(&[&capability[..], &name, &capability].concat());
        assert_eq!(spirv(&whole), Some(module(&[capability, capability].concat())));
        assert_eq!(spirv(&whole[1..]), None);
        assert_eq!(spirv(&module(&[9 << 16 | 17, 6])), None, "an instruction that is cut off");
        assert_eq!(spirv(&module(&[17])), None, "an instruction without a length");
    }

    #[test]
    fn comments_go_and_code_stays() {
        let code = ptx(b"//\n// by\n\n\tmov.u32 \t%r1, 1;  // note\n$L:\n").unwrap();
        assert_eq!(code, b"mov.u32 %r1,1;\n$L:\n");
    }
}
