//! The value that stands for a transfer under way.

use std::{fmt, mem};

use usm_core::Event;

use super::dependency::Dependency;
use super::flight::Flight;
use crate::{Error, Result};

/// A transfer under way. It owns its operands: the memory stays alive and borrowed, and a host vector `H` is kept, until the
/// transfer is complete.
///
/// [`wait`](Self::wait) returns its result. Dropping waits too, and the error is lost. After an error the content of the
/// destination is undefined. Should a wait fail while the operation goes on, all that it uses is kept for ever. Forgetting the value ([`std::mem::forget`]) frees nothing and leaves the bytes borrowed for ever.
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
    flight: Flight,
    /// Invariant X1: nothing reads, writes or drops it before the flight is complete. `None` from the end of a wait on.
    host: Option<H>,
}

impl<H> Transfer<H> {
    pub(super) fn new(flight: Flight, host: H) -> Self {
        Self { flight, host: Some(host) }
    }

    /// Waits for the end and gives the host vector back.
    ///
    /// # Errors
    /// [`Error::Core`] when the transfer failed; the vector is gone then.
    pub fn wait(mut self) -> Result<H> {
        self.flight.wait()?;
        // There, since this is the only wait.
        self.host.take().ok_or(Error::Interrupted)
    }

    /// Ends the borrows before the transfer is complete: the memory remembers the operation, as after [`submit`](crate::submit). Guards,
    /// exports and later operations come after it, dependencies or not, and the memory is not released before. The transfer still keeps
    /// the host vector.
    ///
    /// ```
    /// use usm_memory::UsmBuffer;
    /// use usm_memory::usm_core::{Runtime, UsmKind};
    ///
    /// # fn main() -> usm_memory::Result<()> {
    /// # let runtime = Runtime::global();
    /// # let queue = runtime.default_queue(runtime.host_device())?;
    /// let buffer = UsmBuffer::allocate(&queue, UsmKind::Device, 4)?;
    /// let mut first = buffer.fill_async(&[1], &[])?;
    /// first.release_borrows()?;
    /// let mut second = buffer.fill_async(&[2], &[])?; // comes after the first one
    /// second.release_borrows()?;
    /// assert_eq!(buffer.to_vec()?, [2; 4]); // waits
    /// # first.wait()?;
    /// # second.wait()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Where another copy of this library may look at the memory, this waits, since that copy knows borrows alone.
    ///
    /// # Errors
    /// Those of that wait. After [`Error::Interrupted`] the borrows stay.
    pub fn release_borrows(&mut self) -> Result<()> {
        self.flight.release_borrows()
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

impl<H> Drop for Transfer<H> {
    fn drop(&mut self) {
        if !self.flight.settle() {
            mem::forget(self.host.take()); // X1
        }
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
