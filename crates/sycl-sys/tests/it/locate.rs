//! The search: order, arrangements of an installation, reports; with made-up trees and environments.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use common::Tree;
use sycl_sys::locate::{Origin, Outcome, Search, SearchOptions, search_in};

const LIBRARY: &str = "libDPCTLSyclInterface.so";
const NEEDS_9: &[u8] = b"\0libsycl.so.9\0";

fn nothing(_: &str) -> Option<OsString> {
    None
}

fn search_root(root: impl Into<PathBuf>) -> Search {
    search_in(&SearchOptions::new().root(root), &nothing)
}

/// A virtual environment: package, runtime, driver.
fn venv(tree: &Tree, name: &str) -> PathBuf {
    let library = tree.file(&format!("{name}/lib/python3.11/site-packages/dpctl/{LIBRARY}"), NEEDS_9);
    tree.file(&format!("{name}/lib/libsycl.so.9"), b"");
    tree.file(&format!("{name}/lib/libintelocl.so"), b"");
    library
}

#[test]
fn every_kind_of_root_leads_to_the_same_library_runtime_and_driver() {
    let tree = Tree::new();
    let library = venv(&tree, "venv");
    let package = library.parent().unwrap();
    let site = package.parent().unwrap();
    for root in [&tree.path("venv"), &tree.path("venv/lib"), site, package, &library] {
        let found = search_root(root);
        let candidate = found.candidates.first().unwrap_or_else(|| panic!("{found}"));
        assert_eq!(candidate.library, library, "{}", root.display());
        assert_eq!(candidate.needs.as_deref(), Some("libsycl.so.9"));
        assert_eq!(candidate.runtime, Some(tree.path("venv/lib/libsycl.so.9")), "{}", root.display());
        assert_eq!(candidate.driver(), Some(tree.path("venv/lib/libintelocl.so")), "{}", root.display());
        assert_eq!(found.tried.len(), 1);
        assert_eq!(found.tried[0].outcome, Outcome::Found);
    }
}

#[test]
fn the_newest_python_comes_first_and_lib64_is_looked_into() {
    let tree = Tree::new();
    for python in ["lib/python3.9", "lib/python3.11", "lib64/python3.10", "lib/python2.7"] {
        tree.file(&format!("{python}/site-packages/dpctl/{LIBRARY}"), b"");
    }
    let found = search_root(tree.path(""));
    let order: Vec<_> = found.candidates.iter().map(|candidate| candidate.library.clone()).collect();
    let expected = ["lib/python3.11", "lib/python3.9", "lib64/python3.10"]
        .map(|python| tree.path(&format!("{python}/site-packages/dpctl/{LIBRARY}")));
    assert_eq!(order, expected);
}

#[test]
fn packages_in_lib64_have_their_runtime_in_lib() {
    let tree = Tree::new();
    let library = tree.file(&format!("lib64/python3.12/site-packages/dpctl/{LIBRARY}"), NEEDS_9);
    let runtime = tree.file("lib/libsycl.so.9", b"");
    assert_eq!(search_root(library).candidates[0].runtime.as_deref(), Some(&*runtime));
}

#[test]
fn a_conda_prefix_and_its_lib_directory_work() {
    let tree = Tree::new();
    let library = tree.file(&format!("conda/lib/{LIBRARY}"), NEEDS_9);
    tree.file("conda/lib/libsycl.so.9", b"");
    for root in ["conda", "conda/lib"] {
        let found = search_root(tree.path(root));
        assert_eq!(found.candidates[0].library, library);
        assert!(!found.candidates[0].lacks_runtime(), "{found}");
    }
}

#[test]
fn the_order_is_explicit_variable_caller_environments_compilers() {
    let tree = Tree::new();
    for name in ["explicit", "usm", "caller", "venv", "conda", "compiler", "oneapi/compiler/latest"] {
        venv(&tree, name);
    }
    let environment = |name: &str| {
        let below = match name {
            "USM_SYCL_ROOT" => "usm",
            "VIRTUAL_ENV" => "venv",
            "CONDA_PREFIX" => "conda",
            "CMPLR_ROOT" => "compiler",
            "ONEAPI_ROOT" => "oneapi",
            _ => return None,
        };
        Some(tree.path(below).into_os_string())
    };
    let options =
        SearchOptions::new().extra_root("sys.prefix", tree.path("caller")).root(tree.path("explicit"));
    let found = search_in(&options, &environment);
    let origins: Vec<_> = found.candidates.iter().map(|candidate| candidate.origin.clone()).collect();
    assert_eq!(
        origins,
        [
            Origin::Explicit,
            Origin::Variable("USM_SYCL_ROOT"),
            Origin::Caller("sys.prefix".into()),
            Origin::Variable("VIRTUAL_ENV"),
            Origin::Variable("CONDA_PREFIX"),
            Origin::Variable("CMPLR_ROOT"),
            Origin::Variable("ONEAPI_ROOT"),
        ]
    );
    assert!(found.candidates[6].library.starts_with(tree.path("oneapi/compiler/latest")));
}

#[test]
fn an_empty_variable_counts_as_unset() {
    let found = search_in(&SearchOptions::new(), &|_| Some(OsString::new()));
    assert!(found.tried.is_empty(), "{found}");
}

#[test]
fn what_is_missing_is_told_apart() {
    let tree = Tree::new();
    let empty = tree.dir("empty");
    let options = SearchOptions::new().root(tree.path("absent")).root(&empty);
    let found = search_in(&options, &nothing);
    let outcomes: Vec<_> = found.tried.iter().map(|tried| tried.outcome.clone()).collect();
    assert_eq!(outcomes, [Outcome::DoesNotExist, Outcome::NoLibrary]);
    let report = found.to_string();
    assert!(report.contains(&format!("{}: does not exist", tree.path("absent").display())), "{report}");
    assert!(report.contains("pip install \"dpctl>=0.22,<0.24\" intel-opencl-rt"), "{report}");
}

#[test]
fn one_file_named_twice_is_one_candidate() {
    let tree = Tree::new();
    let library = venv(&tree, "venv");
    std::os::unix::fs::symlink(tree.path("venv"), tree.path("link")).unwrap();
    let found = search_in(&SearchOptions::new().root(tree.path("venv")).root(tree.path("link")), &nothing);
    assert_eq!(found.candidates.len(), 1);
    assert_eq!(found.candidates[0].library, library);
    assert_eq!(found.tried[1].outcome, Outcome::Duplicate);
}

#[test]
fn a_lib64_that_is_lib_is_not_reported_again() {
    let tree = Tree::new();
    venv(&tree, "venv");
    std::os::unix::fs::symlink("lib", tree.path("venv/lib64")).unwrap();
    let found = search_root(tree.path("venv"));
    assert_eq!(found.tried.len(), 1, "{found}");
}

#[test]
fn pip_install_target_without_its_runtime_is_named() {
    let tree = Tree::new();
    tree.file(&format!("target/dpctl/{LIBRARY}"), NEEDS_9);
    let found = search_root(tree.path("target"));
    assert!(found.candidates[0].lacks_runtime());
    assert_eq!(found.tried[0].outcome, Outcome::RuntimeMissing { needs: "libsycl.so.9".into() });
    let report = found.to_string();
    assert!(report.contains("pip install --target"), "{report}");
    assert!(report.contains("virtual environment"), "{report}");
}

#[test]
fn another_root_can_complete_an_installation() {
    let tree = Tree::new();
    tree.file(&format!("target/dpctl/{LIBRARY}"), NEEDS_9);
    tree.file("oneapi/compiler/latest/lib/libsycl.so.9", b"");
    tree.file("oneapi/compiler/latest/lib/libintelocl.so", b"");
    let oneapi = tree.path("oneapi").into_os_string();
    let environment = |name: &str| (name == "ONEAPI_ROOT").then(|| oneapi.clone());
    let found = search_in(&SearchOptions::new().root(tree.path("target")), &environment);
    let lib = tree.path("oneapi/compiler/latest/lib");
    assert_eq!(found.candidates.len(), 1);
    assert_eq!(found.candidates[0].runtime, Some(lib.join("libsycl.so.9")));
    assert_eq!(found.candidates[0].driver(), Some(lib.join("libintelocl.so")));
    assert_eq!(found.tried[1].outcome, Outcome::NoLibrary);
}

#[test]
fn a_runtime_of_another_version_does_not_count() {
    let tree = Tree::new();
    tree.file(&format!("venv/lib/python3.11/site-packages/dpctl/{LIBRARY}"), NEEDS_9);
    tree.file("venv/lib/libsycl.so.8", b"");
    assert!(search_root(tree.path("venv")).candidates[0].lacks_runtime());
}

#[test]
fn a_relative_root_becomes_absolute() {
    let found = search_root("no-such-directory");
    assert!(found.tried[0].path.is_absolute());
    assert!(found.tried[0].path.ends_with(Path::new("no-such-directory")));
}
