//! SAFETY comments name the invariants that they rely on, and each name is one invariant.
//!
//! A label such as `P1` is defined once in a crate, by a comment with `Invariant P1:` at the field, type or function that keeps it.
//! A comment may name a label of a crate below with the name of that crate before it: `usm-core PR1`. In a function whose caller gives
//! numbered promises, or before a call that asks for some, a comment names their number: `promise 1`, `promises 1 and 2 of `memcpy``.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{CRATES, library};

/// Names of extensions of processors, which look like labels.
const NO_LABELS: [&str; 2] = ["AVX2", "SSE2"];

/// A comment of several lines, and the line where it begins.
struct Comment {
    place: String,
    text: String,
}

/// The words of a comment without what is in backticks.
fn words(text: &str) -> Vec<&str> {
    text.split('`').step_by(2).flat_map(str::split_whitespace).collect()
}

/// A word without punctuation at its ends.
fn bare(word: &str) -> &str {
    word.trim_matches([',', '.', ';', ':', '(', ')'])
}

fn is_label(word: &str) -> bool {
    let digits = word.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let is_number = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit());
    (1..=3).contains(&(word.len() - digits.len()))
        && is_number
        && digits.len() <= 2
        && !NO_LABELS.contains(&word)
}

/// The labels of a comment, each with the crate that is named before it.
fn labels(text: &str) -> Vec<(Option<&'static str>, String)> {
    let words = words(text);
    let owner = |place: usize| CRATES.into_iter().find(|name| place > 0 && bare(words[place - 1]) == *name);
    // `J1, J2` and `L1/L2` are two.
    let split = |(place, word): (usize, &&str)| {
        let parts = bare(word).split('/').filter(|part| is_label(part));
        parts.map(|part| (owner(place), part.to_owned())).collect::<Vec<_>>()
    };
    words.iter().enumerate().flat_map(split).collect()
}

/// The numbers of promises that a comment names, up to the end of a sentence.
fn promises(text: &str) -> Vec<usize> {
    let words = words(text);
    let mut numbers = Vec::new();
    let mut is_list = false;
    for word in words {
        let number = bare(word).parse::<usize>().ok().filter(|_| is_list);
        numbers.extend(number);
        let is_start = ["promise", "promises"].contains(&word.trim_start_matches('('));
        let goes_on = is_list && (number.is_some() || ["and", "to"].contains(&word));
        is_list = is_start || goes_on && !word.ends_with(['.', ';', ':', ')']);
    }
    numbers
}

/// The labels that a file defines.
fn definitions(content: &str) -> Vec<&str> {
    let comments = content.lines().filter_map(|line| line.split_once("//"));
    let defined = comments.flat_map(|(_, comment)| comment.split("Invariant ").skip(1));
    defined
        .filter_map(|rest| rest.split_once(':').map(|(label, _)| label))
        .filter(|label| is_label(label))
        .collect()
}

/// Comments in code that begin with `SAFETY`.
fn safety_comments(file: &str, content: &str) -> Vec<Comment> {
    let mut found: Vec<Comment> = Vec::new();
    let mut is_inside = false;
    for (number, line) in library(content).lines().enumerate() {
        let comment = line.trim_start().strip_prefix("// ");
        match comment {
            Some(text) if text.starts_with("SAFETY") => {
                found.push(Comment { place: format!("{file}:{}", number + 1), text: text.to_owned() });
                is_inside = true;
            }
            Some(text) if is_inside => found.iter_mut().next_back().unwrap().text.extend([" ", text]),
            _ => is_inside = false,
        }
    }
    found
}

/// The last numbers of the lists of promises of a file, with the names of the items that they are for, and the names that lists refer to.
fn safety_lists(content: &str) -> (BTreeMap<String, usize>, BTreeSet<String>) {
    let (mut lists, mut names) = (BTreeMap::new(), BTreeSet::new());
    let mut lines = content.lines().map(str::trim_start).peekable();
    while let Some(line) = lines.next() {
        if line != "/// # Safety" {
            continue;
        }
        let mut last = 0;
        while let Some(text) = lines.next_if(|line| line.starts_with("///") && !line.starts_with("/// # ")) {
            let text = text.trim_start_matches("///").trim_start();
            last = text.split_once(". ").and_then(|(number, _)| number.parse().ok()).unwrap_or(last);
            names.extend(quoted(text));
        }
        let mut is_attribute = false;
        while let Some(line) = lines.next_if(|line| {
            is_attribute || line.is_empty() || ["//", "#["].iter().any(|start| line.starts_with(start))
        }) {
            is_attribute = (is_attribute || line.starts_with("#[")) && !line.ends_with(']');
        }
        let item = lines.peek().and_then(|line| declared(line)).unwrap_or_default();
        let known = lists.entry(item.to_owned()).or_insert(0);
        *known = last.max(*known);
    }
    (lists, names)
}

/// The name that a line declares.
fn declared(line: &str) -> Option<&str> {
    let after = ["fn ", "trait ", "type "].iter().find_map(|word| line.split_once(word))?.1;
    after.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()
}

/// The last parts of paths in backticks.
fn quoted(text: &str) -> Vec<String> {
    let paths = text.split('`').skip(1).step_by(2);
    paths
        .filter_map(|path| path.rsplit("::").next())
        .map(|name| name.trim_end_matches("()").to_owned())
        .collect()
}

/// The traits that a file implements.
fn implemented(content: &str) -> Vec<String> {
    let heads = content.lines().filter_map(|line| line.trim_start().strip_prefix("unsafe impl"));
    let traits = heads.filter_map(|head| head.split_once(" for ")?.0.split_whitespace().next_back());
    traits
        .filter_map(|path| path.rsplit("::").next())
        .map(|name| name.split('<').next().unwrap_or(name).to_owned())
        .collect()
}

/// The files of the crates, without files of tests: crate, path from the root, content.
fn sources() -> Vec<(&'static str, String, String)> {
    let of_crate = |name| {
        common::sources(&format!("crates/{name}/src"))
            .into_iter()
            .map(move |(file, content)| (name, file, content))
    };
    CRATES.into_iter().flat_map(of_crate).filter(|(_, file, _)| !file.contains("/tests")).collect()
}

/// All labels with the files that define them.
fn all_definitions() -> BTreeMap<(&'static str, String), Vec<String>> {
    let mut found: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for (name, file, content) in sources() {
        for label in definitions(&content) {
            found.entry((name, label.to_owned())).or_default().push(file.clone());
        }
    }
    found
}

#[test]
fn a_label_is_one_invariant_of_a_crate() {
    let several: Vec<_> = all_definitions().into_iter().filter(|(_, files)| files.len() > 1).collect();
    assert!(several.is_empty(), "labels with several definitions: {several:#?}");
}

#[test]
fn safety_comments_name_a_label() {
    let mut unlabelled: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (_, file, content) in sources() {
        for Comment { place, text } in safety_comments(&file, &content) {
            if labels(&text).is_empty() && promises(&text).is_empty() {
                unlabelled.entry(file.clone()).or_default().push(format!("{place}: {text}"));
            }
        }
    }
    assert!(
        unlabelled.is_empty(),
        "SAFETY comments that name neither an invariant nor a promise: {unlabelled:#?}"
    );
}

#[test]
fn labels_that_are_named_are_defined() {
    let known = all_definitions();
    let mut wrong = Vec::new();
    for (name, file, content) in sources() {
        for Comment { place, text } in safety_comments(&file, &content) {
            for (owner, label) in labels(&text) {
                if !known.contains_key(&(owner.unwrap_or(name), label.clone())) {
                    wrong.push(format!("{place}: {label}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "labels without `Invariant LABEL:` in their crate:\n{}", wrong.join("\n"));
}

#[test]
fn promises_that_are_named_are_in_a_list() {
    let files = sources();
    let mut lists: BTreeMap<String, usize> = BTreeMap::new();
    for (name, last) in files.iter().flat_map(|(_, _, content)| safety_lists(content).0) {
        let known = lists.entry(name).or_default();
        *known = last.max(*known);
    }
    let mut wrong = Vec::new();
    for (_, file, content) in &files {
        let (own, mut names) = safety_lists(content);
        names.extend(implemented(content));
        for Comment { place, text } in safety_comments(file, content) {
            let others = quoted(&text).into_iter().chain(names.iter().cloned());
            let last = others
                .filter_map(|name| lists.get(&name))
                .chain(own.values())
                .max()
                .copied()
                .unwrap_or_default();
            if promises(&text).into_iter().any(|number| number > last) {
                wrong.push(format!("{place}: {text}"));
            }
        }
    }
    assert!(wrong.is_empty(), "promises that no `# Safety` list in reach has:\n{}", wrong.join("\n"));
}

#[test]
fn labels_and_promises_are_read() {
    let named = |text| labels(text).into_iter().map(|(_, label)| label).collect::<Vec<_>>();
    assert_eq!(named("SAFETY: A1, B12; the handle is live (H1)."), ["A1", "B12", "H1"]);
    assert_eq!(named("SAFETY: there is AVX2, in `P1`, x86-64, H200 and 3."), Vec::<String>::new());
    assert_eq!(labels("SAFETY: as usm-core PR1 says."), [(Some("usm-core"), "PR1".to_owned())]);
    assert_eq!(promises("SAFETY: the caller's promises 1, 2 and 4 of `memcpy`; 7."), [1, 2, 4]);
    assert_eq!(promises("SAFETY: (promises 1 to 3) 4, promise 5. 6."), [1, 3, 5]);
    assert_eq!(promises("SAFETY: he promises it 3 times, by his promises. 3."), Vec::<usize>::new());
    assert_eq!(
        definitions("/// Text. Invariant A1: a.\n// Invariant B2: b.\nlet x = \"Invariant C3:\";\n"),
        ["A1", "B2"]
    );
    let content = "// SAFETY: one\n// goes on.\nlet a = 1;\n// SAFETY: two.\n//! // SAFETY: none\nmod tests {\n// SAFETY: three\n}";
    let comments: Vec<_> =
        safety_comments("f", content).into_iter().map(|comment| (comment.place, comment.text)).collect();
    assert_eq!(
        comments,
        [
            ("f:1".to_owned(), "SAFETY: one goes on.".to_owned()),
            ("f:4".to_owned(), "SAFETY: two.".to_owned())
        ]
    );
    let (lists, names) = safety_lists(
        "/// # Safety\n/// 1. One.\n/// 2. As for [`a::b`].\n///\n/// # Errors\n/// 3. Three.\n#[inline]\npub unsafe fn f<T>() {}",
    );
    assert_eq!((lists.get("f"), names.contains("b")), (Some(&2), true));
    assert_eq!(implemented("unsafe impl<T> x::Backend for Y {}"), ["Backend"]);
}
