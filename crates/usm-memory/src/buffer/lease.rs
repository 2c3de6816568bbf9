//! Memory of another buffer that is handed out as a buffer of its own, and given back with the last of it.

use std::fmt;
use std::mem;
use std::ptr;

use usm_core::{Context, Queue, drops};

use super::hooks::contain;
use super::{Block, BlockRef, Ownership, UsmBuffer};
use crate::{Error, Result};

type GiveBack = Box<dyn FnOnce(ReturnedMemory) + Send + Sync>;

/// Leased memory whose last buffer is gone.
#[derive(Debug)]
pub struct ReturnedMemory {
    memory: UsmBuffer,
    pending: Pending,
}

impl ReturnedMemory {
    /// The memory, and the queue on which work may still be pending on it, if it was published or released in the order of a
    /// queue. From then on guards over the memory wait for that queue, as does its end; who hands it out again waits for the
    /// queue first where users reach the memory by other means.
    #[must_use]
    pub fn into_parts(self) -> (UsmBuffer, Option<Queue>) {
        // Nobody is forced to look at the queue, so the duty to wait goes down in any case, with `pending`.
        let queue = self.pending.queue.clone();
        (self.memory, queue)
    }
}

/// Hands the duty to wait down to the block that was leased from.
#[derive(Debug)]
struct Pending {
    queue: Option<Queue>,
    below: BlockRef,
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(queue) = self.queue.take() {
            hand_down(&self.below, &queue);
        }
    }
}

/// Gives the duty to wait for work on `queue` to the block that the memory is a part of.
pub(crate) fn hand_down(below: &BlockRef, queue: &Queue) {
    // The second attempt is for a queue that failed only for the moment.
    if drops::wait(|| below.release_on(queue).or_else(|_| below.release_on(queue))).is_err() {
        // Memory that may be in use and cannot be waited for is never freed.
        mem::forget(below.clone());
    }
}

/// Memory of another buffer, and who gets it back. `None` for a slot of a pool, which its table knows, and when the memory was given
/// back, which is when the block is dropped.
pub struct Lease(Option<Box<(UsmBuffer, GiveBack)>>);

impl Lease {
    /// The lease of all slots of pools.
    pub(super) const OF_POOL: Self = Self(None);

    /// The block that the memory is a part of. A pool's slots do not look below.
    pub(crate) fn below(&self) -> Option<&Block> {
        self.0.as_ref().map(|memory| &**memory.0.block())
    }

    /// Gives the memory back; work may be pending on it on the queue `pending`.
    pub(super) fn end(&mut self, pending: Option<&Queue>) {
        if let Some((memory, give_back)) = self.0.take().map(|memory| *memory) {
            let pending = Pending { queue: pending.cloned(), below: memory.block().clone() };
            contain(move || give_back(ReturnedMemory { memory, pending }));
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let memory = self.0.as_ref().map(|memory| &memory.0);
        f.debug_struct("Lease").field("memory", &memory).finish()
    }
}

impl UsmBuffer {
    /// A buffer over the memory of another one: the means of memory resources that hand out parts of larger allocations. Copies
    /// of the new buffer use `queue`. When its last clone, part and guard are gone, `give_back` gets the memory.
    ///
    /// `give_back` runs on whichever thread lets the last one go. It must not wait. A panic of it ends there, and the memory goes.
    /// Other processes may have memory open that was [shared](UsmBuffer::share): what `give_back` gets of it must not be used again, but
    /// dropped.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use usm_memory::UsmBuffer;
    /// use usm_memory::usm_core::{Runtime, UsmKind};
    ///
    /// # fn main() -> usm_memory::Result<()> {
    /// # let runtime = Runtime::global();
    /// # let queue = runtime.default_queue(runtime.host_device())?;
    /// let large = UsmBuffer::allocate(&queue, UsmKind::Shared, 1024)?;
    /// let (sender, returned) = mpsc::sync_channel(1);
    /// let small = UsmBuffer::lease(large.sub_buffer(512, 64)?, &queue, move |memory| {
    ///     sender.try_send(memory).ok();
    /// })?;
    /// assert_eq!((small.address(), small.len_bytes()), (large.address() + 512, 64));
    /// drop(small);
    /// let (memory, pending) = returned.try_recv().unwrap().into_parts();
    /// assert_eq!((memory.len_bytes(), pending), (64, None));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::ContextMismatch`] when the queue is of another context than the memory.
    pub fn lease(
        memory: UsmBuffer,
        queue: &Queue,
        give_back: impl FnOnce(ReturnedMemory) + Send + Sync + 'static,
    ) -> Result<Self> {
        check_context(memory.context(), queue)?;
        let (start, len_bytes, kind) = (memory.as_ptr(), memory.len_bytes(), memory.kind());
        let writable = memory.is_writable();
        let lease = Lease(Some(Box::new((memory, Box::new(give_back)))));
        // SAFETY: B4: the memory lies in its block (U1), whose own B4 or K2 holds as long as the lease keeps the memory alive. The one
        // table of borrowed addresses decides who reaches bytes that several blocks have in common.
        let block = unsafe { Block::new(start, len_bytes, kind, queue, Ownership::Leased(lease)) };
        Ok(Self::over(block, writable))
    }

    /// Runs `hook` when the last clone, part and guard of the memory is gone, just before the memory goes back to where it
    /// came from. Of several hooks the latest runs first. A panic of a hook ends there: the others run, and the memory goes back all the
    /// same.
    pub fn before_release(&self, hook: impl FnOnce() + Send + 'static) {
        self.block().with_hooks(|hooks| hooks.before.push(Box::new(hook)));
    }

    /// As [`before_release`](Self::before_release), but just after the memory went back. Of several hooks the earliest runs first.
    pub fn after_release(&self, hook: impl FnOnce() + Send + 'static) {
        self.block().with_hooks(|hooks| hooks.after.push(Box::new(hook)));
    }

    /// Lets the memory go back in the order of a queue: what was submitted to `queue` so far may use it until it is complete,
    /// although all buffers may be gone by then. RMM calls this `deallocate_async`.
    ///
    /// A pool hands such memory out again at once to who allocates with the same in-order queue, and to others after its event.
    /// Memory of the runtime is freed when the last buffer goes, which then waits for the queue; so do borrow guards from now
    /// on. Keep the buffer until this has returned `Ok`.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use usm_memory::UsmBuffer;
    /// use usm_memory::resource::{DirectResource, PoolOptions, PoolResource};
    /// use usm_memory::usm_core::{Runtime, UsmKind};
    ///
    /// # fn main() -> usm_memory::Result<()> {
    /// # let runtime = Runtime::global();
    /// # let queue = runtime.default_queue(runtime.host_device())?;
    /// let pool = PoolResource::new(Arc::new(DirectResource), PoolOptions::new());
    /// let buffer = UsmBuffer::allocate_in(&pool, &queue, UsmKind::Device, 1 << 20)?;
    /// let (address, start) = (buffer.address(), std::ptr::with_exposed_provenance_mut(buffer.address()));
    /// // SAFETY: the pool keeps the memory until the operation is complete.
    /// unsafe { queue.memset(start, 1, 1 << 20, &[])? };
    /// buffer.release_on(&queue)?;
    /// drop(buffer); // does not wait
    /// assert_eq!(UsmBuffer::allocate_in(&pool, &queue, UsmKind::Device, 1 << 20)?.address(), address);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::ContextMismatch`] when the queue is of another context than the memory; [`Error::Core`] when the queue can neither
    /// be ordered nor be waited for.
    pub fn release_on(&self, queue: &Queue) -> Result<()> {
        check_context(self.context(), queue)?;
        self.block().release_on(queue)
    }
}

pub(super) fn check_context(memory: &Context, queue: &Queue) -> Result<()> {
    if ptr::eq(memory, queue.context()) || memory == queue.context() {
        return Ok(());
    }
    Err(Error::ContextMismatch { memory: memory.to_string(), queue: queue.context().to_string() })
}
