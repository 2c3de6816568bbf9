//! The kinds of SYCL objects in capsules.

/// The type of a SYCL object behind an external pointer. Capsules carry these two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExternalObject {
    /// A heap `sycl::context`.
    Context,
    /// A heap `sycl::queue`.
    Queue,
}

impl ExternalObject {
    /// `"context"` or `"queue"`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Context => "context",
            Self::Queue => "queue",
        }
    }
}
