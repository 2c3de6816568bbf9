//! The files of the checkout, for tests of their names and contents.

use std::fs;
use std::path::{Path, PathBuf};

/// The checkout.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Files below a folder with one of the extensions, with their content, by paths from the root. Folders named `target` are left out.
pub(crate) fn files(folder: &str, extensions: &[&str]) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let extension = path.extension().unwrap_or_default();
            if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
                folders.push(path);
            } else if extensions.iter().any(|wanted| extension == *wanted) {
                let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
                files.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    assert!(!files.is_empty(), "{folder} has no files of {extensions:?}");
    files
}
