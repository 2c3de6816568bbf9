//! PTX text as words and punctuation.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) line: u32,
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_$%.".contains(c)
}

/// Words consist of letters, digits and `_$%.`, and of `::` within modifiers; each other character is a token of its own.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let text = without_comments(text);
    let mut tokens = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        // Facts for debuggers end with their line.
        if matches!(line.split_whitespace().next(), Some(".loc" | ".file")) {
            continue;
        }
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            let mut len = first.len_utf8();
            if is_word(first) {
                let bytes = rest.as_bytes();
                loop {
                    len = rest[len..].find(|c| !is_word(c)).map_or(rest.len(), |end| len + end);
                    if bytes.get(len..len + 2) != Some(b"::") {
                        break;
                    }
                    len += 2;
                }
            } else if first == '"' {
                len = rest[1..].find('"').map_or(rest.len(), |end| end + 2);
            }
            let (token, after) = rest.split_at(len);
            if !first.is_whitespace() {
                tokens.push(Token { text: token.to_owned(), line: number });
            }
            rest = after;
        }
    }
    tokens
}

/// Comments become spaces; lines stay.
fn without_comments(text: &str) -> String {
    let (mut code, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(start) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
        let (before, comment) = rest.split_at(start);
        code.push_str(before);
        let end = if comment.starts_with("//") {
            comment.find('\n')
        } else {
            comment.get(2..).and_then(|inside| inside.find("*/")).map(|end| end + 4)
        };
        let (comment, after) = comment.split_at(end.unwrap_or(comment.len()));
        code.push(' ');
        code.extend(comment.chars().filter(|&c| c == '\n'));
        rest = after;
    }
    code.push_str(rest);
    code
}

#[cfg(test)]
mod tests {
    use super::tokens;

    fn texts(text: &str) -> Vec<String> {
        tokens(text).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn words_and_punctuation_are_told_apart() {
        assert_eq!(
            texts("@!%p1 bra $L__BB0_2; // end\n ld.global.L1::no_allocate.v2.b32 {%r1, _}, [%rd1+-4];"),
            [
                "@",
                "!",
                "%p1",
                "bra",
                "$L__BB0_2",
                ";",
                "ld.global.L1::no_allocate.v2.b32",
                "{",
                "%r1",
                ",",
                "_",
                "}",
                ",",
                "[",
                "%rd1",
                "+",
                "-",
                "4",
                "]",
                ";"
            ]
        );
        assert_eq!(
            texts(".reg .b32 %r<3>; $L: x"),
            [".reg", ".b32", "%r", "<", "3", ">", ";", "$L", ":", "x"]
        );
        assert_eq!(
            texts("a /* b\n c */ d .pragma \"no unroll\";"),
            ["a", "d", ".pragma", "\"no unroll\"", ";"]
        );
        assert_eq!(tokens("a /* b\n c */ d\n\t.loc 1 2 3\n.local e").last().map(|last| last.line), Some(4));
    }
}
