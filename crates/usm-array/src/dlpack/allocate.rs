//! New memory for a tensor of another library

use usm_memory::usm_core::Runtime;

use super::describe::describe_elements;
use super::device::{device_with_number, kind_for};
use super::export::DlpackExport;
use super::managed::ManagedTensor;
use crate::abi::{DLDeviceType, DLTensor};
use crate::array::UsmArray;
use crate::error::Result;

impl UsmArray {
    /// A new tensor with the shape, dtype and device of another one, whose elements have no particular value: host memory for
    /// kDLCPU and kDLCUDAHost, shared memory for kDLCUDAManaged, device memory for other devices.
    ///
    /// # Safety
    /// 1. Where the `shape` of the prototype is aligned and not null, it leads to `ndim` numbers.
    ///
    /// # Errors
    /// - [`Error::Dlpack`](crate::Error::Dlpack): a device that is not there, and dtypes and numbers of axes that no array has
    /// - [`Error::Interface`](crate::Error::Interface): a shape that no array has
    /// - [`Error::Memory`](crate::Error::Memory): the allocation failed
    pub unsafe fn allocate_dlpack(prototype: &DLTensor, runtime: &Runtime) -> Result<ManagedTensor> {
        // SAFETY: promise 1.
        let (shape, dtype) = unsafe { describe_elements(prototype) }?;
        let device = match prototype.device.device_type {
            DLDeviceType::CPU => runtime.default_device()?,
            _ => device_with_number(runtime, prototype.device)?,
        };
        let kind = kind_for(prototype.device.device_type);
        let queue = runtime.default_queue(&device)?;
        let array = Self::empty(&queue, kind, &shape, dtype)?;
        array.to_dlpack(&DlpackExport { device: Some(prototype.device), runtime, ..DlpackExport::default() })
    }
}
