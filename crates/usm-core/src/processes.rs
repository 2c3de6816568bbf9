//! Memory of several processes, on any backend.

use std::ptr::NonNull;

use crate::{Allocation, Queue, Result, SharedMemory, SharedRange, UsmKind};

impl Queue {
    /// Whether [`share`](Self::share) leaves memory of a kind as it is: that of GPUs. On the host and on CPUs the first call moves the
    /// content into other pages.
    #[must_use]
    pub fn shares_in_place(&self, kind: UsmKind) -> bool {
        // SAFETY: the handle is live (H1).
        unsafe { self.backend().shares_in_place(self.raw(), kind) }
    }

    /// Memory in the form in which other processes of this user and machine [open](Self::open_shared) it.
    ///
    /// The memory stays until this process frees it and the last other process has closed it. Its content stays while others have it
    /// open, so who uses the memory for something else calls [`unshare`](Self::unshare) before.
    ///
    /// # Safety
    /// 1. `start` begins so many bytes of live memory of this context, of that kind, which are what `range` says.
    /// 2. Nobody writes to the bytes during the call, unless it [leaves them as they are](Self::shares_in_place).
    ///
    /// # Errors
    /// [`Error::NotShareable`](crate::Error::NotShareable); [`Error::SharedMemory`](crate::Error::SharedMemory) when the system
    /// refuses, for instance because the process has no more file descriptors.
    pub unsafe fn share(
        &self,
        kind: UsmKind,
        start: NonNull<u8>,
        len_bytes: usize,
        range: SharedRange,
    ) -> Result<SharedMemory> {
        // SAFETY: the handle is live (H1), and the caller's promises 1 and 2.
        unsafe { self.backend().share(self.raw(), kind, start, len_bytes, range) }
    }

    /// Ends what [`share`](Self::share) began: the bytes can be used for something else, of which other processes see nothing. False
    /// where that is not so as long as other processes have the memory open.
    ///
    /// # Safety
    /// 1. `start` was shared on a queue of this context.
    /// 2. Nobody of this process uses the bytes, whose content is lost.
    #[must_use]
    pub unsafe fn unshare(&self, start: NonNull<u8>) -> bool {
        // SAFETY: the handle is live (H1), and the caller's promises 1 and 2.
        unsafe { self.backend().unshare(self.raw(), start) }
    }

    /// Whether another process has memory open that this process shares.
    ///
    /// # Safety
    /// 1. `start` is in a live block of this context.
    #[must_use]
    pub unsafe fn is_open_elsewhere(&self, start: NonNull<u8>) -> bool {
        // SAFETY: the handle is live (H1), and the caller's promise 1.
        unsafe { self.backend().is_open_elsewhere(self.raw(), start) }
    }

    /// A block over the memory of another process, for the context and device of this queue. Where `can_write` is false, nobody may
    /// write to it. The memory stays as long as the allocation, whatever the other process does.
    ///
    /// ```
    /// use usm_core::{Runtime, SharedRange, UsmKind};
    ///
    /// let runtime = Runtime::global();
    /// let queue = runtime.default_queue(runtime.host_device())?;
    /// let block = queue.allocate(UsmKind::Shared, 1 << 20)?;
    /// // SAFETY: the block is live, and nobody uses it.
    /// let shared = unsafe { queue.share(block.kind(), block.as_ptr(), block.len_bytes(), SharedRange::Block) }?;
    /// // Another process, to which a Unix socket takes the files, does the same:
    /// let same = queue.open_shared(&shared, true)?;
    /// assert_eq!((same.kind(), same.len_bytes()), (UsmKind::Shared, 1 << 20));
    /// // SAFETY: nobody else uses the memory.
    /// unsafe { block.as_ptr().write(7) };
    /// // SAFETY: as above.
    /// assert_eq!(unsafe { same.as_ptr().read() }, 7);
    /// # Ok::<(), usm_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotShareable`](crate::Error::NotShareable) for memory of another backend;
    /// [`Error::SharedMemory`](crate::Error::SharedMemory) when the system refuses, or when the files are not those of such memory;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn open_shared(&self, memory: &SharedMemory, can_write: bool) -> Result<Allocation> {
        self.check_request(memory.kind, memory.len_bytes)?;
        // SAFETY: the handle is live (H1).
        let block = unsafe { self.backend().open_shared(self.raw(), memory, can_write) }?;
        // SAFETY: A1: a new block of that length and kind, which is given away here.
        Ok(unsafe { Allocation::from_raw(self, block, 0, memory.len_bytes, memory.kind) })
    }

    /// Lets this process write to a block that [`open_shared`](Self::open_shared) gave only to be read, at the same address. `memory` is
    /// the same memory in the form in which a process gives it that allows to write.
    ///
    /// # Safety
    /// 1. `start` is the first address of such a block of this memory, on a queue of the same context.
    ///
    /// # Errors
    /// [`Error::SharedMemory`](crate::Error::SharedMemory) when the system refuses: nothing has changed then.
    pub unsafe fn make_writable(&self, start: NonNull<u8>, memory: &SharedMemory) -> Result<()> {
        // SAFETY: the handle is live (H1), and the caller's promise 1.
        unsafe { self.backend().make_writable(self.raw(), start, memory) }
    }
}
