//! The files of the project, for tests that look at them.
#![allow(clippy::unwrap_used, dead_code)]

use std::fs;
use std::path::{Path, PathBuf};

/// The libraries, and the crate of the benches.
pub(crate) const CRATES: [&str; 7] =
    ["usm-derive", "sycl-sys", "usm-core", "usm-memory", "usm-array", "usm-python", "usm-bench"];

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Rust files below a folder, with their content, by paths relative to the root.
pub(crate) fn sources(folder: &str) -> Vec<(String, String)> {
    files(folder, &["rs"])
}

/// Files below a folder with one of the extensions.
pub(crate) fn files(folder: &str, extensions: &[&str]) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let is_wanted = path.extension().is_some_and(|found| extensions.iter().any(|end| found == *end));
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if is_wanted {
                let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
                files.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    assert!(!files.is_empty(), "{folder} has no files of {extensions:?}");
    files
}

/// The content of a file without its tests.
pub(crate) fn library(content: &str) -> &str {
    content.split("mod tests {").next().unwrap_or_default()
}

/// The code of a file, line by line, without comments.
pub(crate) fn code(content: &str) -> impl Iterator<Item = &str> {
    content.lines().map(|line| line.split("//").next().unwrap_or_default())
}
