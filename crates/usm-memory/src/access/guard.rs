//! What host code may do with bytes, as values: views of users, and the operations of this library.
//!
//! | value | lasts | somebody else wants the bytes |
//! |---|---|---|
//! | [`ReadGuard`], [`WriteGuard`]: a view | as long as the user likes | gets an error |
//! | [`ReadAccess`], [`WriteAccess`], [`OperandAccess`]: an operation | until the operation ends | waits |
//!
//! All of them wait for the operations of queues and of other threads that are under way.

use std::marker::PhantomData;
use std::ops::Range;

use usm_core::Queue;

use crate::buffer::{Block, BlockRef};
use crate::tracker::process::{BORROWS, borrows};
use crate::tracker::stripes::Stripes;
use crate::tracker::table::{Conflict, Use, Wanted};
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

/// A part of a block that host code uses.
struct Used<'a> {
    block: &'a BlockRef,
    range: Range<usize>,
    stripes: Option<Stripes>,
    writes: bool,
    /// The queue of a copy that is submitted and waited for under the access.
    queue: Option<&'a Queue>,
}

impl<'a> Used<'a> {
    fn of(block: &'a BlockRef, range: Range<usize>, writes: bool) -> Self {
        Self { block, range, stripes: None, writes, queue: None }
    }

    /// For a copy by the queue of the block, unless host code reaches that.
    fn for_copy(block: &'a BlockRef, range: Range<usize>, writes: bool) -> Self {
        let queue = (!block.is_host_reachable()).then(|| block.queue());
        Self { queue, ..Self::of(block, range, writes) }
    }

    fn of_operand(operand: &Operand<'a>) -> Result<Self> {
        operand.check()?;
        let block = operand.buffer.block();
        let (stripes, writes) = (operand.stripes, operand.writes);
        Ok(Self { block, range: operand.in_block()?, stripes, writes, queue: None })
    }

    fn wanted(&self) -> Wanted {
        Wanted { stripes: self.stripes, ..wanted(self.block, &self.range, self.writes) }
    }
}

/// The parts of all operands, or the error of one.
fn each<'a, const N: usize>(
    operands: [&Operand<'a>; N],
    part: impl Fn(&Operand<'a>) -> Result<Used<'a>>,
) -> Result<[Used<'a>; N]> {
    let mut refused = Ok(());
    let parts = operands.map(|operand| {
        part(operand).unwrap_or_else(|error| {
            refused = Err(error);
            Used::of(operand.buffer.block(), 0..0, false)
        })
    });
    refused.map(|()| parts)
}

/// A range of a block, by its addresses.
fn wanted(block: &Block, range: &Range<usize>, writes: bool) -> Wanted {
    let start = block.start().addr().get();
    Wanted { range: start + range.start..start + range.end, stripes: None, writes }
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
    /// Invariant G2: the table holds entries of an operation under the first `len` numbers of `few`, or under all of `many`, for the thread that
    /// has this value.
    few: [u64; FEW],
    many: Vec<u64>,
    len: usize,
    _of_thread: PhantomData<*const ()>,
}

/// So often an access or a submission waits for operations without its entries, where more operations come meanwhile.
pub(super) const ATTEMPTS: u32 = 3;

/// Operands that need no memory of the heap.
pub(super) const FEW: usize = 4;

impl Entered {
    /// Enters the ranges of an operation, which may overlap each other, and waits for what is in the way and ends by itself.
    pub(super) fn new(wanted: impl ExactSizeIterator<Item = Wanted>) -> Result<Self> {
        let len = wanted.len();
        // Nothing is to be released until it is entered.
        let mut new = Self { few: [0; FEW], many: Vec::new(), len: 0, _of_thread: PhantomData };
        let mut few = [const { Wanted { range: 0..0, stripes: None, writes: false } }; FEW];
        match few.get_mut(..len) {
            Some(list) => {
                list.iter_mut().zip(wanted).for_each(|(to, one)| *to = one);
                enter(Use::Operation, list, &mut new.few[..len])?;
            }
            None => {
                new.many.resize(len, 0);
                enter(Use::Operation, &wanted.collect::<Vec<_>>(), &mut new.many)?;
            }
        }
        new.len = len;
        Ok(new)
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let ids = if self.len > FEW { &self.many } else { &self.few[..self.len] };
        BORROWS.release(ids);
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
}

impl Borrow {
    fn new(kind: Use, part: Used<'_>) -> Result<Self> {
        Self::each(kind, [part]).map(|[borrow]| borrow)
    }

    /// All parts of one operation, or none.
    fn each<const N: usize>(kind: Use, parts: [Used<'_>; N]) -> Result<[Self; N]> {
        let (wanted, mut ids) = (parts.each_ref().map(Used::wanted), [0; N]);
        Self::enter(kind, &parts, &wanted, &mut ids)?;
        let mut ids = ids.iter().copied();
        let borrows = parts.map(|part| Self::entered(part, ids.next().unwrap_or_default()));
        wait_for_later(&borrows, &wanted)?;
        Ok(borrows)
    }

    /// As [`each`](Self::each), for any number.
    fn all(parts: Vec<Used<'_>>) -> Result<Vec<Self>> {
        let (wanted, mut ids) = (parts.iter().map(Used::wanted).collect::<Vec<_>>(), vec![0; parts.len()]);
        Self::enter(Use::Operation, &parts, &wanted, &mut ids)?;
        let borrows: Vec<_> = parts.into_iter().zip(ids).map(|(part, id)| Self::entered(part, id)).collect();
        wait_for_later(&borrows, &wanted)?;
        Ok(borrows)
    }

    /// Enters the table, after the operations of queues. They are waited for without an entry: a view that is entered is an error for
    /// others, and code of the user that runs in the wait may use the memory.
    fn enter(kind: Use, parts: &[Used<'_>], wanted: &[Wanted], ids: &mut [u64]) -> Result<()> {
        let each = || parts.iter().zip(wanted);
        for attempt in 1.. {
            for (part, wanted) in each() {
                part.block.wait_for_others(&wanted.range, wanted.writes)?;
                if let Some(queue) = part.queue {
                    part.block.wait_before_submit(queue)?;
                }
            }
            enter(kind, wanted, ids)?;
            let mut is_free =
                each().map(|(part, wanted)| !part.block.has_later(&wanted.range, wanted.writes));
            if attempt == ATTEMPTS || is_free.all(|is_free| is_free) {
                break;
            }
            BORROWS.release(ids);
        }
        Ok(())
    }

    fn entered(part: Used<'_>, id: u64) -> Self {
        Self { block: part.block.clone(), range: part.range, id }
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

/// Waits for the operations of queues that came before the entries.
fn wait_for_later(borrows: &[Borrow], wanted: &[Wanted]) -> Result<()> {
    let mut each = borrows.iter().zip(wanted);
    each.try_for_each(|(borrow, wanted)| borrow.block.wait_for_later(&wanted.range, wanted.writes))
}

impl Drop for Borrow {
    fn drop(&mut self) {
        BORROWS.release(&[self.id]);
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
/// This is for operations of the host that end by themselves. A thread that holds one may take more, but two threads that take the same
/// ranges in another order may wait for each other: then one of them gets an [`Error::BorrowConflict`]. [`WriteAccess::with_read`],
/// [`WriteAccess::all`] and [`OperandAccess::all`] take all ranges of an operation at once. Do not keep one while user code runs.
#[derive(Debug)]
pub struct ReadAccess(Borrow, PhantomData<*const ()>);

impl ReadAccess {
    /// For a copy by the queue of the block, unless host code reaches that.
    pub(crate) fn for_copy(block: &BlockRef, range: Range<usize>) -> Result<Self> {
        Borrow::new(Use::Operation, Used::for_copy(block, range, false))
            .map(|borrow| Self(borrow, PhantomData))
    }

    pub(crate) fn new(block: &BlockRef, range: Range<usize>) -> Result<Self> {
        Borrow::new(Use::Operation, Used::of(block, range, false)).map(|borrow| Self(borrow, PhantomData))
    }

    /// Access to all operands of one operation that reads them.
    ///
    /// # Errors
    /// As [`UsmBuffer::read_access`].
    pub fn all<const N: usize>(operands: [&Operand<'_>; N]) -> Result<[Self; N]> {
        let parts =
            each(operands, |operand| Ok(Used::of(operand.buffer.block(), operand.in_block()?, false)))?;
        Ok(Borrow::each(Use::Operation, parts)?.map(|borrow| Self(borrow, PhantomData)))
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
/// As for [`ReadAccess`].
#[derive(Debug)]
pub struct WriteAccess(Borrow, PhantomData<*const ()>);

impl WriteAccess {
    /// As [`ReadAccess::for_copy`].
    pub(crate) fn for_copy(block: &BlockRef, range: Range<usize>) -> Result<Self> {
        Borrow::new(Use::Operation, Used::for_copy(block, range, true))
            .map(|borrow| Self(borrow, PhantomData))
    }

    pub(crate) fn new(block: &BlockRef, range: Range<usize>) -> Result<Self> {
        Borrow::new(Use::Operation, Used::of(block, range, true)).map(|borrow| Self(borrow, PhantomData))
    }

    /// Access to a range that is written and to one that is read by the same operation. The two may overlap.
    ///
    /// # Errors
    /// As [`UsmBuffer::write_access`].
    pub fn with_read(to: &Operand<'_>, from: &Operand<'_>) -> Result<(Self, ReadAccess)> {
        Self::with_read_for(to, from, None)
    }

    /// As [`with_read`](Self::with_read), for a copy by a queue.
    pub(crate) fn with_read_for(
        to: &Operand<'_>,
        from: &Operand<'_>,
        queue: Option<&Queue>,
    ) -> Result<(Self, ReadAccess)> {
        to.buffer.check_writable()?;
        let to = Used { queue, ..Used::of(to.buffer.block(), to.in_block()?, true) };
        let from = Used::of(from.buffer.block(), from.in_block()?, false);
        let [to, from] = Borrow::each(Use::Operation, [to, from])?;
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
        let mut parts = Vec::new();
        for range in ranges {
            parts.push(Used::of(block, buffer.in_block(range)?, true));
        }
        if let Some(from) = from {
            parts.push(Used::of(from.buffer.block(), from.in_block()?, false));
        }
        let mut all = Borrow::all(parts)?;
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

/// Access of host code to what operands have, for an operation of this thread. Who wants to use it in another way waits for the operation.
///
/// As for [`ReadAccess`], but with the stripes of the operands: two operations on strided elements with no byte in common do not wait for
/// each other.
#[derive(Debug)]
pub struct OperandAccess(Borrow, PhantomData<*const ()>);

impl OperandAccess {
    /// Access to all operands of one operation. They may overlap.
    ///
    /// # Errors
    /// As [`UsmBuffer::read_access`] and [`UsmBuffer::write_access`].
    pub fn all<const N: usize>(operands: [&Operand<'_>; N]) -> Result<[Self; N]> {
        let parts = each(operands, Used::of_operand)?;
        Ok(Borrow::each(Use::Operation, parts)?.map(|borrow| Self(borrow, PhantomData)))
    }

    /// Start of the range of the operand. Host code may follow it only when the memory is
    /// [host-reachable](crate::UsmBuffer::is_host_reachable), to the bytes of the operand alone, and may write them only if the operand says so.
    #[must_use]
    pub fn as_ptr(&self) -> *mut u8 {
        self.0.pointer()
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
        Borrow::new(Use::View, Used::of(self.block(), range, false)).map(ReadGuard)
    }

    /// Borrows a byte range for reading and writing until the guard is dropped. Waits for the operations under way that use it.
    ///
    /// # Errors
    /// [`Error::ReadOnly`]; [`Error::OutOfBounds`]; [`Error::BorrowConflict`] while somebody holds a guard of a part of it;
    /// [`Error::Core`] when an operation that was waited for failed.
    pub fn write_range(&self, range: Range<usize>) -> Result<WriteGuard> {
        self.check_writable()?;
        let range = self.in_block(range)?;
        Borrow::new(Use::View, Used::of(self.block(), range, true)).map(WriteGuard)
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
        enter(Use::Operation, &[wanted(self.block(), &range, false)], &mut id)?;
        let borrow = Borrow { block: self.block().clone(), range, id: id[0] };
        Ok(NoWriters(ReadAccess(borrow, PhantomData)))
    }
}

/// Bytes that nobody writes through any buffer meanwhile, but for operations that were [submitted](crate::submit) before.
#[derive(Debug)]
pub struct NoWriters(#[expect(dead_code, reason = "it ends with this value")] ReadAccess);
