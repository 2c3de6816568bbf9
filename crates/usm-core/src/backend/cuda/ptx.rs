//! The parameters of the kernels in a PTX text, for drivers that do not report them.

/// Sizes in bytes of the parameters of the kernel of that name; `None` where the text has no such kernel, or a type that is not known.
pub(crate) fn parameters(text: &str, kernel: &str) -> Option<Vec<usize>> {
    let text = without_comments(text);
    let is_named = |entry: &&str| {
        let name = entry.trim_start();
        let end = name.find(|c: char| c.is_whitespace() || "({".contains(c)).unwrap_or(name.len());
        &name[..end] == kernel
    };
    let entry = text.split(".entry").skip(1).find(is_named)?;
    // The list comes before the body, which has parentheses of its own.
    let head = entry.split('{').next().unwrap_or_default();
    let list = head.split_once('(').and_then(|(_, list)| list.split_once(')')).map_or("", |(list, _)| list);
    list.split(',').filter(|parameter| !parameter.trim().is_empty()).map(len_bytes).collect()
}

/// `.param .u64 .ptr .global .align 4 name`, or `.param .align 8 .b8 name[24]`.
fn len_bytes(parameter: &str) -> Option<usize> {
    let (declaration, dimensions) = parameter.split_at(parameter.find('[').unwrap_or(parameter.len()));
    let element = declaration.split_whitespace().find_map(|word| match word {
        ".b8" | ".u8" | ".s8" => Some(1),
        ".b16" | ".u16" | ".s16" | ".f16" => Some(2),
        ".b32" | ".u32" | ".s32" | ".f32" | ".f16x2" => Some(4),
        ".b64" | ".u64" | ".s64" | ".f64" => Some(8),
        ".b128" => Some(16),
        _ => None,
    })?;
    if declaration.split_whitespace().any(|word| matches!(word, ".v2" | ".v4" | ".v8")) {
        return None; // a vector of elements
    }
    let mut counts = dimensions.split('[').skip(1).map(|count| integer(count.split_once(']')?.0.trim()));
    counts.try_fold(element, |bytes: usize, count| bytes.checked_mul(count?))
}

/// An integer as in C: decimal, octal from a 0 on, hexadecimal or binary. A final `U` makes it unsigned.
fn integer(text: &str) -> Option<usize> {
    let digits = text.strip_suffix('U').unwrap_or(text);
    let (digits, radix) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&digits[2..], 16),
        [b'0', b'b' | b'B', ..] => (&digits[2..], 2),
        [b'0', _, ..] => (digits, 8),
        _ => (digits, 10),
    };
    usize::from_str_radix(digits, radix).ok()
}

fn without_comments(text: &str) -> String {
    let (mut code, mut rest) = (String::with_capacity(text.len()), text);
    // One pass: nearly each line of a compiler's text has a comment.
    while let Some(slash) = rest.find('/') {
        let (before, from_slash) = rest.split_at(slash);
        code.push_str(before);
        let end = match from_slash.as_bytes().get(1) {
            Some(b'/') => from_slash.find('\n'),
            Some(b'*') => from_slash[2..].find("*/").map(|end| end + 4),
            _ => {
                code.push('/');
                rest = &from_slash[1..];
                continue;
            }
        };
        code.push(' ');
        rest = end.map_or("", |end| &from_slash[end..]);
    }
    code.push_str(rest);
    code
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::parameters;

    #[test]
    fn sizes_are_those_of_the_text() {
        let text = "
            .version 6.3 // .entry a(.param .u8 x)
            /* .entry a() */ .visible .entry a(
                .param .u64 .ptr .global .align 1 a_0, // a ) here
                .param .align 4 .b8 a_1[12],
                .param .u32 a_2, .param .f64 a_3, .param .u8 a_4)
            .maxntid 256, 1, 1
            { st.global.u32 [%rd1], %r1; { ret; } }
            .entry ab() { ret; }
            .entry b { call (%r1), f, (%r2); ret; }";
        assert_eq!(parameters(text, "a"), Some(vec![8, 12, 4, 8, 1]));
        assert_eq!(parameters(text, "ab"), Some(vec![]));
        assert_eq!(parameters(text, "b"), Some(vec![]));
        assert_eq!(parameters(text, "c"), None);
        assert_eq!(parameters(".entry k(.param .texref t) {}", "k"), None);
        assert_eq!(parameters(".entry k(.param .b32 t[4]", "k"), None.or(Some(vec![])));
        assert_eq!(parameters("/*", "k"), None);
        assert_eq!(parameters(".entry k(.param .b8 a/**/[2]//\n[3])", "k"), Some(vec![6]));
        assert_eq!(parameters("/ .entry k() /", "k"), Some(vec![]));
    }

    #[test]
    fn lengths_are_read_as_ptx_writes_them() {
        let bytes = |declared: &str| parameters(&format!(".entry k(.param {declared}) {{}}"), "k");
        for (declared, expected) in [
            (".b8 a[24]", 24),
            (".b8 a[0x18]", 24),
            (".b8 a[030]", 24),
            (".b8 a[0b11000U]", 24),
            (".b16 a[3][2]", 12),
            (".b128 a", 16),
            (".u32 a[0]", 0),
        ] {
            assert_eq!(bytes(declared), Some(vec![expected]), "{declared}");
        }
        for refused in
            [".b8 a[]", ".b8 a[09]", ".b8 a[2", ".b8 a[n]", ".b64 a[0xffffffffffffffff]", ".v4 .f32 a"]
        {
            assert_eq!(bytes(refused), None, "{refused}");
        }
    }

    /// Each comment was looked for up to the end of the text: quadratic.
    #[test]
    fn a_long_text_with_one_kind_of_comment_is_read_once() {
        let line = "    mov.u32 %r2, %ctaid.x; // the block\n";
        let text = format!(".entry k(.param .u64 to) {{\n{}}}", line.repeat(100_000));
        let started = Instant::now();
        assert_eq!(parameters(&text, "k"), Some(vec![8]));
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    }
}
