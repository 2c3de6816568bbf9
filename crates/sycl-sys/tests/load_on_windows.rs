//! Loading on Windows: each step in a child process of its own, with the loopback library.
#![cfg(windows)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use test_stacks as _;

mod common;

use std::path::{Path, PathBuf};

use common::{Tree, in_child, loopback_bytes, run_child};
use sycl_sys::locate::{Origin, Outcome, SearchOptions};
use sycl_sys::{LoadError, Loaded};

const PACKAGE: &str = "Lib/site-packages/dpctl/DPCTLSyclInterface.dll";

fn load(options: &SearchOptions) -> Result<Loaded, LoadError> {
    // SAFETY: 1. the test's thread is the only one that runs; 2. the roots lead to the loopback library.
    unsafe { sycl_sys::load(options) }
}

fn root(path: impl Into<PathBuf>) -> SearchOptions {
    SearchOptions::new().root(path)
}

fn same(first: impl AsRef<Path>, second: impl AsRef<Path>) -> bool {
    first.as_ref().canonicalize().unwrap() == second.as_ref().canonicalize().unwrap()
}

/// A virtual environment with the loopback library and a driver.
fn venv(needs: Option<&str>) -> Tree {
    let tree = Tree::new();
    tree.file(PACKAGE, &loopback_bytes(needs));
    tree.file("Library/bin/intelocl64.dll", b"");
    tree
}

fn drivers() -> String {
    std::env::var("OCL_ICD_FILENAMES").unwrap_or_default()
}

#[test]
fn loads_once_and_adds_the_driver() {
    if let Some(venv) = in_child() {
        let first = load(&root(&venv)).unwrap();
        assert!(same(&first.library, Path::new(&venv).join(PACKAGE)));
        assert!(!first.already_loaded);
        let driver = first.driver.clone().unwrap();
        assert_eq!(drivers(), format!("C:\\other.dll;{}", driver.display()));
        assert!(first.notes[0].contains("was appended to OCL_ICD_FILENAMES"), "{:?}", first.notes);

        // At the second call, and for another root, the process keeps its library.
        let again = load(&root("C:\\no\\such\\root")).unwrap();
        assert!(again.already_loaded);
        assert!(same(&again.library, &first.library));
        assert_eq!(again.tried[0].origin, Origin::AlreadyLoaded);
        return;
    }
    let venv = venv(None);
    run_child("loads_once_and_adds_the_driver", &venv.path(""), &[("OCL_ICD_FILENAMES", "C:\\other.dll")]);
}

#[test]
fn a_broken_installation_is_passed_over() {
    if let Some(venv) = in_child() {
        let broken = Tree::new();
        broken.file(PACKAGE, b"not a library");
        let loaded = load(&root(broken.path("")).root(&venv)).unwrap();
        assert!(same(&loaded.library, Path::new(&venv).join(PACKAGE)));
        assert!(matches!(loaded.tried[0].outcome, Outcome::LoadFailed(_)), "{:?}", loaded.tried);
        assert_eq!(loaded.tried[1].outcome, Outcome::Loaded);
        return;
    }
    run_child("a_broken_installation_is_passed_over", &venv(None).path(""), &[]);
}

#[test]
fn the_runtime_of_the_installation_is_loaded_beforehand() {
    if let Some(venv) = in_child() {
        let loaded = load(&root(&venv)).unwrap();
        assert!(!loaded.notes.iter().any(|note| note.contains("cannot preload")), "{:?}", loaded.notes);
        // SAFETY: the library is loaded already, so that no initialisation routine runs.
        assert!(unsafe { libloading::Library::new("sycl9.dll") }.is_ok(), "found by its bare name");
        return;
    }
    let venv = venv(Some("sycl9.dll"));
    venv.file("Library/bin/sycl9.dll", &loopback_bytes(None));
    run_child("the_runtime_of_the_installation_is_loaded_beforehand", &venv.path(""), &[]);
}

#[test]
fn a_second_runtime_is_refused() {
    if let Some(venv) = in_child() {
        let other = Tree::new();
        let runtime = other.file("sycl8.dll", &loopback_bytes(None));
        // SAFETY: the loopback library has no initialisation routines; it is leaked.
        std::mem::forget(unsafe { libloading::Library::new(&runtime) }.unwrap());
        let error = load(&root(&venv)).unwrap_err();
        let LoadError::SecondRuntime { loaded, wanted, .. } = &error else { panic!("{error}") };
        assert!(same(loaded, &runtime));
        assert!(same(wanted, Path::new(&venv).join(PACKAGE)));
        return;
    }
    let venv = venv(Some("sycl9.dll"));
    venv.file("Library/bin/sycl9.dll", b"");
    run_child("a_second_runtime_is_refused", &venv.path(""), &[]);
}

#[test]
fn a_library_in_the_path_is_the_last_resort() {
    if let Some(venv) = in_child() {
        let loaded = load(&SearchOptions::new()).unwrap();
        assert!(same(&loaded.library, Path::new(&venv).join(PACKAGE)));
        assert_eq!(loaded.tried[0].origin, Origin::LoaderDefault);
        return;
    }
    let venv = venv(None);
    let folder = venv.path("Lib/site-packages/dpctl");
    run_child(
        "a_library_in_the_path_is_the_last_resort",
        &venv.path(""),
        &[("PATH", folder.to_str().unwrap())],
    );
}

#[test]
fn finding_nothing_lists_every_place_and_ends_with_the_remedy() {
    if let Some(empty) = in_child() {
        let error = load(&root("C:\\no\\such\\root").extra_root("sys.prefix", &empty)).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("explicit root: C:\\no\\such\\root: does not exist"), "{text}");
        assert!(text.contains("has no DPCTLSyclInterface.dll"), "{text}");
        assert!(
            text.contains("the dynamic loader's default: DPCTLSyclInterface.dll: cannot be loaded"),
            "{text}"
        );
        assert!(text.contains("pip install \"dpctl>=0.22,<0.24\" intel-opencl-rt"), "{text}");
        return;
    }
    let tree = Tree::new();
    run_child("finding_nothing_lists_every_place_and_ends_with_the_remedy", &tree.dir("empty"), &[]);
}
