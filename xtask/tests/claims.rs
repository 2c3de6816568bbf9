//! Sentences of CONTRIBUTING.md, docs/decisions/ and the headers of modules that a program can check.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use common::{code, files, library, root, sources};

/// The crates that users link.
const LIBRARIES: [&str; 5] = ["sycl-sys", "usm-core", "usm-memory", "usm-array", "usm-python"];

/// A lock or lazy value of the standard library is fork-safe for one of these reasons (docs/decisions/0019-forks.md).
const STANDARD_LOCKS: [(&str, &[&str]); 8] = [
    (
        "it is set once, and nobody waits for it",
        &[
            "usm-core/src/backend/host/fault/linux.rs",
            "usm-core/src/backend/host/fault/windows.rs",
            "usm-memory/src/snapshot/clock/windows.rs",
        ],
    ),
    ("it is the implementation of the types for forks", &["usm-core/src/fork.rs"]),
    (
        "an entry guard keeps a forked child from it, as from the runtime or driver below",
        &[
            "usm-core/src/backend/cuda/device.rs",
            "usm-core/src/backend/cuda/pinned.rs",
            "usm-core/src/backend/entry.rs",
            "usm-core/src/backend/sycl/mod.rs",
        ],
    ),
    (
        "it is in a `PerProcess`",
        &[
            "usm-core/src/backend/host/worker.rs",
            "usm-core/src/bulk/threads.rs",
            "usm-core/src/completion.rs",
            "usm-memory/src/processes/linux/server.rs",
        ],
    ),
    (
        "the pools of the parent allocate nothing in a child",
        &["usm-memory/src/resource/pool/cache.rs", "usm-memory/src/resource/pool/inner.rs"],
    ),
    ("a fork waits for the borrow table by a hook", &["usm-memory/src/tracker/table.rs"]),
    (
        "it belongs to one call, whose threads are not in the child",
        &["usm-memory/src/transfer/pinned.rs", "usm-python/src/interrupt.rs"],
    ),
    (
        "only threads with the Python interpreter touch it, and the thread that forks is one",
        &[
            "usm-python/src/called.rs",
            "usm-python/src/memory/pool.rs",
            "usm-python/src/objects.rs",
            "usm-python/src/sycl/awaited/mod.rs",
            "usm-python/src/sycl/dpctl.rs",
            "usm-python/src/tensor/print.rs",
        ],
    ),
];

/// The code of the libraries, without tests and what is for tests only, by paths from `crates/`.
fn libraries() -> Vec<(String, String)> {
    let all = LIBRARIES.iter().flat_map(|name| sources(&format!("crates/{name}/src")));
    all.filter(|(file, _)| !["/tests", "/testing/", "brute_force.rs"].iter().any(|part| file.contains(part)))
        .map(|(file, content)| (file.trim_start_matches("crates/").to_owned(), library(&content).to_owned()))
        .collect()
}

/// Whether a line declares a field, static or type that is a lock of the standard library, outside of a `PerProcess`.
fn declares_lock(line: &str) -> bool {
    let types = ["Mutex<", "RwLock<", "OnceLock<", "LazyLock<", "OnceCell<", ": Condvar,", "[Once;"];
    let line = line.trim_start().replace("ForkMutex<", "");
    let is_declaration = [": ", "struct ", "type "].iter().any(|sign| line.contains(sign));
    let is_other = ["use ", "let "].iter().any(|start| line.starts_with(start))
        || ["fn ", "&Mutex<", "PerProcess<", "|"].iter().any(|part| line.contains(part));
    is_declaration && !is_other && types.iter().any(|name| line.contains(name))
}

#[test]
fn locks_are_safe_in_forked_children() {
    let found: BTreeSet<_> = libraries()
        .into_iter()
        .filter(|(_, content)| code(content).any(declares_lock))
        .map(|(file, _)| file)
        .collect();
    let listed: BTreeSet<_> =
        STANDARD_LOCKS.iter().flat_map(|(_, files)| files.iter()).map(|file| (*file).to_owned()).collect();
    let new: Vec<_> = found.difference(&listed).collect();
    assert!(
        new.is_empty(),
        "use `ForkMutex`, `PerProcess` or `ForkOnce`, or list the file with its reason in STANDARD_LOCKS: {new:?}"
    );
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(gone.is_empty(), "listed in STANDARD_LOCKS, without such a lock: {gone:?}");
}

#[test]
fn declarations_of_locks_are_found() {
    for lock in [
        "    state: Mutex<State>,",
        "static OPTIONS: RwLock<Option<u8>> = RwLock::new(None);",
        "struct Errand<T>(Arc<Mutex<Option<T>>>);",
        "    completed: Condvar,",
        "    static STEPS: [Once; 7] = [const { Once::new() }; 7];",
    ] {
        assert!(declares_lock(lock), "{lock}");
    }
    for other in [
        "use std::sync::{Mutex, OnceLock};",
        "static LIVE: PerProcess<Mutex<Vec<u8>>> = PerProcess::new(Mutex::new(Vec::new()));",
        "    fn lock(&self) -> MutexGuard<'_, Mutex<u8>> {",
        "    failure: ForkOnce<String>,",
        "    counts: Arc<ForkMutex<Counts>>,",
    ] {
        assert!(!declares_lock(other), "{other}");
    }
}

/// Clippy denies `panic!`, `unwrap` and the like (`[workspace.lints.clippy]`). It has no lint for `assert!`, and none for `unreachable!` that leaves tests alone.
#[test]
fn libraries_assert_only_when_they_are_compiled() {
    for (file, content) in libraries() {
        let lines: Vec<_> = code(&content).collect();
        for (number, line) in lines.iter().enumerate() {
            let asserts = ["assert!(", "assert_eq!(", "assert_ne!(", "unreachable!("].iter().any(|name| {
                line.find(name)
                    .is_some_and(|at| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
            });
            // A constant, or the body of one.
            let is_constant =
                lines[number.saturating_sub(2)..=number].iter().any(|line| line.contains("const "));
            assert!(!asserts || is_constant, "{file} may panic: {line}");
        }
    }
}

/// What each backend has a file for; what each backend over an external runtime has; what each backend has that keeps records of its own.
const BACKEND_FILES: [(&[&str], &[&str]); 3] = [
    (&["host", "sycl", "cuda"], &["mod.rs", "context.rs", "device.rs", "event.rs"]),
    (&["sycl", "cuda"], &["facts.rs", "submit.rs", "fill.rs", "kernel.rs"]),
    (&["host", "cuda"], &["memory.rs", "queue.rs"]),
];

/// Folders beside the backends whose files are of one operating system each.
const BY_SYSTEM: [&str; 2] = ["files", "pages"];

#[test]
fn backends_have_the_same_files() {
    let folder = "crates/usm-core/src/backend";
    let entries = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let backends: BTreeSet<_> = entries
        .filter(|path| path.is_dir())
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .filter(|name| !BY_SYSTEM.contains(&name.as_str()))
        .collect();
    assert_eq!(backends, BTreeSet::from_iter(BACKEND_FILES[0].0.iter().map(|name| (*name).to_owned())));
    for (backends, names) in BACKEND_FILES {
        for (backend, name) in
            backends.iter().flat_map(|backend| names.iter().map(move |name| (backend, name)))
        {
            assert!(root().join(folder).join(backend).join(name).is_file(), "{folder}/{backend}/{name}");
        }
    }
}

/// clippy names the methods that a decorator leaves out.
#[test]
fn decorators_have_each_method_of_backends() {
    let lint = "#[deny(clippy::missing_trait_methods, ";
    let sources = sources("crates/usm-core/src/testing");
    let decorators: Vec<_> =
        sources.iter().filter(|(_, content)| content.contains("unsafe impl Backend for ")).collect();
    assert_eq!(decorators.len(), 3);
    for (file, content) in decorators {
        let (before, _) = content.split_once("unsafe impl Backend for ").unwrap();
        assert!(before.lines().last().is_some_and(|line| line.starts_with(lint)), "{file} has no {lint}");
    }
}

/// The files and folders beside a `mod.rs` that its header does not name, where the header has a table of files.
fn unnamed(content: &str, names: &[String]) -> Vec<String> {
    let header: Vec<_> = content.lines().take_while(|line| line.starts_with("//!")).collect();
    let is_named = |name: &String| header.iter().any(|line| line.contains(&format!("`{name}`")));
    // Submodules of one file, named after it, are the file's own.
    let is_part =
        |name: &String| name.strip_suffix('/').is_some_and(|name| names.contains(&format!("{name}.rs")));
    let has_table = header.iter().any(|line| line.starts_with("//! | file |"));
    let missing = names.iter().filter(|name| has_table && !is_named(name) && !is_part(name));
    missing.cloned().collect()
}

#[test]
fn tables_of_files_are_complete() {
    let mut num_tables = 0;
    for (file, content) in LIBRARIES.iter().flat_map(|name| sources(&format!("crates/{name}/src"))) {
        let Some(folder) = file.strip_suffix("/mod.rs") else { continue };
        let entries = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
        let name = |path: &Path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() { format!("{name}/") } else { name.to_owned() }
        };
        let names: Vec<_> = entries.map(|path| name(&path)).collect();
        let is_described = |name: &&String| !["mod.rs", "tests.rs", "tests/"].contains(&name.as_str());
        let names: Vec<_> = names.iter().filter(is_described).cloned().collect();
        let unnamed = unnamed(&content, &names);
        assert!(unnamed.is_empty(), "the table of {file} has no row for {unnamed:?}");
        num_tables += usize::from(content.contains("//! | file |"));
    }
    assert!(num_tables > 20, "{num_tables} tables");
}

#[test]
fn rows_that_are_missing_are_found() {
    let names = ["a.rs", "b/", "c.rs", "c/"].map(str::to_owned);
    let table = "//! Letters\n//!\n//! | file | job |\n//! |---|---|\n//! | `a.rs`, `c.rs` | two |\n";
    assert_eq!(unnamed(table, &names), ["b/"]);
    assert_eq!(unnamed(&format!("{table}//! | `b/` | one |\n"), &names), [""; 0]);
    assert_eq!(unnamed("//! Letters\n", &names), [""; 0]);
}

#[test]
fn properties_follow_the_cases_that_a_run_asks_for() {
    for (file, content) in files("crates", &["rs"]) {
        for line in code(&content).filter(|line| line.contains("ProptestConfig::with_cases(")) {
            let argument = line.split("with_cases(").nth(1).unwrap_or_default();
            let follows =
                argument.contains("ProptestConfig::default().cases") || argument.starts_with("cases.");
            assert!(follows, "{file} has a number of cases of its own: {line}");
        }
    }
    for (file, content) in files("tests/python", &["py"]) {
        let lines: Vec<_> = content.lines().collect();
        let of_campaigns = file.ends_with("support/campaign.py");
        for (number, line) in lines.iter().enumerate() {
            assert!(of_campaigns || !line.contains("settings("), "{file} has settings of its own: {line}");
            if line.starts_with("@given(") {
                let before = lines[..number].iter().rev().take_while(|line| line.starts_with('@'));
                assert!(before.into_iter().any(|line| *line == "@campaign"), "{file}: {line}");
            }
        }
    }
}

#[test]
fn contributing_has_each_variable() {
    let document = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let code = ["crates", "tests", "xtask/src"].into_iter().flat_map(|folder| files(folder, &["rs", "py"]));
    for (file, content) in code {
        for rest in content.split("USM_REQUIRE_").skip(1) {
            let name: String = rest.chars().take_while(|c| c.is_ascii_uppercase() || *c == '_').collect();
            let row = format!("| `USM_REQUIRE_{name}=1` |");
            assert!(
                name.is_empty() || document.contains(&row),
                "CONTRIBUTING.md has no row {row}, as in {file}"
            );
        }
    }
}

#[test]
fn readmes_have_the_features() {
    // The README of usm-python is for users of the wheel.
    for name in LIBRARIES.into_iter().filter(|name| *name != "usm-python") {
        let manifest = fs::read_to_string(root().join(format!("crates/{name}/Cargo.toml"))).unwrap();
        let Some((_, features)) = manifest.split_once("[features]\n") else { continue };
        let features = features.split("\n[").next().unwrap();
        let readme = fs::read_to_string(root().join(format!("crates/{name}/README.md"))).unwrap();
        let is_default = |feature: &str| {
            let line = features.lines().find(|line| line.starts_with("default = ")).unwrap_or_default();
            line.contains(&format!("\"{feature}\""))
        };
        let names = features.lines().filter_map(|line| line.split_once(" = ")).map(|(name, _)| name);
        for feature in names.filter(|feature| *feature != "default" && !feature.starts_with('#')) {
            let row = format!("| `{feature}` | {} |", if is_default(feature) { "yes" } else { "no" });
            assert!(readme.contains(&row), "crates/{name}/README.md has no row {row}");
        }
    }
}

#[test]
fn targets_are_in_the_folders_of_their_crates() {
    // maturin leaves other targets out of the source distribution, whose workspace cargo refuses then.
    for (file, manifest) in files("crates", &["toml"]) {
        assert!(
            !manifest.lines().any(|line| line.starts_with("path = \"..")),
            "{file} has a target elsewhere"
        );
    }
}
