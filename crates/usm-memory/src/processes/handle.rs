//! Handles: bytes that stand for memory of a process, and cross to others in whatever way.

use std::fmt;

use usm_core::{Device, Queue, Runtime};

use super::reference::{LEN_BYTES, Reference};
use super::{SharedBuffer, system};
use crate::{Result, UsmBuffer};

/// Memory of this process that others open by the [bytes](Self::bytes) of the handle, any number of times. The handle keeps the memory,
/// and when it drops, the bytes are stale. Who has the memory open keeps it.
///
/// ```
/// use usm_memory::processes::{self, Handle};
/// use usm_memory::UsmBuffer;
/// use usm_memory::usm_core::{Runtime, UsmKind};
///
/// let runtime = Runtime::global();
/// let queue = runtime.default_queue(runtime.host_device())?;
/// let buffer = UsmBuffer::allocate(&queue, UsmKind::Shared, 1 << 20)?;
/// let handle = Handle::new(&buffer)?;
/// let bytes = handle.bytes(); // to another process, which opens them
/// assert!(processes::open(&bytes, Some(&queue))?.same_allocation(&buffer), "in this process, it is the buffer itself");
/// drop(handle);
/// assert!(processes::open(&bytes, None).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Handle {
    reference: Reference,
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("process", &self.reference.process).finish_non_exhaustive()
    }
}

impl Handle {
    /// A handle for the memory of a buffer. The first one starts a thread that answers other processes of this user.
    ///
    /// # Errors
    /// Those of [`UsmBuffer::share`]; [`Error::Server`](crate::Error::Server) when the process cannot be asked.
    pub fn new(buffer: &UsmBuffer) -> Result<Self> {
        Ok(Self { reference: system::offer(buffer)? })
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> [u8; LEN_BYTES] {
        self.reference.to_bytes()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        system::withdraw(&self.reference);
    }
}

/// The bytes of a handle that can be opened once, and that nobody needs to keep: for a message that one process reads. The memory stays until
/// then; memory of a message that nobody reads stays until [`release_handles`] or the end of this process.
///
/// `may_end` says that this process may end before the message is read. Memory that would be gone then is refused: that of GPUs of SYCL,
/// and that of other libraries on GPUs.
///
/// # Errors
/// As [`Handle::new`].
pub fn bytes_for_one(buffer: &UsmBuffer, may_end: bool) -> Result<[u8; LEN_BYTES]> {
    Ok(system::offer_once(buffer, may_end)?.to_bytes())
}

/// The memory of a handle: in the process of the handle its own buffer, elsewhere a buffer of the same bytes, on `queue`, or on the default
/// queue of the device. Waits for the process of the handle.
///
/// # Errors
/// [`Error::InvalidHandle`](crate::Error::InvalidHandle) for other bytes; [`Error::StaleHandle`](crate::Error::StaleHandle) when the
/// memory, or its process, has gone; those of [`UsmBuffer::open_shared`].
pub fn open(bytes: &[u8], queue: Option<&Queue>) -> Result<UsmBuffer> {
    open_on(bytes, |device| match queue {
        Some(queue) => Ok(queue.clone()),
        None => Ok(Runtime::global().default_queue(device)?),
    })
}

/// As [`open`], on the queue that `queue_of` gives for the device of the memory.
///
/// # Errors
/// As [`open`], and those of `queue_of`.
pub fn open_on(bytes: &[u8], queue_of: impl FnOnce(&Device) -> Result<Queue>) -> Result<UsmBuffer> {
    let reference = Reference::from_bytes(bytes)?;
    if let Some(own) = system::own(&reference) {
        let buffer = own?;
        return buffer.on_queue(&queue_of(buffer.device())?);
    }
    system::ask(&reference, |shared: &SharedBuffer| {
        let device = Runtime::global().device_at(&shared.location)?;
        UsmBuffer::open_shared(&queue_of(&device)?, shared)
    })
}

/// The number of handles of this process that keep memory.
#[must_use]
pub fn pending_handles() -> usize {
    system::num_offers()
}

/// Makes a handle of this process stale by its bytes, from [`bytes_for_one`], and lets go of its memory. Returns whether it still kept
/// the memory: `false` means that a process has opened it.
///
/// # Errors
/// [`Error::InvalidHandle`](crate::Error::InvalidHandle) for other bytes.
pub fn withdraw(bytes: &[u8]) -> Result<bool> {
    Ok(system::withdraw(&Reference::from_bytes(bytes)?))
}

/// Makes all handles of this process stale that nobody keeps, and lets go of their memory. Returns their number.
pub fn release_handles() -> usize {
    system::withdraw_unkept()
}
