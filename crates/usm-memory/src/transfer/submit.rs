//! Operations of queues that hold no borrow: the blocks of their operands remember their events.

use std::ops::Range;
use std::ptr;

use usm_core::{Event, Queue, Result as CoreResult, UsmKind};

use super::dependency::Dependency;
use super::flight::Flight;
use super::handle::Transfer;
use super::shape::{Order, Shape};
use super::staged::{self, Route};
use crate::buffer::next_number;
use crate::guard::{self, OperationBorrow};
use crate::{Error, Result, UsmBuffer, capture, waits};

/// Operands of which no list is made.
const FEW: usize = 4;

/// Bytes of host memory up to which a copy to a device goes through memory that the queue empties later. The bus takes longer than a wait
/// from there on.
const STAGED_BYTES: usize = 4 << 20;

/// Bytes that an operation uses.
#[derive(Clone, Debug)]
pub struct Operand<'a> {
    /// The buffer.
    pub buffer: &'a UsmBuffer,
    /// Its bytes that the operation uses.
    pub range: Range<usize>,
    /// Whether the operation writes them.
    pub writes: bool,
}

/// Submits an operation to a queue after all other work on its operands, and returns its event.
///
/// The operands are borrowed during this call only. Their memory remembers the operation: guards, transfers, exports and later operations
/// on it come after it, and the memory is not released before it is complete. The error of a failed operation comes out of the next wait
/// for memory that it writes, unless a later operation has written there, too.
///
/// Where host code reaches an operand, the operation is complete when this returns: others may have slices of such memory.
///
/// While another library [captures](Queue::capture) the stream of the queue, the operation is recorded in the graph, which keeps the
/// memory of the operands until it is gone. Work outside of the capture is waited for. The memory counts as
/// [published](UsmBuffer::publish) from then on, since the launches of the graph are work of others.
///
/// `operation` gets a pointer to the first byte of each operand, in their order, and the events to depend on, which the queue
/// [takes](Queue::takes). It returns the event of what it submitted.
///
/// ```
/// use usm_memory::usm_core::{Runtime, UsmKind};
/// use usm_memory::{Operand, UsmBuffer, submit};
///
/// # fn main() -> usm_memory::Result<()> {
/// # let runtime = Runtime::global();
/// # let queue = runtime.default_queue(runtime.host_device())?;
/// let buffer = UsmBuffer::allocate(&queue, UsmKind::Device, 4)?;
/// let operand = Operand { buffer: &buffer, range: 0..4, writes: true };
/// // SAFETY: 1. All of the operand, and nothing else. 2. Memory that the queue has allocated.
/// unsafe { submit(&queue, &[operand], |start, after| queue.memset(start[0], 7, 4, after)) }?;
/// assert_eq!(buffer.to_vec()?, [7; 4]); // waits
/// # Ok(())
/// # }
/// ```
///
/// # Safety
/// 1. What `operation` submits starts after the events, uses those bytes alone, as the operands say, and is complete when the event that
///    it returns is. If it returns an error, nothing that it submitted is under way.
/// 2. The queue reaches the operands.
///
/// # Errors
/// Those of [`UsmBuffer::read_range`] and [`UsmBuffer::write_range`] but errors of work on the operands, which is not waited for;
/// [`Error::Core`] when the submission failed, also for an operand in a capture that host code reaches, and [`Error::Interrupted`] when a wait was broken off: for an operation of another context
/// beforehand, or for this one, which goes on then.
pub unsafe fn submit(
    queue: &Queue,
    operands: &[Operand<'_>],
    operation: impl FnOnce(&[*mut u8], &[Event]) -> CoreResult<Event>,
) -> Result<Event> {
    let is_reached = operands.iter().any(|operand| operand.buffer.is_host_reachable());
    // SAFETY: promises 1 and 2. Nobody has slices of the memory, or this waits.
    unsafe { submit_as(queue, operands, is_reached, operation) }
}

/// As [`submit`], but does not wait for the operation on memory that host code reaches either.
///
/// # Safety
/// Those of [`submit`], and:
/// 3. Until the operation is complete, host code has no slice of memory that the operation writes, and does not write what it reads, but under
///    a guard: such as memory that the caller has just allocated.
///
/// # Errors
/// Those of [`submit`].
pub unsafe fn submit_unseen(
    queue: &Queue,
    operands: &[Operand<'_>],
    operation: impl FnOnce(&[*mut u8], &[Event]) -> CoreResult<Event>,
) -> Result<Event> {
    // SAFETY: promises 1 to 3.
    unsafe { submit_as(queue, operands, false, operation) }
}

/// # Safety
/// Those of [`submit_unseen`], but the last where it `waits`.
unsafe fn submit_as(
    queue: &Queue,
    operands: &[Operand<'_>],
    waits: bool,
    operation: impl FnOnce(&[*mut u8], &[Event]) -> CoreResult<Event>,
) -> Result<Event> {
    let mut few = [ptr::null_mut(); FEW];
    let mut many = Vec::new();
    let pointers = match few.get_mut(..operands.len()) {
        Some(few) => few,
        None => {
            many.resize(operands.len(), ptr::null_mut());
            &mut many[..]
        }
    };
    for (operand, pointer) in operands.iter().zip(&mut *pointers) {
        let Operand { buffer, range, writes } = operand;
        if *writes {
            buffer.check_writable()?;
        }
        let range = buffer.in_block(range.clone())?;
        *pointer = buffer.block().pointer_at(range.start).as_ptr();
    }
    // In the block, as was just checked.
    let addresses = |operand: &Operand<'_>| {
        let start = operand.buffer.address();
        start + operand.range.start..start + operand.range.end
    };
    let borrow = OperationBorrow::new(operands.iter().map(|one| (addresses(one), one.writes)))?;
    let (seen, mut after) = (next_number(), Vec::new());
    for operand in operands {
        operand.buffer.block().order(&addresses(operand), Some(queue), operand.writes, &mut after)?;
    }
    match queue.capture()? {
        None => waits::across_contexts(queue, &mut after)?,
        Some(_) if operands.iter().any(|one| one.buffer.is_host_reachable()) => {
            return Err(capture::not_recorded()); // it could not be complete when this returns
        }
        Some(captured) => {
            let blocks: Vec<_> = operands.iter().map(|one| one.buffer.block().clone()).collect();
            capture::record(queue, captured, blocks, &mut after)?;
        }
    }
    let event = operation(pointers, &after)?;
    // Other copies of this library know the memory of the operands, but not the operation.
    let waits =
        waits || (guard::has_other_copies() && operands.iter().any(|one| one.buffer.block().is_published()));
    let mut result = Ok(());
    if waits {
        result = waits::for_event(&event);
        if !matches!(result, Err(Error::Interrupted)) && event.is_complete() {
            return result.map(|()| event);
        }
    }
    for operand in operands {
        // Others find the event from here on, where they found the borrow (T1).
        operand.buffer.block().record(&addresses(operand), &event, queue, operand.writes, seen);
    }
    drop(borrow);
    result.map(|()| event)
}

/// As [`submit`], for a transfer on a queue whose stream is captured.
///
/// # Safety
/// Those of [`submit`].
pub(super) unsafe fn record(
    queue: &Queue,
    operands: &[Operand<'_>],
    after: &[Dependency],
    operation: impl FnOnce(&[*mut u8], &[Event]) -> CoreResult<Event>,
) -> Result<Transfer> {
    let asked = Dependency::all(after).events;
    // SAFETY: promises 1 and 2.
    let event =
        unsafe { submit(queue, operands, |starts, after| operation(starts, &[after, &asked].concat())) }?;
    Ok(Transfer::new(Flight::recorded(event), ()))
}

impl UsmBuffer {
    /// As [`copy_from`](Self::copy_from), but returns when the copy is [submitted](submit), where one queue copies memory that only devices
    /// reach. Bytes that both have in common are copied twice.
    ///
    /// # Errors
    /// As [`copy_from`](Self::copy_from).
    pub fn submit_copy_from(&self, src: &Self) -> Result<()> {
        let len_bytes = self.len_bytes();
        if self.is_host_reachable()
            || src.is_host_reachable()
            || len_bytes == 0
            || len_bytes != src.len_bytes()
        {
            return self.copy_from(src);
        }
        let order = Shape::contiguous(len_bytes).order(self.address(), src.address());
        match Route::between(self, src, order) {
            Route::Direct(queue) => {
                if queue != *self.queue() {
                    capture::check_none(self.queue())?; // the other queue would not be in the graph
                }
                let whole = 0..len_bytes;
                let to = Operand { buffer: self, range: whole.clone(), writes: true };
                let from = Operand { buffer: src, range: whole, writes: false };
                let copy = |ends: &[*mut u8], after: &[Event]| {
                    // SAFETY: T1: the operands, until the event is complete; they do not overlap (`order`).
                    unsafe { queue.memcpy(ends[0], ends[1].cast_const(), len_bytes, after) }
                };
                // SAFETY: 1. The bytes of the operands. 2. As the route says.
                let event = unsafe { submit(&queue, &[to, from], copy) }?;
                staged::follow(self, src, &queue, &[event])?;
                Ok(())
            }
            // Bytes in common go through other memory, which the queue reaches.
            _ if order != Order::Any && self.context() == src.context() => {
                let Ok(between) = Self::allocate(self.queue(), self.kind(), len_bytes) else {
                    return self.copy_from(src);
                };
                between.submit_copy_from(src)?;
                self.submit_copy_from(&between)
            }
            _ => self.copy_from(src),
        }
    }

    /// As [`fill`](Self::fill), but returns when the fill is [submitted](submit), where only devices reach the memory.
    ///
    /// # Errors
    /// As [`fill`](Self::fill).
    pub fn submit_fill(&self, pattern: &[u8]) -> Result<()> {
        self.check_pattern(pattern)?;
        if self.is_host_reachable() || self.len_bytes() == 0 {
            return self.fill(pattern);
        }
        let (queue, count) = (self.queue(), self.len_bytes() / pattern.len());
        let all = Operand { buffer: self, range: 0..self.len_bytes(), writes: true };
        // SAFETY: T1: the operand, until the event is complete.
        let fill =
            |start: &[*mut u8], after: &[Event]| unsafe { queue.fill(start[0], pattern, count, after) };
        // SAFETY: 1. The bytes of the operand. 2. Memory of the queue's context.
        unsafe { submit(queue, &[all], fill) }?;
        Ok(())
    }

    /// As [`copy_from_host`](Self::copy_from_host), but returns when the bytes have been read, where only devices reach the memory: up to
    /// 4 MiB go through host USM.
    ///
    /// # Errors
    /// As [`copy_from_host`](Self::copy_from_host).
    pub fn submit_copy_from_host(&self, bytes: &[u8], offset_bytes: usize) -> Result<()> {
        // SAFETY: 1. and 2. `bytes` is borrowed.
        unsafe { self.submit_copy_from_host_memory(bytes, offset_bytes) }
    }

    /// As [`submit_copy_from_host`](Self::submit_copy_from_host), from host memory that is not borrowed as a slice: it may be a view of this
    /// very memory.
    ///
    /// # Safety
    /// 1. The bytes are readable until this returns.
    /// 2. Nobody else writes them meanwhile.
    ///
    /// # Errors
    /// As [`copy_from_host`](Self::copy_from_host).
    pub unsafe fn submit_copy_from_host_memory(&self, bytes: *const [u8], offset_bytes: usize) -> Result<()> {
        let (queue, len_bytes) = (self.queue(), bytes.len());
        if !(1..=STAGED_BYTES).contains(&len_bytes) || self.is_host_reachable() {
            // SAFETY: promises 1 and 2.
            return unsafe { self.copy_from_host_memory(bytes, offset_bytes) };
        }
        self.check_range(offset_bytes, len_bytes)?;
        self.check_writable()?;
        let range = offset_bytes..offset_bytes + len_bytes;
        let Ok(staging) = Self::allocate(queue, UsmKind::Host, len_bytes) else {
            // SAFETY: promises 1 and 2.
            return unsafe { self.copy_from_host_memory(bytes, offset_bytes) };
        };
        // SAFETY: promises 1 and 2.
        unsafe { staging.copy_from_host_memory(bytes, 0) }?;
        let to = Operand { buffer: self, range, writes: true };
        let from = Operand { buffer: &staging, range: 0..len_bytes, writes: false };
        let copy = |ends: &[*mut u8], after: &[Event]| {
            // SAFETY: T1: the operands, two blocks, until the event is complete.
            unsafe { queue.memcpy(ends[0], ends[1].cast_const(), len_bytes, after) }
        };
        // SAFETY: 1. The bytes of the operands. 2. Memory of the queue's context. 3. Nobody else has the staging memory.
        unsafe { submit_unseen(queue, &[to, from], copy) }?;
        Ok(())
    }
}
