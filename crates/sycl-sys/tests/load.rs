//! Loading: the steps that change the process, each in a child process of its own, with the loopback library.
#![cfg(not(windows))] // `load_on_windows.rs` has their folders
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use test_stacks as _;

mod common;

use std::path::{Path, PathBuf};

use common::{Tree, in_child, loopback_bytes, patch, run_child};
use sycl_loopback::Form as Of;
use sycl_sys::locate::{Origin, Outcome, SearchOptions};
use sycl_sys::{Form, LoadError, Loaded};

const PACKAGE: &str = "lib/python3.11/site-packages/dpctl/libDPCTLSyclInterface.so";

fn load(options: &SearchOptions) -> Result<Loaded, LoadError> {
    // SAFETY: 1. the test's thread is the only one that runs; 2. the roots lead to the loopback library.
    unsafe { sycl_sys::load(options) }
}

fn root(path: impl Into<PathBuf>) -> SearchOptions {
    SearchOptions::new().root(path)
}

/// A virtual environment with the loopback library and a driver.
fn venv(needs: Option<&str>) -> Tree {
    let tree = Tree::new();
    tree.file(PACKAGE, &loopback_bytes(needs));
    tree.file("lib/libintelocl.so", b"");
    tree
}

fn drivers() -> String {
    std::env::var("OCL_ICD_FILENAMES").unwrap_or_default()
}

#[test]
fn loads_once_and_adds_the_driver() {
    if let Some(venv) = in_child() {
        let driver = Path::new(&venv).join("lib/libintelocl.so");
        let first = load(&root(&venv)).unwrap();
        assert_eq!(first.library, Path::new(&venv).join(PACKAGE));
        assert_eq!(first.api.path(), first.library);
        assert!(!first.already_loaded);
        assert_eq!(first.driver.as_ref(), Some(&driver));
        assert_eq!(drivers(), format!("/other.so:{}", driver.display()));
        assert!(first.notes[0].contains("was appended to OCL_ICD_FILENAMES"), "{:?}", first.notes);
        assert_eq!(first.tried[0].outcome, Outcome::Loaded);

        // At the second call, and for another root, the process keeps its library.
        let again = load(&root("/no/such/root")).unwrap();
        assert!(again.already_loaded);
        assert_eq!(again.library, first.library);
        assert_eq!(again.tried[0].origin, Origin::AlreadyLoaded);
        assert_eq!(drivers(), format!("/other.so:{}", driver.display()));
        return;
    }
    let venv = venv(None);
    run_child("loads_once_and_adds_the_driver", &venv.path(""), &[("OCL_ICD_FILENAMES", "/other.so")]);
}

#[test]
fn an_earlier_library_is_used_and_the_late_driver_noted() {
    if let Some(venv) = in_child() {
        // SAFETY: the loopback library has no initialisation routines; it is leaked.
        std::mem::forget(unsafe { libloading::Library::new(Path::new(&venv).join(PACKAGE)) }.unwrap());
        let other = common::Tree::new();
        other.file(PACKAGE, &loopback_bytes(None));
        let loaded = load(&root(other.path(""))).unwrap();
        assert!(loaded.already_loaded);
        assert_eq!(loaded.library, Path::new(&venv).join(PACKAGE));
        assert!(loaded.notes.iter().any(|note| note.contains("is used instead of")), "{:?}", loaded.notes);
        assert!(loaded.notes.iter().any(|note| note.contains("too late")), "{:?}", loaded.notes);
        assert_eq!(drivers(), Path::new(&venv).join("lib/libintelocl.so").to_str().unwrap());
        return;
    }
    let venv = venv(None);
    run_child("an_earlier_library_is_used_and_the_late_driver_noted", &venv.path(""), &[]);
}

#[test]
fn the_driver_is_left_alone_when_asked() {
    if let Some(venv) = in_child() {
        let loaded = load(&root(&venv)).unwrap();
        assert_eq!(std::env::var_os("OCL_ICD_FILENAMES"), None);
        assert!(loaded.driver.is_some());
        assert!(loaded.notes.iter().any(|note| note.contains("was not changed")), "{:?}", loaded.notes);
        return;
    }
    let venv = venv(None);
    let test = "the_driver_is_left_alone_when_asked";
    run_child(test, &venv.path(""), &[("USM_SYCL_AUTOCONFIG", "0")]);
}

#[test]
fn autoconfig_off_leaves_the_environment_alone() {
    if let Some(venv) = in_child() {
        load(&root(&venv).autoconfig(false)).unwrap();
        assert_eq!(std::env::vars_os().count(), 0);
        return;
    }
    run_child("autoconfig_off_leaves_the_environment_alone", &venv(None).path(""), &[]);
}

#[test]
fn a_broken_installation_is_passed_over() {
    if let Some(venv) = in_child() {
        let broken = common::Tree::new();
        let library = broken.file(PACKAGE, b"not a library");
        broken.file("lib/libintelocl.so", b"");
        let loaded = load(&root(broken.path("")).root(&venv)).unwrap();
        assert_eq!(loaded.library, Path::new(&venv).join(PACKAGE));
        assert_eq!(loaded.tried[0].path, library);
        assert!(matches!(loaded.tried[0].outcome, Outcome::LoadFailed(_)), "{:?}", loaded.tried);
        assert_eq!(loaded.tried[1].outcome, Outcome::Loaded);
        assert_eq!(drivers(), Path::new(&venv).join("lib/libintelocl.so").to_str().unwrap());
        return;
    }
    run_child("a_broken_installation_is_passed_over", &venv(None).path(""), &[]);
}

#[test]
fn a_library_of_the_wrong_kind_ends_the_search() {
    if let Some(libm) = in_child() {
        // A root that is a file is taken at its word.
        let error = load(&root(libm)).unwrap_err();
        assert!(matches!(error, LoadError::MissingSymbols { .. }), "{error}");
        return;
    }
    let text = std::fs::read_to_string("/proc/self/maps").unwrap();
    let libc = text.split_whitespace().find(|word| word.ends_with("/libc.so.6")).unwrap();
    run_child("a_library_of_the_wrong_kind_ends_the_search", Path::new(libc), &[]);
}

#[test]
fn a_second_runtime_is_refused() {
    if let Some(venv) = in_child() {
        // Any library can stand for another runtime, if its name is not the interface's.
        let other = common::Tree::new();
        let mut bytes = loopback_bytes(None);
        patch(&mut bytes, "libDPCTLSyclInterface.so", "libSomebodyElsesSycl.so8");
        let runtime = other.file("libsycl.so.8", &bytes);
        // SAFETY: the loopback library has no initialisation routines; it is leaked.
        std::mem::forget(unsafe { libloading::Library::new(&runtime) }.unwrap());
        let error = load(&root(&venv)).unwrap_err();
        let LoadError::SecondRuntime { loaded, wanted, would_load } = &error else { panic!("{error}") };
        assert_eq!(loaded, &runtime);
        assert_eq!(wanted, &Path::new(&venv).join(PACKAGE));
        assert_eq!(would_load, &Path::new(&venv).join("lib/libsycl.so.9"));
        return;
    }
    let venv = venv(Some("libsycl.so.9"));
    venv.file("lib/libsycl.so.9", b"");
    run_child("a_second_runtime_is_refused", &venv.path(""), &[]);
}

#[test]
fn finding_nothing_lists_every_place_and_ends_with_the_remedy() {
    if let Some(empty) = in_child() {
        let error = load(&root("/no/such/root").extra_root("sys.prefix", &empty)).unwrap_err();
        let LoadError::NotFound { tried } = &error else { panic!("{error}") };
        let origins: Vec<_> = tried.iter().map(|tried| tried.origin.clone()).collect();
        let caller = Origin::Caller("sys.prefix".into());
        assert_eq!(
            origins,
            [Origin::Explicit, caller, Origin::Variable("VIRTUAL_ENV"), Origin::LoaderDefault]
        );
        let text = error.to_string();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "no SYCL runtime that can be loaded was found");
        assert_eq!(lines.len(), 3 + tried.len(), "{text}");
        assert!(lines[2].contains("explicit root: /no/such/root: does not exist"), "{text}");
        assert!(lines[5].contains("cannot be loaded: libDPCTLSyclInterface.so"), "{text}");
        assert!(lines[6].contains("pip install \"dpctl>=0.22,<0.24\" intel-opencl-rt"), "{text}");
        return;
    }
    let tree = Tree::new();
    let test = "finding_nothing_lists_every_place_and_ends_with_the_remedy";
    run_child(test, &tree.dir("empty"), &[("VIRTUAL_ENV", "/no/such/venv")]);
}

#[test]
fn the_loaders_default_is_the_last_resort() {
    if let Some(venv) = in_child() {
        let loaded = load(&SearchOptions::new()).unwrap();
        assert_eq!(loaded.library, Path::new(&venv).join(PACKAGE));
        assert_eq!(loaded.tried.len(), 1);
        assert_eq!(loaded.tried[0].origin, Origin::LoaderDefault);
        assert_eq!(drivers(), Path::new(&venv).join("lib/libintelocl.so").to_str().unwrap());
        return;
    }
    let venv = venv(None);
    let path = venv.path(PACKAGE);
    let test = "the_loaders_default_is_the_last_resort";
    run_child(test, &venv.path(""), &[("LD_LIBRARY_PATH", path.parent().unwrap().to_str().unwrap())]);
}

#[test]
fn a_version_newer_than_all_known_ones_is_used_with_a_note() {
    if let Some(venv) = in_child() {
        let loaded = load(&root(&venv)).unwrap();
        assert_eq!(loaded.api.form(), Form::V23);
        let notes: Vec<_> = loaded.notes.iter().filter(|note| note.contains("newer")).collect();
        assert_eq!(notes.len(), usize::from(venv.contains("0.24")), "{notes:?}");
        for note in notes {
            let expected = "dpctl 0.24.1 is newer than dpctl 0.23, the newest version that this release knows; it is used as dpctl 0.23";
            assert_eq!(note, expected);
        }
        return;
    }
    for version in ["0.23.0", "0.24.1"] {
        let tree = Tree::new();
        tree.file(&format!("{version}/{PACKAGE}"), &std::fs::read(Of::Dpctl023.library_path()).unwrap());
        tree.dir(&format!("{version}/lib/python3.11/site-packages/dpctl-{version}.dist-info"));
        let test = "a_version_newer_than_all_known_ones_is_used_with_a_note";
        run_child(test, &tree.path(version), &[]);
    }
}
