//! Memory of a buffer in the form in which another process opens it, and back.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use usm_core::fork::PerProcess;
use usm_core::{DeviceLocation, Queue, SharedMemory};

use super::{lock, system};
use crate::buffer::{self, Identity, Opened};
use crate::{Error, Result, UsmBuffer};

/// A range of memory that another process of this user can open: [`UsmBuffer::share`] gives it, [`UsmBuffer::open_shared`] takes it.
#[derive(Clone, Debug)]
pub struct SharedBuffer {
    /// The memory that others open, of which the buffer is a part.
    pub memory: SharedMemory,
    /// Where the buffer starts in it.
    pub offset_bytes: usize,
    /// Length of the buffer.
    pub len_bytes: usize,
    /// Whether others may write to it.
    pub is_writable: bool,
    /// The device.
    pub location: DeviceLocation,
}

impl UsmBuffer {
    /// The memory of the buffer in the form in which another process opens it: the same bytes, not a copy. The operations under way that
    /// write to it are waited for.
    ///
    /// On the host and on CPUs this needs memory with pages of its own: buffers of a pool from 32 KiB on, allocations of the runtime from 8 KiB
    /// on, and all memory of a [`ShareableResource`](crate::resource::ShareableResource). The first share moves the content into
    /// other pages, at the same address. Code that this library does not know, such as another library with a view of the memory, must not
    /// write to it meanwhile.
    ///
    /// ```
    /// use usm_memory::UsmBuffer;
    /// use usm_memory::usm_core::{Runtime, UsmKind};
    ///
    /// let runtime = Runtime::global();
    /// let queue = runtime.default_queue(runtime.host_device())?;
    /// let buffer = UsmBuffer::allocate(&queue, UsmKind::Device, 1 << 20)?;
    /// buffer.fill(&[7])?;
    /// let shared = buffer.share()?;
    /// // In another process, to which a Unix socket takes the files:
    /// let same = UsmBuffer::open_shared(&queue, &shared)?;
    /// buffer.fill(&[8])?;
    /// let mut bytes = [0; 4];
    /// same.copy_to_host(&mut bytes, 0)?;
    /// assert_eq!(bytes, [8; 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Core`] with [`NotShareable`](usm_core::Error::NotShareable) or [`SharedMemory`](usm_core::Error::SharedMemory), and with the
    /// errors of the operations; [`Error::BorrowConflict`] while somebody has a view to write to the memory.
    pub fn share(&self) -> Result<SharedBuffer> {
        let whole = self.all_of_block();
        // Those who write through this library wait, or exclude this.
        let _access = whole.read_access(0..whole.len_bytes())?;
        // SAFETY: promise 1 of `share_from`: nobody writes as long as the access lives; of other code this is said above.
        unsafe { self.share_from(whole.address()) }
    }

    /// # Safety
    /// 1. That of `Block::share`, for the block, which starts at `address`.
    pub(super) unsafe fn share_from(&self, address: usize) -> Result<SharedBuffer> {
        let location = self.memory_device().location()?;
        // SAFETY: the caller's promise 1.
        let (memory, offset_bytes) = unsafe { self.block().share() }?;
        // What is open is found without that.
        if !self.ownership().is_open() {
            buffer::remember_shared(self.block(), &identity_of(&memory)?, offset_bytes);
        }
        Ok(SharedBuffer {
            memory,
            offset_bytes: offset_bytes + (self.address() - address),
            len_bytes: self.len_bytes(),
            is_writable: self.is_writable(),
            location,
        })
    }

    /// The memory of another process, for the context and the device of a queue. Memory that this process has open is opened once, and
    /// memory of this process that comes back is the buffer itself.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for a range beyond the memory; [`Error::Core`] with
    /// [`NotShareable`](usm_core::Error::NotShareable), [`SharedMemory`](usm_core::Error::SharedMemory) and
    /// [`OutOfMemory`](usm_core::Error::OutOfMemory).
    pub fn open_shared(queue: &Queue, shared: &SharedBuffer) -> Result<Self> {
        let range = shared.offset_bytes..shared.offset_bytes.saturating_add(shared.len_bytes);
        let identity = identity_of(&shared.memory)?;
        if let Some(own) = buffer::find_shared(&identity, &range)?
            && own.context() == queue.context()
        {
            let own = own.on_queue(queue)?;
            return Ok(if shared.is_writable { own } else { own.read_only() });
        }
        let opened = open_once(queue, &shared.memory, identity, shared.is_writable)?;
        Self::over_opened(queue, opened, range, shared.is_writable)
    }
}

impl UsmBuffer {
    /// Device memory of another library and process, on the queue that `queue_of` gives: so many bytes from an offset on in the block of a
    /// handle of `cudaIpcGetMemHandle`. The handle has 64 bytes, or 66 with the two that PyTorch puts in front of them.
    ///
    /// Nothing tells the other process when the buffer has gone: it must keep the memory until then.
    ///
    /// # Errors
    /// [`Error::InvalidHandle`] for other bytes; those of `queue_of`, and of [`open_shared`](Self::open_shared).
    pub fn open_cuda_handle(
        handle: &[u8],
        offset_bytes: usize,
        len_bytes: usize,
        queue_of: impl FnOnce() -> Result<Queue>,
    ) -> Result<Self> {
        // PyTorch's version, and its letter for memory of `cudaMalloc`.
        let of_torch = |handle: &[u8]| match handle {
            [_, b'c', handle @ ..] => handle.try_into().ok(),
            _ => None,
        };
        let known: Option<[u8; 64]> = handle.try_into().ok().or_else(|| of_torch(handle));
        let handle = known.ok_or_else(|| Error::InvalidHandle {
            found: format!("{} bytes", handle.len()),
            allowed: "the 64 bytes of cudaIpcGetMemHandle, and the 66 of PyTorch for memory of cudaMalloc"
                .to_owned(),
        })?;
        let memory = SharedMemory::of_cuda_handle(handle, offset_bytes, len_bytes);
        let queue = queue_of()?;
        let location = queue.device().location()?;
        let shared = SharedBuffer { memory, offset_bytes: 0, len_bytes, is_writable: true, location };
        Self::open_shared(&queue, &shared)
    }
}

fn identity_of(memory: &SharedMemory) -> Result<Identity> {
    let file = memory.files.first().map(|file| system::identity(file)).transpose()?;
    Ok(Identity { file, data: memory.data.clone(), kind: memory.kind })
}

type OpenedMemory = HashMap<Identity, Vec<Weak<Opened>>>;

/// A forked child has copies of some of these pages: it opens memory for itself.
static OPENED: PerProcess<Mutex<Option<OpenedMemory>>> = PerProcess::new(Mutex::new(None));

/// Held while memory is opened.
static OPENING: PerProcess<Mutex<()>> = PerProcess::new(Mutex::new(()));

fn open_once(
    queue: &Queue,
    memory: &SharedMemory,
    identity: Identity,
    is_writable: bool,
) -> Result<Arc<Opened>> {
    // One thread at a time: two mappings of the same bytes would not know of each other.
    let _alone = lock(OPENING.get());
    if let Some(known) = find(&identity, queue, memory.len_bytes) {
        if is_writable {
            known.make_writable(memory)?;
        }
        return Ok(known);
    }
    let new = Arc::new(Opened::new(queue.open_shared(memory, is_writable)?, is_writable));
    let mut opened = lock(OPENED.get());
    let opened = opened.get_or_insert_default();
    opened.retain(|_, known| {
        known.retain(|known| known.strong_count() > 0);
        !known.is_empty()
    });
    opened.entry(identity).or_default().push(Arc::downgrade(&new));
    Ok(new)
}

fn find(identity: &Identity, queue: &Queue, len_bytes: usize) -> Option<Arc<Opened>> {
    // Dropped without the lock.
    let known: Vec<_> = {
        let opened = lock(OPENED.get());
        opened.as_ref()?.get(identity)?.iter().filter_map(Weak::upgrade).collect()
    };
    let mut known = known.into_iter().filter(|known| known.memory.len_bytes() >= len_bytes);
    known.find(|known| known.memory.context() == queue.context())
}

/// The number of memories of other processes that this process has open.
#[must_use]
pub fn opened() -> usize {
    let opened = lock(OPENED.get());
    let counts = opened.iter().flat_map(HashMap::values).flatten();
    counts.filter(|known| known.strong_count() > 0).count()
}

/// The number of allocations and slots that this process has freed, and that wait for other processes to close them. What they have
/// closed goes first.
#[must_use]
pub fn held_for_others() -> usize {
    buffer::sweep();
    buffer::held_count()
}
