//! Plain facts that backends report.

use std::fmt;
use std::str::FromStr;

use crate::{ByteCount, Error, Result, UsmKind};

/// A backend by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BackendId {
    /// The embedded host backend.
    Host,
    /// The SYCL runtime.
    Sycl,
    /// The CUDA driver.
    Cuda,
    /// A backend outside of this crate, by its name.
    Other(&'static str),
}

impl fmt::Display for BackendId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Host => "host",
            Self::Sycl => "sycl",
            Self::Cuda => "cuda",
            Self::Other(name) => name,
        })
    }
}

/// The names of this crate's backends; others are known to nobody here.
impl FromStr for BackendId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "host" => Ok(Self::Host),
            "sycl" => Ok(Self::Sycl),
            "cuda" => Ok(Self::Cuda),
            _ => Err(Error::UnknownText {
                what: "backend",
                found: text.to_owned(),
                allowed: &["host", "sycl", "cuda"],
            }),
        }
    }
}

/// Type of a device, `sycl::info::device_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)] // copies of this library pass it (`host/across_copies/`)
pub enum DeviceType {
    /// A CPU.
    Cpu,
    /// A GPU.
    Gpu,
    /// An accelerator.
    Accelerator,
    /// Anything else.
    Custom,
}

texts!(DeviceType, "device type": Cpu = "cpu", Gpu = "gpu", Accelerator = "accelerator", Custom = "custom");

/// A runtime's facts about an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PointerInfo {
    /// Kind of the allocation the address lies in.
    pub kind: UsmKind,
    /// First address and length in bytes of that allocation; `None` when the runtime does not report them.
    pub block: Option<(usize, usize)>,
}

impl PointerInfo {
    /// Memory of that kind. `allocation` has the first address and the length in bytes, if known.
    #[must_use]
    pub const fn new(kind: UsmKind, block: Option<(usize, usize)>) -> Self {
        Self { kind, block }
    }
}

/// Memory of a device at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryFigures {
    /// Bytes that no process uses.
    pub free_bytes: u64,
    /// All bytes.
    pub total_bytes: u64,
}

impl fmt::Display for MemoryFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of its {} are free", ByteCount(self.free_bytes), ByteCount(self.total_bytes))
    }
}

/// Properties of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(C)] // copies of this library pass it (`host/across_copies/`)
pub struct QueueProperties {
    /// Operations run in the order of their submission.
    pub in_order: bool,
    /// Events carry profiling times.
    pub profiling: bool,
}

impl QueueProperties {
    /// In order, without profiling: the library's own choice.
    pub const IN_ORDER: Self = Self { in_order: true, profiling: false };
    /// Out of order, without profiling: SYCL's default.
    pub const OUT_OF_ORDER: Self = Self { in_order: false, profiling: false };

    /// The same with profiling on or off.
    #[must_use]
    pub const fn with_profiling(mut self, profiling: bool) -> Self {
        self.profiling = profiling;
        self
    }
}
