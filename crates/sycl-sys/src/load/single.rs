//! One SYCL runtime per process: refuses a library that would bring a second one.

use std::path::{Path, PathBuf};

use crate::locate::{Candidate, runtime};
use crate::{LoadError, dl};

/// The SYCL runtimes that the process has.
pub(super) fn loaded_runtimes() -> Vec<PathBuf> {
    dl::loaded_files().into_iter().filter(|file| runtime::is_runtime(file)).collect()
}

/// Refuses a candidate whose runtime is another one than a runtime that is loaded already.
pub(super) fn check(candidate: &Candidate, loaded: &[PathBuf]) -> Result<(), LoadError> {
    let Some(needs) = &candidate.needs else {
        return Ok(());
    };
    let would_load = candidate.runtime.clone().unwrap_or_else(|| PathBuf::from(needs));
    match loaded.iter().find(|loaded| !same_runtime(loaded, &would_load)) {
        None => Ok(()),
        Some(other) => Err(LoadError::SecondRuntime {
            loaded: other.clone(),
            wanted: candidate.library.clone(),
            would_load,
        }),
    }
}

/// Whether loading `wanted` gives the runtime that is loaded.
fn same_runtime(loaded: &Path, wanted: &Path) -> bool {
    if wanted.is_absolute() {
        let file = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        return file(loaded) == file(wanted);
    }
    // Only the name is known: the dynamic loader takes the loaded library of that name.
    let (loaded, wanted) = (loaded.to_string_lossy(), wanted.to_string_lossy());
    let name = loaded.rsplit(std::path::is_separator).next().unwrap_or(&loaded);
    name.strip_prefix(&*wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::same_runtime;

    #[test]
    fn a_runtime_is_the_same_by_file_or_else_by_name() {
        let drive = if cfg!(windows) { "C:" } else { "" };
        let path = |path: &str| format!("{}{path}", if path.starts_with('/') { drive } else { "" });
        let same =
            |loaded: &str, wanted: &str| same_runtime(Path::new(&path(loaded)), Path::new(&path(wanted)));
        assert!(same("/v/lib/libsycl.so.9", "/v/lib/libsycl.so.9"));
        assert!(!same("/o/lib/libsycl.so.9", "/v/lib/libsycl.so.9"));
        assert!(same("/o/lib/libsycl.so.9.0.0", "libsycl.so.9"));
        assert!(!same("/o/lib/libsycl.so.9", "libsycl.so.10"));
        assert!(!same("/o/lib/libsycl.so.90", "libsycl.so.9"));
    }
}
