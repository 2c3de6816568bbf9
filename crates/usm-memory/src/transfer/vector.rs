//! Transfers under way between vectors of the host and USM.

use super::dependency::Dependency;
use super::flight::Flight;
use super::handle::{Refused, Transfer};
use super::host_memory::{HostMemory, HostMemoryMut};
use super::shape::{Copy2d, Placed, Shape};
use crate::plain::{Plain, zeroed};
use crate::{Error, Result, UsmBuffer};

impl UsmBuffer {
    /// Submits a copy of all of `bytes` to `offset_bytes`, to be done after the dependencies. The transfer keeps the vector and
    /// gives it back.
    ///
    /// # Errors
    /// [`Refused`] with the vector and one of [`Error::ReadOnly`], [`Error::OutOfBounds`], [`Error::BorrowConflict`],
    /// [`Error::Core`].
    pub fn copy_from_vec_async(
        &self,
        bytes: Vec<u8>,
        offset_bytes: usize,
        after: &[Dependency],
    ) -> Result<Transfer<Vec<u8>>, Refused<Vec<u8>>> {
        self.upload(bytes, |len_bytes| self.at(offset_bytes, len_bytes), after)
    }

    /// Submits a copy to all of `bytes` from `offset_bytes` on, to be done after the dependencies. The transfer keeps the vector
    /// and gives it back with the new content.
    ///
    /// # Errors
    /// [`Refused`] with the vector and one of [`Error::OutOfBounds`], [`Error::BorrowConflict`], [`Error::Core`].
    pub fn copy_to_vec_async(
        &self,
        bytes: Vec<u8>,
        offset_bytes: usize,
        after: &[Dependency],
    ) -> Result<Transfer<Vec<u8>>, Refused<Vec<u8>>> {
        self.download(bytes, |len_bytes| self.at(offset_bytes, len_bytes).map(Placed::reversed), after)
    }

    /// Submits a copy of the whole content to a new vector, to be done after the dependencies.
    ///
    /// # Errors
    /// [`Error::OutOfHostMemory`], [`Error::BorrowConflict`], [`Error::Core`].
    pub fn to_vec_async(&self, after: &[Dependency]) -> Result<Transfer<Vec<u8>>> {
        Ok(self.copy_to_vec_async(zeroed(self.len_bytes())?, 0, after)?)
    }

    /// As [`copy_2d_from_host`](Self::copy_2d_from_host), but returns when the copy is submitted, to be done after the
    /// dependencies. The transfer keeps the vector and gives it back.
    ///
    /// # Errors
    /// [`Refused`] with the vector and one of [`Error::Copy2d`], [`Error::ReadOnly`], [`Error::BorrowConflict`], [`Error::Core`].
    pub fn copy_2d_from_vec_async(
        &self,
        bytes: Vec<u8>,
        copy: Copy2d,
        after: &[Dependency],
    ) -> Result<Transfer<Vec<u8>>, Refused<Vec<u8>>> {
        self.upload(bytes, |len_bytes| copy.within(self.len_bytes(), len_bytes), after)
    }

    /// As [`copy_2d_to_host`](Self::copy_2d_to_host), but returns when the copy is submitted, to be done after the dependencies.
    /// The transfer keeps the vector and gives it back with the new content.
    ///
    /// # Errors
    /// [`Refused`] with the vector and one of [`Error::Copy2d`], [`Error::BorrowConflict`], [`Error::Core`].
    pub fn copy_2d_to_vec_async(
        &self,
        bytes: Vec<u8>,
        copy: Copy2d,
        after: &[Dependency],
    ) -> Result<Transfer<Vec<u8>>, Refused<Vec<u8>>> {
        self.download(bytes, |len_bytes| copy.within(len_bytes, self.len_bytes()), after)
    }

    /// As [`copy_from_vec_async`](Self::copy_from_vec_async), for any memory of the host that the transfer can keep.
    ///
    /// # Errors
    /// As [`copy_from_vec_async`](Self::copy_from_vec_async).
    pub fn copy_from_owned_async<H: HostMemory>(
        &self,
        host: H,
        offset_bytes: usize,
        after: &[Dependency],
    ) -> Result<Transfer<H>, Refused<H>> {
        self.upload(host, |len_bytes| self.at(offset_bytes, len_bytes), after)
    }

    /// As [`copy_to_vec_async`](Self::copy_to_vec_async), for any memory of the host that the transfer can keep.
    ///
    /// # Errors
    /// As [`copy_to_vec_async`](Self::copy_to_vec_async).
    pub fn copy_to_owned_async<H: HostMemoryMut>(
        &self,
        host: H,
        offset_bytes: usize,
        after: &[Dependency],
    ) -> Result<Transfer<H>, Refused<H>> {
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
        after: &[Dependency],
    ) -> Result<Transfer<Vec<T>>, Refused<Vec<T>>> {
        self.upload(elements, |len_bytes| self.all(self.len_bytes(), len_bytes), after)
    }

    /// Copies all of this buffer to elements of the host.
    pub(crate) fn download_all<T: Plain>(
        &self,
        elements: Vec<T>,
        after: &[Dependency],
    ) -> Result<Transfer<Vec<T>>, Refused<Vec<T>>> {
        self.download(elements, |len_bytes| self.all(len_bytes, self.len_bytes()), after)
    }

    /// Copies from memory of the host, of whose length in bytes `place` makes the bounds.
    fn upload<H: HostMemory>(
        &self,
        host: H,
        place: impl FnOnce(usize) -> Result<Placed>,
        after: &[Dependency],
    ) -> Result<Transfer<H>, Refused<H>> {
        under_way(host, |host| {
            let Placed { dst, src, shape } = place(host.len_bytes())?;
            let mut after = Dependency::all(after);
            let guard = self.write_range_after(dst, &after.borrows, &mut after.events)?;
            let to = guard.as_mut_ptr();
            let from = host.start().wrapping_add(src.start);
            let flight = Flight::new(after, Some(guard), None);
            // SAFETY: 1. The guard's range, which the flight keeps, and a part of the host memory (S1), which the caller keeps as long.
            // 2. The guard admits nobody but what this is ordered after (T1, O1); the host memory is ours (`HostMemory`, 2). 3. It
            // overlaps no USM that is written (`HostMemory`, 1).
            unsafe { self.submit_to_host(flight, to, from, shape) }
        })
    }

    /// As [`upload`](Self::upload), the other way.
    fn download<H: HostMemoryMut>(
        &self,
        host: H,
        place: impl FnOnce(usize) -> Result<Placed>,
        after: &[Dependency],
    ) -> Result<Transfer<H>, Refused<H>> {
        under_way(host, |host| {
            let Placed { dst, src, shape } = place(host.len_bytes())?;
            let mut after = Dependency::all(after);
            let guard = self.read_range_after(src, &after.borrows, &mut after.events)?;
            let from = guard.as_ptr();
            let to = host.start_mut().wrapping_add(dst.start);
            let flight = Flight::new(after, None, Some(guard));
            // SAFETY: 1 to 3 by S1, T1 and O1 as in `upload`; the host memory may be written (`HostMemoryMut`, 1).
            unsafe { self.submit_to_host(flight, to, from, shape) }
        })
    }
}

/// A transfer that keeps memory of the host, or gives it back where there is none.
fn under_way<H>(
    mut host: H,
    submit: impl FnOnce(&mut H) -> Result<Flight>,
) -> Result<Transfer<H>, Refused<H>> {
    match submit(&mut host) {
        Ok(flight) => Ok(Transfer::new(flight, host)),
        Err(error) => Err(Refused { error, host }),
    }
}
