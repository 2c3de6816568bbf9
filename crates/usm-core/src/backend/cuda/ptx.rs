//! The parameters of the kernels in a PTX text, for drivers that do not report them.

/// Sizes in bytes of the parameters of the kernel of that name; `None` where the text has no such kernel.
pub(super) fn parameters(text: &str, kernel: &str) -> Option<Vec<usize>> {
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
    let element = parameter.split_whitespace().find_map(|word| match word {
        ".b8" | ".u8" | ".s8" => Some(1),
        ".b16" | ".u16" | ".s16" | ".f16" => Some(2),
        ".b32" | ".u32" | ".s32" | ".f32" | ".f16x2" => Some(4),
        ".b64" | ".u64" | ".s64" | ".f64" => Some(8),
        _ => None,
    })?;
    let count = match parameter.split_once('[').and_then(|(_, rest)| rest.split_once(']')) {
        Some((count, _)) => count.trim().parse().ok()?,
        None => 1_usize,
    };
    count.checked_mul(element)
}

fn without_comments(text: &str) -> String {
    let (mut code, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(start) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
        let (before, comment) = rest.split_at(start);
        code.push_str(before);
        code.push(' ');
        let end = if comment.starts_with("//") {
            comment.find('\n')
        } else {
            comment.get(2..).and_then(|inside| inside.find("*/")).map(|end| end + 4)
        };
        rest = end.map_or("", |end| &comment[end..]);
    }
    code.push_str(rest);
    code
}

#[cfg(test)]
mod tests {
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
    }
}
