//! What became of a backend, as a value.

use std::fmt;
use std::path::PathBuf;

use crate::BackendId;

/// A backend, what became of it, and its devices.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackendStatus {
    /// The backend.
    pub backend: BackendId,
    /// Whether it can be used, and if not, why.
    pub state: BackendState,
    /// Filter strings of its root devices.
    pub devices: Vec<String>,
}

/// Whether a backend can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackendState {
    /// It can.
    #[non_exhaustive]
    Available {
        /// The library it was loaded from, when it is not built in.
        library: Option<PathBuf>,
        /// The OpenCL CPU driver that was found with it.
        driver: Option<PathBuf>,
        /// What somebody who misses a device should know.
        notes: Vec<String>,
        /// Every place that was tried, in order, one a line.
        tried: Vec<String>,
    },
    /// It cannot.
    #[non_exhaustive]
    Missing {
        /// Why, with every place that was tried and what to do.
        reason: String,
        /// Every place that was tried, in order, one a line.
        tried: Vec<String>,
    },
}

impl BackendState {
    pub(super) fn available() -> Self {
        Self::Available { library: None, driver: None, notes: Vec::new(), tried: Vec::new() }
    }

    /// Whether the backend can be used.
    #[must_use]
    pub fn is_available(&self) -> bool {
        matches!(self, Self::Available { .. })
    }
}

impl fmt::Display for BackendState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Available { library, notes, .. } => {
                match library {
                    Some(library) => write!(f, "available from {}", library.display())?,
                    None => f.write_str("available, built in")?,
                }
                notes.iter().try_for_each(|note| write!(f, "\n  {note}"))
            }
            Self::Missing { reason, .. } => f.write_str(reason),
        }
    }
}
