//! The rules of ARCHITECTURE.md that a program can check: edges between crates and modules, names that stay in their layer, and
//! which files have unsafe code (docs/unsafe-files.txt).
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use common::{code, files, library, root, sources};

/// A library crate and the crates of ours it may depend on. The test backend's place is among the dev-dependencies.
const EDGES: [(&str, &[&str]); 11] = [
    ("usm-derive", &[]),
    ("sycl-sys", &["usm-derive"]),
    ("cuda-loopback", &[]),
    ("sycl-loopback", &[]),
    ("test-stacks", &[]),
    ("usm-core", &["sycl-sys", "usm-derive"]),
    ("usm-memory", &["usm-core", "usm-derive"]),
    ("usm-array", &["usm-derive", "usm-memory"]),
    ("usm-python", &["usm-array"]),
    ("usm-bench", &["usm-array", "usm-memory"]),
    ("xtask", &[]),
];

/// Folders whose modules form layers, in each folder below, too.
const LAYERED: [&str; 10] = [
    "crates/cuda-loopback/src",
    "crates/sycl-loopback/src",
    "crates/sycl-sys/src",
    "crates/test-stacks/src",
    "crates/usm-array/src",
    "crates/usm-core/src",
    "crates/usm-derive/src",
    "crates/usm-memory/src",
    "crates/usm-python/src",
    "xtask/src",
];

/// A file with more lines of code than this says in its first comment why it is long.
const LONG_FILE_LINES: usize = 800;

/// The sources of all crates, without their tests, benches and examples.
fn library_sources() -> Vec<(String, String)> {
    let folder =
        |name: &str| if name == "xtask" { "xtask/src".to_owned() } else { format!("crates/{name}/src") };
    EDGES.iter().flat_map(|(name, _)| sources(&folder(name))).collect()
}

#[test]
fn edges_go_one_way() {
    for (name, allowed) in EDGES {
        let arguments = "tree --edges normal,build --depth 1 --prefix none --format {p} --package".split(' ');
        let mut tree = Command::new(env!("CARGO"));
        let output = tree.args(arguments).arg(name).current_dir(root()).output().unwrap();
        let tree = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let packages = tree.lines().skip(1).filter_map(|line| line.split(' ').next());
        let ours = packages.filter(|package| EDGES.iter().any(|(name, _)| name == package));
        assert_eq!(
            ours.collect::<BTreeSet<_>>(),
            BTreeSet::from_iter(allowed.iter().copied()),
            "edges of {name}"
        );
    }
}

#[test]
fn names_stay_in_their_layer() {
    let knows_c = ["crates/sycl-sys/", "crates/sycl-loopback/", "crates/usm-core/src/backend/sycl/"];
    let driver = ["cuCtx", "cuDevice", "cuEvent", "cuLaunch", "cuMem", "cuModule", "cuPointer", "cuStream"];
    for (file, content) in library_sources() {
        let is_cuda = file.starts_with("crates/usm-core/src/backend/cuda/")
            || file.starts_with("crates/cuda-loopback/");
        let is_c = knows_c.iter().any(|folder| file.starts_with(folder));
        let is_python = file.starts_with("crates/usm-python/");
        for line in code(&content) {
            assert!(is_c || !line.contains("DPCTL"), "{file} knows a name of the C interface: {line}");
            let of_driver = driver.iter().find(|name| line.contains(*name));
            assert!(is_cuda || of_driver.is_none(), "{file} knows a name of the CUDA driver: {line}");
            assert!(is_python || !line.contains("pyo3"), "{file} knows Python: {line}");
        }
    }
}

#[test]
fn threads_are_started_by_one_function() {
    let starts = ["thread::spawn(", "Builder::new()", "ThreadPoolBuilder::new()"];
    // The stand-in for the driver has no part of ours: nothing of it works in a forked child.
    let not_shipped = ["/test", "xtask/", "usm-bench/", "cuda-loopback/"];
    let of_tests = |file: &str| not_shipped.iter().any(|part| file.contains(part));
    for (file, content) in library_sources().into_iter().filter(|(file, _)| !of_tests(file)) {
        for line in code(library(&content)).filter(|line| starts.iter().any(|start| line.contains(start))) {
            let is_held_off = ["fork::spawn(", "fork::hold_off("].iter().any(|call| line.contains(call));
            assert!(is_held_off, "{file} starts a thread without `usm_core::fork::spawn`: {line}");
        }
    }
}

#[test]
fn arithmetic_is_safe_code() {
    for folder in
        ["crates/usm-array/src/layout", "crates/usm-array/src/interface", "crates/usm-array/src/copy/plan"]
    {
        for (file, content) in sources(folder) {
            assert!(!code(&content).any(|line| line.contains("unsafe")), "{file} has unsafe code");
        }
    }
}

/// The list of the files with unsafe code: a line `BLOCKS FILE: REASON` each, the reason at will.
const UNSAFE_FILES: &str = "docs/unsafe-files.txt";

/// Forms of unsafe code. The first one is a block.
const UNSAFE_FORMS: [&str; 5] = ["unsafe {", "unsafe fn", "unsafe impl", "unsafe trait", "unsafe extern"];

/// The number of unsafe blocks, where there is unsafe code of any form.
fn unsafe_blocks(content: &str) -> Option<usize> {
    let is_unsafe = code(content).any(|line| UNSAFE_FORMS.iter().any(|form| line.contains(form)));
    is_unsafe.then(|| code(content).map(|line| line.matches(UNSAFE_FORMS[0]).count()).sum())
}

#[test]
fn unsafe_code_is_where_the_document_lists_it() {
    let document = fs::read_to_string(root().join(UNSAFE_FILES)).unwrap();
    let listed: Vec<_> = document.lines().filter(|line| !line.starts_with('#')).collect();
    let entry = |line| str::trim_start(line).split_once(' ')?.1.split_once(": ");
    let reasons: BTreeMap<_, _> = listed.iter().copied().filter_map(entry).collect();

    // The stand-ins are all C functions; they are tested, not shipped.
    let is_stand_in = |file: &str| file.split('/').nth(1).is_some_and(|name| name.ends_with("-loopback"));
    let shipped = library_sources().into_iter().filter(|(file, _)| !is_stand_in(file));
    let found: BTreeMap<_, _> =
        shipped.filter_map(|(file, content)| Some((file, unsafe_blocks(&content)?))).collect();
    let line = |(file, blocks): (&String, &usize)| {
        let reason = reasons.get(file.as_str()).copied().unwrap_or_default();
        format!("{blocks:>3} {file}: {reason}").trim_end().to_owned()
    };
    let found: Vec<_> = found.iter().map(line).collect();

    let wrong: Vec<_> = listed.iter().filter(|line| !found.iter().any(|found| found == *line)).collect();
    assert!(
        listed == found,
        "wrong in {UNSAFE_FILES}: {wrong:#?}\nIts lines without # should be:\n{}",
        found.join("\n")
    );
}

#[test]
fn files_say_their_job_and_long_files_say_why() {
    for (file, content) in library_sources() {
        assert!(content.starts_with("//! "), "{file} does not start with its job");
        let lines = code(&content).filter(|line| !line.trim().is_empty()).count();
        let first_comment = content.lines().take_while(|line| line.starts_with("//!")).collect::<String>();
        assert!(
            lines <= LONG_FILE_LINES || first_comment.contains("This file is long because"),
            "{file} has {lines} lines of code; over {LONG_FILE_LINES} its first comment says why, \
             with \"This file is long because\""
        );
    }
}

#[test]
fn nothing_is_said_to_be_on_a_registry() {
    // A package of another project may have the name there.
    let mut texts: Vec<(String, String)> = ["crates", "examples", "guide", "tests", "xtask/src"]
        .into_iter()
        .flat_map(|folder| {
            let extensions = ["md", "py", "pyi", "rs", "toml"];
            files(folder, if folder == "guide" { &extensions[..1] } else { &extensions })
        })
        .collect();
    for entry in fs::read_dir(root()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "md") {
            texts.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
        }
    }
    for (name, text) in texts {
        for line in text.lines() {
            let Some((_, packages)) = line.split_once("pip install") else { continue };
            let is_ours = |word: &str| word == "usm" || word.starts_with("usm[");
            let words = packages.split(|c: char| c.is_whitespace() || "`'\"\\".contains(c));
            assert!(!words.into_iter().any(is_ours), "{name} installs usm from a registry: {line}");
        }
    }
}

/// Whether a file, or a part of one, is for tests only.
fn is_of_tests(file: &str) -> bool {
    file.ends_with("/tests.rs") || file.contains("/tests/")
}

/// The module that a file is, from its crate's root: `["copy", "plan"]` for `src/copy/plan/mod.rs`.
fn module_of(file: &str) -> Vec<String> {
    let (_, path) = file.split_once("/src/").unwrap();
    let path = path.trim_end_matches(".rs");
    let names = path.split('/').filter(|name| !["lib", "main", "mod"].contains(name));
    names.map(str::to_owned).collect()
}

/// Reads a use tree, or a path in an expression, and gives what follows it.
fn read_paths<'a>(prefix: &[&'a str], text: &'a str, found: &mut Vec<Vec<String>>) -> &'a str {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        while !rest.is_empty() && !rest.trim_start().starts_with('}') {
            let after = read_paths(prefix, rest, found);
            let end = after.find([',', '}']).unwrap_or(after.len()); // `as name`
            rest = after[end..].strip_prefix(',').unwrap_or(&after[end..]);
        }
        return rest.trim_start().strip_prefix('}').unwrap_or_default();
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let path = [prefix, &[name]].concat();
    match rest.strip_prefix("::") {
        Some(rest) => read_paths(&path, rest, found),
        None => {
            found.push(path.into_iter().map(str::to_owned).collect());
            rest.strip_prefix('*').unwrap_or(rest)
        }
    }
}

/// The paths of a file that begin with `crate` or `super`, from the crate's root.
fn paths(file: &str, content: &str) -> Vec<Vec<String>> {
    let code = code(library(content)).collect::<Vec<_>>().join("\n");
    let mut found = Vec::new();
    for (start, _) in code.match_indices("crate::").chain(code.match_indices("super::")) {
        let before = code[..start].chars().next_back();
        if before.is_none_or(|c| !c.is_alphanumeric() && !"_:$".contains(c)) {
            read_paths(&[], &code[start..], &mut found);
        }
    }
    let module = module_of(file);
    let resolve = |path: Vec<String>| {
        let ups = path.iter().take_while(|name| *name == "super").count();
        let base = if ups == 0 { &[][..] } else { &module[..module.len().saturating_sub(ups)] };
        base.iter().chain(&path[ups.max(1)..]).cloned().collect()
    };
    found.into_iter().map(resolve).collect()
}

/// Which module uses which, and a place where it does.
type Edges = BTreeMap<(String, String), String>;

/// The edges between the modules of a folder.
fn edges(folder: &str) -> Edges {
    let files: Vec<_> = sources(folder).into_iter().filter(|(file, _)| !is_of_tests(file)).collect();
    let place = module_of(&format!("{folder}/mod.rs"));
    let below = |path: &[String]| path.strip_prefix(&place[..]).and_then(|rest| rest.first()).cloned();
    let modules: BTreeSet<_> = files.iter().filter_map(|(file, _)| below(&module_of(file))).collect();
    let mut edges = BTreeMap::new();
    for (file, content) in &files {
        let Some(from) = below(&module_of(file)) else { continue };
        for path in paths(file, content) {
            let to = below(&path).filter(|to| *to != from && modules.contains(to));
            to.and_then(|to| edges.insert((from.clone(), to), format!("{file}: {}", path.join("::"))));
        }
    }
    edges
}

/// A folder and all folders below that have Rust files.
fn folders(folder: &str) -> BTreeSet<String> {
    let parent = |(file, _): &(String, String)| file.rsplit_once('/').unwrap().0.to_owned();
    sources(folder).iter().map(parent).collect()
}

/// What is left of the edges when those that are in no circle are gone.
fn circles(mut edges: Edges) -> Edges {
    loop {
        let users: BTreeSet<_> = edges.keys().map(|(from, _)| from.clone()).collect();
        let used: BTreeSet<_> = edges.keys().map(|(_, to)| to.clone()).collect();
        let count = edges.len();
        edges.retain(|(from, to), _| users.contains(to) && used.contains(from));
        if edges.len() == count {
            return edges;
        }
    }
}

#[test]
fn modules_form_layers() {
    for folder in LAYERED.iter().flat_map(|folder| folders(folder)) {
        let circles = circles(edges(&folder));
        assert!(circles.is_empty(), "modules of {folder} form circles: {circles:#?}");
    }
}

#[test]
fn circles_are_found() {
    let edges = |pairs: &[(&str, &str)]| -> Edges {
        pairs.iter().map(|(from, to)| (((*from).to_owned(), (*to).to_owned()), String::new())).collect()
    };
    assert!(circles(edges(&[("a", "b"), ("b", "c"), ("a", "c")])).is_empty());
    assert_eq!(circles(edges(&[("x", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "y")])).len(), 3);
}

#[test]
fn paths_are_read_as_the_compiler_reads_them() {
    let content = "use crate::a::{self, b::C as D, d::{E, F}};\npub(super) use super::g::*;\n\
                   fn f() { super::super::h::i(); usm_core::crate_like::j() } // super::no\nmod tests { use super::k; }";
    let found: Vec<_> = paths("x/src/p/q/r.rs", content).iter().map(|path| path.join("::")).collect();
    assert_eq!(found, ["a::self", "a::b::C", "a::d::E", "a::d::F", "p::q::g::", "p::h::i"],);
}
