//! Copies by queues between memory of the host that they keep, such as vectors, and USM.

use usm_core::{Event, Result as CoreResult};

use super::chain::Chain;
use super::host_memory::{HostMemory, HostMemoryMut};
use super::shape::{Copy2d, Placed, Shape};
use super::staged::rows;
use crate::access::{Completion, Kept, Operand, Refused, submit_async};
use crate::plain::{Plain, zeroed};
use crate::tracker::capture;
use crate::{Error, Result, UsmBuffer};

impl UsmBuffer {
    /// Submits a copy of all of `bytes` to `offset_bytes`, to be done after the events. The completion keeps the vector and
    /// gives it back.
    ///
    /// # Errors
    /// [`Refused`] with the vector and one of [`Error::ReadOnly`], [`Error::OutOfBounds`], [`Error::BorrowConflict`],
    /// [`Error::Core`].
    pub fn copy_from_vec_async(
        &self,
        bytes: Vec<u8>,
        offset_bytes: usize,
        after: &[Event],
    ) -> Result<Completion<Vec<u8>>, Refused<Vec<u8>>> {
        self.upload(bytes, |len_bytes| self.at(offset_bytes, len_bytes), after)
    }

    /// Submits a copy to all of `bytes` from `offset_bytes` on, to be done after the events. The completion keeps the vector
    /// and gives it back with the new content.
    ///
    /// # Errors
    /// [`Refused`] with the vector and one of [`Error::OutOfBounds`], [`Error::BorrowConflict`], [`Error::Core`].
    pub fn copy_to_vec_async(
        &self,
        bytes: Vec<u8>,
        offset_bytes: usize,
        after: &[Event],
    ) -> Result<Completion<Vec<u8>>, Refused<Vec<u8>>> {
        self.download(bytes, |len_bytes| self.at(offset_bytes, len_bytes).map(Placed::reversed), after)
    }

    /// Submits a copy of the whole content to a new vector, to be done after the events.
    ///
    /// # Errors
    /// [`Error::OutOfHostMemory`], [`Error::BorrowConflict`], [`Error::Core`].
    pub fn to_vec_async(&self, after: &[Event]) -> Result<Completion<Vec<u8>>> {
        Ok(self.copy_to_vec_async(zeroed(self.len_bytes())?, 0, after)?)
    }

    /// As [`copy_2d_from_host`](Self::copy_2d_from_host), but returns when the copy is submitted, to be done after the
    /// events. The completion keeps the vector and gives it back.
    ///
    /// # Errors
    /// [`Refused`] with the vector and one of [`Error::Copy2d`], [`Error::ReadOnly`], [`Error::BorrowConflict`], [`Error::Core`].
    pub fn copy_2d_from_vec_async(
        &self,
        bytes: Vec<u8>,
        copy: Copy2d,
        after: &[Event],
    ) -> Result<Completion<Vec<u8>>, Refused<Vec<u8>>> {
        self.upload(bytes, |len_bytes| copy.within(self.len_bytes(), len_bytes), after)
    }

    /// As [`copy_2d_to_host`](Self::copy_2d_to_host), but returns when the copy is submitted, to be done after the events.
    /// The completion keeps the vector and gives it back with the new content.
    ///
    /// # Errors
    /// [`Refused`] with the vector and one of [`Error::Copy2d`], [`Error::BorrowConflict`], [`Error::Core`].
    pub fn copy_2d_to_vec_async(
        &self,
        bytes: Vec<u8>,
        copy: Copy2d,
        after: &[Event],
    ) -> Result<Completion<Vec<u8>>, Refused<Vec<u8>>> {
        self.download(bytes, |len_bytes| copy.within(len_bytes, self.len_bytes()), after)
    }

    /// As [`copy_from_vec_async`](Self::copy_from_vec_async), for any memory of the host that the completion can keep.
    ///
    /// # Errors
    /// As [`copy_from_vec_async`](Self::copy_from_vec_async).
    pub fn copy_from_owned_async<H: HostMemory>(
        &self,
        host: H,
        offset_bytes: usize,
        after: &[Event],
    ) -> Result<Completion<H>, Refused<H>> {
        self.upload(host, |len_bytes| self.at(offset_bytes, len_bytes), after)
    }

    /// As [`copy_to_vec_async`](Self::copy_to_vec_async), for any memory of the host that the completion can keep.
    ///
    /// # Errors
    /// As [`copy_to_vec_async`](Self::copy_to_vec_async).
    pub fn copy_to_owned_async<H: HostMemoryMut>(
        &self,
        host: H,
        offset_bytes: usize,
        after: &[Event],
    ) -> Result<Completion<H>, Refused<H>> {
        self.download(host, |len_bytes| self.at(offset_bytes, len_bytes).map(Placed::reversed), after)
    }

    /// `len_bytes` bytes of the host and as many at an offset of this buffer.
    fn at(&self, offset_bytes: usize, len_bytes: usize) -> Result<Placed> {
        self.check_range(offset_bytes, len_bytes)?;
        Ok(Placed {
            dst: offset_bytes..offset_bytes + len_bytes,
            src: 0..len_bytes,
            shape: Shape::contiguous(len_bytes),
        })
    }

    /// As many bytes of the host as this buffer has, from or to all of it.
    fn all(&self, dst_bytes: usize, src_bytes: usize) -> Result<Placed> {
        if dst_bytes != src_bytes {
            return Err(Error::LengthMismatch { dst_bytes, src_bytes });
        }
        self.at(0, src_bytes)
    }

    /// Copies from elements of the host to all of this buffer.
    pub(crate) fn upload_all<T: Plain>(
        &self,
        elements: Vec<T>,
        after: &[Event],
    ) -> Result<Completion<Vec<T>>, Refused<Vec<T>>> {
        self.upload(elements, |len_bytes| self.all(self.len_bytes(), len_bytes), after)
    }

    /// Copies all of this buffer to elements of the host.
    pub(crate) fn download_all<T: Plain>(
        &self,
        elements: Vec<T>,
        after: &[Event],
    ) -> Result<Completion<Vec<T>>, Refused<Vec<T>>> {
        self.download(elements, |len_bytes| self.all(len_bytes, self.len_bytes()), after)
    }

    /// Copies from memory of the host, of whose length in bytes `place` makes the bounds.
    fn upload<H: HostMemory>(
        &self,
        host: H,
        place: impl FnOnce(usize) -> Result<Placed>,
        after: &[Event],
    ) -> Result<Completion<H>, Refused<H>> {
        under_way(host, |host| {
            let Placed { dst, src, shape } = place(host.len_bytes())?;
            let from = host.start().wrapping_add(src.start);
            // SAFETY: promise 1 of `rows`: A part of the host memory (S1), which the caller keeps as long. It overlaps no USM that is written
            // (`HostMemory`, 1), and is ours (`HostMemory`, 2).
            let copy = |to, copies: &mut Chain<'_>| unsafe { rows(copies, to, from, shape) };
            self.with_host(&Operand::written(self, dst), shape, after, copy)
        })
    }

    /// As [`upload`](Self::upload), the other way.
    fn download<H: HostMemoryMut>(
        &self,
        host: H,
        place: impl FnOnce(usize) -> Result<Placed>,
        after: &[Event],
    ) -> Result<Completion<H>, Refused<H>> {
        under_way(host, |host| {
            let Placed { dst, src, shape } = place(host.len_bytes())?;
            let to = host.start_mut().wrapping_add(dst.start);
            // SAFETY: promise 1 of `rows`, as in `upload`; the host memory may be written (promise 1 of `HostMemoryMut`).
            let copy = |from: *mut u8, copies: &mut Chain<'_>| unsafe { rows(copies, to, from, shape) };
            self.with_host(&Operand::read(self, src), shape, after, copy)
        })
    }

    /// Submits copies between an operand, whose start they get, and memory of the host.
    fn with_host(
        &self,
        operand: &Operand<'_>,
        shape: Shape,
        after: &[Event],
        copy: impl FnOnce(*mut u8, &mut Chain<'_>) -> CoreResult<()>,
    ) -> Result<Vec<Event>> {
        let queue = self.queue();
        capture::check_none(queue)?; // a graph does not keep the host memory
        if shape.len_bytes() == 0 {
            return if operand.writes { self.check_writable() } else { Ok(()) }.map(|()| after.to_vec());
        }
        let submitted = |start: &[*mut u8], after: &[Event]| {
            let used = [self];
            if queue.capture()?.is_some() {
                return Err(capture::REASON); // begun meanwhile
            }
            let mut copies = Chain::new(queue, after, &used);
            copy(start[0], &mut copies)?;
            copies.end()
        };
        // SAFETY: promise 1 of `submit_async`: The bytes of the operand. 2. Memory of the queue's context. 3. Host code has slices under guards alone.
        Ok(vec![unsafe { submit_async(queue, std::slice::from_ref(operand), after, submitted) }?])
    }
}

/// An operation that keeps memory of the host, or gives it back where there is none.
fn under_way<H>(
    mut host: H,
    submit: impl FnOnce(&mut H) -> Result<Vec<Event>>,
) -> Result<Completion<H>, Refused<H>> {
    match submit(&mut host) {
        Ok(events) => Ok(Completion::new(events, Kept::host(host))),
        Err(error) => Err(Refused { error, host }),
    }
}
