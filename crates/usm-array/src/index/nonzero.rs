//! Where elements are not zero

use super::mask::Mask;
use super::memory::fill;
use super::plan::with_capacity;
use super::read::HostElements;
use crate::array::UsmArray;
use crate::device::{INDEX, Task, code};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::layout::LayoutError;

impl UsmArray {
    /// The indices of the elements that are not zero, in row-major order: for each axis an `int64` array, in memory of the same
    /// kind and queue. They are an index of this array.
    ///
    /// ```
    /// use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2, 2], &[0.0_f32, 1.0, 2.0, -0.0])?;
    /// let places = array.nonzero()?;
    /// assert_eq!(places[0].to_vec::<i64>()?, [0, 1]);
    /// assert_eq!(places[1].to_vec::<i64>()?, [1, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): an array without axes
    /// - [`Error::OutOfHostMemory`](crate::Error::OutOfHostMemory): no host memory for the indices or for a copy of device memory
    /// - [`Error::Memory`](crate::Error::Memory): the allocation failed, the memory is borrowed for writing, or the runtime failed
    pub fn nonzero(&self) -> Result<Vec<Self>> {
        if self.ndim() == 0 {
            return Err(LayoutError::TooFewAxes { ndim: 0, needed: 1 }.into());
        }
        if let Some(places) = self.device_places()? {
            let count = [places.size()];
            let axis = |axis| {
                let indices = Self::empty(self.queue(), self.kind(), &count, Dtype::I64)?;
                self.unravelled(&places, axis, &indices, 1)?;
                Ok(indices)
            };
            return (0..self.ndim()).map(axis).collect();
        }
        let truth = HostElements::truth(self)?;
        let bytes = truth.bytes()?;
        let count = count(bytes);
        let axis = |axis| {
            let indices = Self::empty(self.queue(), self.kind(), &[count], Dtype::I64)?;
            fill(&indices, |out| {
                write_indices(bytes, self.shape(), axis, out.as_chunks_mut().0, 1);
                Ok(())
            })?;
            Ok(indices)
        };
        (0..self.ndim()).map(axis).collect()
    }

    /// The indices of the elements that are not zero, in row-major order: an `int64` array of shape `(count, ndim)`, in memory of
    /// the same kind and queue.
    ///
    /// ```
    /// use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 2], &[0_u8, 1, 2, 0])?;
    /// assert_eq!(array.argwhere()?.to_vec::<i64>()?, [0, 1, 1, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The last two of [`nonzero`](Self::nonzero).
    pub fn argwhere(&self) -> Result<Self> {
        if self.ndim() == 0 {
            let count = self.count_nonzero_total()?;
            return Self::empty(self.queue(), self.kind(), &[count, 0], Dtype::I64);
        }
        if let Some(places) = self.device_places()? {
            let shape = [places.size(), self.ndim()];
            let indices = Self::empty(self.queue(), self.kind(), &shape, Dtype::I64)?;
            for axis in 0..self.ndim() {
                let along = indices.slice((.., axis.cast_signed()))?;
                self.unravelled(&places, axis, &along, self.ndim())?;
            }
            return Ok(indices);
        }
        let truth = HostElements::truth(self)?;
        let bytes = truth.bytes()?;
        let indices = Self::empty(self.queue(), self.kind(), &[count(bytes), self.ndim()], Dtype::I64)?;
        fill(&indices, |out| {
            let (out, _) = out.as_chunks_mut();
            for axis in 0..self.ndim() {
                write_indices(bytes, self.shape(), axis, out.get_mut(axis..).unwrap_or_default(), self.ndim());
            }
            Ok(())
        })?;
        Ok(indices)
    }

    /// The places of the elements, if kernels find them.
    fn device_places(&self) -> Result<Option<Self>> {
        let Some(mask) = Mask::of(self)? else { return Ok(None) };
        if Task::new(self.queue(), &INDEX, "unravel").is_none() {
            return Ok(None);
        }
        mask.places()
    }

    /// Writes the indices of places along one axis, at some distance.
    fn unravelled(&self, places: &Self, axis: usize, indices: &Self, step: usize) -> Result<()> {
        let Some(task) = Task::new(self.queue(), &INDEX, "unravel").filter(|_| !places.is_empty()) else {
            return Ok(()); // there is a kernel if there are places
        };
        let inner = self.shape()[axis + 1..].iter().product::<usize>();
        let task = task.write(indices).number(step as i64).read(places).number(code(places.dtype()));
        let task = task.number(inner as u64).number(self.shape()[axis] as u64).count(places.size());
        // SAFETY: 1. As in `kernels/index.cl`. 2. There are as many indices, at that distance, as places. 3. All is in memory of this queue.
        let _event = unsafe { task.run() }?;
        Ok(())
    }
}

/// Writes the index along one axis of each element that is not zero, at some distance from each other. There may be more elements than
/// places for them if another thread writes the array meanwhile; none is written behind the last place.
fn write_indices(truth: &[u8], shape: &[usize], axis: usize, out: &mut [[u8; 8]], step: usize) {
    let len = shape.get(axis).copied().unwrap_or(1);
    let inner: usize = shape.iter().skip(axis + 1).product();
    let mut next = 0;
    // Elements side by side with one index, or along the last axis with indices that follow each other.
    if inner == 1 {
        for row in truth.chunks(len.max(1)) {
            for (index, &byte) in (0_i64..).zip(row) {
                let Some(place) = out.get_mut(next) else { return };
                // Written also for zeros, and then written over: a jump would depend on the data.
                *place = index.to_ne_bytes();
                next += if byte == 0 { 0 } else { step };
            }
        }
        return;
    }
    for (number, block) in truth.chunks(inner.max(1)).enumerate() {
        let index = ((number % len.max(1)) as i64).to_ne_bytes();
        let end = next + count(block) * step;
        let places = out.iter_mut().take(end).skip(next).step_by(step);
        places.for_each(|place| *place = index);
        next = end;
    }
}

/// The places of all elements, in row-major order, that are not zero.
pub(super) fn true_places(condition: &UsmArray) -> Result<Vec<usize>> {
    let truth = HostElements::truth(condition)?;
    let bytes = truth.bytes()?;
    let mut places = with_capacity(count(bytes))?;
    places.extend(bytes.iter().enumerate().filter(|&(_, &byte)| byte != 0).map(|(place, _)| place));
    Ok(places)
}

fn count(truth: &[u8]) -> usize {
    truth.iter().filter(|&&byte| byte != 0).count()
}
