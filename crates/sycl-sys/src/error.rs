//! Why the SYCL C interface could not be loaded.

use std::path::PathBuf;

use crate::locate::Tried;
use crate::packages::{RUNTIME, SUPPORTED};

/// Why the SYCL C interface could not be loaded.
#[derive(thiserror::Error, usm_derive::ErrorDebug)]
#[non_exhaustive]
pub enum LoadError {
    /// No place that was searched has a library that can be loaded.
    #[error("{}", crate::locate::report::not_found(.tried))]
    NotFound {
        /// Each tried place, in order, with its result.
        tried: Vec<Tried>,
    },

    /// The file could not be opened as a library.
    #[error("cannot load {}: {reason}", .path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The message of the dynamic loader.
        reason: String,
    },

    /// The file is a library, but not one that offers the interface.
    #[error(
        "{} lacks {} of the {} functions that the SYCL C interface has in {SUPPORTED}, the supported versions \
         (`pip install {RUNTIME}`): {}",
        .path.display(), .symbols.len(), crate::Api::REQUIRED.len(), first_of(.symbols)
    )]
    MissingSymbols {
        /// The file.
        path: PathBuf,
        /// All the names that are missing.
        symbols: Vec<&'static str>,
    },

    /// The file has functions of two versions, so the signatures of the others are unknown.
    #[error(
        "{} is a development version between {SUPPORTED}: it has {has} of the newer one, but not what came last, so its \
         signatures are unknown; install a release (`pip install {RUNTIME}`)",
        .path.display()
    )]
    DevelopmentVersion {
        /// The file.
        path: PathBuf,
        /// The function that the older version does not have.
        has: &'static str,
    },

    /// Another SYCL runtime is in the process already; loading this one would give the process two.
    #[error(
        "the SYCL runtime {} is loaded in this process already, and {} would bring a second one ({}); \
         use one SYCL installation per process",
        .loaded.display(), .wanted.display(), .would_load.display()
    )]
    SecondRuntime {
        /// The runtime that is loaded.
        loaded: PathBuf,
        /// The interface library that was about to be loaded.
        wanted: PathBuf,
        /// The runtime it would have loaded.
        would_load: PathBuf,
    },

    /// The process cannot read the list of its libraries, without which the start of the runtime never ends.
    #[error(
        "{} cannot be read ({reason}), and without it the SYCL runtime waits for ever at its start; mount /proc",
        crate::load::MAPS
    )]
    NoMaps {
        /// What the system said.
        reason: String,
    },

    /// The working directory was removed before the SYCL runtime started. Its start would fail, and the process would not end.
    #[error(
        "the working directory cannot be found ({reason}), and without one the SYCL runtime waits for ever at the end of the \
         process; start the process in a directory that exists"
    )]
    NoWorkingDirectory {
        /// What the system said.
        reason: String,
    },

    /// Loading SYCL at run time is implemented for Linux and Windows.
    #[error("the SYCL runtime can be loaded on Linux and Windows, this is {os}")]
    UnsupportedPlatform {
        /// The operating system, as Rust names it.
        os: &'static str,
    },
}

/// The first names of a list, and how many more there are: a library of another kind lacks all of them.
fn first_of(symbols: &[&str]) -> String {
    const NAMED: usize = 5;
    match symbols.get(..NAMED) {
        Some(first) if symbols.len() > NAMED => {
            format!("{} and {} more", first.join(", "), symbols.len() - NAMED)
        }
        _ => symbols.join(", "),
    }
}
