//! Copies between two buffers: in one context by its queue, between two GPUs of the CUDA driver by one that reaches both, across other
//! contexts and backends staged through host USM.

use usm_core::Event;

use super::dependency::Dependency;
use super::flight::Flight;
use super::handle::Transfer;
use super::host::memcpy;
use super::rows;
use super::shape::{Copy2d, Order, Placed, Shape};
use super::staged::{self, Route};
use super::submit::{Operand, record};
use crate::guard::{self, ReadGuard, WriteGuard};
use crate::{Error, Result, UsmBuffer, capture};

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

    /// As [`copy_from`](Self::copy_from), but returns when the copy is submitted, to be done after the dependencies.
    ///
    /// Between two GPUs of the CUDA driver it is one operation. Across other contexts and backends, whose events do not order each
    /// other, the calling thread waits for the chunks that are not the last, and for dependencies of another context. The copy comes
    /// after the operations under way on both sides, and after what external code may have submitted on published memory.
    ///
    /// # Errors
    /// As [`copy_from`](Self::copy_from).
    pub fn copy_from_async(&self, src: &Self, after: &[Dependency]) -> Result<Transfer> {
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
    pub fn copy_2d_from_async(&self, src: &Self, copy: Copy2d, after: &[Dependency]) -> Result<Transfer> {
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
        let (writing, reading) = self.guards(src, placed, &[], guard::Order::Waited)?;
        let (to, from) = (writing.as_mut_ptr(), reading.as_ptr());
        let order = shape.order(to.addr(), from.addr());
        if self.is_host_reachable() && src.is_host_reachable() && order != Order::ReadAllFirst {
            // SAFETY: both are live memory that host code reaches (B4 or K2, G1, S1), kept for us by the guards.
            unsafe { rows::copy(to, from, shape, order) };
            return Ok(());
        }
        if let (Route::Direct(queue), true) = (Route::between(self, src, order), shape.is_contiguous()) {
            // Small copies notice what a flight costs.
            // SAFETY: the guards hold what the shape needs (S1); the queue reaches both, which do not overlap.
            return unsafe { memcpy(self.block(), &queue, to, from, shape.len_bytes()) };
        }
        src.wait_before_submit()?;
        self.wait_before_submit()?;
        let flight = Flight::new(Dependency::default(), Some(writing), Some(reading));
        self.submit(src, shape, flight, (to, from))?.wait()
    }

    fn copy_async(&self, src: &Self, placed: Placed, after: &[Dependency]) -> Result<Transfer> {
        let shape = placed.shape;
        if self.queue().capture()?.is_some() {
            return self.record_copy(src, placed, after);
        }
        let Dependency { mut events, borrows } = Dependency::all(after);
        let (writing, reading) = self.guards(src, placed, &borrows, guard::Order::Events(&mut events))?;
        let after = Dependency { events, borrows };
        let ends = (writing.as_mut_ptr(), reading.as_ptr());
        let flight = Flight::new(after, Some(writing), Some(reading));
        Ok(Transfer::new(self.submit(src, shape, flight, ends)?, ()))
    }

    /// Records a copy in the graph that the stream of the queue is captured into.
    fn record_copy(
        &self,
        src: &Self,
        Placed { dst, src: from, shape }: Placed,
        after: &[Dependency],
    ) -> Result<Transfer> {
        let (queue, len_bytes) = (self.queue(), shape.len_bytes());
        let order = shape.order(self.address() + dst.start, src.address() + from.start);
        match Route::between(self, src, order) {
            Route::Direct(direct) if direct == *queue && shape.is_contiguous() => {}
            _ => return Err(capture::not_recorded()),
        }
        let to = Operand { buffer: self, range: dst, writes: true };
        let from = Operand { buffer: src, range: from, writes: false };
        let copy = |ends: &[*mut u8], after: &[Event]| {
            // SAFETY: T1: the operands, which the graph keeps; they do not overlap (`order`).
            unsafe { queue.memcpy(ends[0], ends[1].cast_const(), len_bytes, after) }
        };
        // SAFETY: 1. The bytes of the operands. 2. As the route says.
        unsafe { record(queue, &[to, from], after, copy) }
    }

    /// Borrows both sides of a copy, which lie within the buffers (S1).
    fn guards(
        &self,
        src: &Self,
        placed: Placed,
        after: &[u64],
        order: guard::Order<'_>,
    ) -> Result<(WriteGuard, ReadGuard)> {
        self.check_writable()?;
        let (to, from) = (self.in_block(placed.dst)?, src.in_block(placed.src)?);
        guard::write_and_read((self.block(), to), (src.block(), from), after, order)
    }

    /// Submits a copy between the starts of the two guards of `flight`.
    fn submit(
        &self,
        src: &Self,
        shape: Shape,
        mut flight: Flight,
        (to, from): (*mut u8, *const u8),
    ) -> Result<Flight> {
        let order = shape.order(to.addr(), from.addr());
        let route = Route::between(self, src, order);
        // SAFETY: 1. The guards in `flight` hold what the shape needs (S1). 2. They admit nobody but what it is ordered after
        // (T1, O1). 3. That order, and the route was made for it.
        unsafe { staged::copy(&mut flight, &route, to, from, shape, order) }?;
        if let Route::Direct(queue) = route
            && shape.len_bytes() > 0
        {
            // The flight ends with the copy, not with a barrier: a wait for one queue says nothing of the other one's.
            staged::follow(self, src, &queue, flight.last())?;
        }
        Ok(flight)
    }
}
