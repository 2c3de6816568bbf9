//! The three kinds of unified shared memory.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// Kind of a USM allocation, as SYCL 2020 defines it (`sycl::usm::alloc`).
///
/// SYCL's fourth value, *unknown*, is `Option::None` here: memory that is not USM has no kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)] // copies of this library pass it (`backend/host/across_copies/`)
pub enum UsmKind {
    /// In host memory, reachable by host code and by the devices of the context.
    Host,
    /// On one device; host code must not touch it.
    Device,
    /// Migrates between host and device; reachable by both.
    Shared,
}

impl UsmKind {
    /// All kinds, in the order in which they are listed everywhere.
    pub const ALL: [Self; 3] = [Self::Host, Self::Device, Self::Shared];

    /// The name SYCL's Python world uses: `"host"`, `"device"` or `"shared"`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Device => "device",
            Self::Shared => "shared",
        }
    }

    /// Whether host code may read and write memory of this kind.
    #[must_use]
    pub const fn is_host_accessible(self) -> bool {
        !matches!(self, Self::Device)
    }
}

impl fmt::Display for UsmKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for UsmKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| Error::UnknownKind { found: text.to_owned() })
    }
}
