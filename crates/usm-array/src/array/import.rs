//! External memory as an array: a look-up in the runtime, then the proof of the bounds

// Numbers of others: arithmetic is checked, wraps or saturates by its name.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use std::any::Any;
use std::sync::Arc;

use usm_memory::usm_core::{BackendId, Device, Queue, Runtime, UsmKind};
use usm_memory::{UsmBuffer, pointer_info};

use super::UsmArray;
use crate::error::{Error, Result};
use crate::interface::{CudaArrayInterface, UsmArrayInterface, ValidInterface};

impl UsmArray {
    /// An array over external memory that `owner` keeps alive, as its interface describes it.
    ///
    /// The runtime must know both ends of the elements as USM of one kind in the context of `queue`. A producer that publishes
    /// the start of its allocation and an offset gets a buffer from there, so that the offset keeps its meaning.
    ///
    /// # Safety
    /// 1. The memory stays allocated as long as `owner` lives.
    /// 2. All bytes between the two ends belong to the allocation, and so do those from the published address to the first element.
    /// 3. No other code writes it while a guard of this array reads it, or touches it while a guard writes it.
    ///
    /// # Errors
    /// - [`Error::NotImportable`]: the memory is not what the interface says
    /// - the errors of [`UsmArray::from_interface`]
    pub unsafe fn import(
        valid: &ValidInterface,
        queue: &Queue,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Result<Self> {
        let span = valid.span();
        let published = valid.address();
        let info = |address| pointer_info(queue.context(), address);
        let from_published = published < span.start_address
            && info(published).is_some_and(|found| info(span.start_address) == Some(found));
        let start = if from_published { published } else { span.start_address };
        // In range: the interface is valid, so the end of the span is an address.
        let len_bytes = span.start_address.saturating_sub(start).saturating_add(span.len_bytes);
        // SAFETY: the caller's promises 1 and 3 are the same, and promise 2 covers the bytes from the published address on.
        let buffer = unsafe { UsmBuffer::borrow(queue, start, len_bytes, !valid.is_read_only(), owner) };
        Self::from_interface(valid, buffer.map_err(Error::NotImportable)?)
    }

    /// An array over external CUDA memory that `owner` keeps alive, as its interface describes it. The queue is the one whose own stream the
    /// interface names, or else the default queue of the device that the driver names, after the work of the stream; of version 2, which
    /// knows no streams, after that of the legacy default stream. Without elements the array is new.
    ///
    /// # Safety
    /// 1. Those of [`UsmArray::import`].
    /// 2. The stream, if there is one, is live.
    ///
    /// # Errors
    /// - [`Error::Interface`]: entries that cannot be trusted
    /// - [`Error::NotCuda`]: no device of the CUDA driver has the memory
    /// - [`Error::Memory`]: the stream is not of that device, or the runtime failed
    /// - those of [`UsmArray::import`]
    pub unsafe fn import_cuda(
        interface: CudaArrayInterface,
        runtime: &Runtime,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Result<Self> {
        let stream = interface.checked_stream();
        let valid = interface.elements()?.validate()?;
        let stream = stream?;
        let start = valid.span().start_address;
        let is_empty = valid.layout().size() == 0;
        let device = match is_empty {
            true => runtime.devices_of(BackendId::Cuda).next(),
            false => cuda_device_of(runtime, start),
        };
        let not_cuda = Error::NotCuda { address: start };
        let Some(device) = device else { return Err(not_cuda) };
        let of_stream = stream.and_then(|stream| Queue::with_native_stream(device, stream));
        let stream = stream.filter(|_| of_stream.is_none());
        let queue = match of_stream {
            Some(queue) => queue,
            None => runtime.default_queue(device).map_err(usm_memory::Error::from)?,
        };
        if is_empty {
            let array = Self::empty(&queue, UsmKind::Device, valid.layout().shape(), valid.dtype())?;
            return Ok(if valid.is_read_only() { array.read_only() } else { array });
        }
        // SAFETY: the caller's promise 1.
        let array = unsafe { Self::import(&valid, &queue, owner) }.map_err(|error| match error {
            Error::NotImportable(usm_memory::Error::NotUsm { end: "first", .. }) => not_cuda,
            error => error,
        })?;
        if let Some(stream) = stream {
            // SAFETY: the caller's promise 2.
            unsafe { queue.order_after_cuda_stream(stream) }.map_err(usm_memory::Error::from)?;
        }
        Ok(array)
    }

    /// An array over memory with a result that another library has computed in the order of the queue of `beside`, which `owner` keeps
    /// alive. It is on that queue.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use usm_array::{Dtype, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let runtime = Runtime::global();
    /// let queue = runtime.default_queue(runtime.host_device())?;
    /// let theirs = UsmArray::zeros(&queue, UsmKind::Device, &[3], Dtype::F32)?;
    /// let (interface, owner) = (theirs.interface()?, Arc::new(theirs.clone()));
    /// // SAFETY: the owner is an array over the memory, which nobody uses meanwhile.
    /// let result = unsafe { UsmArray::adopt(interface, &theirs, runtime, owner) }?;
    /// assert_eq!((result.address(), result.queue()), (theirs.address(), &queue));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Safety
    /// 1. Those of [`UsmArray::import`].
    ///
    /// # Errors
    /// - those of [`UsmArray::import_cuda`] for CUDA memory
    /// - [`Error::Interface`]: entries that cannot be trusted
    /// - those of [`UsmArray::import`]
    pub unsafe fn adopt(
        interface: UsmArrayInterface,
        beside: &Self,
        runtime: &Runtime,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Result<Self> {
        let queue = beside.queue();
        if queue.backend_id() == BackendId::Cuda {
            let stream = queue.native_stream().map(|stream| stream as u64);
            let interface = CudaArrayInterface::of_elements(interface, stream);
            // SAFETY: the caller's promise 1, and 2. the queue keeps its stream.
            return unsafe { Self::import_cuda(interface, runtime, owner) };
        }
        // SAFETY: the caller's promise 1.
        unsafe { Self::import(&interface.validate()?, queue, owner) }
    }

    /// The same memory in the context of another backend that works on the same GPU: a SYCL runtime and the CUDA driver share its
    /// context. `None` for other queues.
    pub(crate) fn shared_with(&self, queue: &Queue) -> Result<Option<Self>> {
        let is_cuda = |queue: &Queue| queue.device().info().backend_name == "cuda";
        let start = self.buffer().address();
        let is_there = || {
            let owner = queue.context().pointer_device(start);
            owner.is_ok_and(|owner| owner.as_ref() == Some(queue.device()))
        };
        let is_other = queue.backend_id() != self.queue().backend_id();
        if !(is_other && is_cuda(queue) && is_cuda(self.queue()) && is_there()) {
            return Ok(None);
        }
        // Neither backend orders its work after that of the other.
        self.queue().wait().map_err(usm_memory::Error::from)?;
        self.buffer().publish()?;
        let (len_bytes, owner) = (self.buffer().len_bytes(), Arc::new(self.buffer().clone()));
        // SAFETY: promise 1 of `borrow`: the owner is the buffer itself, 2. whose bytes belong to one allocation; 3. one table has the guards of both.
        let shared = unsafe { UsmBuffer::borrow(queue, start, len_bytes, self.is_writable(), owner) };
        let shared = shared.map_err(Error::NotImportable)?;
        Self::from_parts(shared, self.dtype(), self.layout().clone(), self.origin).map(Some)
    }
}

/// The device of the CUDA driver that has the memory at an address. A single one is not asked whether it has it: the import is.
pub(crate) fn cuda_device_of(runtime: &Runtime, address: usize) -> Option<&Device> {
    let mut devices = runtime.devices_of(BackendId::Cuda);
    let (first, second) = (devices.next()?, devices.next());
    if second.is_none() {
        return Some(first);
    }
    // The devices of a driver answer for pinned memory of each other, but only one has it.
    runtime.devices_of(BackendId::Cuda).find(|device| {
        let context = device.default_context().ok();
        let owner = context.and_then(|context| context.pointer_device(address).ok().flatten());
        owner.as_ref() == Some(*device)
    })
}
