//! The declarations in a folder of C headers of dpctl. It reads the style of these headers, and no other one.

use std::path::Path;

use super::Interface;

/// Marks a declaration of a function.
const API: &str = "DPCTL_API";
/// Declares the functions of a vector of `EL`.
const VECTOR: &str = "DPCTL_DECLARE_VECTOR(";
const VECTOR_FUNCTIONS: &str = "#define DPCTL_DECLARE_VECTOR_FN(EL)";
const ANNOTATIONS: [&str; 6] =
    ["__dpctl_give", "__dpctl_keep", "__dpctl_take", "__dpctl_null", "const", "struct"];

pub(super) fn read(folder: &Path) -> Result<Interface, String> {
    let mut texts = Vec::new();
    collect(folder, &mut texts).map_err(|error| error.to_string())?;
    Ok(parse(&texts))
}

fn collect(folder: &Path, texts: &mut Vec<String>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, texts)?;
        } else if path.extension().is_some_and(|extension| extension == "h") {
            texts.push(without_comments(&std::fs::read_to_string(path)?));
        }
    }
    Ok(())
}

/// The declarations of texts without comments.
fn parse(texts: &[String]) -> Interface {
    let mut found = Interface::default();
    let of_vectors = texts.iter().find_map(|text| define(text, VECTOR_FUNCTIONS)).unwrap_or_default();
    for text in texts {
        let code = without_directives(text);
        let vectors = code.split(VECTOR).skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
        let expanded: String = vectors.map(|element| of_vectors.replace("##EL##", element)).collect();
        for declaration in code.split(API).skip(1).chain(expanded.split(API).skip(1)) {
            if let Some((name, types)) = function(declaration) {
                found.functions.insert(name, Some(types));
            }
        }
        for declaration in code.split("typedef enum").skip(1) {
            if let Some((name, constants)) = enumeration(declaration) {
                found.enumerations.insert(name, constants);
            }
        }
    }
    found
}

fn without_comments(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("/*") {
        kept.push_str(&rest[..at]);
        rest = rest[at..].split_once("*/").map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    kept.lines().map(|line| line.split("//").next().unwrap_or_default().to_owned() + "\n").collect()
}

/// The body of a macro.
fn define(text: &str, start: &str) -> Option<String> {
    let body = text.split_once(start)?.1;
    let mut lines = Vec::new();
    for line in body.lines() {
        lines.push(line.trim_end().trim_end_matches('\\'));
        if !line.trim_end().ends_with('\\') {
            break;
        }
    }
    Some(lines.join("\n"))
}

/// The lines that are no directives of the preprocessor, nor continue one.
fn without_directives(text: &str) -> String {
    let mut kept = String::new();
    let mut in_directive = false;
    for line in text.lines() {
        if !in_directive && !line.trim_start().starts_with('#') {
            kept.push_str(line);
            kept.push('\n');
        } else {
            in_directive = line.trim_end().ends_with('\\');
        }
    }
    kept
}

/// The name of a declared function, with the types of its result and its arguments.
fn function(declaration: &str) -> Option<(String, Vec<String>)> {
    let (head, rest) = declaration.split_once(';')?.0.split_once('(')?;
    let arguments = rest.rsplit_once(')')?.0;
    let name_at = head.trim_end().rfind(|c: char| c.is_whitespace() || c == '*')? + 1;
    let (result, name) = head.trim_end().split_at(name_at);
    let arguments = arguments.split(',').filter(|argument| !matches!(argument.trim(), "" | "void"));
    let types =
        std::iter::once(type_of(result, false)).chain(arguments.map(|argument| type_of(argument, true)));
    Some((name.to_owned(), types.collect()))
}

/// A type without annotations, constness and the name behind it.
fn type_of(text: &str, may_have_name: bool) -> String {
    let stars = text.matches(['*', '[']).count();
    let text = text.split('[').next().unwrap_or_default().replace('*', " ");
    let words: Vec<_> = text.split_whitespace().filter(|word| !ANNOTATIONS.contains(word)).collect();
    let types = if may_have_name && words.len() > 1 { &words[..words.len() - 1] } else { &words[..] };
    types.join(" ") + &"*".repeat(stars)
}

/// The name of an enumeration, and its constants with their numbers.
fn enumeration(declaration: &str) -> Option<(String, Vec<(String, i64)>)> {
    let (body, rest) = declaration.split_once('{')?.1.split_once('}')?;
    let mut constants = Vec::new();
    let mut next = 0;
    for constant in body.split(',').map(str::trim).filter(|constant| !constant.is_empty()) {
        let (name, number) = match constant.split_once('=') {
            Some((name, value)) => (name.trim(), value_of(value)?),
            None => (constant, next),
        };
        constants.push((name.to_owned(), number));
        next = number + 1;
    }
    Some((rest.split_once(';')?.0.trim().to_owned(), constants))
}

/// The value of an expression of shifts, sums and differences, in C's order: `((1 << 5) - 1) << 16`.
fn value_of(text: &str) -> Option<i64> {
    let text: String = text.split_whitespace().collect();
    let mut depth = 0;
    let mut split = None;
    // The last operator of the lowest rank outside of brackets.
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            '<' if depth == 0 && text[at..].starts_with("<<") => split = Some((0, at, 2)),
            '+' | '-' if depth == 0 && at > 0 && split.is_none_or(|(rank, ..)| rank > 0) => {
                split = Some((1, at, 1))
            }
            _ => {}
        }
    }
    if let Some((_, at, len)) = split {
        let (left, right) = (value_of(&text[..at])?, value_of(&text[at + len..])?);
        return match &text[at..at + len] {
            "<<" => left.checked_shl(u32::try_from(right).ok()?),
            "+" => left.checked_add(right),
            _ => left.checked_sub(right),
        };
    }
    if let Some(inner) = text.strip_prefix('(') {
        return value_of(inner.strip_suffix(')')?);
    }
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
