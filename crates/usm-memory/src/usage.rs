//! What is known about the memory in use when there is none left.

use std::fmt;

use usm_core::ByteCount;

/// Bytes in use, in buffers that a resource made, as far as it knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Bytes in use at the moment.
    pub used_bytes: Option<usize>,
    /// The most bytes that were in use at a time.
    pub peak_bytes: Option<usize>,
    /// Bytes that may be in use.
    pub limit_bytes: Option<usize>,
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let facts = [
            (self.used_bytes, "are in use"),
            (self.peak_bytes, "were in use at most"),
            (self.limit_bytes, "are allowed"),
        ];
        let mut separator = "; ";
        for (bytes, fact) in facts {
            if let Some(bytes) = bytes {
                write!(f, "{separator}{} {fact}", ByteCount::from(bytes))?;
                separator = ", ";
            }
        }
        Ok(())
    }
}
