//! One place of the search: its origin, its path, its result.

use std::fmt;
use std::path::{Path, PathBuf};

use super::runtime;

/// The origin of a place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// The process has the library already.
    AlreadyLoaded,
    /// [`SearchOptions::roots`](super::SearchOptions::roots).
    Explicit,
    /// [`SearchOptions::extra_roots`](super::SearchOptions::extra_roots), with the text given there.
    Caller(String),
    /// The environment variable of this name.
    Variable(&'static str),
    /// The dynamic loader's own search, by bare name.
    LoaderDefault,
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyLoaded => formatter.write_str("already loaded"),
            Self::Explicit => formatter.write_str("explicit root"),
            Self::Caller(name) => formatter.write_str(name),
            Self::Variable(name) => formatter.write_str(name),
            Self::LoaderDefault => formatter.write_str("the dynamic loader's default"),
        }
    }
}

/// The result of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The interface library is there; loading it was not attempted.
    Found,
    /// It was loaded and is the one in use.
    Loaded,
    /// The path does not exist.
    DoesNotExist,
    /// The path exists, but holds no interface library in any known arrangement.
    NoLibrary,
    /// The same file as an earlier candidate.
    Duplicate,
    /// The interface library is there, but not the SYCL runtime it needs.
    RuntimeMissing {
        /// The name of the runtime it needs, such as `libsycl.so.9`.
        needs: String,
    },
    /// Loading was attempted and failed, with the reason.
    LoadFailed(String),
}

/// A tried place with its result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tried {
    /// The origin of the place.
    pub origin: Origin,
    /// The library if there is one, else the root that was looked into.
    pub path: PathBuf,
    /// The result.
    pub outcome: Outcome,
}

impl Tried {
    pub(crate) fn new(origin: &Origin, path: &Path, outcome: Outcome) -> Self {
        Self { origin: origin.clone(), path: path.to_owned(), outcome }
    }
}

/// An existing interface library, with the files around it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidate {
    /// The origin of the place.
    pub origin: Origin,
    /// The absolute path of the interface library.
    pub library: PathBuf,
    /// Directories that may hold the SYCL runtime, its support libraries and drivers: the directories of the same
    /// installation first, then those of the other roots.
    pub lib_dirs: Vec<PathBuf>,
    /// The name of the SYCL runtime that the library needs; `None` if it names none.
    pub needs: Option<String>,
    /// The file of that runtime, if one of `lib_dirs` has it.
    pub runtime: Option<PathBuf>,
}

impl Candidate {
    /// The OpenCL CPU driver, such as `libintelocl.so`, of the first directory that has it.
    pub fn driver(&self) -> Option<PathBuf> {
        runtime::first_file(&self.lib_dirs, runtime::DRIVER)
    }

    /// Whether the library needs a SYCL runtime that none of its directories has, as `pip install --target` leaves it.
    pub fn lacks_runtime(&self) -> bool {
        self.needs.is_some() && self.runtime.is_none()
    }
}
