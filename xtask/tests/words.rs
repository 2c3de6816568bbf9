//! Names and texts use the standard terms: no file has a word that one of them replaced.
#![allow(clippy::unwrap_used)]

mod common;

use std::fs;

use common::{files, root};

/// Replaced words with their standard terms. Each stands for its plural, too.
const REPLACED: [(&str, &str); 20] = [
    ("birth", "allocation record"),
    ("census", "statistics"),
    ("door", "entry guard"),
    ("foreign", "external, imported"),
    ("keeper", "limit of a thread cache"),
    ("kit", "ops"),
    ("latch", "try-lock"),
    ("lend", "allocate, borrow"),
    ("lent", "allocated, borrowed"),
    ("neighbour", "peer; adjacent element"),
    ("neighbouring", "adjacent"),
    ("parked", "deferred"),
    ("picture", "svg, drawing"),
    ("rack", "block table"),
    ("room", "capacity, staging buffer, space"),
    ("seam", "backend trait"),
    ("shelf", "arena"),
    ("shelves", "arenas"),
    ("stamp", "timestamp, record"),
    ("tray", "size-class bin"),
];

/// Replaced texts with their standard terms.
const REPLACED_TEXTS: [(&str, &str); 9] = [
    ("has_ended", "is_complete"),
    ("have_ended", "are_complete"),
    ("operation has ended", "operation is complete"),
    ("event has ended", "event is complete"),
    ("job has ended", "job is complete"),
    ("trust line", "trust boundary"),
    ("enum Place ", "a name of its own"),
    ("struct Place ", "a name of its own"),
    ("trait Place ", "a name of its own"),
];

/// This file names the words.
const SELF: &str = "xtask/tests/words.rs";

/// The words of a line in lower case, those inside of identifiers too: `NoForeignHandle` has three.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in line.chars() {
        if !c.is_ascii_alphabetic() || was_lower && c.is_ascii_uppercase() {
            words.push(String::new());
        }
        was_lower = c.is_ascii_lowercase();
        if let Some(word) = words.last_mut().filter(|_| c.is_ascii_alphabetic()) {
            word.push(c.to_ascii_lowercase());
        }
    }
    words
}

/// The complaints about a line.
fn complaints(line: &str) -> Vec<String> {
    let words = words(line);
    let is_of =
        |found: &str, word| found.strip_prefix(word).is_some_and(|end| ["", "s", "es"].contains(&end));
    let of_words = REPLACED.iter().filter(|(word, _)| words.iter().any(|found| is_of(found, word)));
    let of_texts = REPLACED_TEXTS.iter().filter(|(text, _)| line.contains(text));
    of_words.chain(of_texts).map(|(word, term)| format!("{word} ({term})")).collect()
}

/// Files of code, documents and tests, with their content.
fn all_files() -> Vec<(String, String)> {
    let extensions = ["cl", "h", "md", "py", "pyi", "rs", "toml"];
    let folders = ["crates", "examples", "guide", "tests", "xtask"];
    let documents = ["README.md", "ARCHITECTURE.md", "SECURITY.md"];
    let documents = documents.map(|name| (name.to_owned(), fs::read_to_string(root().join(name)).unwrap()));
    documents.into_iter().chain(folders.iter().flat_map(|folder| files(folder, &extensions))).collect()
}

#[test]
fn replaced_words_do_not_come_back() {
    let mut found = Vec::new();
    for (name, content) in all_files() {
        let of_name =
            complaints(&name).into_iter().map(|complaint| format!("{name}: {complaint} in its name"));
        found.extend(of_name);
        if name == SELF {
            continue;
        }
        for (number, line) in content.lines().enumerate() {
            let of_line = complaints(line).into_iter();
            found.extend(of_line.map(|complaint| format!("{name}:{}: {complaint}", number + 1)));
        }
    }
    assert!(found.is_empty(), "replaced words, each with its standard term:\n{}", found.join("\n"));
}

#[test]
fn words_inside_of_identifiers_are_found() {
    for line in [
        "fn from_foreign()",
        "NoForeignHandle",
        "FOREIGN",
        "a foreign owner",
        "two latches",
        "crates/foreign.rs",
        "enum Place {",
    ] {
        assert_eq!(complaints(line).len(), 1, "{line}");
    }
    for line in ["headroom_bytes", "timestamp, Timestamp", "scikit-learn", "brackets", "enum Placement {"] {
        assert!(complaints(line).is_empty(), "{line}");
    }
}
