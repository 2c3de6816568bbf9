//! One value for all elements

use usm_memory::submit;
use usm_memory::usm_core::Event;

use super::cast::Cast;
use super::executor::fill_launches;
use super::host_task;
use super::place::small_run;
use super::plan::CopyPlan;
use crate::array::UsmArray;
use crate::dtype::{Element, MAX_ITEMSIZE_BYTES};
use crate::error::{Error, Result};
use crate::layout::{Layout, Order};
use crate::scalar::Scalar;
use crate::view::bytes_of;

/// Up to so many bytes are put together beforehand: to copy them takes less time than a guard to fill them under.
const FEW_BYTES: usize = 256;

impl UsmArray {
    /// Sets every element to a value. What lies between the elements keeps its value.
    ///
    /// ```
    /// use usm_array::usm_core::{Runtime, UsmKind};
    /// use usm_array::{Dtype, UsmArray};
    ///
    /// let runtime = Runtime::global();
    /// let queue = runtime.default_queue(runtime.host_device())?;
    /// let array = UsmArray::zeros(&queue, UsmKind::Device, &[2, 3], Dtype::F32)?;
    /// array.diagonal(0, 0, 1)?.fill(1.0_f32)?;
    /// assert_eq!(array.to_vec::<f32>()?, [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::DtypeMismatch`]: the elements are no `T`
    /// - [`Error::ReadOnly`]: the array is read-only
    /// - [`Error::OutOfHostMemory`]: no memory to put elements in their places in
    /// - [`Error::Memory`]: the memory is borrowed, or the runtime failed
    pub fn fill<T: Element>(&self, value: T) -> Result<()> {
        if T::DTYPE != self.dtype() {
            return Err(Error::DtypeMismatch { found: self.dtype(), expected: T::DTYPE });
        }
        self.fill_bytes(bytes_of(&[value]))
    }

    /// Sets every element to zero, or false.
    ///
    /// # Errors
    /// As [`UsmArray::fill`].
    pub fn fill_zero(&self) -> Result<()> {
        self.fill_bytes(&[0; MAX_ITEMSIZE_BYTES][..self.itemsize_bytes()])
    }

    /// Sets every element to a value whose type is known at run time only.
    ///
    /// # Errors
    /// - [`Error::ScalarKind`], [`Error::ScalarRange`]: the element type does not hold the value
    /// - those of [`UsmArray::fill`]
    pub fn fill_scalar(&self, value: Scalar) -> Result<()> {
        let bytes = value.to_bytes(self.dtype())?;
        self.fill_bytes(&bytes[..self.itemsize_bytes()])
    }

    /// Sets every element to the same bytes, as many as one element has.
    pub(crate) fn fill_bytes(&self, element: &[u8]) -> Result<()> {
        if !self.is_writable() {
            return Err(Error::ReadOnly);
        }
        let is_near = self.is_host_reachable();
        if is_near && self.size() == 1 {
            return Ok(self.buffer().copy_from_host(element, self.first_byte())?);
        }
        if is_near && let Some(range) = small_run(self) {
            if range.len() <= FEW_BYTES {
                let mut bytes = [0; FEW_BYTES];
                let bytes = &mut bytes[..range.len()];
                bytes.chunks_exact_mut(element.len()).for_each(|place| place.copy_from_slice(element));
                return Ok(self.buffer().copy_from_host(bytes, range.start)?);
            }
            return Ok(self.buffer().sub_buffer(range.start, range.len())?.fill(element)?);
        }
        let one = || Layout::contiguous(&[], Order::C)?.broadcast_to(self.shape());
        if !is_near && let Some(plan) = CopyPlan::new(self.layout(), self.layout()) {
            let plan = plan.counted_from_lowest();
            if plan.is_one_run() {
                let range = self.byte_range();
                let dense = self.buffer().sub_buffer(range.start, range.len())?;
                return Ok(dense.submit_fill(element)?);
            }
            let queue = self.queue();
            if let Some(launches) = fill_launches(self, &plan, element)? {
                let fill = |start: &[*mut u8], after: &[Event]| {
                    let _exposed = start[0].expose_provenance();
                    // SAFETY: elements of the array (P1), none of them visited twice, where the queue reaches them, as was just seen; they
                    // are kept and shared with nobody until the event is complete.
                    unsafe { launches.submit(queue, after) }
                };
                // SAFETY: promise 1 of `submit`: elements of the array (P1), after the events. 2. As was just seen.
                unsafe { submit(queue, &[self.spanned(true)], fill) }?;
                return Ok(());
            }
            if queue.runs_host_tasks() {
                let Some(plan) = CopyPlan::new(self.layout(), &one()?) else { return Ok(()) };
                let (plan, cast) = (plan.counted_from_lowest(), Cast::new(self.dtype(), self.dtype()));
                let mut value = [0; MAX_ITEMSIZE_BYTES];
                value[..element.len()].copy_from_slice(element);
                let fill = |start: &[*mut u8], after: &[Event]| {
                    // SAFETY: elements of the array (P1), which are kept and shared with nobody until the event is complete.
                    unsafe { host_task::fill(queue, plan, cast, value, start[0], after) }
                };
                // SAFETY: promise 1 of `submit`: elements of the array (P1), after the events. 2. The array is of the queue's context.
                unsafe { submit(queue, &[self.spanned(true)], fill) }?;
                return Ok(());
            }
        }
        self.copy_from_host_strided(element, self.dtype(), &one()?)
    }
}
