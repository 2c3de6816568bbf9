//! One word, one thing: a name of a type stands for one type in a crate, and terms of the design for one type in all crates.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;

use common::{CRATES, library, sources};

/// Terms that are one type in all crates together.
const TERMS: [&str; 5] = ["Operand", "Order", "Block", "Place", "Index"];

/// Names that say only what a type is to its file: the part behind a counted pointer, under a lock, or in a README.
const OF_A_FILE: [&str; 4] = ["Inner", "State", "Readme", "Sealed"];

/// The names of the types that a file declares, without its tests. Associated types are none.
fn types(content: &str) -> Vec<&str> {
    let declared = |line| {
        let code = str::trim_start(line);
        let (visibility, rest) = match code.strip_prefix("pub(").and_then(|rest| rest.split_once(") ")) {
            Some((_, rest)) => (true, rest),
            None => code.strip_prefix("pub ").map_or((false, code), |rest| (true, rest)),
        };
        let rest = rest.strip_prefix("unsafe ").unwrap_or(rest);
        let (kind, name) = rest.split_once(' ')?;
        let is_alias = kind == "type" && (visibility || line.len() == code.len());
        let is_type = ["struct", "enum", "trait", "union"].contains(&kind) || is_alias;
        let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
        (is_type && name.starts_with(|c: char| c.is_ascii_uppercase())).then_some(&name[..end])
    };
    library(content).lines().filter_map(declared).collect()
}

/// Where each crate declares each name.
fn declared() -> BTreeMap<(&'static str, String), Vec<String>> {
    let mut found: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for name in CRATES {
        let sources = sources(&format!("crates/{name}/src"));
        for (file, content) in sources.iter().filter(|(file, _)| !file.contains("/tests")) {
            for declared in types(content) {
                found.entry((name, declared.to_owned())).or_default().push(file.clone());
            }
        }
    }
    found
}

/// The files of a type without those of other systems: a `windows.rs` beside another file of the list has the same type.
fn without_twins(files: &[String]) -> Vec<String> {
    let folder = |file: &str| file.rsplit_once('/').map(|(folder, _)| folder.to_owned());
    let is_twin = |file: &&String| {
        let others = files.iter().filter(|other| other != file);
        file.ends_with("/windows.rs") && others.into_iter().any(|other| folder(other) == folder(file))
    };
    files.iter().filter(|file| !is_twin(file)).cloned().collect()
}

#[test]
fn a_name_is_one_type_in_a_crate() {
    let several: Vec<_> = declared()
        .into_iter()
        .map(|(name, places)| (name, without_twins(&places)))
        .filter(|((_, name), places)| places.len() > 1 && !OF_A_FILE.contains(&name.as_str()))
        .collect();
    assert!(several.is_empty(), "one name, several types: {several:#?}");
}

#[test]
fn a_term_is_one_type_in_all_crates() {
    let declared = declared();
    for term in TERMS {
        let places: Vec<_> =
            declared.iter().filter(|((_, name), _)| name == term).flat_map(|(_, places)| places).collect();
        assert!(places.len() <= 1, "{term} is several types: {places:#?}");
    }
}

#[test]
fn types_of_several_systems_count_once() {
    let files = ["a/linux.rs", "a/windows.rs", "b/windows.rs", "c.rs"].map(str::to_owned);
    assert_eq!(without_twins(&files), ["a/linux.rs", "b/windows.rs", "c.rs"]);
}

#[test]
fn declarations_are_found() {
    let content = "pub struct A<T>(T);\n    pub(in crate::x) enum B {\nunsafe trait C: Send {}\npub(super) type D = u8;\n\
                   impl E for A {\n    type F = u8;\n}\n// struct G\nmod tests {\n    struct H;\n}\n";
    assert_eq!(types(content), ["A", "B", "C", "D"]);
}
