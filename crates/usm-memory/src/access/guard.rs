//! What host code may do with bytes, as values: views of users, and the operations of this library.
//!
//! | value | lasts | somebody else wants the bytes |
//! |---|---|---|
//! | [`ReadGuard`], [`WriteGuard`]: a view | as long as the user likes | gets an error |
//! | [`ReadAccess`], [`WriteAccess`]: an operation | until the operation ends | waits |
//!
//! All of them wait for the operations of queues and of other threads that are under way.

use std::marker::PhantomData;
use std::ops::Range;

use crate::buffer::{Block, BlockRef};
use crate::tracker::process::{BORROWS, borrows};
use crate::tracker::table::{Conflict, Wanted};
use crate::tracker::thread::Use;
use crate::tracker::waits;
use crate::{Error, Operand, Result, UsmBuffer};

impl From<Conflict> for Error {
    fn from(conflict: Conflict) -> Self {
        Self::BorrowConflict {
            address: conflict.range.start,
            len_bytes: conflict.range.end - conflict.range.start,
            held: if conflict.is_written { "writing" } else { "reading" },
        }
    }
}

/// A range of a block, by its addresses.
fn wanted(block: &Block, range: &Range<usize>, writes: bool) -> Wanted {
    let start = block.start().addr().get();
    Wanted { range: start + range.start..start + range.end, writes }
}

/// Does something short with a range of a block that host code reaches, which nobody else writes meanwhile, nor reads if this one
/// `writes`: sooner than an access, which holds the block, enters the table and leaves it. `None` where that does not do: others have
/// to be waited for, or the table is that of another copy of this library.
///
/// The runtime is not called under the lock of the table, for which all threads wait: what external code has under way is asked for
/// before. What it submits later, no access orders either.
pub(crate) fn briefly<T>(
    block: &Block,
    range: &Range<usize>,
    writes: bool,
    job: impl FnOnce(*mut u8) -> T,
) -> Option<T> {
    if !block.has_no_external() {
        return None;
    }
    let job = || block.has_no_submitted().then(|| job(block.pointer_at(range.start).as_ptr()));
    borrows().during(&wanted(block, range, writes), job).flatten()
}

/// Entries of the table for one operation.
#[derive(Debug)]
pub(super) struct Entered {
    /// Invariant G2: the table holds entries of this kind under the first `len` numbers of `few`, or under all of `many`, for the thread that
    /// has this value.
    kind: Use,
    few: [u64; FEW],
    many: Vec<u64>,
    len: usize,
    _of_thread: PhantomData<*const ()>,
}

/// Operands that need no memory of the heap.
pub(super) const FEW: usize = 4;

impl Entered {
    /// Enters the ranges of an operation, which may overlap each other, and waits for what is in the way and ends by itself.
    pub(super) fn new(kind: Use, wanted: impl ExactSizeIterator<Item = Wanted>) -> Result<Self> {
        let len = wanted.len();
        let mut new = Self { kind, few: [0; FEW], many: Vec::new(), len, _of_thread: PhantomData };
        let mut few = [const { Wanted { range: 0..0, writes: false } }; FEW];
        match few.get_mut(..len) {
            Some(list) => {
                list.iter_mut().zip(wanted).for_each(|(to, one)| *to = one);
                enter(kind, list, &mut new.few[..len])?;
            }
            None => {
                new.many.resize(len, 0);
                enter(kind, &wanted.collect::<Vec<_>>(), &mut new.many)?;
            }
        }
        Ok(new)
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let ids = if self.len > FEW { &self.many } else { &self.few[..self.len] };
        BORROWS.release(self.kind, ids);
    }
}

fn enter(kind: Use, wanted: &[Wanted], ids: &mut [u64]) -> Result<()> {
    borrows().acquire(kind, wanted, ids, waits::for_operation)
}

/// A byte range and its entry in the table.
#[derive(Debug)]
struct Borrow {
    block: BlockRef,
    /// Invariant G1: `range` lies within the block, and the table holds its addresses under `id` as long as this value lives.
    range: Range<usize>,
    id: u64,
    kind: Use,
}

impl Borrow {
    /// Enters the table, then waits for the operations of queues.
    fn new(kind: Use, block: &BlockRef, range: Range<usize>, writes: bool) -> Result<Self> {
        let wanted = wanted(block, &range, writes);
        let mut id = [0];
        if kind == Use::View {
            // Others get an error once the view is entered, so the long wait comes before.
            block.wait_for_others(&wanted.range, writes)?;
        }
        enter(kind, std::slice::from_ref(&wanted), &mut id)?;
        let borrow = Self { block: block.clone(), range, id: id[0], kind };
        match kind {
            Use::View => borrow.block.wait_for_later(&wanted.range, writes)?,
            Use::Open | Use::Closed => borrow.block.wait_for_others(&wanted.range, writes)?,
        }
        Ok(borrow)
    }

    /// As [`new`](Self::new), for all ranges of one operation.
    fn all(ranges: Vec<(&BlockRef, Range<usize>, bool)>) -> Result<Vec<Self>> {
        let wanted: Vec<_> =
            ranges.iter().map(|(block, range, writes)| wanted(block, range, *writes)).collect();
        let mut ids = vec![0; wanted.len()];
        enter(Use::Closed, &wanted, &mut ids)?;
        let borrow = |((block, range, _), id): ((&BlockRef, _, _), _)| Self {
            block: block.clone(),
            range,
            id,
            kind: Use::Closed,
        };
        let all: Vec<_> = ranges.into_iter().zip(ids).map(borrow).collect();
        for (borrow, wanted) in all.iter().zip(&wanted) {
            borrow.block.wait_for_others(&wanted.range, wanted.writes)?;
        }
        Ok(all)
    }

    fn len_bytes(&self) -> usize {
        self.range.end - self.range.start
    }

    fn check_host_accessible(&self) -> Result<()> {
        let kind = self.block.kind();
        if kind.is_host_accessible() { Ok(()) } else { Err(Error::NotHostAccessible { kind }) }
    }

    fn pointer(&self) -> *mut u8 {
        self.block.pointer_at(self.range.start).as_ptr()
    }
}

impl Drop for Borrow {
    fn drop(&mut self) {
        BORROWS.release(self.kind, &[self.id]);
    }
}

/// Bytes borrowed for reading. Nobody writes them through any buffer meanwhile; the memory stays alive.
#[derive(Debug)]
pub struct ReadGuard(Borrow);

impl ReadGuard {
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
        self.0.check_host_accessible()?;
        // SAFETY: live host-accessible memory (B4 or K2, G1), and the table admits no writer while the guard lives (T1).
        Ok(unsafe { std::slice::from_raw_parts(self.as_ptr(), self.len_bytes()) })
    }
}

/// Bytes borrowed for reading and writing. Nobody else reaches them through any buffer meanwhile; the memory stays alive.
#[derive(Debug)]
pub struct WriteGuard(Borrow);

impl WriteGuard {
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
        self.0.check_host_accessible()?;
        // SAFETY: live host-accessible memory (B4 or K2, G1), and the table admits nobody else while the guard lives (T1).
        Ok(unsafe { std::slice::from_raw_parts_mut(self.as_mut_ptr(), self.len_bytes()) })
    }
}

/// Bytes that an operation of this thread reads. Who wants to write them waits for the operation.
///
/// This is for operations of the host that end by themselves. A thread that holds one may read more, but gets an
/// [`Error::BorrowConflict`] where it would have to wait for a reader: [`WriteAccess::with_read`] and [`WriteAccess::all`] take all ranges
/// of an operation at once. Do not keep one while user code runs.
#[derive(Debug)]
pub struct ReadAccess(Borrow, PhantomData<*const ()>);

impl ReadAccess {
    pub(crate) fn new(block: &BlockRef, range: Range<usize>) -> Result<Self> {
        Borrow::new(Use::Open, block, range, false).map(|borrow| Self(borrow, PhantomData))
    }

    pub(crate) fn block(&self) -> &Block {
        &self.0.block
    }

    /// As [`ReadGuard::as_ptr`].
    #[must_use]
    pub fn as_ptr(&self) -> *const u8 {
        self.0.pointer()
    }

    /// Length of the range.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.0.len_bytes()
    }
}

/// Bytes that an operation of this thread reads and writes. Who wants to use them waits for the operation.
///
/// As for [`ReadAccess`]. A thread that holds one gets an [`Error::BorrowConflict`] wherever it would have to wait for others.
#[derive(Debug)]
pub struct WriteAccess(Borrow, PhantomData<*const ()>);

impl WriteAccess {
    pub(crate) fn new(block: &BlockRef, range: Range<usize>) -> Result<Self> {
        Borrow::new(Use::Closed, block, range, true).map(|borrow| Self(borrow, PhantomData))
    }

    /// Access to a range that is written and to one that is read by the same operation. The two may overlap.
    ///
    /// # Errors
    /// As [`UsmBuffer::write_access`].
    pub fn with_read(to: &Operand<'_>, from: &Operand<'_>) -> Result<(Self, ReadAccess)> {
        to.buffer.check_writable()?;
        let (to, from) = ((to.buffer.block(), to.in_block()?), (from.buffer.block(), from.in_block()?));
        let [wanted_to, wanted_from] = [wanted(to.0, &to.1, true), wanted(from.0, &from.1, false)];
        let (addresses, mut ids) = ([wanted_to.range.clone(), wanted_from.range.clone()], [0; 2]);
        enter(Use::Closed, &[wanted_to, wanted_from], &mut ids)?;
        let borrow = |(block, range): (&BlockRef, _), id| Borrow {
            block: block.clone(),
            range,
            id,
            kind: Use::Closed,
        };
        let (to, from) = (borrow(to, ids[0]), borrow(from, ids[1]));
        to.block.wait_for_others(&addresses[0], true)?;
        from.block.wait_for_others(&addresses[1], false)?;
        Ok((Self(to, PhantomData), ReadAccess(from, PhantomData)))
    }

    /// Access to several ranges of a buffer that are written by one operation, and to one that is read by it.
    ///
    /// # Errors
    /// As [`UsmBuffer::write_access`].
    pub fn all(
        buffer: &UsmBuffer,
        ranges: impl IntoIterator<Item = Range<usize>>,
        from: Option<&Operand<'_>>,
    ) -> Result<(Vec<Self>, Option<ReadAccess>)> {
        buffer.check_writable()?;
        let block = buffer.block();
        let mut borrows = Vec::new();
        for range in ranges {
            borrows.push((block, buffer.in_block(range)?, true));
        }
        if let Some(from) = from {
            borrows.push((from.buffer.block(), from.in_block()?, false));
        }
        let mut all = Borrow::all(borrows)?;
        let read = from.and_then(|_| all.pop()).map(|borrow| ReadAccess(borrow, PhantomData));
        Ok((all.into_iter().map(|borrow| Self(borrow, PhantomData)).collect(), read))
    }

    pub(crate) fn block(&self) -> &Block {
        &self.0.block
    }

    /// As [`WriteGuard::as_mut_ptr`].
    #[must_use]
    pub fn as_mut_ptr(&self) -> *mut u8 {
        self.0.pointer()
    }

    /// Length of the range.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.0.len_bytes()
    }
}

impl UsmBuffer {
    /// Borrows a byte range for reading until the guard is dropped. Waits for the operations under way that write it.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`]; [`Error::BorrowConflict`] while somebody holds a [`WriteGuard`] of a part of it; [`Error::Core`] when an
    /// operation that was waited for failed.
    pub fn read_range(&self, range: Range<usize>) -> Result<ReadGuard> {
        let range = self.in_block(range)?;
        Borrow::new(Use::View, self.block(), range, false).map(ReadGuard)
    }

    /// Borrows a byte range for reading and writing until the guard is dropped. Waits for the operations under way that use it.
    ///
    /// # Errors
    /// [`Error::ReadOnly`]; [`Error::OutOfBounds`]; [`Error::BorrowConflict`] while somebody holds a guard of a part of it;
    /// [`Error::Core`] when an operation that was waited for failed.
    pub fn write_range(&self, range: Range<usize>) -> Result<WriteGuard> {
        self.check_writable()?;
        let range = self.in_block(range)?;
        Borrow::new(Use::View, self.block(), range, true).map(WriteGuard)
    }

    /// A byte range for an operation of this thread that reads it.
    ///
    /// # Errors
    /// As [`read_range`](Self::read_range); [`Error::Interrupted`].
    pub fn read_access(&self, range: Range<usize>) -> Result<ReadAccess> {
        let range = self.in_block(range)?;
        ReadAccess::new(self.block(), range)
    }

    /// A byte range for an operation of this thread that writes it.
    ///
    /// # Errors
    /// As [`write_range`](Self::write_range); [`Error::Interrupted`].
    pub fn write_access(&self, range: Range<usize>) -> Result<WriteAccess> {
        self.check_writable()?;
        let range = self.in_block(range)?;
        WriteAccess::new(self.block(), range)
    }

    /// Waits until no host code writes a byte range. Operations of queues are not waited for.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`]; [`Error::BorrowConflict`] while somebody holds a [`WriteGuard`] of a part of it; [`Error::Interrupted`].
    pub fn check_unwritten(&self, range: Range<usize>) -> Result<()> {
        self.keep_unwritten(range).map(drop)
    }

    /// Keeps host code and later operations from writing a byte range, for several operations of this thread that must find the same
    /// bytes. Operations of queues that were submitted before are not waited for.
    ///
    /// # Errors
    /// As [`check_unwritten`](Self::check_unwritten).
    pub fn keep_unwritten(&self, range: Range<usize>) -> Result<NoWriters> {
        let range = self.in_block(range)?;
        let mut id = [0];
        enter(Use::Open, &[wanted(self.block(), &range, false)], &mut id)?;
        Ok(NoWriters(ReadAccess(
            Borrow { block: self.block().clone(), range, id: id[0], kind: Use::Open },
            PhantomData,
        )))
    }
}

/// Bytes that nobody writes through any buffer meanwhile, but for operations that were [submitted](crate::submit) before.
#[derive(Debug)]
pub struct NoWriters(#[expect(dead_code, reason = "it ends with this value")] ReadAccess);
