//! The status of a backend, as a value.

use std::fmt;
use std::path::PathBuf;

use crate::BackendId;

/// A backend, its state, and its devices.
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
    /// The backend can be used.
    #[non_exhaustive]
    Available {
        /// The library it was loaded from, when it is not built in.
        library: Option<PathBuf>,
        /// The OpenCL CPU driver that was found with it.
        driver: Option<PathBuf>,
        /// Notes for a user who misses a device.
        notes: Vec<String>,
        /// Each tried place, in order, one per line.
        tried: Vec<String>,
    },
    /// The backend cannot be used.
    #[non_exhaustive]
    Missing {
        /// The reason, with each tried place and a remedy.
        reason: String,
        /// Each tried place, in order, one per line.
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

/// One line, and one for each note: the backend, its state, its devices.
impl fmt::Display for BackendStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.backend, self.state)?;
        match &self.devices[..] {
            [] => Ok(()),
            devices => write!(f, "; devices: {}", devices.join(", ")),
        }
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
