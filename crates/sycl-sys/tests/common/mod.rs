//! Helpers: temporary trees, and a test that runs itself in a child process with an environment of its own.
#![allow(dead_code, unused_macros, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls one function of the table.
macro_rules! call {
    ($api:expr, $name:ident $(, $arg:expr)* $(,)?) => {
        // SAFETY: the tests pass live handles, checked for NULL where they were made, and pointers valid for the counts given. Where a
        // test passes a dead handle, the loopback library recognises its number and does not follow it.
        unsafe { ($api.$name)($($arg),*) }
    };
}

/// As `call`, for a function that a library may lack.
macro_rules! told {
    ($api:expr, $name:ident $(, $arg:expr)* $(,)?) => {
        // SAFETY: as for `call`.
        unsafe { ($api.$name.unwrap())($($arg),*) }
    };
}

/// A directory that goes when it is dropped.
pub(crate) struct Tree(PathBuf);

impl Tree {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("sycl-sys-{}-{number}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        // On Windows the canonical form is one that the loader of libraries does not take.
        Self(if cfg!(windows) { dir } else { dir.canonicalize().unwrap() })
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.0.join(below)
    }

    pub(crate) fn dir(&self, below: &str) -> PathBuf {
        let dir = self.path(below);
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    pub(crate) fn file(&self, below: &str, contents: &[u8]) -> PathBuf {
        let file = self.path(below);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, contents).unwrap();
        file
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The loopback library's bytes. With `needs` the file depends on that runtime.
pub(crate) fn loopback_bytes(needs: Option<&str>) -> Vec<u8> {
    let path = sycl_loopback::library_path();
    let mut bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if let Some(needs) = needs {
        bytes.extend(format!("\0{needs}\0").bytes());
    }
    bytes
}

/// Replaces a text in the bytes of a library by another of the same length; at least one has to be there.
pub(crate) fn patch(bytes: &mut [u8], from: &str, to: &str) {
    assert_eq!(from.len(), to.len());
    let places: Vec<_> =
        (0..bytes.len() - from.len()).filter(|&at| bytes[at..].starts_with(from.as_bytes())).collect();
    assert!(!places.is_empty(), "{from} is not there");
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
}

const MARK: &str = "child-of-a-test:";

/// In the child: the arguments from the parent.
pub(crate) fn in_child() -> Option<String> {
    // As one more filter, which no test has as its name: an environment that is empty can stay empty.
    std::env::args().find_map(|argument| argument.strip_prefix(MARK).map(str::to_owned))
}

/// Runs one test of this executable in a child process with exactly these variables, and returns its output.
pub(crate) fn run_child(test: &str, passed: &Path, variables: &[(&str, &str)]) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([test, &format!("{MARK}{}", passed.display()), "--exact", "--nocapture", "--test-threads=1"])
        .env_clear()
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}\n{text}\n{errors}", output.status);
    assert!(text.contains("1 passed"), "the child did not run {test}:\n{text}");
    text
}
