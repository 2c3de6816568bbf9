//! A tensor as an array

// Numbers of others: arithmetic is checked, wraps or saturates by its name.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use std::sync::Arc;

use usm_memory::usm_core::{BackendId, Device, Queue, Runtime, UsmKind};

use super::consumer::CudaStream;
use super::describe::{Described, describe};
use super::device::{device_of_memory, takes};
use super::managed::ManagedTensor;
use crate::abi::{DLDevice, DLDeviceType, DLTensor};
use crate::array::UsmArray;
use crate::copy::CopyMode;
use crate::error::{DlpackError, Error, Result};
use crate::interface::ValidInterface;

/// How a tensor is imported: by default where it is, copied only if that is needed.
#[derive(Clone, Copy, Debug)]
pub struct DlpackImport<'a> {
    /// Queue of the array. `None` is the default queue of the tensor's device. A kDLCPU tensor gets the default queue of the device
    /// whose runtime knows the memory, else of the default device.
    pub queue: Option<&'a Queue>,
    /// Kind of memory for a copy of host memory that is no USM, and for an array without elements.
    pub kind: UsmKind,
    /// Whether the array is a copy.
    pub copy: CopyMode,
    /// The runtime whose devices have the numbers.
    pub runtime: &'a Runtime,
    /// The CUDA stream that the producer has work on the memory pending on. The queue of the array is ordered after it.
    pub after: Option<CudaStream>,
}

impl Default for DlpackImport<'_> {
    fn default() -> Self {
        let (kind, copy) = (UsmKind::Device, CopyMode::IfNeeded);
        Self { queue: None, kind, copy, runtime: Runtime::global(), after: None }
    }
}

impl UsmArray {
    /// An array over the memory of a tensor, which is kept until the last array over it is gone.
    ///
    /// A tensor of kDLOneAPI, kDLExtDev or CUDA is borrowed in the default context of its device, and so is a kDLCPU tensor whose memory the
    /// runtime knows as USM of any of its devices. Other host memory is no USM: its elements are copied into memory of
    /// `options.kind`. A queue of another context needs a copy too. Without elements the array is new,
    /// of the kind that the context knows `data` as, or else of `options.kind`. The array is read-only if the tensor
    /// is; a legacy tensor always is, as in NumPy ([`ManagedTensor::is_read_only`]), its copies are not.
    ///
    /// Work that the producer has pending on the memory must be on the queue or on the stream `options.after`, or be complete. The deleter
    /// runs once in any case.
    ///
    /// # Safety
    /// 1. Until the deleter runs, the memory of all elements stays allocated, and all bytes between the lowest and the highest
    ///    element belong to the same allocation.
    /// 2. No other code writes it while a guard of this array reads it, or while it is copied here, or touches it while a guard
    ///    writes it.
    ///
    /// # Errors
    /// - [`Error::Dlpack`]: a field that cannot be trusted, or a copy that is needed and not allowed
    /// - [`Error::Interface`]: a shape, strides or an address that cannot be trusted
    /// - [`Error::NotImportable`]: the memory is not USM in the default context, or not all of it
    /// - [`Error::Memory`], [`Error::OutOfHostMemory`]: no memory for a copy, the stream is not of the device, or the runtime failed
    pub unsafe fn from_dlpack(tensor: ManagedTensor, options: &DlpackImport<'_>) -> Result<Self> {
        let fields = *tensor.tensor()?;
        let read_only = tensor.is_read_only();
        let device = device_of(&fields, options)?;
        // SAFETY: M1 of the tensor.
        let valid = match unsafe { describe(&fields, read_only) }? {
            Described::Full(valid) => valid,
            Described::Empty { shape, dtype } => {
                let (queue, kind) = queue_for_empty(&fields, device, options)?;
                let array = Self::empty(&queue, kind, &shape, dtype)?;
                return Ok(if read_only { array.read_only() } else { array });
            }
        };
        let Some(source) = queue_of_memory(device, &valid, options)? else {
            // SAFETY: the caller's promises 1 and 2: the span is readable, and no code writes it meanwhile.
            return unsafe { copy_host_memory(&valid, options) }; // the tensor ends here
        };
        let is_there = options.queue.is_none_or(|wanted| wanted.context() == source.context());
        if !is_there && options.copy == CopyMode::Never {
            let wanted = options.queue.map_or_else(String::new, |queue| queue.context().to_string());
            let found = source.context().to_string();
            let kind = source.context().pointer_info(valid.span().start_address).map(|info| info.kind);
            return Err(DlpackError::CopyNeeded { kind: kind.unwrap_or(options.kind), found, wanted }.into());
        }
        let wanted = options.queue.unwrap_or(&source);
        let source = if is_there { wanted } else { &source };
        // SAFETY: the caller's promises 1 and 2, the tensor being the owner.
        let array = unsafe { Self::import(&valid, source, Arc::new(tensor)) }?;
        if !takes(fields.device.device_type, array.kind()) {
            let (device_type, address) = (fields.device.device_type, valid.span().start_address);
            return Err(DlpackError::Kind { device_type, kind: array.kind(), address }.into());
        }
        if let Some(stream) = options.after {
            // SAFETY: promise 1 of `order_after_cuda_stream`: DL1.
            unsafe { source.order_after_cuda_stream(stream.handle()) }?;
        }
        if is_there && options.copy != CopyMode::Always {
            return Ok(array);
        }
        array.copy_to(wanted, array.kind())
    }
}

/// The device of a tensor; `None` for the host.
fn device_of(tensor: &DLTensor, options: &DlpackImport<'_>) -> Result<Option<Device>> {
    match tensor.device.device_type {
        DLDeviceType::CPU if tensor.device == DLDevice::CPU => Ok(None),
        DLDeviceType::CPU => Err(DlpackError::device_id(tensor.device, 1).into()),
        _ => device_of_memory(options.runtime, tensor.device, tensor.data.addr()).map(Some),
    }
}

/// A queue of the context that the memory is in, or `None` for host memory that is no USM.
fn queue_of_memory(
    device: Option<Device>,
    valid: &ValidInterface,
    options: &DlpackImport<'_>,
) -> Result<Option<Queue>> {
    let default = |device| options.runtime.default_queue(device);
    let address = valid.span().start_address;
    let knows = |queue: &Queue| queue.context().pointer_info(address).is_some();
    if let Some(device) = device {
        // The queue of a SYCL runtime, or of a context of its own, may be on the same GPU.
        return match options.queue.filter(|_| device.backend_id() == BackendId::Cuda) {
            Some(queue) if *queue.device() == device || knows(queue) => Ok(Some(queue.clone())),
            _ => Ok(Some(default(&device)?)),
        };
    }
    if let Some(queue) = options.queue.filter(|queue| knows(queue)) {
        return Ok(Some(queue.clone()));
    }
    let default_device = options.runtime.default_device().ok(); // any other device is as good for a look
    let usual: Vec<Device> =
        default_device.into_iter().chain([options.runtime.host_device().clone()]).collect();
    for device in &usual {
        let queue = default(device)?;
        if knows(&queue) {
            return Ok(Some(queue));
        }
    }
    // Any other device may have the memory, such as a CPU beside a GPU. Only the device that knows it gets a queue. A device without
    // a context has no memory.
    let others = options.runtime.devices().into_iter().filter(|device| !usual.contains(device));
    for device in others {
        let Ok(context) = device.default_context() else { continue };
        // Devices of one platform share the default context.
        let owner = context.pointer_device(address)?;
        if let Some(owner) = owner {
            return default(&owner).map(Some).map_err(Into::into);
        }
    }
    Ok(None)
}

/// The queue and kind of an array without elements.
fn queue_for_empty(
    tensor: &DLTensor,
    device: Option<Device>,
    options: &DlpackImport<'_>,
) -> Result<(Queue, UsmKind)> {
    let device = device.map_or_else(|| options.runtime.default_device(), Ok)?;
    let source = options.runtime.default_queue(&device)?;
    let known = source.context().pointer_info(tensor.data.addr());
    let kind = known.map_or(options.kind, |info| info.kind);
    Ok((options.queue.cloned().unwrap_or(source), kind))
}

/// The elements of host memory that is no USM, copied.
///
/// # Safety
/// 1. The span of `valid` is readable.
/// 2. No other code writes the elements during the call. The bytes between them may belong to others.
unsafe fn copy_host_memory(valid: &ValidInterface, options: &DlpackImport<'_>) -> Result<UsmArray> {
    let span = valid.span();
    if options.copy == CopyMode::Never {
        return Err(DlpackError::NotUsm { address: span.start_address }.into());
    }
    let queue = match options.queue {
        Some(queue) => queue.clone(),
        None => options.runtime.default_device_queue()?,
    };
    let array = UsmArray::empty(&queue, options.kind, valid.layout().shape(), valid.dtype())?;
    let start = std::ptr::with_exposed_provenance::<u8>(span.start_address);
    let lowest = valid.layout().extent().map_or(0, |extent| extent.min);
    let layout = valid.layout().with_offset(0_isize.saturating_sub(lowest)).map_err(Error::from)?;
    // SAFETY: promises 1 and 2.
    unsafe { array.copy_from_host_memory(start, span.len_bytes, valid.dtype(), &layout) }?;
    Ok(array)
}
