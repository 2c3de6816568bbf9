//! The search in the arrangements of Windows, with made-up trees.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;
use std::ffi::OsString;
use std::path::PathBuf;

use common::Tree;
use sycl_sys::locate::{LIBRARY, Outcome, Search, SearchOptions, search_in};

const NEEDS_9: &[u8] = b"\0KERNEL32.dll\0sycl9.dll\0";

fn nothing(_: &str) -> Option<OsString> {
    None
}

fn search_root(root: impl Into<PathBuf>) -> Search {
    search_in(&SearchOptions::new().root(root), &nothing)
}

/// A virtual environment: package, runtime, driver, as the wheels of dpctl and Intel arrange them.
fn venv(tree: &Tree, name: &str) -> PathBuf {
    let library = tree.file(&format!("{name}/Lib/site-packages/dpctl/{LIBRARY}"), NEEDS_9);
    tree.file(&format!("{name}/Library/bin/sycl9.dll"), b"");
    tree.file(&format!("{name}/Library/bin/intelocl64.dll"), b"");
    library
}

#[test]
fn every_kind_of_root_leads_to_the_same_library_runtime_and_driver() {
    let tree = Tree::new();
    let library = venv(&tree, "venv");
    let package = library.parent().unwrap();
    let site = package.parent().unwrap();
    for root in [&tree.path("venv"), &tree.path("venv/Lib"), site, package, &library] {
        let found = search_root(root);
        let candidate = found.candidates.first().unwrap_or_else(|| panic!("{found}"));
        let same = |found: Option<PathBuf>, below: &str| {
            assert_eq!(
                found.unwrap().canonicalize().unwrap(),
                tree.path(below).canonicalize().unwrap(),
                "{}",
                root.display()
            );
        };
        same(Some(candidate.library.clone()), &format!("venv/Lib/site-packages/dpctl/{LIBRARY}"));
        assert_eq!(candidate.needs.as_deref(), Some("sycl9.dll"));
        same(candidate.runtime.clone(), "venv/Library/bin/sycl9.dll");
        same(candidate.driver(), "venv/Library/bin/intelocl64.dll");
        assert_eq!(found.tried.len(), 1, "{found}");
        assert_eq!(found.tried[0].outcome, Outcome::Found);
    }
}

#[test]
fn one_api_completes_an_installation() {
    let tree = Tree::new();
    tree.file(&format!("target/dpctl/{LIBRARY}"), NEEDS_9);
    assert!(search_root(tree.path("target")).candidates[0].lacks_runtime());
    tree.file("oneapi/compiler/latest/bin/sycl9.dll", b"");
    let oneapi = tree.path("oneapi").into_os_string();
    let environment = |name: &str| (name == "ONEAPI_ROOT").then(|| oneapi.clone());
    let found = search_in(&SearchOptions::new().root(tree.path("target")), &environment);
    assert!(!found.candidates[0].lacks_runtime(), "{found}");
}

#[test]
fn a_runtime_of_another_version_does_not_count() {
    let tree = Tree::new();
    venv(&tree, "venv");
    std::fs::rename(tree.path("venv/Library/bin/sycl9.dll"), tree.path("venv/Library/bin/sycl8.dll"))
        .unwrap();
    assert!(search_root(tree.path("venv")).candidates[0].lacks_runtime());
}

#[test]
fn what_is_missing_names_the_library_of_this_system() {
    let tree = Tree::new();
    let report = search_root(tree.dir("empty")).to_string();
    assert!(report.contains("has no DPCTLSyclInterface.dll"), "{report}");
}
