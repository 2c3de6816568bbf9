//! A byte range of USM that its clones and parts share.
//!
//! | file | job |
//! |---|---|
//! | `block.rs` | the record of a memory range: its owner, work under way, its allocation record |
//! | `block_ref.rs` | counted references to blocks, also to slots of a table |
//! | `table.rs` | the block table of a slab: the records of all its slots |
//! | `slot.rs` | a slot of a block table, on its way from the pool to a buffer and back |
//! | `slab_facts.rs` | what all slots of a slab share: the address of the slab, the owner of the slots |
//! | `parts.rs` | parts that share memory; deep copies |
//! | `returns.rs` | memory of this process that comes back from another one |
//! | `borrow.rs` | external memory as a buffer, after a question to the runtime |
//! | `shared.rs`, `held.rs` | what other processes open for a block; freed memory that they have open |
//! | `lease.rs` | memory of another buffer as a buffer of its own, until the last clone drops |
//! | `html.rs` | a buffer as a table for notebooks |
//! | `hooks.rs` | functions of users that run at the release of a block |
//! | `live_borrows.rs` | the number of external owners that are kept alive |

mod block;
mod block_ref;
mod borrow;
mod held;
mod hooks;
#[cfg(feature = "svg")]
mod html;
mod lease;
mod live_borrows;
mod parts;
mod returns;
mod shared;
mod slab_facts;
mod slot;
mod table;

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use usm_core::{Allocation, Context, Device, Event, Queue, UsmKind};

pub use self::block::Ownership;
pub(crate) use self::block::{Block, Opened};
pub(crate) use self::block_ref::BlockRef;
pub use self::borrow::pointer_info;
#[cfg(not(windows))]
pub(crate) use self::held::set_wake;
pub(crate) use self::held::{held_count, sweep};
use self::lease::check_context;
pub(crate) use self::lease::hand_down;
pub use self::lease::{Lease, ReturnedMemory};
pub use self::live_borrows::live_borrows;
use self::parts::Part;
pub(crate) use self::returns::{Identity, find as find_shared, remember as remember_shared};
pub(crate) use self::slab_facts::{FREE_TO_CACHE, Owner, SlotKey};
pub(crate) use self::slot::FreeSlot;
pub(crate) use self::table::BlockTable;
use crate::snapshot::TagId;
use crate::tracker::same_queue;
use crate::{Error, Result};

/// Bytes of memory from which on huge pages pay.
const LARGE_BYTES: usize = 2 * Allocation::HUGE_PAGE_BYTES;

/// A byte range of one USM allocation, owned or borrowed.
///
/// Clones and sub-buffers share the memory and keep it, its context and its external owner alive.
#[derive(Clone, Debug)]
pub struct UsmBuffer {
    block: BlockRef,
    /// `None` for all of it, with its own queue.
    part: Option<Arc<Part>>,
}

impl UsmBuffer {
    /// Memory of the runtime.
    pub(crate) fn allocate_direct(
        queue: &Queue,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: Option<usize>,
    ) -> Result<Self> {
        let is_large = len_bytes >= LARGE_BYTES && queue.device().is_in_process(kind);
        let allocation = match align_bytes {
            // Huge pages are a wish; not every runtime has memory that begins with one.
            align if is_large => {
                queue.allocate_preferring(kind, len_bytes, align, Allocation::HUGE_PAGE_BYTES)
            }
            None => queue.allocate(kind, len_bytes),
            Some(align_bytes) => queue.allocate_aligned(kind, len_bytes, align_bytes),
        }?;
        if is_large {
            allocation.advise_huge_pages();
        }
        let (start, queue) = (allocation.as_ptr(), allocation.queue().clone());
        // SAFETY: B4: the allocation is as long as that, of its kind and of its queue's context, as long as it lives.
        let block =
            unsafe { Block::new(start, allocation.len_bytes(), kind, &queue, Ownership::Owned(allocation)) };
        Ok(Self::over(block, true))
    }

    fn over(block: Block, writable: bool) -> Self {
        let whole = Self::over_all(BlockRef::new(block));
        if writable { whole } else { whole.read_only() }
    }

    /// The same memory, not to be written. There is no way back.
    #[must_use]
    pub fn read_only(&self) -> Self {
        Self { block: self.block.read_only(), part: self.part.clone() }
    }

    /// Whether the memory may be written through this buffer.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        !self.block.is_read_only()
    }

    /// Length in bytes.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.part.as_ref().map_or_else(|| self.block.len_bytes(), |part| part.len_bytes)
    }

    /// Address of the first byte.
    #[must_use]
    pub fn address(&self) -> usize {
        self.as_ptr().addr().get()
    }

    /// Kind of the memory.
    #[must_use]
    pub fn kind(&self) -> UsmKind {
        self.block.kind()
    }

    /// Whether host code may read the bytes: host and shared memory.
    #[must_use]
    pub fn is_host_accessible(&self) -> bool {
        self.kind().is_host_accessible()
    }

    /// Whether blocking operations of this library are done by the calling thread, without a queue: for host and shared memory,
    /// and for device memory where the backend reaches it ([`Device::host_reachable`]).
    #[must_use]
    pub fn is_host_reachable(&self) -> bool {
        self.block.is_host_reachable()
    }

    /// The queue used for copies.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        let own = self.part.as_ref().and_then(|part| part.queue.as_ref());
        own.unwrap_or_else(|| self.block.queue())
    }

    /// The same memory, whose operations are submitted to another queue of its context. Operations on the same memory come one
    /// after the other on any queues.
    ///
    /// # Errors
    /// [`Error::ContextMismatch`] when the queue is of another context.
    pub fn on_queue(&self, queue: &Queue) -> Result<Self> {
        if same_queue(queue, self.queue()) {
            return Ok(self.clone());
        }
        check_context(self.context(), queue)?;
        Ok(self.changed(|part| part.queue = Some(queue.clone())))
    }

    /// Waits for what was submitted to the queue before, through `interpreter::wait_for_others_with`: only when that
    /// was called, as all blocking operations here do, for a program whose user may break off a wait, but not an operation.
    ///
    /// # Errors
    /// [`Error::Interrupted`], [`Error::Core`].
    pub fn wait_before_submit(&self) -> Result<()> {
        self.block.wait_before_submit(self.queue())
    }

    /// The context the memory is bound to.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.queue().context()
    }

    /// The device of the queue.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.queue().device()
    }

    /// Whether kernels on a queue may touch the memory: host USM of its context, and memory of its device. (SYCL 2020, 4.8.2:
    /// other device memory needs peer access, and not all shared memory migrates between devices.)
    #[must_use]
    pub fn is_reachable_by(&self, queue: &Queue) -> bool {
        self.context() == queue.context()
            && (self.kind() == UsmKind::Host || self.memory_device() == queue.device())
    }

    /// The device that the memory was allocated on, or borrowed with, whatever queue transfers are submitted to.
    pub(crate) fn memory_device(&self) -> &Device {
        self.block.queue().device()
    }

    /// Who frees the memory.
    #[must_use]
    pub fn ownership(&self) -> &Ownership {
        self.block.ownership()
    }

    /// Whether both are parts of one allocation, or of one borrow of external memory.
    #[must_use]
    pub fn same_allocation(&self, other: &Self) -> bool {
        self.block.ptr_eq(&other.block)
    }

    /// Whether this is the only buffer of its memory, and nothing else keeps the memory: no clone, part, guard or transfer.
    #[must_use]
    pub fn is_only_one(&self) -> bool {
        self.num_holders() == 1
    }

    /// How many buffers, guards and transfers keep the memory at the moment, this buffer included.
    #[must_use]
    pub fn num_holders(&self) -> usize {
        self.block.num_holders()
    }

    /// Says that external code gets to know the memory and may submit work on it to the queue: from now on every access waits
    /// for the queue first, unless nobody else has that and it is idle. Borrowed memory is like that from the start.
    ///
    /// Operations under way on the memory are waited for here, and earlier ones where a pool has handed the memory out in the order of its
    /// queue.
    ///
    /// # Errors
    /// [`Error::Core`] when that wait fails; then nothing is published. [`Error::Interrupted`].
    pub fn publish(&self) -> Result<()> {
        self.block.publish()
    }

    /// As [`publish`](Self::publish), where that has nothing to wait for. False where it has: nobody waited, and the memory may be
    /// published only by [`publish`](Self::publish).
    #[must_use]
    pub fn publish_at_once(&self) -> bool {
        self.block.publish_at_once()
    }

    /// As [`publish`](Self::publish), for external code whose work is ordered after all that is submitted to the queue of this buffer so
    /// far. The queue is ordered after the operations under way on the memory, which nobody waits for.
    ///
    /// # Errors
    /// [`Error::Core`] when the queue refuses that. [`Error::Interrupted`] from a wait for operations of another context.
    pub fn publish_in_order(&self) -> Result<()> {
        self.block.publish_on(self.queue())
    }

    /// The operations under way on the memory that were [submitted](crate::submit) through buffers. A program that submits work of its
    /// own on the memory lets it depend on these.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.block.events()
    }

    /// Waits for the operations under way on the memory. Guards, exports and drops do that by themselves.
    ///
    /// # Errors
    /// The first error of the operations, which comes out once; [`Error::Interrupted`].
    pub fn wait(&self) -> Result<()> {
        self.block.wait_for_others(&self.block.addresses(), true)
    }

    /// Labels the memory, of which this buffer may be a part, in snapshots and timelines. Labels are kept as long as the process
    /// lives, each once: use a few names, not one for each buffer.
    pub fn set_tag(&self, label: &str) {
        self.block.set_tag(TagId::of(label));
    }

    /// All of the block.
    pub(crate) fn all_of_block(&self) -> Self {
        Self { block: self.block.clone(), part: None }
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        if self.is_writable() { Ok(()) } else { Err(Error::ReadOnly) }
    }

    pub(crate) fn block(&self) -> &BlockRef {
        &self.block
    }

    /// A range of this buffer as one of its block.
    pub(crate) fn in_block(&self, range: Range<usize>) -> Result<Range<usize>> {
        self.span_in_block(range.start, range.end.saturating_sub(range.start))
    }

    /// So many bytes of this buffer as a range of its block.
    pub(crate) fn span_in_block(&self, offset_bytes: usize, len_bytes: usize) -> Result<Range<usize>> {
        self.check_range(offset_bytes, len_bytes)?;
        let start = self.offset_bytes() + offset_bytes;
        Ok(start..start + len_bytes)
    }

    pub(crate) fn check_range(&self, offset_bytes: usize, len_bytes: usize) -> Result<()> {
        match offset_bytes.checked_add(len_bytes) {
            Some(end) if end <= self.len_bytes() => Ok(()),
            _ => Err(Error::OutOfBounds { offset_bytes, len_bytes, buffer_bytes: self.len_bytes() }),
        }
    }

    pub(crate) fn as_ptr(&self) -> NonNull<u8> {
        self.block.pointer_at(self.offset_bytes())
    }
}
