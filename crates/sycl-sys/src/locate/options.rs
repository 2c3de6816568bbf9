//! Options of the search.

use std::path::PathBuf;

/// Where to search, beyond the environment and the dynamic loader's own places.
///
/// ```
/// use sycl_sys::locate::SearchOptions;
///
/// let options = SearchOptions::new()
///     .root("/opt/venv")
///     .extra_root("sys.prefix", "/usr/local")
///     .autoconfig(false);
/// assert_eq!(options.roots.len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchOptions {
    /// Roots that the caller names explicitly; they come before everything else.
    pub roots: Vec<PathBuf>,
    /// Roots that a host language knows (its prefix, the files of a distribution), each with the text that
    /// the report calls it by; they come after `USM_SYCL_ROOT` and before the other variables.
    pub extra_roots: Vec<(String, PathBuf)>,
    /// Whether [`load`](crate::load()) may append the OpenCL CPU driver to `OCL_ICD_FILENAMES`.
    /// `USM_SYCL_AUTOCONFIG=0` in the environment has the last word.
    pub autoconfig: bool,
}

impl SearchOptions {
    /// No roots, autoconfiguration on.
    pub fn new() -> Self {
        Self { roots: Vec::new(), extra_roots: Vec::new(), autoconfig: true }
    }

    /// Adds an explicit root.
    #[must_use]
    pub fn root(mut self, root: impl Into<PathBuf>) -> Self {
        self.roots.push(root.into());
        self
    }

    /// Adds a root that the host language knows, with the text that reports call it by.
    #[must_use]
    pub fn extra_root(mut self, origin: impl Into<String>, root: impl Into<PathBuf>) -> Self {
        self.extra_roots.push((origin.into(), root.into()));
        self
    }

    /// Allows or forbids changing `OCL_ICD_FILENAMES`.
    #[must_use]
    pub fn autoconfig(mut self, allowed: bool) -> Self {
        self.autoconfig = allowed;
        self
    }
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self::new()
    }
}
