//! What is known about the memory in use when there is none left.

use std::fmt;

use usm_core::Error as CoreError;

use crate::Error;

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

impl Usage {
    /// Adds what `other` knows to an out-of-memory error. What the error says already comes from closer to the memory and stays.
    pub(super) fn explain(self, error: Error) -> Error {
        match error {
            Error::Core(CoreError::OutOfMemory { len_bytes, kind, device, .. }) => {
                Error::OutOfMemory { requested_bytes: len_bytes, kind, device, usage: self }
            }
            Error::OutOfMemory { requested_bytes, kind, device, usage } => {
                let usage = if usage == Self::default() { self } else { usage };
                Error::OutOfMemory { requested_bytes, kind, device, usage }
            }
            other => other,
        }
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let facts = [
            (self.used_bytes, "bytes are in use"),
            (self.peak_bytes, "bytes were in use at most"),
            (self.limit_bytes, "bytes are allowed"),
        ];
        let mut separator = "; ";
        for (bytes, fact) in facts {
            if let Some(bytes) = bytes {
                write!(f, "{separator}{bytes} {fact}")?;
                separator = ", ";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use usm_core::UsmKind;

    use super::Usage;
    use crate::Error;

    fn error(usage: Usage) -> Error {
        Error::OutOfMemory { requested_bytes: 9, kind: UsmKind::Host, device: "host:cpu:0".to_owned(), usage }
    }

    #[test]
    fn messages_have_the_numbers_that_are_known() {
        assert!(error(Usage::default()).to_string().ends_with("could not be allocated"));
        let usage = Usage { used_bytes: Some(5), limit_bytes: Some(7), ..Usage::default() };
        assert!(error(usage).to_string().ends_with("allocated; 5 bytes are in use, 7 bytes are allowed"));
    }

    #[test]
    fn the_numbers_closest_to_the_memory_stay() {
        let near = Usage { used_bytes: Some(1), ..Usage::default() };
        let far = Usage { used_bytes: Some(2), ..Usage::default() };
        let usage = |error| match error {
            Error::OutOfMemory { usage, .. } => usage,
            other => panic!("{other}"),
        };
        assert_eq!(usage(far.explain(near.explain(error(Usage::default())))), near);
        assert!(matches!(near.explain(Error::ReadOnly), Error::ReadOnly));
    }
}
