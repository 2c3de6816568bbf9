//! Where the interface library may be, as data: the search runs nothing and changes nothing.
//!
//! The order, first hit wins when loading:
//!
//! 1. [`SearchOptions::roots`]
//! 2. `USM_SYCL_ROOT`
//! 3. [`SearchOptions::extra_roots`]
//! 4. `VIRTUAL_ENV`, `CONDA_PREFIX`
//! 5. `CMPLR_ROOT`, `ONEAPI_ROOT` + `compiler/latest`
//! 6. the dynamic loader's default, whose result only loading shows
//!
//! What this module knows is data: names of environment variables, and of files and folders in installations of SYCL, conda and Python
//! packages (`layout.rs`, `names/`). It asks no interpreter and no package manager.
//!
//! A root may be a prefix (virtual environment, conda or oneAPI), its `lib` directory, a `site-packages` directory, a
//! `dpctl` package, or the library file itself. oneAPI has no interface library, but its runtime and its drivers
//! complete an interface library found elsewhere.

mod candidate;
mod layout;
pub(crate) mod names;
mod options;
pub(crate) mod report;
pub(crate) mod runtime;

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use candidate::{Candidate, Origin, Outcome, Tried};
pub(crate) use layout::lib_dirs_of;
pub use names::LIBRARY;
pub use options::SearchOptions;

/// The result of a search; [`Display`](std::fmt::Display) prints the whole report, a place a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Search {
    /// The interface libraries that exist, in order of preference, without duplicates.
    pub candidates: Vec<Candidate>,
    /// Each place, in order, with its result.
    pub tried: Vec<Tried>,
    /// The directories of all roots that may hold the runtime, its support libraries and drivers.
    pub lib_dirs: Vec<PathBuf>,
}

/// Searches with the environment of the process.
///
/// ```
/// use sycl_sys::locate::{Outcome, SearchOptions, search};
///
/// let found = search(&SearchOptions::new().root("/no/such/place"));
/// assert_eq!(found.tried[0].outcome, Outcome::DoesNotExist);
/// println!("{found}");
/// ```
pub fn search(options: &SearchOptions) -> Search {
    search_in(options, &|name| std::env::var_os(name))
}

/// Searches with another environment: `lookup` returns the value of a variable.
///
/// ```
/// use sycl_sys::locate::{Origin, SearchOptions, search_in};
///
/// let environment = |name: &str| (name == "VIRTUAL_ENV").then(|| "/no/such/venv".into());
/// let found = search_in(&SearchOptions::new(), &environment);
/// assert_eq!(found.tried[0].origin, Origin::Variable("VIRTUAL_ENV"));
/// ```
pub fn search_in(options: &SearchOptions, lookup: &dyn Fn(&str) -> Option<OsString>) -> Search {
    let mut search = Search::default();
    let mut seen = HashSet::new();
    for (origin, root) in roots(options, lookup) {
        search.visit(&origin, &root, &mut seen);
    }
    search.complete();
    search
}

/// The roots in order. An empty variable counts as unset.
fn roots(options: &SearchOptions, lookup: &dyn Fn(&str) -> Option<OsString>) -> Vec<(Origin, PathBuf)> {
    let variable = |name: &'static str, below: &str| {
        let value = lookup(name).filter(|value| !value.is_empty())?;
        Some((Origin::Variable(name), PathBuf::from(value).join(below)))
    };
    let explicit = options.roots.iter().map(|root| (Origin::Explicit, root.clone()));
    let caller = options.extra_roots.iter().map(|(name, root)| (Origin::Caller(name.clone()), root.clone()));
    let environment = [
        variable("VIRTUAL_ENV", ""),
        variable("CONDA_PREFIX", ""),
        variable("CMPLR_ROOT", ""),
        variable("ONEAPI_ROOT", "compiler/latest"),
    ];
    explicit
        .chain(variable("USM_SYCL_ROOT", ""))
        .chain(caller)
        .chain(environment.into_iter().flatten())
        .map(|(origin, root)| {
            // A name without a slash would send the dynamic loader searching elsewhere.
            let root = std::path::absolute(&root).unwrap_or(root);
            (origin, root)
        })
        .collect()
}

impl Search {
    /// Looks into one root.
    fn visit(&mut self, origin: &Origin, root: &Path, seen: &mut HashSet<PathBuf>) {
        if !root.exists() {
            self.tried.push(Tried::new(origin, root, Outcome::DoesNotExist));
            return;
        }
        let expansion = layout::expand(root);
        extend_new(&mut self.lib_dirs, expansion.lib_dirs);
        if expansion.libraries.is_empty() {
            self.tried.push(Tried::new(origin, root, Outcome::NoLibrary));
        }
        for library in expansion.libraries {
            let first = seen.insert(library.canonicalize().unwrap_or_else(|_| library.clone()));
            let outcome = if first { Outcome::Found } else { Outcome::Duplicate };
            self.tried.push(Tried::new(origin, &library, outcome));
            if first {
                self.candidates.push(Candidate {
                    origin: origin.clone(),
                    lib_dirs: lib_dirs_of(&library),
                    needs: runtime::needed(&library),
                    runtime: None,
                    library,
                });
            }
        }
    }

    /// Gives each candidate the directories of all roots, which are known only now, and finds its runtime there.
    fn complete(&mut self) {
        let mut incomplete = Vec::new();
        for candidate in &mut self.candidates {
            extend_new(&mut candidate.lib_dirs, self.lib_dirs.iter().cloned());
            let Some(needs) = &candidate.needs else {
                continue;
            };
            candidate.runtime = runtime::first_file(&candidate.lib_dirs, needs);
            if candidate.runtime.is_none() {
                incomplete.push((candidate.library.clone(), needs.clone()));
            }
        }
        for (library, needs) in incomplete {
            self.record(&library, Outcome::RuntimeMissing { needs });
        }
    }

    /// Replaces the record about a library.
    pub(crate) fn record(&mut self, library: &Path, outcome: Outcome) {
        if let Some(tried) = self.tried.iter_mut().find(|tried| tried.path == library) {
            tried.outcome = outcome;
        }
    }
}

/// Appends the missing entries.
fn extend_new(dirs: &mut Vec<PathBuf>, more: impl IntoIterator<Item = PathBuf>) {
    for dir in more {
        if !dirs.contains(&dir) {
            dirs.push(dir);
        }
    }
}
