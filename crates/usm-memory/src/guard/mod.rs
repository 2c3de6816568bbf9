//! Run-time borrow guards: who may look at which bytes at the moment.

mod ours;
mod process;
mod shared;
mod table;

use std::ops::Range;

use usm_core::{Event, Queue};

pub(crate) use self::ours::has_other_copies;
use self::process::{BORROWS, borrows};
pub use self::shared::BorrowFunctions;
use crate::buffer::{Block, BlockRef, next_number};
use crate::{Error, Result, UsmBuffer};

/// Does something short with a range of a block that host code reaches, which nobody else writes meanwhile, nor reads if this one
/// `writes`: sooner than a guard, which holds the block, enters the table and leaves it. `None` where that does not do: work of others has
/// to be waited for, or the table is that of another copy of this library.
///
/// The runtime is not called under the lock of the table, for which all threads wait: what external code has under way is asked for
/// before. What it submits later, no guard orders either.
///
/// # Errors
/// [`Error::BorrowConflict`].
pub(crate) fn briefly<T>(
    block: &Block,
    range: &Range<usize>,
    writes: bool,
    job: impl FnOnce(*mut u8) -> T,
) -> Result<Option<T>> {
    if !block.has_no_external() {
        return Ok(None);
    }
    let job = || block.has_no_submitted().then(|| job(block.pointer_at(range.start).as_ptr()));
    Ok(borrows().during(&addresses(block, range), writes, job)?.flatten())
}

/// How the holder of a borrow comes after the work on the memory that is under way.
pub(crate) enum Order<'a> {
    /// It waits: host code.
    Waited,
    /// Its operations depend on the events that are added here.
    Events(&'a mut Vec<Event>),
}

/// The borrows of an operation, which may overlap each other.
#[derive(Debug)]
pub(crate) struct OperationBorrow {
    /// Invariant G2: the table holds entries under the first `len` numbers of `few`, or under all of `many`.
    few: [u64; FEW],
    many: Vec<u64>,
    len: usize,
}

/// Operands that need no memory of the heap.
const FEW: usize = 4;

impl OperationBorrow {
    /// Enters the table with so many ranges, of which it is said whether the operation writes them.
    pub(crate) fn new(ranges: impl ExactSizeIterator<Item = (Range<usize>, bool)> + Clone) -> Result<Self> {
        let len = ranges.len();
        let mut new = Self { few: [0; FEW], many: Vec::new(), len: 0 };
        if len > FEW {
            new.many.resize(len, 0);
        }
        let ids = if len > FEW { &mut new.many[..] } else { &mut new.few[..len] };
        borrows().acquire_all(ranges, ids)?;
        new.len = len;
        Ok(new)
    }
}

impl Drop for OperationBorrow {
    fn drop(&mut self) {
        BORROWS.release_all(if self.len > FEW { &self.many } else { &self.few[..self.len] });
    }
}

/// A borrowed byte range and its entry in the table.
#[derive(Debug)]
struct Borrow {
    block: BlockRef,
    /// Invariant G1: `range` lies within the block, and the table holds its addresses under `id` as long as this value lives.
    range: Range<usize>,
    id: u64,
    /// From before the look at the work under way, which its operations come after.
    seen: u64,
}

impl Borrow {
    /// Enters the table, then sees to the order; leaves the table again when that failed.
    fn new(
        block: &BlockRef,
        range: Range<usize>,
        writes: bool,
        after: &[u64],
        order: Order<'_>,
    ) -> Result<Self> {
        let id = borrows().acquire(addresses(block, &range), writes, after)?;
        Self { block: block.clone(), range, id, seen: next_number() }.settled(writes, order)
    }

    fn settled(self, writes: bool, order: Order<'_>) -> Result<Self> {
        let addresses = addresses(&self.block, &self.range);
        match order {
            Order::Waited => self.block.wait_for_others(&addresses, writes)?,
            Order::Events(events) => self.block.order(&addresses, None, writes, events)?,
        }
        Ok(self)
    }

    fn len_bytes(&self) -> usize {
        self.range.end - self.range.start
    }

    /// Lets the memory remember an operation that came after the work which the borrow was ordered after.
    fn record(&self, event: &Event, queue: &Queue, writes: bool) {
        self.block.record(&addresses(&self.block, &self.range), event, queue, writes, self.seen);
    }

    fn check(&self, may_follow: bool) -> Result<()> {
        if may_follow { Ok(()) } else { Err(Error::NotHostAccessible { kind: self.block.kind() }) }
    }

    fn pointer(&self) -> *mut u8 {
        self.block.pointer_at(self.range.start).as_ptr()
    }
}

impl Drop for Borrow {
    fn drop(&mut self) {
        BORROWS.release(self.id);
    }
}

/// The addresses of a range of a block.
pub(crate) fn addresses(block: &Block, range: &Range<usize>) -> Range<usize> {
    let start = block.pointer_at(0).addr().get();
    start + range.start..start + range.end
}

/// Bytes borrowed for reading. Nobody writes them through any buffer meanwhile; the memory stays alive.
#[derive(Debug)]
pub struct ReadGuard(Borrow);

impl ReadGuard {
    /// Lets the memory remember an operation of the guard's holder, which reads it.
    pub(crate) fn record(&self, event: &Event, queue: &Queue) {
        self.0.record(event, queue, false);
    }

    /// For host code, which waits for the work on the memory.
    pub(crate) fn new(block: &BlockRef, range: Range<usize>) -> Result<Self> {
        Borrow::new(block, range, false, &[], Order::Waited).map(Self)
    }

    /// The entry in the table.
    pub(crate) fn id(&self) -> u64 {
        self.0.id
    }

    pub(crate) fn block(&self) -> &Block {
        &self.0.block
    }

    /// Start of the range. Host code may follow it only when the memory is
    /// [host-reachable](crate::UsmBuffer::is_host_reachable).
    #[must_use]
    pub fn as_ptr(&self) -> *const u8 {
        self.0.pointer()
    }

    /// Length of the range.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.0.len_bytes()
    }

    /// The bytes.
    ///
    /// # Errors
    /// [`Error::NotHostAccessible`] for device memory.
    pub fn as_slice(&self) -> Result<&[u8]> {
        self.0.check(self.block().kind().is_host_accessible())?;
        // SAFETY: live host-accessible memory (B4 or K2, G1), and the table admits no writer while the guard lives.
        Ok(unsafe { std::slice::from_raw_parts(self.as_ptr(), self.len_bytes()) })
    }

    /// The bytes of memory that is [host-reachable](crate::UsmBuffer::is_host_reachable), for executors that work with memory of
    /// any kind.
    ///
    /// # Errors
    /// [`Error::NotHostAccessible`] for device memory that only queues reach.
    pub fn as_reachable_slice(&self) -> Result<&[u8]> {
        self.0.check(self.block().is_host_reachable())?;
        // SAFETY: live memory that host code reaches (B4 or K2, G1), and the table admits no writer while the guard lives.
        Ok(unsafe { std::slice::from_raw_parts(self.as_ptr(), self.len_bytes()) })
    }
}

/// Bytes borrowed for reading and writing. Nobody else reaches them through any buffer meanwhile; the memory stays alive.
#[derive(Debug)]
pub struct WriteGuard(Borrow);

impl WriteGuard {
    /// Lets the memory remember an operation of the guard's holder, which writes it.
    pub(crate) fn record(&self, event: &Event, queue: &Queue) {
        self.0.record(event, queue, true);
    }

    /// As for reading.
    pub(crate) fn new(block: &BlockRef, range: Range<usize>) -> Result<Self> {
        Borrow::new(block, range, true, &[], Order::Waited).map(Self)
    }

    /// The entry in the table.
    pub(crate) fn id(&self) -> u64 {
        self.0.id
    }

    pub(crate) fn block(&self) -> &Block {
        &self.0.block
    }

    /// Start of the range. Host code may follow it only when the memory is
    /// [host-reachable](crate::UsmBuffer::is_host_reachable).
    #[must_use]
    pub fn as_mut_ptr(&self) -> *mut u8 {
        self.0.pointer()
    }

    /// Length of the range.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.0.len_bytes()
    }

    /// The bytes.
    ///
    /// # Errors
    /// [`Error::NotHostAccessible`] for device memory.
    pub fn as_mut_slice(&mut self) -> Result<&mut [u8]> {
        self.0.check(self.block().kind().is_host_accessible())?;
        // SAFETY: live host-accessible memory (B4 or K2, G1), and the table admits nobody else while the guard lives.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.as_mut_ptr(), self.len_bytes()) })
    }

    /// As [`ReadGuard::as_reachable_slice`], for writing.
    ///
    /// # Errors
    /// [`Error::NotHostAccessible`] for device memory that only queues reach.
    pub fn as_reachable_mut_slice(&mut self) -> Result<&mut [u8]> {
        self.0.check(self.block().is_host_reachable())?;
        // SAFETY: live memory that host code reaches (B4 or K2, G1), and the table admits nobody else while the guard lives.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.as_mut_ptr(), self.len_bytes()) })
    }
}

/// Bytes that nobody writes through any buffer meanwhile, but for operations that were [submitted](crate::submit) before.
#[derive(Debug)]
pub struct Unwritten(#[expect(dead_code, reason = "it ends with this value")] Borrow);

impl UsmBuffer {
    /// Borrows a byte range for reading until the guard is dropped.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`]; [`Error::BorrowConflict`] while somebody writes a part of it; [`Error::Core`] when work of others on
    /// published memory failed.
    pub fn read_range(&self, range: Range<usize>) -> Result<ReadGuard> {
        let range = self.in_block(range)?;
        ReadGuard::new(self.block(), range)
    }

    /// Borrows a byte range for reading and writing until the guard is dropped.
    ///
    /// # Errors
    /// [`Error::ReadOnly`]; [`Error::OutOfBounds`]; [`Error::BorrowConflict`] while somebody reads or writes a part of it;
    /// [`Error::Core`] when work of others on published memory failed.
    pub fn write_range(&self, range: Range<usize>) -> Result<WriteGuard> {
        self.check_writable()?;
        let range = self.in_block(range)?;
        WriteGuard::new(self.block(), range)
    }

    /// Checks that nobody writes a byte range at the moment. Waits for nothing.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`]; [`Error::BorrowConflict`] while somebody writes a part of it.
    pub fn check_unwritten(&self, range: Range<usize>) -> Result<()> {
        self.keep_unwritten(range).map(drop)
    }

    /// Keeps others from writing a byte range, for several operations that must find the same bytes. Waits for nothing.
    ///
    /// # Errors
    /// As [`check_unwritten`](Self::check_unwritten).
    pub fn keep_unwritten(&self, range: Range<usize>) -> Result<Unwritten> {
        let range = self.in_block(range)?;
        let id = borrows().acquire(addresses(self.block(), &range), false, &[])?;
        Ok(Unwritten(Borrow { block: self.block().clone(), range, id, seen: next_number() }))
    }

    /// For operations that are ordered `after` those which hold these borrows, and after the `events` that are added.
    pub(crate) fn read_range_after(
        &self,
        range: Range<usize>,
        after: &[u64],
        events: &mut Vec<Event>,
    ) -> Result<ReadGuard> {
        let range = self.in_block(range)?;
        Borrow::new(self.block(), range, false, after, Order::Events(events)).map(ReadGuard)
    }

    /// As for reading.
    pub(crate) fn write_range_after(
        &self,
        range: Range<usize>,
        after: &[u64],
        events: &mut Vec<Event>,
    ) -> Result<WriteGuard> {
        self.check_writable()?;
        let range = self.in_block(range)?;
        Borrow::new(self.block(), range, true, after, Order::Events(events)).map(WriteGuard)
    }
}

/// Takes the released borrows out of a list.
pub(crate) fn retain_held(ids: &mut Vec<u64>) {
    if !ids.is_empty() {
        BORROWS.retain_held(ids);
    }
}

/// Borrows a range for writing and another, which may overlap it, for reading by the same operation.
///
/// # Errors
/// [`Error::BorrowConflict`] with the borrows of others.
pub(crate) fn write_and_read(
    dst: (&BlockRef, Range<usize>),
    src: (&BlockRef, Range<usize>),
    after: &[u64],
    order: Order<'_>,
) -> Result<(WriteGuard, ReadGuard)> {
    let (written, read) = (addresses(dst.0, &dst.1), addresses(src.0, &src.1));
    let (write_id, read_id) = borrows().acquire_pair(written, read, after)?;
    let seen = next_number();
    let writing = Borrow { block: dst.0.clone(), range: dst.1, id: write_id, seen };
    let reading = Borrow { block: src.0.clone(), range: src.1, id: read_id, seen };
    let (first, second) = match order {
        Order::Waited => (Order::Waited, writing.settled(true, Order::Waited)?),
        Order::Events(events) => {
            let writing = writing.settled(true, Order::Events(events))?;
            (Order::Events(events), writing)
        }
    };
    Ok((WriteGuard(second), ReadGuard(reading.settled(false, first)?)))
}
