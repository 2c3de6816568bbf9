//! Copies between two buffers: in one context by its queue, between two GPUs of the CUDA driver by one that reaches both, across other
//! contexts and backends staged through host USM.

use usm_core::Event;

use super::chain::Chain;
use super::host::memcpy;
use super::rows;
use super::shape::{Copy2d, PieceOrder, Placed, Shape};
use super::staged::{self, Route};
use crate::access::{Completion, Kept, Operand, WriteAccess, submit_async};
use crate::tracker::capture;
use crate::{Error, Result, UsmBuffer};

impl UsmBuffer {
    /// Copies the whole of `src`, which has the same length, into this buffer. The two may be of any kinds and contexts, and may
    /// overlap.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::ReadOnly`], [`Error::BorrowConflict`]; [`Error::Core`], also when there is no host USM
    /// for a copy across contexts.
    pub fn copy_from(&self, src: &Self) -> Result<()> {
        self.copy(src, self.whole(src)?)
    }

    /// As [`copy_from`](Self::copy_from), but returns when the copy is submitted, to be done after the events.
    ///
    /// Between two GPUs of the CUDA driver it is one operation. Across other contexts and backends, whose events do not order each
    /// other, the calling thread waits for the chunks that are not the last, and for events of another context. The copy comes
    /// after the operations under way on both sides, and after what external code may have submitted on published memory.
    ///
    /// # Errors
    /// As [`copy_from`](Self::copy_from).
    pub fn copy_from_async(&self, src: &Self, after: &[Event]) -> Result<Completion> {
        self.copy_async(src, self.whole(src)?, after)
    }

    /// Copies rows of `src` into this buffer. The two may be of any kinds and contexts, and may overlap.
    ///
    /// # Errors
    /// [`Error::Copy2d`] names the field that is wrong; the others are those of [`copy_from`](Self::copy_from). Rows of one buffer
    /// that overlap with different pitches need host USM for all of them.
    pub fn copy_2d_from(&self, src: &Self, copy: Copy2d) -> Result<()> {
        self.copy(src, copy.within(self.len_bytes(), src.len_bytes())?)
    }

    /// As [`copy_2d_from`](Self::copy_2d_from), but returns when the copy is submitted, as
    /// [`copy_from_async`](Self::copy_from_async) does.
    ///
    /// # Errors
    /// As [`copy_2d_from`](Self::copy_2d_from).
    pub fn copy_2d_from_async(&self, src: &Self, copy: Copy2d, after: &[Event]) -> Result<Completion> {
        self.copy_async(src, copy.within(self.len_bytes(), src.len_bytes())?, after)
    }

    /// All of two buffers of the same length.
    fn whole(&self, src: &Self) -> Result<Placed> {
        let (dst_bytes, src_bytes) = (self.len_bytes(), src.len_bytes());
        if dst_bytes != src_bytes {
            return Err(Error::LengthMismatch { dst_bytes, src_bytes });
        }
        Ok(Placed { dst: 0..dst_bytes, src: 0..src_bytes, shape: Shape::contiguous(src_bytes) })
    }

    fn copy(&self, src: &Self, placed: Placed) -> Result<()> {
        let shape = placed.shape;
        let (to, from) = self.operands(src, &placed);
        let order = shape.order(self.address() + to.range.start, src.address() + from.range.start);
        let is_by_host =
            self.is_host_reachable() && src.is_host_reachable() && order != PieceOrder::ReadAllFirst;
        let direct = match Route::between(self, src, order) {
            Route::Direct(queue) if shape.is_contiguous() => Some(queue),
            _ => None,
        };
        if is_by_host || direct.is_some() {
            let queue = direct.filter(|_| !is_by_host);
            let (writing, reading) = WriteAccess::with_read_for(&to, &from, queue.as_ref())?;
            let (to, from) = (writing.as_mut_ptr(), reading.as_ptr());
            if let Some(queue) = queue {
                // SAFETY: the accesses hold what the shape needs (S1, G1); the queue reaches both, which do not overlap.
                return unsafe { memcpy(&queue, to, from, shape.len_bytes()) };
            }
            // SAFETY: both are live memory that host code reaches (B4 or K2, G1, S1), kept for us by the accesses.
            unsafe { rows::copy(to, from, shape, order) };
            return Ok(());
        }
        // Errors of earlier operations come out here, and not of a later wait.
        drop(WriteAccess::with_read(&to, &from)?);
        src.wait_before_submit()?;
        self.wait_before_submit()?;
        self.copy_async(src, placed, &[])?.wait()
    }

    fn copy_async(&self, src: &Self, placed: Placed, after: &[Event]) -> Result<Completion> {
        self.check_writable()?;
        let (shape, (to, from)) = (placed.shape, self.operands(src, &placed));
        if shape.len_bytes() == 0 {
            return Ok(Completion::new(after.to_vec(), Kept::NONE));
        }
        let order = shape.order(self.address() + to.range.start, src.address() + from.range.start);
        let route = Route::between(self, src, order);
        let is_recorded = self.queue().capture()?.is_some();
        match route {
            Route::Direct(queue) => {
                if is_recorded && !(queue == *self.queue() && shape.is_contiguous()) {
                    return Err(capture::not_recorded());
                }
                let copy = |ends: &[*mut u8], after: &[Event]| {
                    let used = [self, src];
                    let mut copies = Chain::new(&queue, after, &used);
                    // SAFETY: 1. The operands hold what the shape needs (S1); the route was made for it.
                    unsafe { staged::rows(&mut copies, ends[0], ends[1], shape) }?;
                    copies.end()
                };
                // SAFETY: promise 1 of `submit_async`: The bytes of the operands. 2. As the route says. 3. Host code has slices under guards alone.
                let event = unsafe { submit_async(&queue, &[to, from], after, copy) }?;
                if !is_recorded {
                    // The completion is that of the copy, not of a barrier: a wait for one queue says nothing of the other one's.
                    staged::follow(self, src, &queue, std::slice::from_ref(&event))?;
                }
                Ok(Completion::new(vec![event], Kept::NONE))
            }
            Route::Staged { .. } if is_recorded => Err(capture::not_recorded()),
            Route::Staged { read, write } => {
                // SAFETY: 1. The operands hold what the shape needs (S1).
                let (steps, chunks) =
                    unsafe { staged::copy([read, write], &to, &from, shape, order, after) }?;
                // The errors of all steps are for who waits, and a pool of one context cannot order a slot after a queue of another
                // one.
                Ok(Completion::of_steps(steps, Kept::memory(chunks)))
            }
        }
    }

    /// Both sides of a copy, which lie within the buffers (S1).
    fn operands<'a>(&'a self, src: &'a Self, placed: &Placed) -> (Operand<'a>, Operand<'a>) {
        (Operand::written(self, placed.dst.clone()), Operand::read(src, placed.src.clone()))
    }
}
