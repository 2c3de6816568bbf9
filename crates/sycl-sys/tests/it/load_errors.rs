//! Opening one file: the errors for a missing file, a file that is no library, and a wrong library.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use std::path::Path;

use common::{Tree, loopback_bytes, patch};
use sycl_sys::{Api, LoadError};

fn load_from(path: &Path) -> Result<Api, LoadError> {
    // SAFETY: 1., 2. the files are none, the C library's, or the loopback library's; 3. no SYCL runtime is loaded.
    unsafe { Api::load_from(path) }
}

#[test]
#[cfg_attr(windows, ignore = "it has the words of the loader of Linux, or names of ELF files")]
fn a_missing_file_is_an_open_error_with_the_loaders_words() {
    let tree = Tree::new();
    let path = tree.path("absent.so");
    let error = load_from(&path).unwrap_err();
    let LoadError::Open { path: named, reason } = &error else { panic!("{error:?}") };
    assert_eq!(named, &path);
    assert!(reason.contains("No such file"), "{reason}");
    assert!(error.to_string().contains("absent.so"));
}

#[test]
#[cfg_attr(windows, ignore = "it has the words of the loader of Linux, or names of ELF files")]
fn a_file_that_is_no_library_is_an_open_error() {
    let tree = Tree::new();
    let path = tree.file("text.so", b"this is no library");
    let error = load_from(&path).unwrap_err();
    assert!(matches!(error, LoadError::Open { .. }), "{error:?}");
    assert!(error.to_string().contains("file too short") || error.to_string().contains("ELF"), "{error}");
}

#[test]
#[cfg_attr(windows, ignore = "it has the words of the loader of Linux, or names of ELF files")]
fn another_library_lacks_every_symbol() {
    let error = load_from(Path::new("libm.so.6")).unwrap_err();
    let LoadError::MissingSymbols { symbols, .. } = &error else { panic!("{error:?}") };
    assert_eq!(symbols, Api::REQUIRED);
    assert!(error.to_string().contains("libm.so.6 lacks"), "{error}");
}

#[test]
#[cfg_attr(windows, ignore = "it has the words of the loader of Linux, or names of ELF files")]
fn exactly_the_missing_symbols_are_listed() {
    // The loopback library with two names of its symbol table made unrecognisable.
    let mut bytes = loopback_bytes(None);
    let gone = ["DPCTLContext_DeviceCount", "DPCTLQueue_Fill128"];
    for name in gone {
        patch(&mut bytes, name, &format!("{}X", &name[..name.len() - 1]));
    }
    let tree = Tree::new();
    let path = tree.file("partial.so", &bytes);
    let error = load_from(&path).unwrap_err();
    let LoadError::MissingSymbols { symbols, path: named } = &error else { panic!("{error:?}") };
    assert_eq!(named, &path);
    let mut symbols = symbols.clone();
    symbols.sort_unstable();
    assert_eq!(symbols, gone);
    for name in gone {
        assert!(error.to_string().contains(name), "{error}");
    }
}
