//! The rules of ARCHITECTURE.md that a program can check: edges between crates, names that stay in their layer, unsafe code.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A library crate and the crates of ours it may depend on. The test backend's place is among the dev-dependencies.
const EDGES: [(&str, &[&str]); 8] = [
    ("sycl-sys", &[]),
    ("sycl-loopback", &[]),
    ("usm-core", &["sycl-sys"]),
    ("usm-memory", &["usm-core"]),
    ("usm-array", &["usm-memory"]),
    ("usm-python", &["usm-array"]),
    ("usm-bench", &["usm-array", "usm-memory"]),
    ("xtask", &[]),
];

/// A file with more lines of code than this says in its first comment why it is long.
const LONG_FILE_LINES: usize = 800;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Rust files below a folder, with their content, by paths relative to the root.
fn sources(folder: &str) -> Vec<(String, String)> {
    files(folder, &["rs"])
}

/// Files below a folder with one of the extensions.
fn files(folder: &str, extensions: &[&str]) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|found| extensions.iter().any(|extension| found == *extension))
            {
                let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
                files.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    assert!(!files.is_empty(), "{folder} has no files of {extensions:?}");
    files
}

/// The sources of all crates, without their tests, benches and examples.
fn library_sources() -> Vec<(String, String)> {
    let folder =
        |name: &str| if name == "xtask" { "xtask/src".to_owned() } else { format!("crates/{name}/src") };
    EDGES.iter().flat_map(|(name, _)| sources(&folder(name))).collect()
}

/// The code of a file, line by line, without comments.
fn code(content: &str) -> impl Iterator<Item = &str> {
    content.lines().map(|line| line.split("//").next().unwrap_or_default())
}

#[test]
fn edges_go_one_way() {
    for (name, allowed) in EDGES {
        let arguments = [
            "tree",
            "--package",
            name,
            "--edges",
            "normal,build",
            "--depth",
            "1",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ];
        let output = Command::new(env!("CARGO")).args(arguments).current_dir(root()).output().unwrap();
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
    for (file, content) in library_sources() {
        let is_c = knows_c.iter().any(|folder| file.starts_with(folder));
        let is_python = file.starts_with("crates/usm-python/");
        for line in code(&content) {
            assert!(is_c || !line.contains("DPCTL"), "{file} knows a name of the C interface: {line}");
            assert!(is_python || !line.contains("pyo3"), "{file} knows Python: {line}");
        }
    }
}

#[test]
fn threads_are_started_by_one_function() {
    let starts = ["thread::spawn(", "Builder::new()", "ThreadPoolBuilder::new()"];
    let of_tests =
        |file: &str| file.contains("/test") || file.contains("xtask/") || file.contains("usm-bench/");
    for (file, content) in library_sources().into_iter().filter(|(file, _)| !of_tests(file)) {
        let library = content.split("mod tests {").next().unwrap_or_default();
        for line in code(library).filter(|line| starts.iter().any(|start| line.contains(start))) {
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

#[test]
fn unsafe_code_is_where_the_document_lists_it() {
    let document = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, list) = document.split_once("<!-- unsafe: start -->").unwrap();
    let (list, _) = list.split_once("<!-- unsafe: end -->").unwrap();
    let listed: BTreeSet<_> = list
        .lines()
        .filter_map(|line| line.split('`').nth(1))
        .filter(|file| file.ends_with(".rs"))
        .map(|file| format!("crates/{file}"))
        .collect();

    let forms = ["unsafe {", "unsafe fn", "unsafe impl", "unsafe trait", "unsafe extern"];
    let is_unsafe = |content: &str| code(content).any(|line| forms.iter().any(|form| line.contains(form)));
    let found = library_sources().into_iter().filter(|(_, content)| is_unsafe(content)).map(|(file, _)| file);
    // The stand-in is all C functions; it is tested, not shipped.
    let found: BTreeSet<_> = found.filter(|file| !file.starts_with("crates/sycl-loopback/")).collect();
    assert_eq!(found, listed, "files with unsafe code, and what ARCHITECTURE.md lists");
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
