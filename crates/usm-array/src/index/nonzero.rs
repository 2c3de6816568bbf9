//! Where elements are not zero

use super::mask::Mask;
use super::plan::with_capacity;
use super::read::HostElements;
use crate::array::UsmArray;
use crate::device::{INDEX, Task, code};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::layout::{LayoutError, unravel};

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
        let indices = self.nonzero_indices()?;
        let count = indices.len() / self.ndim();
        let mut along: Vec<i64> = with_capacity(count)?;
        let axis = |axis| {
            along.clear();
            along.extend(indices.iter().skip(axis).step_by(self.ndim()));
            Self::from_slice(self.queue(), self.kind(), &[count], &along)
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
        let indices = self.nonzero_indices()?;
        Self::from_slice(self.queue(), self.kind(), &[indices.len() / self.ndim(), self.ndim()], &indices)
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

    /// Index after index, one number for each axis.
    fn nonzero_indices(&self) -> Result<Vec<i64>> {
        let truth = HostElements::truth(self)?;
        let bytes = truth.bytes()?;
        let mut indices = with_capacity(count(bytes).saturating_mul(self.ndim()))?;
        let Some((&len, outer)) = self.shape().split_last().filter(|_| !self.is_empty()) else {
            return Ok(indices);
        };
        for (number, row) in bytes.chunks_exact(len).enumerate() {
            let outer = unravel(number, outer);
            for (place, _) in row.iter().enumerate().filter(|&(_, &byte)| byte != 0) {
                indices.extend(outer.iter().chain([&place]).map(|&place| place as i64));
            }
        }
        Ok(indices)
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
