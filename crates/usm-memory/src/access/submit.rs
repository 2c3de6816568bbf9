//! The one entry for operations of queues: they come after what is under way on their operands, whose blocks remember them.

use std::ops::Range;
use std::ptr;

use usm_core::{Event, Queue, Result as CoreResult, drops};

use super::guard::{ATTEMPTS, Entered, FEW};
use crate::tracker::across_copies::has_other_copies;
use crate::tracker::numbers::next_number;
use crate::tracker::stripes::Stripes;
use crate::tracker::table::Wanted;
use crate::tracker::{capture, waits};
use crate::{Error, Result, UsmBuffer};

/// Bytes that an operation uses.
#[derive(Clone, Debug)]
pub struct Operand<'a> {
    /// The buffer.
    pub buffer: &'a UsmBuffer,
    /// Its bytes that the operation uses.
    pub range: Range<usize>,
    /// Whether the operation writes them.
    pub writes: bool,
    /// Which bytes of the range these are; `None` for all.
    pub stripes: Option<Stripes>,
}

impl<'a> Operand<'a> {
    /// Bytes that an operation reads, and writes if `writes`.
    #[must_use]
    pub fn new(buffer: &'a UsmBuffer, range: Range<usize>, writes: bool) -> Self {
        Self { buffer, range, writes, stripes: None }
    }

    /// Bytes that an operation reads.
    #[must_use]
    pub fn read(buffer: &'a UsmBuffer, range: Range<usize>) -> Self {
        Self::new(buffer, range, false)
    }

    /// Bytes that an operation writes, and may read.
    #[must_use]
    pub fn written(buffer: &'a UsmBuffer, range: Range<usize>) -> Self {
        Self::new(buffer, range, true)
    }

    /// The range, counted in the block of the buffer.
    pub(super) fn in_block(&self) -> Result<Range<usize>> {
        self.buffer.in_block(self.range.clone())
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.writes {
            self.buffer.check_writable()?;
        }
        self.in_block().map(drop)
    }

    /// The addresses of an operand that was checked.
    fn addresses(&self) -> Range<usize> {
        let start = self.buffer.address();
        start + self.range.start..start + self.range.end
    }

    fn wanted(&self) -> Wanted {
        Wanted { range: self.addresses(), stripes: self.stripes, writes: self.writes }
    }
}

/// Submits an operation to a queue after all other work on its operands, and returns its event.
///
/// The memory of the operands remembers the operation: guards, accesses, exports and later operations on it come after it, and the memory is
/// not released before it is complete. Host code of other threads that uses the operands at the moment is waited for. The error of a failed operation comes out of the next wait
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
/// let operand = Operand::written(&buffer, 0..4);
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
/// [`Error::Core`] when the submission failed, also for an operand in a capture that host code reaches, or this operation, where it is waited for;
/// [`Error::Interrupted`] when a wait was broken off: for an operation of another context beforehand, or for this one, which goes on then.
pub unsafe fn submit(
    queue: &Queue,
    operands: &[Operand<'_>],
    operation: impl FnOnce(&[*mut u8], &[Event]) -> CoreResult<Event>,
) -> Result<Event> {
    let is_reached = operands.iter().any(|operand| operand.buffer.is_host_reachable());
    // SAFETY: promises 1 and 2. Nobody has slices of the memory, or this waits.
    let event = unsafe { submit_alone(queue, operands, &[], operation) }?;
    if is_reached {
        // The blocks know the operation, and the entries have left: code of the user that runs in the wait may use the memory.
        let waited = waits::for_event(&event);
        // A host task, whose wait is refused, has not been told the error of the operation.
        if !matches!(waited, Err(Error::Interrupted | Error::HostTaskWaits)) && event.is_complete() {
            operands.iter().for_each(|one| one.buffer.block().forget_event(&one.addresses(), &event));
        }
        waited?;
    }
    Ok(event)
}

/// As [`submit`], but after the events `after` besides, and without a wait for the operation on memory that host code reaches.
///
/// # Safety
/// Those of [`submit`], and:
/// 3. Until the operation is complete, host code has no slice of memory that the operation writes, and does not write what it reads, but under
///    a guard or an access: such as memory that the caller has just allocated.
///
/// # Errors
/// Those of [`submit`].
pub unsafe fn submit_async(
    queue: &Queue,
    operands: &[Operand<'_>],
    after: &[Event],
    operation: impl FnOnce(&[*mut u8], &[Event]) -> CoreResult<Event>,
) -> Result<Event> {
    // SAFETY: promises 1 to 3.
    unsafe { submit_alone(queue, operands, after, operation) }
}

/// Submits an operation in one step. What the queue cannot start after by itself is waited for without the entries, since code of the user
/// may run in that wait, unless more of it comes again and again.
///
/// # Safety
/// Those of [`submit_async`].
unsafe fn submit_alone(
    queue: &Queue,
    operands: &[Operand<'_>],
    after: &[Event],
    operation: impl FnOnce(&[*mut u8], &[Event]) -> CoreResult<Event>,
) -> Result<Event> {
    let mut attempts = ATTEMPTS;
    loop {
        let submission = Submission::of(operands)?;
        let before = Before::of(queue, operands, after)?;
        attempts -= 1;
        let is_elsewhere = |event: &&Event| !queue.takes(event) && !event.is_complete();
        let mut elsewhere: Vec<_> = before.after.iter().filter(is_elsewhere).cloned().collect();
        if attempts == 0 || elsewhere.is_empty() {
            // SAFETY: promises 1 to 3.
            return unsafe { submission.submit(queue, operands, before, operation) };
        }
        drop(submission);
        waits::across_contexts(queue, &mut elsewhere)?;
    }
}

/// What an operation starts after.
struct Before {
    after: Vec<Event>,
    /// The number of the newest operation that was looked at.
    seen: u64,
}

impl Before {
    fn of(queue: &Queue, operands: &[Operand<'_>], after: &[Event]) -> Result<Self> {
        let (seen, mut after) = (next_number(), after.to_vec());
        for operand in operands {
            operand.in_block()?;
            let block = operand.buffer.block();
            block.order(&operand.addresses(), Some(queue), operand.writes, &mut after)?;
        }
        Ok(Self { after, seen })
    }
}

/// An operation that is being submitted, in one step or in several. Meanwhile host code waits for that, and so do other submissions.
#[derive(Debug)]
pub(crate) struct Submission {
    /// Invariant S2: the table has the operands of all steps, except for memory that nobody else knows.
    _entered: Entered,
}

impl Submission {
    pub(crate) fn of(operands: &[Operand<'_>]) -> Result<Self> {
        operands.iter().try_for_each(Operand::check)?;
        Ok(Self { _entered: Entered::new(operands.iter().map(Operand::wanted))? })
    }

    /// Submits a part of the operation that uses some of its operands, after the events `after`.
    ///
    /// # Safety
    /// Those of [`submit_async`].
    pub(crate) unsafe fn step(
        &self,
        queue: &Queue,
        operands: &[Operand<'_>],
        after: &[Event],
        operation: impl FnOnce(&[*mut u8], &[Event]) -> CoreResult<Event>,
    ) -> Result<Event> {
        let before = Before::of(queue, operands, after)?;
        // SAFETY: promises 1 to 3.
        unsafe { self.submit(queue, operands, before, operation) }
    }

    /// # Safety
    /// Those of [`submit_async`].
    unsafe fn submit(
        &self,
        queue: &Queue,
        operands: &[Operand<'_>],
        Before { mut after, seen }: Before,
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
            *pointer = operand.buffer.block().pointer_at(operand.in_block()?.start).as_ptr();
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
        if has_other_copies()
            && event.capture().is_none()
            && operands.iter().any(|one| one.buffer.block().is_published())
        {
            // Other copies of this library know the memory of the operands, but not the operation. This wait cannot be broken off: what
            // the operation uses is the caller's when this fails.
            let waited = drops::wait(|| event.wait());
            if event.is_complete() {
                return Ok(waited.map(|()| event)?);
            }
        }
        for operand in operands {
            // Others find the event from here on, where they found the entry (T1).
            operand.buffer.block().record(&operand.addresses(), &event, queue, operand.writes, seen);
        }
        Ok(event)
    }
}
