//! What can be said about a SPIR-V module without understanding it: SPIR-V 1.6, §2.3, physical layout.

use crate::{Error, Result};

const MAGIC: u32 = 0x0723_0203;
/// Magic number, version, generator, bound of identifiers, schema.
const HEADER_WORDS: usize = 5;
const OP_FUNCTION: u32 = 54;
const OP_FUNCTION_END: u32 = 56;

/// Refuses what is not a sequence of whole instructions after a header, or stops within a function: a file that was cut off.
/// Runtimes say "invalid" at best, and some crash.
pub(crate) fn check(module: &[u8]) -> Result<()> {
    let refused = |reason: String| Err(Error::InvalidSpirv { reason });
    let (words, rest) = module.as_chunks::<4>();
    if !rest.is_empty() {
        return refused(format!("{} bytes are not a whole number of 4-byte words", module.len()));
    }
    let word = |index: usize| words.get(index).map(|word| u32::from_ne_bytes(*word));
    match word(0) {
        Some(MAGIC) => {}
        Some(other) if other == MAGIC.swap_bytes() => {
            return refused("its words are in the other byte order than this machine's".to_owned());
        }
        Some(other) => return refused(format!("it starts with {other:#010x} instead of {MAGIC:#010x}")),
        None => return refused("it is empty".to_owned()),
    }
    if words.len() < HEADER_WORDS {
        return refused(format!("{} words are less than the header of {HEADER_WORDS}", words.len()));
    }
    let (mut next, mut is_in_function) = (HEADER_WORDS, false);
    while let Some(first) = word(next) {
        // The upper half is the number of words, the first one included.
        let count = (first >> 16) as usize;
        if count == 0 || count > words.len() - next {
            return refused(format!(
                "the instruction at word {next} has {count} words, but {} words are left",
                words.len() - next
            ));
        }
        match first & 0xffff {
            OP_FUNCTION => is_in_function = true,
            OP_FUNCTION_END => is_in_function = false,
            _ => {}
        }
        next += count;
    }
    if is_in_function {
        return refused("it stops within a function".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

    fn bytes(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn whole_instructions_pass() {
        let header = [0x0723_0203, 0x1_0000, 0, 9, 0];
        check(&bytes(&header)).unwrap();
        check(&bytes(&[&header[..], &[0x0002_0011, 4, 0x0005_0036, 1, 2, 0, 3, 0x0001_0038]].concat()))
            .unwrap();
    }

    #[test]
    fn anything_else_says_what_is_wrong() {
        let header = [0x0723_0203, 0x1_0000, 0, 9, 0];
        let with = |rest: &[u32]| bytes(&[&header[..], rest].concat());
        let cases: [(Vec<u8>, &str); 9] = [
            (Vec::new(), "empty"),
            (vec![3; 7], "7 bytes"),
            (bytes(&[0xdead_beef]), "0xdeadbeef instead of 0x07230203"),
            (bytes(&header.map(u32::swap_bytes)), "byte order"),
            (bytes(&header[..3]), "3 words"),
            (with(&[0x0000_0011]), "word 5 has 0 words"),
            (with(&[0x0001_0038, 0x0003_0011, 4]), "word 6 has 3 words, but 2 words are left"),
            (with(&[0x0005_0036, 1, 2, 0, 3, 0x0001_00fd]), "within a function"),
            (with(&[0xffff_0011]), "65535 words, but 1 words"),
        ];
        for (module, reason) in cases {
            let error = check(&module).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
