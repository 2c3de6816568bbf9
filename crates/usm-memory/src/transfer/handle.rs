//! The value that stands for a transfer under way.

use std::fmt;

use usm_core::Event;

use super::dependency::Dependency;
use super::flight::Flight;
use crate::{Error, Result};

/// A transfer under way. It owns its operands: the memory stays alive and borrowed, and a host vector `H` is kept, until the
/// transfer is complete.
///
/// [`wait`](Self::wait) returns its result. Dropping waits too, and the error is lost. After an error the content of the
/// destination is undefined. Forgetting the value ([`std::mem::forget`]) frees nothing and leaves the bytes borrowed for ever.
///
/// ```
/// use usm_memory::UsmBuffer;
/// use usm_memory::usm_core::{Runtime, UsmKind};
///
/// # fn main() -> usm_memory::Result<()> {
/// # let runtime = Runtime::global();
/// # let queue = runtime.default_queue(runtime.host_device())?;
/// let a = UsmBuffer::allocate(&queue, UsmKind::Device, 4)?;
/// let b = UsmBuffer::allocate(&queue, UsmKind::Device, 4)?;
///
/// // A chain over the same bytes: each transfer names the one before, and the host waits once.
/// let upload = a.copy_from_vec_async(vec![1, 2, 3, 4], 0, &[])?;
/// let copy = b.copy_from_async(&a, &[upload.dependency()])?;
/// let download = b.to_vec_async(&[copy.dependency()])?;
/// assert!(b.write_range(0..1).is_err(), "borrowed while the transfers are under way");
/// assert_eq!(download.wait()?, [1, 2, 3, 4]);
/// # Ok(())
/// # }
/// ```
#[must_use = "dropping a transfer waits for it and loses its error"]
pub struct Transfer<H = ()> {
    /// First of the fields, since dropping it waits for whoever uses the vector.
    flight: Flight,
    /// Invariant X1: nothing reads or writes it before the flight is complete.
    host: H,
}

impl<H> Transfer<H> {
    pub(super) fn new(flight: Flight, host: H) -> Self {
        Self { flight, host }
    }

    /// Waits for the end and gives the host vector back.
    ///
    /// # Errors
    /// [`Error::Core`] when the transfer failed; the vector is gone then.
    pub fn wait(mut self) -> Result<H> {
        self.flight.wait()?;
        Ok(self.host)
    }

    /// Whether the transfer is complete, without waiting.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.flight.is_complete()
    }

    /// The events after which the transfer is complete: what a kernel that uses the bytes must depend on. One at most, or the
    /// dependencies of a transfer of no bytes.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        self.flight.last()
    }

    /// What a following transfer is ordered after. That one may use bytes that are borrowed for this one.
    #[must_use]
    pub fn dependency(&self) -> Dependency {
        self.flight.dependency()
    }
}

impl<H> fmt::Debug for Transfer<H> {
    // X1: the vector cannot be shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Transfer({:?})", self.flight)
    }
}

/// A transfer that did not start, with the host vector that was meant for it. The operator `?` makes an [`Error`] of it.
#[derive(thiserror::Error)]
#[error("{error}")]
pub struct Refused<H> {
    /// Why.
    pub error: Error,
    /// The vector, as it was given unless the transfer failed half way: then its content is undefined if it was the destination.
    pub host: H,
}

/// The sentence of the error, since `main` prints the error that it returns with `Debug`.
impl<H> fmt::Debug for Refused<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<H> From<Refused<H>> for Error {
    fn from(refused: Refused<H>) -> Self {
        refused.error
    }
}
