//! ARCHITECTURE.md, and a table of CONTRIBUTING.md, name folders, files, functions and types that exist. The tables of
//! ARCHITECTURE.md have each folder of modules.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use common::root;

const CRATES: [&str; 8] = [
    "sycl-sys",
    "cuda-loopback",
    "sycl-loopback",
    "usm-core",
    "usm-memory",
    "usm-array",
    "usm-python",
    "usm-bench",
];

/// Crates without a table of modules: stand-ins for tests, and one whose table has paths from the root.
const WITHOUT_TABLE: [&str; 3] = ["cuda-loopback", "sycl-loopback", "usm-bench"];

/// Extensions of the files whose names and contents are compared.
const EXTENSIONS: [&str; 5] = [".rs", ".py", ".pyi", ".toml", ".cl"];

/// The section of CONTRIBUTING.md that names files to change.
const SECTION: &str = "## Where to change what";

/// The tree of the project: folders, which end with `/`, and files with their content, by paths from the root.
fn tree() -> BTreeMap<String, String> {
    let mut tree = BTreeMap::new();
    let mut folders: Vec<_> = ["crates", "tests", "xtask"].map(|folder| root().join(folder)).into();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                tree.insert(format!("{name}/"), String::new());
                folders.push(path);
            } else if is_file(&name) {
                tree.insert(name, fs::read_to_string(path).unwrap());
            }
        }
    }
    tree
}

/// The words of a line that may be paths: `queue.rs::memcpy`, `copy/plan/`, `::array_of`.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_/.:-".contains(c);
    line.split(move |c| !is_part(c)).map(|word| word.trim_end_matches(['.', ':', '-']))
}

/// Where the paths of a line begin: at `src/` of a crate, or at the root.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scope<'a> {
    AnyCrate,
    Crate(&'a str),
    Root,
}

impl Scope<'_> {
    fn folder(self) -> String {
        match self {
            Self::AnyCrate => "crates/".to_owned(),
            Self::Crate(name) => format!("crates/{name}/src/"),
            Self::Root => String::new(),
        }
    }

    /// The entries of the tree that a path stands for: the whole path below the scope, or the end of one.
    fn find<'t>(self, tree: &'t BTreeMap<String, String>, path: &str) -> Vec<(&'t str, &'t str)> {
        let (folder, end) = (self.folder(), format!("/{path}"));
        tree.iter()
            .filter(|(name, _)| name.starts_with(&folder) && (name.ends_with(&end) || *name == path))
            .map(|(name, content)| (name.as_str(), content.as_str()))
            .collect()
    }
}

/// A line of the document with its scope, and whether it is a row of a table of modules.
fn scoped(document: &str) -> Vec<(Scope<'_>, bool, &str)> {
    let (mut scope, mut is_row) = (Scope::AnyCrate, false);
    let mut lines = Vec::new();
    for line in document.lines() {
        if line.is_empty() || line.starts_with("```") {
            (scope, is_row) = (Scope::AnyCrate, false);
        }
        if let Some(header) = line.strip_prefix("| `").filter(|_| line.contains(" | job")) {
            let name = header.split('`').next().unwrap_or_default();
            scope = if line.contains("paths from the root") { Scope::Root } else { Scope::Crate(name) };
            is_row = true;
        } else if let Some(name) = CRATES.into_iter().find(|name| line.starts_with(&format!("{name} "))) {
            scope = Scope::Crate(name);
        }
        lines.push((scope, is_row, line));
    }
    lines
}

/// True when a file declares the function, type, constant or macro.
fn declares(content: &str, name: &str) -> bool {
    let is_function =
        |word: &str| ["(", "<"].iter().any(|end| content.contains(&format!("{word} {name}{end}")));
    let is_other =
        |word: &str| [" ", ":", "<"].iter().any(|end| content.contains(&format!("{word} {name}{end}")));
    ["fn", "def"].into_iter().any(is_function)
        || ["enum", "struct", "trait", "class", "const", "static", "macro_rules!"].into_iter().any(is_other)
}

/// True for the name of a file that the tree has with its content.
fn is_file(name: &str) -> bool {
    EXTENSIONS.iter().any(|extension| name.ends_with(*extension))
}

/// True for a path to a file or a folder.
fn is_path(word: &str) -> bool {
    is_file(word) || word.ends_with('/') && word.len() > 1
}

/// What the document names that the tree does not have.
fn missing(document: &str, tree: &BTreeMap<String, String>) -> Vec<String> {
    let lines = scoped(document);
    let rows = lines.iter().filter(|(_, is_row, _)| *is_row).flat_map(|(scope, _, line)| {
        let first_column = line.split(" | ").next().unwrap_or_default();
        let whole =
            words(first_column).filter(|word| is_path(word)).map(|path| (path, scope.folder() + path));
        whole
            .filter(|(_, name)| !tree.contains_key(name))
            .map(move |(path, _)| format!("{path} in the first column: {line}"))
    });
    let mut missing: Vec<_> = rows.collect();
    let mut files: Vec<(&str, &str)> = Vec::new(); // of the last path: `::name` goes on with it
    for (scope, _, line) in lines {
        for word in words(line) {
            let (before, function) = word.split_once("::").unwrap_or((word, ""));
            let is_method =
                before.starts_with(char::is_uppercase) && function.starts_with(char::is_lowercase);
            let is_there = if is_path(before) {
                files = [scope, Scope::Root]
                    .iter()
                    .map(|scope| scope.find(tree, before))
                    .find(|found| !found.is_empty())
                    .unwrap_or_default();
                !files.is_empty()
                    && (function.is_empty() || files.iter().any(|(_, content)| declares(content, function)))
            } else if before.is_empty() && !function.is_empty() {
                files.iter().any(|(_, content)| declares(content, function))
            } else {
                !is_method || tree.values().any(|content| declares(content, function))
            };
            if !is_there {
                missing.push(format!("{word} in: {line}"));
            }
        }
    }
    missing
}

/// The folders of modules that no table has.
fn unlisted(document: &str, tree: &BTreeMap<String, String>) -> Vec<String> {
    let lines = scoped(document);
    let listed: BTreeSet<String> = lines
        .iter()
        .filter(|(_, is_row, _)| *is_row)
        .flat_map(|(scope, _, line)| words(line).map(move |word| format!("{}{word}", scope.folder())))
        .collect();
    let with_table = CRATES.into_iter().filter(|name| !WITHOUT_TABLE.contains(name));
    let sources = with_table.map(|name| format!("crates/{name}/src/")).chain(["xtask/src/".to_owned()]);
    sources
        .flat_map(|source| {
            let is_module = move |name: &&String| {
                name.strip_prefix(&source)
                    .is_some_and(|rest| rest.find('/') == Some(rest.len().wrapping_sub(1)))
            };
            tree.keys().filter(is_module).cloned().collect::<Vec<_>>()
        })
        .filter(|folder| !listed.iter().any(|path| path.starts_with(folder.as_str())))
        .collect()
}

fn document() -> String {
    fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap()
}

#[test]
fn named_files_and_functions_exist() {
    let missing = missing(&document(), &tree());
    assert!(missing.is_empty(), "ARCHITECTURE.md names what is not there:\n{}", missing.join("\n"));
}

#[test]
fn files_to_change_exist() {
    let document = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let (_, section) = document.split_once(SECTION).unwrap();
    let section = section.split("\n## ").next().unwrap();
    assert!(section.contains(".rs::"), "{SECTION} names functions");
    let missing = missing(section, &tree());
    assert!(missing.is_empty(), "CONTRIBUTING.md names what is not there:\n{}", missing.join("\n"));
}

#[test]
fn each_folder_of_modules_is_in_a_table() {
    let unlisted = unlisted(&document(), &tree());
    assert!(unlisted.is_empty(), "no table of ARCHITECTURE.md has {unlisted:?}");
}

#[test]
fn wrong_names_are_found() {
    let tree: BTreeMap<String, String> = [
        ("crates/usm-core/src/queue.rs", "pub fn memcpy(&self) {}"),
        ("crates/usm-core/src/backend/", ""),
        ("crates/usm-core/src/backend/mod.rs", "fn allocate<T>() {}"),
        ("crates/usm-memory/src/event.rs", "fn wait() {}"),
        ("tests/values.py", "def pack(dtype):\nclass Model:"),
        ("crates/usm-core/src/kind.rs", "pub enum UsmKind {}\nconst ALL: u8 = 3;"),
    ]
    .map(|(name, content)| (name.to_owned(), content.to_owned()))
    .into();
    let table = "| `usm-core` | job |\n|---|---|\n| `queue.rs` | queues |\n";
    assert_eq!(missing(table, &tree), Vec::<String>::new());
    assert_eq!(unlisted(table, &tree), ["crates/usm-core/src/backend/"]);
    assert_eq!(unlisted(&format!("{table}| `backend/mod.rs` | a trait |"), &tree), Vec::<String>::new());

    let flow = "```text\nusm-core    queue.rs::memcpy, backend/mod.rs::allocate    Backend::allocate\n```";
    assert_eq!(missing(flow, &tree), Vec::<String>::new());
    let to_change = "| | `usm-core/src/kind.rs::UsmKind`, `::ALL`, `tests/values.py::pack`, `::Model` | |";
    assert_eq!(missing(to_change, &tree), Vec::<String>::new());
    for wrong in [
        "| `usm-core` | job |\n| `mod.rs` | not below src |",
        "| `usm-core` | job |\n| `graph/` | gone |",
        "| `usm-core` | job |\n| `queue.rs` | queues, with `events.rs` |",
        "usm-core    queue.rs::memset",
        "usm-core    queue.rs::memcpy, ::memset",
        "The trait has `Backend::release`.",
        "| | `usm-core/src/kind.rs::Kind` | |",
        "| | `usm-core/src/values.py` | |",
    ] {
        assert!(!missing(wrong, &tree).is_empty(), "{wrong}");
    }
}
