//! An array as a tensor

use std::ffi::c_void;
use std::ptr::{self, NonNull};

use usm_memory::usm_core::unwind::contained;
use usm_memory::usm_core::{Queue, Runtime, UsmKind};

use super::consumer::{Consumer, CudaStream};
use super::device::{device_with_number, kind_for, takes};
use super::managed::{ManagedTensor, RawTensor};
use crate::abi::{
    DLDevice, DLDeviceType, DLManagedTensor, DLManagedTensorVersioned, DLTensor, FLAG_IS_COPIED,
    FLAG_READ_ONLY, VERSION,
};
use crate::array::UsmArray;
use crate::copy::CopyMode;
use crate::error::{DlpackError, Result};
use crate::layout::Axes;

/// Which of the two structs a tensor is exported as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TensorForm {
    /// The struct of DLPack 1, for consumers whose `max_version` is at least (1, 0).
    #[default]
    Versioned,
    /// The struct of before, which cannot say that memory is read-only.
    Legacy,
}

/// How an array is exported: by default to the device it is on, copied only if that is needed, versioned.
#[derive(Clone, Copy, Debug)]
pub struct DlpackExport<'a> {
    /// The device that the consumer wants; `None` is [`UsmArray::dlpack_device`].
    pub device: Option<DLDevice>,
    /// Whether the consumer gets a copy.
    pub copy: CopyMode,
    /// The struct.
    pub form: TensorForm,
    /// The runtime whose devices have the numbers.
    pub runtime: &'a Runtime,
    /// Who uses the memory, and what that work comes after.
    pub consumer: Consumer,
}

impl Default for DlpackExport<'_> {
    fn default() -> Self {
        Self {
            device: None,
            copy: CopyMode::IfNeeded,
            form: TensorForm::Versioned,
            runtime: Runtime::global(),
            consumer: Consumer::Anywhere,
        }
    }
}

/// A tensor with its shape, its strides and the owner of its memory.
#[repr(C)]
struct Exported<T> {
    // Invariant EX1: the first field, so that a pointer to it leads to the whole value, which `delete` alone frees.
    managed: T,
    shape: Axes<i64>,
    strides: Axes<i64>,
    array: UsmArray,
    is_cuda: bool,
}

impl UsmArray {
    /// The array as a tensor that keeps its memory alive.
    ///
    /// A kDLOneAPI, kDLExtDev or CUDA tensor shares the memory of the array, in the order that the [`Consumer`] asks for. Host and shared
    /// memory goes to kDLCPU without a copy, too, after all work on it is complete; device memory is copied to host memory. `data` is the
    /// address of the lowest element, and `byte_offset` leads to index zero: it is 0 without negative strides. Without elements
    /// `data` is null on kDLCPU, and elsewhere an address of the allocation, which identifies its kind. Strides
    /// are always there; some consumers refuse negative ones: a copy has none.
    ///
    /// Consumers of the tensor may use the memory, so from now on access to it waits for the queue first
    /// ([`UsmBuffer::publish`](usm_memory::UsmBuffer::publish)).
    ///
    /// # Errors
    /// - [`Error::Dlpack`](crate::Error::Dlpack) with [`DlpackError::NoDevice`]: see [`UsmArray::dlpack_device`];
    ///   [`DlpackError::DeviceType`], [`DlpackError::DeviceId`]: another device than kDLCPU 0 and those with a
    ///   number ([`device_with_number`]) was asked for;
    ///   [`DlpackError::CopyNeeded`]: a copy is needed and not allowed; [`DlpackError::ReadOnly`]: a read-only array in the legacy
    ///   form
    /// - [`Error::Memory`](crate::Error::Memory): the memory is borrowed for writing, the copy failed, or the runtime did
    pub fn to_dlpack(&self, options: &DlpackExport<'_>) -> Result<ManagedTensor> {
        let device = match options.device {
            Some(device) => device,
            None => self.dlpack_device(options.runtime)?,
        };
        let copied = match device.device_type {
            DLDeviceType::CPU => self.copy_for_cpu(device, options)?,
            // The tensor stays on its own device.
            _ if options.device.is_none() && options.copy != CopyMode::Always => None,
            _ => self.copy_for_device(device, options)?,
        };
        let mut flags = if copied.is_some() { FLAG_IS_COPIED } else { 0 };
        let array = copied.as_ref().unwrap_or(self);
        if !array.is_writable() {
            if options.form == TensorForm::Legacy {
                return Err(DlpackError::ReadOnly.into());
            }
            flags |= FLAG_READ_ONLY;
        }
        let consumer = options.consumer.of_copy(self, array);
        if consumer == Consumer::Anywhere && device.device_type != DLDeviceType::CPU && !array.is_empty() {
            // Work of others, too, is complete when the consumer uses a queue of its own.
            array.wait_for_host(false)?;
        }
        array.hand_out(device, consumer)?;
        Ok(array.tensor(device, options.form, flags))
    }

    /// The array as a tensor without an owner, on the device that [`dlpack_device`](UsmArray::dlpack_device) says. It is for
    /// consumers that use it at once: its pointers are good as long as this array lives and is not moved. For a consumer
    /// [anywhere](Consumer::Anywhere) only operations of this library are waited for, as the functions without synchronization of the C
    /// exchange API do.
    ///
    /// # Errors
    /// - [`Error::Dlpack`](crate::Error::Dlpack) with [`DlpackError::NoDevice`]: see [`UsmArray::dlpack_device`];
    ///   [`DlpackError::ReadOnly`]: the struct cannot say so
    /// - [`Error::Memory`](crate::Error::Memory): the memory is borrowed for writing, or the runtime failed
    #[cfg(target_pointer_width = "64")]
    pub fn borrow_dlpack(&self, runtime: &Runtime, consumer: Consumer) -> Result<DLTensor> {
        let device = self.dlpack_device(runtime)?;
        if !self.is_writable() {
            return Err(DlpackError::ReadOnly.into());
        }
        self.hand_out(device, consumer)?;
        // Sizes and strides fit by the invariants of layouts, and are of 64 bits already.
        let shape = self.shape().as_ptr().cast_mut().cast();
        let strides = self.strides().as_ptr().cast_mut().cast();
        Ok(DLTensor { shape, strides, ..self.bare_tensor(device) })
    }

    /// Lets a consumer work with the memory.
    fn hand_out(&self, device: DLDevice, consumer: Consumer) -> Result<()> {
        if device.device_type == DLDeviceType::CPU {
            // A consumer on the host knows no queue: the access waits for the work of others.
            return self.wait_for_host(false);
        }
        match consumer {
            Consumer::Anywhere => Ok(self.buffer().publish()?),
            Consumer::Stream(stream) => self.hand_out_on(stream),
            Consumer::Unordered => Ok(self.buffer().publish_in_order()?),
        }
    }

    /// Lets what is submitted to a stream from now on start after all work on the memory.
    fn hand_out_on(&self, stream: CudaStream) -> Result<()> {
        // Published first: who writes from then on comes after the consumer's work.
        self.buffer().publish_in_order()?;
        self.buffer().check_unwritten(self.byte_range())?;
        // SAFETY: promise 1 of `order_cuda_stream`: DL1.
        Ok(unsafe { self.queue().order_cuda_stream(stream.handle()) }?)
    }

    /// Lets the memory be used again after what CUDA's legacy default stream has to do, on which most libraries work: they delete a
    /// tensor that their kernels still use. Another stream may be gone by now, so its users keep the tensor until it is idle.
    fn release_after_default_stream(&self) {
        // SAFETY: promise 1 of `from_cuda_stream`: the default stream is always there, and the queue ends here.
        let stream = unsafe { Queue::from_cuda_stream(self.device(), 0) };
        // On a lost device nothing runs any more.
        let _ = stream.map(|stream| self.buffer().release_on(&stream));
    }

    /// The copy that kDLCPU needs, if any.
    fn copy_for_cpu(&self, device: DLDevice, options: &DlpackExport<'_>) -> Result<Option<Self>> {
        if device != DLDevice::CPU {
            return Err(DlpackError::device_id(device, 1).into());
        }
        if self.is_host_accessible() && options.copy != CopyMode::Always {
            return Ok(None);
        }
        self.check_copy(device, options)?;
        let kind = match self.device().info().supports(UsmKind::Host) {
            true => UsmKind::Host,
            false => UsmKind::Shared,
        };
        Ok(Some(self.copy_to(self.queue(), kind)?))
    }

    /// The copy that a device with a number needs, if any.
    fn copy_for_device(&self, device: DLDevice, options: &DlpackExport<'_>) -> Result<Option<Self>> {
        let target = device_with_number(options.runtime, device)?;
        let is_there = match self.numbered_device(options.runtime) {
            Err(error) if options.copy == CopyMode::Never => return Err(error),
            // Kinds of devices of one backend differ by the kind of memory.
            found => found.is_ok() && target == *self.device() && takes(device.device_type, self.kind()),
        };
        if is_there && options.copy != CopyMode::Always {
            return Ok(None);
        }
        self.check_copy(device, options)?;
        let queue = options.runtime.default_queue(&target)?;
        let kind =
            if takes(device.device_type, self.kind()) { self.kind() } else { kind_for(device.device_type) };
        Ok(Some(self.copy_to(&queue, kind)?))
    }

    fn check_copy(&self, wanted: DLDevice, options: &DlpackExport<'_>) -> Result<()> {
        if options.copy != CopyMode::Never {
            return Ok(());
        }
        Err(DlpackError::CopyNeeded {
            kind: self.kind(),
            found: self.device().filter_string(),
            wanted: format!("{} {}", wanted.device_type, wanted.device_id),
        }
        .into())
    }

    /// The tensor without its shape and strides.
    fn bare_tensor(&self, device: DLDevice) -> DLTensor {
        // From the lowest element on, since dpnp takes memory that lies above `data` only.
        let lowest = self.buffer().address() + self.byte_range().start; // inside the buffer, by A1
        let (data, byte_offset) = match (self.is_empty(), device.device_type) {
            (true, DLDeviceType::CPU) => (0, 0),
            // dpnp refuses null, and learns the USM kind from the address. The address of the buffer is in the allocation.
            (true, _) => (self.buffer().address(), 0),
            (false, _) => (lowest, self.address() - lowest),
        };
        let data = ptr::with_exposed_provenance_mut::<c_void>(data);
        DLTensor {
            data,
            device,
            ndim: self.ndim() as i32, // at most `MAX_NDIM`
            dtype: self.dtype().into(),
            shape: ptr::null_mut(),
            strides: ptr::null_mut(),
            byte_offset: byte_offset as u64,
        }
    }

    fn tensor(&self, device: DLDevice, form: TensorForm, flags: u64) -> ManagedTensor {
        // Shape and strides lead into the struct itself, so they come when it is in its place.
        let dl_tensor = self.bare_tensor(device);
        let is_cuda = matches!(device.device_type, DLDeviceType::CUDA | DLDeviceType::CUDA_MANAGED);
        let raw = match form {
            TensorForm::Versioned => RawTensor::Versioned(place(self, is_cuda, |shape, strides| {
                let dl_tensor = DLTensor { shape, strides, ..dl_tensor };
                let deleter = Some(delete::<DLManagedTensorVersioned> as _);
                DLManagedTensorVersioned {
                    version: VERSION,
                    manager_ctx: ptr::null_mut(),
                    deleter,
                    flags,
                    dl_tensor,
                }
            })),
            TensorForm::Legacy => RawTensor::Legacy(place(self, is_cuda, |shape, strides| {
                let dl_tensor = DLTensor { shape, strides, ..dl_tensor };
                let deleter = Some(delete::<DLManagedTensor> as _);
                DLManagedTensor { dl_tensor, manager_ctx: ptr::null_mut(), deleter }
            })),
        };
        // SAFETY: promise 1 of `from_raw`: made just now, with shape and strides of `ndim` numbers. 2. No other code has the pointer, and any thread may use
        // the memory behind it. 3. `delete` returns.
        unsafe { ManagedTensor::from_raw(raw) }
    }
}

/// Puts an array and the struct that `managed` makes for the places of its shape and strides on the heap.
fn place<T>(array: &UsmArray, is_cuda: bool, managed: impl Fn(*mut i64, *mut i64) -> T) -> NonNull<T> {
    // Sizes and strides fit by the invariants of layouts.
    let shape = array.shape().iter().map(|&n| n as i64).collect();
    let strides = array.strides().iter().map(|&stride| stride as i64).collect();
    let managed_without_axes = managed(ptr::null_mut(), ptr::null_mut());
    let exported =
        Box::new(Exported { managed: managed_without_axes, shape, strides, array: array.clone(), is_cuda });
    let exported = NonNull::from(Box::leak(exported));
    // SAFETY: EX1: leaked just now, and no other code has the pointer.
    let inside = unsafe { &mut *exported.as_ptr() };
    inside.managed = managed(inside.shape.as_mut_ptr(), inside.strides.as_mut_ptr());
    exported.cast() // the first field
}

/// The deleter of exported tensors, for any thread.
///
/// # Safety
/// 1. `managed` comes from `place::<T>`, and this is its first and only call for it; or it is null.
unsafe extern "C" fn delete<T>(managed: *mut T) {
    if managed.is_null() {
        return;
    }
    // SAFETY: promise 1: a leaked box of this type, whose first field `managed` is.
    let exported = unsafe { Box::from_raw(managed.cast::<Exported<T>>()) };
    // An external owner of borrowed memory may end with it, and could panic.
    let end = || {
        if exported.is_cuda {
            exported.array.release_after_default_stream();
        }
        drop(exported);
    };
    _ = contained("deleter", end);
}
