//! The part of a pool for one context, device and kind.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use usm_core::{Context, Device, Queue, UsmKind};

use super::classes::SizeClass;
use super::state::{FreeBlock, State};
use crate::resource::meter::Reservation;
use crate::resource::{MemoryResource, check};
use crate::{Result, ReturnedMemory, UsmBuffer};

/// Slabs and free blocks that any queue of one context and device may use.
#[derive(Debug)]
pub(super) struct Shelf {
    context: Context,
    device: Device,
    kind: UsmKind,
    max_idle_bytes: usize,
    state: Mutex<State>,
}

impl Shelf {
    pub(super) fn new(queue: &Queue, kind: UsmKind, max_idle_bytes: usize) -> Self {
        let (context, device) = (queue.context().clone(), queue.device().clone());
        Self { context, device, kind, max_idle_bytes, state: Mutex::default() }
    }

    pub(super) fn suits(&self, queue: &Queue, kind: UsmKind) -> bool {
        self.kind == kind && self.device == *queue.device() && self.context == *queue.context()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // No code unwinds while it holds the lock half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A buffer of the first `len_bytes` bytes of a block, which comes back with the last of the buffer.
    pub(super) fn lend(
        self: &Arc<Self>,
        block: FreeBlock,
        queue: &Queue,
        len_bytes: usize,
        reservation: Reservation,
    ) -> Result<UsmBuffer> {
        let (place, reservation) = (block.place, reservation.keep());
        let home = Arc::downgrade(self);
        let whole = UsmBuffer::lease(block.memory, queue, move |returned: ReturnedMemory| {
            drop(reservation);
            // Without the pool the block just goes, and its slab with the last block.
            if let Some(home) = home.upgrade() {
                let (memory, pending) = returned.into_parts();
                home.give(FreeBlock { memory, pending, place });
            }
        })?;
        whole.sub_buffer(0, len_bytes)
    }

    /// A free block that nobody works on any more.
    pub(super) fn reuse(&self, class: SizeClass) -> Result<Option<FreeBlock>> {
        let Some(mut block) = self.state().take(class) else { return Ok(None) };
        if let Some(queue) = block.pending.take()
            && let Err(error) = queue.wait()
        {
            block.pending = Some(queue);
            self.give(block);
            return Err(error.into());
        }
        Ok(Some(block))
    }

    /// A block of a new slab. The upstream resource is asked without the lock, since it may call back.
    pub(super) fn grow(
        &self,
        upstream: &dyn MemoryResource,
        queue: &Queue,
        class: SizeClass,
    ) -> Result<FreeBlock> {
        let (len_bytes, align_bytes) = (class.slab_bytes(), class.align_bytes());
        let slab = upstream.allocate(queue, self.kind, len_bytes, align_bytes)?;
        check(&slab, queue, self.kind, len_bytes, align_bytes)?;
        let block = |index| slab.sub_buffer(index * class.block_bytes, class.block_bytes);
        let (first, others) = (block(0)?, (1..class.blocks).map(block).collect::<Result<Vec<_>>>()?);
        Ok(self.state().add(class, first, others))
    }

    fn give(&self, block: FreeBlock) {
        let gone = self.state().give(block, self.max_idle_bytes);
        drop(gone); // without the lock, since the upstream resource may call back
    }

    /// Gives idle slabs back. Returns the number of their bytes.
    pub(super) fn trim(&self) -> usize {
        let gone = self.state().take_idle();
        gone.iter().map(|block| block.memory.len_bytes()).sum()
    }

    /// Whether there is no slab.
    pub(super) fn is_empty(&self) -> bool {
        self.state().slab_bytes == 0
    }
}
