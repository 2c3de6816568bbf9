//! The documents name crates, folders, files, functions and types that exist, and their links lead somewhere.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use common::{files, root};

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

/// Extensions of the files whose names and contents are compared.
const EXTENSIONS: [&str; 6] = [".rs", ".py", ".pyi", ".toml", ".cl", ".h"];

/// The section of CONTRIBUTING.md that names files to change.
const SECTION: &str = "## Where to change what";

/// The tree of the project: folders, which end with `/`, and files with their content, by paths from the root.
fn tree() -> BTreeMap<String, String> {
    let mut tree = BTreeMap::new();
    for folder in ["crates", "docs", "examples", "guide", "tests", "xtask"] {
        for (name, content) in files(folder, &["cl", "h", "md", "py", "pyi", "rs", "toml"]) {
            let folders = Path::new(&name).ancestors().skip(1);
            tree.extend(folders.map(|folder| (format!("{}/", folder.display()), String::new())));
            tree.extend(Some((name, content)).filter(|(name, _)| is_file(name)));
        }
    }
    tree
}

/// The words of a line that may be paths: `queue.rs::memcpy`, `copy/plan/`, `::array_of`.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_/.:-".contains(c);
    line.split(move |c| !is_part(c)).map(|word| word.trim_end_matches(['.', ':', '-']))
}

/// Where the paths of a line are: in `src/` of a crate, or from the root.
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

    /// The entries of the tree that a path stands for: the whole path below the root, or the end of one in a crate.
    fn find<'t>(self, tree: &'t BTreeMap<String, String>, path: &str) -> Vec<(&'t str, &'t str)> {
        let (folder, end) = (self.folder(), format!("/{path}"));
        tree.iter()
            .filter(|(name, _)| match self {
                Self::Root => *name == path,
                _ => name.starts_with(&folder) && name.ends_with(&end),
            })
            .map(|(name, content)| (name.as_str(), content.as_str()))
            .collect()
    }
}

/// A line of the document with its scope: lines of a flow that begin with a crate, and those below, are about it.
fn scoped(document: &str) -> Vec<(Scope<'_>, &str)> {
    let mut scope = Scope::AnyCrate;
    let mut lines = Vec::new();
    for line in document.lines() {
        if line.is_empty() || line.starts_with("```") {
            scope = Scope::AnyCrate;
        }
        if let Some(name) = CRATES.into_iter().find(|name| line.starts_with(&format!("{name} "))) {
            scope = Scope::Crate(name);
        }
        lines.push((scope, line));
    }
    lines
}

/// True when a file declares the function, kernel, type, constant or macro.
fn declares(content: &str, name: &str) -> bool {
    let is_function =
        |word: &str| ["(", "<"].iter().any(|end| content.contains(&format!("{word} {name}{end}")));
    let is_other = |word: &str| {
        [" ", ":", "<", "(", ";"].iter().any(|end| content.contains(&format!("{word} {name}{end}")))
    };
    ["fn", "def", "KERNEL"].into_iter().any(is_function)
        || ["enum", "struct", "trait", "class", "const", "static", "macro_rules!"].into_iter().any(is_other)
}

/// True for the name of a file that the tree has with its content.
fn is_file(name: &str) -> bool {
    EXTENSIONS.iter().any(|extension| name.ends_with(*extension))
}

/// True for a path to a file or a folder.
fn is_path(word: &str) -> bool {
    is_file(word) || word.ends_with('/') && word.contains(char::is_alphanumeric)
}

/// What the document names that the tree does not have.
fn missing(document: &str, tree: &BTreeMap<String, String>) -> Vec<String> {
    let mut missing = Vec::new();
    let everything: String = tree.values().flat_map(|content| [content.as_str(), "\n"]).collect();
    let mut files: Vec<(&str, &str)> = Vec::new(); // of the last path: `::name` goes on with it
    for (scope, line) in scoped(document) {
        // Links have a check of their own.
        for word in words(line).filter(|word| !word.ends_with(".md") && !OTHERS.contains(word)) {
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
                !is_method || declares(&everything, function)
            };
            if !is_there {
                missing.push(format!("{word} in: {line}"));
            }
        }
    }
    missing
}

/// The paths of a section that begin neither at the folder of a crate nor at the root.
fn not_whole<'a>(section: &'a str, tree: &BTreeMap<String, String>) -> Vec<&'a str> {
    let is_there = |path: &str| tree.contains_key(path) || tree.contains_key(&format!("crates/{path}"));
    let paths = section.lines().flat_map(words).map(|word| word.split_once("::").unwrap_or((word, "")).0);
    paths.filter(|path| is_path(path) && !is_there(path)).collect()
}

fn text(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// The pages of `docs/decisions`, without the index, by their names.
fn decisions() -> Vec<(String, String)> {
    let mut pages = files("docs/decisions", &["md"]);
    pages.retain(|(name, _)| !name.ends_with("README.md"));
    pages.sort();
    pages
}

#[test]
fn named_files_and_functions_exist() {
    let tree = tree();
    let documents = ["ARCHITECTURE.md", "SECURITY.md"].map(|name| (name.to_owned(), text(name)));
    for (name, document) in documents.into_iter().chain(decisions()) {
        let missing = missing(&document, &tree);
        assert!(missing.is_empty(), "{name} names what is not there:\n{}", missing.join("\n"));
    }
}

#[test]
fn files_to_change_exist() {
    let document = text("CONTRIBUTING.md");
    let (_, section) = document.split_once(SECTION).unwrap();
    let section = section.split("\n## ").next().unwrap();
    assert!(section.contains(".rs::"), "{SECTION} names functions");
    let tree = tree();
    assert_eq!(not_whole(section, &tree), [""; 0], "paths of CONTRIBUTING.md that are not whole");
    let missing = missing(section, &tree);
    assert!(missing.is_empty(), "CONTRIBUTING.md names what is not there:\n{}", missing.join("\n"));
}

/// The heading of the table of walks in that section.
const WALKS: &str = "| walk | first | last |";

/// The paths of a row, with the names behind them, and with the file of a name that has none before it.
fn paths_of(row: &str) -> Vec<String> {
    let mut file = "";
    let mut found = Vec::new();
    for word in row.split('`').skip(1).step_by(2) {
        let (path, name) = word.split_once("::").unwrap_or((word, ""));
        if is_path(path) {
            file = path;
        }
        if is_path(path) || path.is_empty() {
            found.push(if name.is_empty() { file.to_owned() } else { format!("{file}::{name}") });
        }
    }
    found
}

/// The rows of the table below a heading.
fn rows<'a>(section: &'a str, heading: &str) -> Vec<&'a str> {
    let (_, table) = section.split_once(heading).unwrap();
    table.lines().skip(2).take_while(|line| line.starts_with('|')).collect()
}

/// The paths of each goal, row by row.
fn goals(section: &str) -> BTreeMap<&str, Vec<Vec<String>>> {
    let mut goals: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    let mut goal = "";
    for row in rows(section, "| goal | file | change |") {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let [_, name, files, ..] = cells[..] else { panic!("{row} has no three cells") };
        goal = if name.is_empty() { goal } else { name };
        goals.entry(goal).or_default().push(paths_of(files));
    }
    goals
}

/// What is wrong with the table of walks of a section.
fn wrong_walks(section: &str) -> Vec<String> {
    let goals = goals(section);
    let mut wrong = Vec::new();
    for walk in rows(section, WALKS) {
        let cells: Vec<_> = walk.split('|').map(str::trim).collect();
        let [_, name, first, last, _] = cells[..] else { panic!("{walk} has no three cells") };
        let Some(steps) = goals.get(name) else {
            wrong.push(format!("no goal has the name of the walk: {name}"));
            continue;
        };
        let ends = [(first, steps.first()), (last, steps.last())];
        let [starts_well, ends_well] = ends.map(|(cell, row)| {
            let paths = paths_of(cell);
            paths.len() == 1 && row.is_some_and(|row| row.contains(&paths[0]))
        });
        let is_check = ["tests/", "/tests.rs", "goals.toml"].iter().any(|part| last.contains(part));
        if !starts_well || !ends_well || !is_check {
            wrong.push(format!("{name} does not go from {first} to a test, {last}: {steps:?}"));
        }
    }
    wrong
}

#[test]
fn ten_walks_lead_from_their_first_file_to_a_test() {
    let document = text("CONTRIBUTING.md");
    let (_, section) = document.split_once(SECTION).unwrap();
    let section = section.split("\n## ").next().unwrap();
    assert_eq!(rows(section, WALKS).len(), 10);
    assert_eq!(wrong_walks(section), [""; 0]);
}

#[test]
fn walks_that_lead_elsewhere_are_found() {
    let goals =
        "| goal | file | change |\n|---|---|---|\n| a | `x/a.rs::f`, `::g` | |\n| | `x/tests/a.rs` | |\n";
    let walks = |row: &str| format!("{WALKS}\n|---|---|---|\n{row}\n\n{goals}");
    assert_eq!(wrong_walks(&walks("| a | `x/a.rs::g` | `x/tests/a.rs` |")), [""; 0]);
    for wrong in [
        "| b | `x/a.rs::f` | `x/tests/a.rs` |",
        "| a | `x/b.rs::f` | `x/tests/a.rs` |",
        "| a | `x/a.rs::f` | `x/tests/b.rs` |",
        "| a | `x/a.rs::f` | `x/a.rs::f` |",
    ] {
        assert_eq!(wrong_walks(&walks(wrong)).len(), 1, "{wrong}");
    }
}

#[test]
fn the_map_has_each_crate_and_is_read_in_ten_minutes() {
    let document = text("ARCHITECTURE.md");
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name();
        assert!(
            document.contains(&format!("`{}`", name.display())),
            "ARCHITECTURE.md has no {}",
            name.display()
        );
    }
    // 150 words in a minute, of technical prose in a second language.
    let count = document.split_whitespace().count();
    assert!(count <= 1550, "ARCHITECTURE.md has {count} words");
}

/// The parts of each decision.
const PARTS: [&str; 4] = ["\n## Context\n", "\n## Choice\n", "\n## Costs\n", "\n## What would change it\n"];

#[test]
fn decisions_have_their_parts_and_are_in_the_index() {
    let index = text("docs/decisions/README.md");
    let mut numbers = BTreeSet::new();
    for (path, page) in decisions() {
        let name = path.rsplit('/').next().unwrap();
        let (number, _) = name.split_once('-').unwrap();
        assert!(number.len() == 4 && number.parse::<u32>().is_ok(), "{name} begins with four digits");
        assert!(numbers.insert(number.to_owned()), "{number} is the number of two decisions");
        let title = page.lines().next().unwrap().strip_prefix("# ").unwrap();
        let row = format!("| {number} | [{title}]({name}) |");
        assert!(index.contains(&row), "docs/decisions/README.md has no row {row}");
        let places: Vec<_> = PARTS.iter().map(|part| page.find(part)).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{name} has the parts {PARTS:?}");
        let count = page.split_whitespace().count();
        assert!(count <= 600, "{name} is a page: {count} words");
    }
    assert_eq!(
        index.matches("](0").count(),
        numbers.len(),
        "docs/decisions/README.md has rows without a page"
    );
}

/// Files of other projects that documents and comments name.
const OTHERS: [&str; 3] = ["cuda.h", "dlpack.h", "nvrtc.h"];

/// The files that a comment names between backquotes: `order.rs`, `kernels/src/convert.h`.
fn files_in_comment(line: &str) -> Vec<&str> {
    // Slashes behind a quote may be in a string.
    let comment = line.split_once("//").filter(|(code, _)| !code.contains('"'));
    let Some((_, comment)) = comment else { return Vec::new() };
    let is_path = |word: &&str| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "_/.-".contains(c);
        let extensions = [".rs", ".cl", ".h", ".py", ".pyi"];
        extensions.iter().any(|extension| word.ends_with(*extension)) && word.chars().all(is_part)
    };
    comment.split('`').skip(1).step_by(2).filter(is_path).collect()
}

#[test]
fn comments_name_files_that_exist() {
    let folders = ["crates", "examples", "tests", "xtask"];
    let all: Vec<_> =
        folders.iter().flat_map(|folder| files(folder, &["rs", "cl", "h", "py", "pyi"])).collect();
    let mut count = 0;
    for (name, content) in &all {
        for (line, path) in
            content.lines().flat_map(|line| files_in_comment(line).into_iter().map(move |path| (line, path)))
        {
            let end = format!("/{path}");
            let is_there = all.iter().any(|(file, _)| file == path || file.ends_with(&end));
            assert!(is_there || OTHERS.contains(&path), "{name} names {path}, which is not there: {line}");
            count += 1;
        }
    }
    assert!(count > 200, "{count} names");
    assert_eq!(files_in_comment("f(); // as in `a/b.rs`, but not `b.x`, and `c.h`"), ["a/b.rs", "c.h"]);
}

/// The end of the address of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
    heading.trim().to_lowercase().chars().filter(kept).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The relative links of a document: `[text](target)` and `[text]: target`.
fn links(document: &str) -> Vec<&str> {
    let inline = document.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let listed = document.lines().filter(|line| line.starts_with('[')).filter_map(|line| {
        let (_, target) = line.split_once("]: ")?;
        Some(target.trim())
    });
    let is_relative = |target: &&str| !target.contains("://") && !target.contains(char::is_whitespace);
    inline.chain(listed).filter(is_relative).collect()
}

#[test]
fn links_lead_to_files_and_headings() {
    let names =
        ["ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "PERFORMANCE.md", "README.md", "CHANGELOG.md"];
    let mut documents: Vec<_> = names.map(|name| (name.to_owned(), text(name))).into();
    documents.extend(["docs", "crates"].into_iter().flat_map(|folder| files(folder, &["md"])));
    for (name, document) in documents {
        let folder = root().join(&name).parent().unwrap().to_owned();
        for link in links(&document) {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { root().join(&name) } else { folder.join(path) };
            assert!(target.exists(), "{name} has a link to {link}, which is not there");
            if !heading.is_empty() && path.ends_with(".md") {
                let content = fs::read_to_string(&target).unwrap();
                let headings = content.lines().filter(|line| line.starts_with('#'));
                let is_there =
                    headings.map(|line| anchor(line.trim_start_matches('#'))).any(|found| found == heading);
                assert!(is_there, "{name} has a link to {link}, whose heading is not there");
            }
        }
    }
}

#[test]
fn links_and_headings_are_read() {
    let document = "See [a](b.md#c-d), [e](https://f.g) and\n[h]: i.md#j\n";
    assert_eq!(links(document), ["b.md#c-d", "i.md#j"]);
    assert_eq!(anchor(" 2026-11-21: `a` pool, and 4 MiB"), "2026-11-21-a-pool-and-4-mib");
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
    let table = "| `usm-core/src/backend/` | the trait |\n";
    assert_eq!(missing(table, &tree), Vec::<String>::new());

    let flow = "```text\nusm-core    queue.rs::memcpy, backend/mod.rs::allocate    Backend::allocate\n```";
    assert_eq!(missing(flow, &tree), Vec::<String>::new());
    let to_change = "| | `usm-core/src/kind.rs::UsmKind`, `::ALL`, `tests/values.py::pack`, `::Model` | |";
    assert_eq!(missing(to_change, &tree), Vec::<String>::new());
    assert_eq!(not_whole(to_change, &tree), [""; 0]);
    assert_eq!(not_whole("| | `usm-core/src/kind.rs`, `src/queue.rs::memcpy` | |", &tree), ["src/queue.rs"]);
    for wrong in [
        "| `usm-core/src/graph/` | gone |",
        "| `usm-core/src/queue.rs` | queues, with `events.rs` |",
        "usm-core    queue.rs::memset",
        "usm-core    queue.rs::memcpy, ::memset",
        "usm-core    event.rs::wait",
        "The trait has `Backend::release`.",
        "| | `usm-core/src/kind.rs::Kind` | |",
        "| | `usm-core/src/values.py` | |",
    ] {
        assert!(!missing(wrong, &tree).is_empty(), "{wrong}");
    }
}
