//! Who uses the memory of a tensor, on which devices, and what that work comes after

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr;

use usm_memory::usm_core::fork::ForkMutex;
use usm_memory::usm_core::{BackendId, Device, DeviceType, ExternalHandle, Runtime};

use super::device::device_with_number;
use crate::abi::{DLDevice, DLDeviceType};
use crate::array::UsmArray;
use crate::error::{DlpackError, Result};

/// The consumer of a tensor: where it uses the memory, and how its work there is ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Consumer {
    /// Host code, or any queue. All work on the memory is waited for.
    #[default]
    Anywhere,
    /// A CUDA stream of the array's device. What is submitted to it from now on starts after all work on the memory; nobody waits.
    Stream(CudaStream),
    /// A consumer that orders its work after all that the array's queue was given so far. Nobody waits.
    Unordered,
}

/// The devices without CUDA whose memory a consumer can use in tensors. It uses memory of CUDA devices and of the host anyway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UsableDevices {
    /// Each device.
    #[default]
    All,
    /// GPUs of a SYCL runtime, as in PyTorch that is built for Intel GPUs.
    Gpus,
    /// No device: the consumer knows neither kDLOneAPI nor kDLExtDev.
    None,
}

impl UsableDevices {
    /// Whether the consumer can use the memory of a device.
    fn contains(self, device: &Device) -> bool {
        match (self, device.backend_id()) {
            (Self::All, _) | (_, BackendId::Cuda) => true,
            (Self::Gpus, BackendId::Sycl) => device.info().device_type == DeviceType::Gpu,
            _ => false,
        }
    }
}

impl UsmArray {
    /// The DLPack device for a consumer that can use the memory of some devices: that of [`dlpack_device`](UsmArray::dlpack_device). Host
    /// and shared memory of other devices is on kDLCPU 0.
    ///
    /// ```
    /// use usm_array::dlpack::{DLDevice, UsableDevices};
    /// use usm_array::usm_core::{Runtime, UsmKind};
    /// use usm_array::{Dtype, UsmArray};
    ///
    /// let runtime = Runtime::global();
    /// let queue = runtime.default_queue(&runtime.default_device()?)?;
    /// let array = UsmArray::zeros(&queue, UsmKind::Shared, &[2], Dtype::F32)?;
    /// # if array.device().info().backend_name != "cuda" {
    /// assert_eq!(array.dlpack_device_for(UsableDevices::None, runtime)?, DLDevice::CPU);
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Dlpack`](crate::Error::Dlpack) with [`DlpackError::NotUsable`]: device memory of a device that the consumer cannot use; otherwise those of
    ///   [`dlpack_device`](UsmArray::dlpack_device)
    pub fn dlpack_device_for(&self, usable: UsableDevices, runtime: &Runtime) -> Result<DLDevice> {
        match (usable.contains(self.device()), self.is_host_accessible()) {
            (true, _) => self.dlpack_device(runtime),
            (false, true) => Ok(DLDevice::CPU),
            (false, false) => {
                Err(DlpackError::NotUsable { kind: self.kind(), device: self.device().filter_string() }
                    .into())
            }
        }
    }
}

impl Consumer {
    /// The consumer of the C exchange API, which works on the stream that [`current_work_stream`] names.
    ///
    /// ```
    /// use usm_array::dlpack::Consumer;
    /// use usm_array::usm_core::Runtime;
    ///
    /// let runtime = Runtime::global();
    /// assert_eq!(Consumer::of_exchange(runtime, runtime.host_device())?, Consumer::Anywhere);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Memory`](crate::Error::Memory): there is no queue for the device
    pub fn of_exchange(runtime: &'static Runtime, device: &Device) -> Result<Self> {
        if device.backend_id() != BackendId::Cuda {
            return Ok(Self::Anywhere);
        }
        // DL1: the runtime, which lives for ever, keeps its default queues, and they keep their streams.
        let stream = runtime.default_queue(device)?.native_stream();
        Ok(stream.map_or(Self::Anywhere, |handle| Self::Stream(CudaStream { handle })))
    }

    /// The same consumer, of a copy of the array: a copy on another device knows no stream of this one, and one on another queue is not
    /// in the order of the array's queue.
    pub(super) fn of_copy(self, array: &UsmArray, copy: &UsmArray) -> Self {
        let is_in_order = match self {
            Self::Anywhere => true,
            Self::Stream(_) => copy.device() == array.device(),
            Self::Unordered => copy.queue() == array.queue(),
        };
        if is_in_order { self } else { Self::Anywhere }
    }
}

/// A CUDA stream that a consumer has named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CudaStream {
    // Invariant DL1: the handle of a live stream, 0 or 1 for the legacy default stream, or 2 for the default stream of the calling thread.
    handle: usize,
}

impl CudaStream {
    /// The stream with a handle.
    ///
    /// # Safety
    /// 1. `handle` is that of a live `CUstream`, or 0 or 1 for the legacy default stream, or 2 for the default stream of the calling
    ///    thread. It stays live as long as this value and its copies are used.
    #[must_use]
    pub const unsafe fn new(handle: usize) -> Self {
        Self { handle }
    }

    /// The handle, a `CUstream`.
    #[must_use]
    pub const fn handle(self) -> usize {
        self.handle
    }
}

/// `current_work_stream` of the C exchange API: where arrays without another queue are worked on. It is the `CUstream` or the heap
/// `sycl::queue` of the default queue of a device, and null for the host and its backend, whose work is complete when a tensor is handed
/// over. Pointers are good for ever.
///
/// ```
/// use usm_array::dlpack::{DLDevice, current_work_stream};
/// use usm_array::usm_core::Runtime;
///
/// assert!(current_work_stream(Runtime::global(), DLDevice::CPU)?.is_null());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// - [`Error::Dlpack`](crate::Error::Dlpack): the runtime has no such device
/// - [`Error::Memory`](crate::Error::Memory): there is no queue for the device
pub fn current_work_stream(runtime: &'static Runtime, device: DLDevice) -> Result<*mut c_void> {
    // One for each device. They are never dropped, since no consumer says when it no longer uses its pointer.
    static QUEUES: ForkMutex<BTreeMap<i32, ExternalHandle>> = ForkMutex::new(BTreeMap::new());
    if device.device_type == DLDeviceType::CPU {
        return Ok(ptr::null_mut());
    }
    let queue = runtime.default_queue(&device_with_number(runtime, device)?)?;
    if device.device_type == DLDeviceType::ONE_API {
        let new = queue.to_external()?;
        // A second one for the device is dropped behind the lock.
        let mut queues = QUEUES.lock();
        let pointer = match queues.get(&device.device_id) {
            Some(known) => known.as_ptr(),
            None => queues.entry(device.device_id).or_insert(new).as_ptr(),
        };
        return Ok(pointer.as_ptr().cast());
    }
    Ok(queue.native_stream().map_or(ptr::null_mut(), ptr::with_exposed_provenance_mut))
}
