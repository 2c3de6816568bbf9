//! Memory of another buffer that is handed out as a buffer of its own, and given back with the last of it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use usm_core::{Context, Queue};

use super::hooks::ReleaseHooks;
use super::{Block, Ownership, UsmBuffer};
use crate::{Error, Result};

type GiveBack = Box<dyn FnOnce(ReturnedMemory) + Send + Sync>;

/// Leased memory whose last buffer is gone.
#[derive(Debug)]
pub struct ReturnedMemory {
    memory: UsmBuffer,
    pending: Pending,
}

impl ReturnedMemory {
    /// The memory, and the queue on which foreign code may still have work on it, if it was published. Wait for that queue
    /// before the memory is handed out again.
    #[must_use]
    pub fn into_parts(mut self) -> (UsmBuffer, Option<Queue>) {
        let queue = self.pending.queue.take();
        (self.memory, queue)
    }
}

/// Hands the duty to wait down to the block that was leased from, unless somebody took it over.
#[derive(Debug)]
struct Pending {
    queue: Option<Queue>,
    below: Arc<Block>,
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.queue.is_some() {
            self.below.publish();
        }
    }
}

/// Memory of another buffer, and who gets it back.
pub struct Lease {
    /// Invariant L1: `None` only after the memory was given back, which is when the block is dropped.
    memory: Option<(UsmBuffer, GiveBack)>,
}

impl Lease {
    /// Waits for what foreign code may have submitted for the memory below.
    pub(super) fn wait_for_others(&self) -> Result<()> {
        self.memory.as_ref().map_or(Ok(()), |(memory, _)| memory.block().wait_for_others())
    }

    /// Gives the memory back; foreign code may have work on it on the queue `pending`.
    pub(super) fn end(&mut self, pending: Option<Queue>) {
        if let Some((memory, give_back)) = self.memory.take() {
            let pending = Pending { queue: pending, below: Arc::clone(memory.block()) };
            give_back(ReturnedMemory { memory, pending });
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").field("memory", &self.memory.as_ref().map(|(memory, _)| memory)).finish()
    }
}

impl Block {
    /// The context of `queue` must be that of the memory, for K1.
    fn leased(memory: UsmBuffer, queue: &Queue, give_back: GiveBack) -> Self {
        // K1: the memory lies in its block (U1), whose own K1 holds as long as the lease keeps it alive. Who reaches bytes that
        // several blocks have in common is decided by the one table of borrowed addresses.
        Self {
            start: memory.as_ptr(),
            len_bytes: memory.len_bytes(),
            kind: memory.kind(),
            queue: queue.clone(),
            published: AtomicBool::new(false),
            ownership: Ownership::Leased(Lease { memory: Some((memory, give_back)) }),
            _count: None,
            hooks: ReleaseHooks::default(),
        }
    }
}

impl UsmBuffer {
    /// A buffer over the memory of another one: the means of memory resources that hand out parts of larger allocations. Copies
    /// of the new buffer use `queue`. When its last clone, part and guard are gone, `give_back` gets the memory.
    ///
    /// `give_back` runs on whichever thread lets the last one go. It must not wait and must not panic.
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
        let writable = memory.is_writable();
        Ok(Self::over(Block::leased(memory, queue, Box::new(give_back)), writable))
    }

    /// Runs `hook` when the last clone, part and guard of the memory is gone, just before the memory goes back to where it
    /// came from. Of several hooks the latest runs first. A hook must not panic.
    pub fn before_release(&self, hook: impl FnOnce() + Send + 'static) {
        self.hooks().add_before(Box::new(hook));
    }

    /// As [`before_release`](Self::before_release), but just after the memory went back. Of several hooks the earliest runs first.
    pub fn after_release(&self, hook: impl FnOnce() + Send + 'static) {
        self.hooks().add_after(Box::new(hook));
    }

    fn hooks(&self) -> &ReleaseHooks {
        let block: &Arc<Block> = self.block();
        &block.hooks
    }
}

fn check_context(memory: &Context, queue: &Queue) -> Result<()> {
    if memory == queue.context() {
        return Ok(());
    }
    Err(Error::ContextMismatch { memory: format!("{memory:?}"), queue: format!("{:?}", queue.context()) })
}
