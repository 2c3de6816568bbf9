//! `SyclDevice`.

use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::prelude::*;
use usm_array::usm_core::{Aspects, Device, DeviceType, FilterSelector};

use crate::errors::OrRaise;
use crate::runtime;

/// SyclDevice(filter_string=None)
///
/// A SYCL device, or the embedded host device. Without an argument the default device; with a filter string
/// ``backend:device_type:number``, any part of which may be left out, the device it selects.
///
/// Raises SyclDeviceCreationError when there is no such device.
#[pyclass(frozen, weakref, module = "usm")]
#[derive(Debug)]
pub struct SyclDevice {
    device: Device,
}

impl SyclDevice {
    /// Wraps a device.
    #[must_use]
    pub fn from_device(device: Device) -> Self {
        Self { device }
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Equal for equal devices.
    pub(super) fn hash_value(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.device.filter_string().hash(&mut hasher);
        hasher.finish()
    }
}

/// The device that a filter string selects.
pub(super) fn select(py: Python<'_>, filter_string: &str) -> PyResult<Device> {
    let runtime = runtime::get(py)?;
    let selector: FilterSelector = filter_string.parse::<FilterSelector>().or_raise()?;
    py.detach(|| runtime.select(&selector)).or_raise()
}

#[pymethods]
impl SyclDevice {
    #[new]
    #[pyo3(signature = (filter_string=None))]
    fn new(py: Python<'_>, filter_string: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(argument) = filter_string else {
            let runtime = runtime::get(py)?;
            return Ok(Self { device: py.detach(|| runtime.default_device()) });
        };
        if let Ok(device) = argument.cast::<Self>() {
            return Ok(Self { device: device.get().device.clone() });
        }
        Ok(Self { device: select(py, argument.extract()?)? })
    }

    /// Name of the device.
    #[getter]
    fn name(&self) -> &str {
        &self.device.info().name
    }

    /// Vendor of the device.
    #[getter]
    fn vendor(&self) -> &str {
        &self.device.info().vendor
    }

    /// Version of the driver.
    #[getter]
    fn driver_version(&self) -> &str {
        &self.device.info().driver_version
    }

    /// Backend: ``"host"``, ``"opencl"``, ``"level_zero"``, ``"cuda"`` or ``"hip"``.
    #[getter]
    fn backend(&self) -> &str {
        self.device.info().backend_name
    }

    /// Type: ``"cpu"``, ``"gpu"``, ``"accelerator"`` or ``"custom"``.
    #[getter]
    fn device_type(&self) -> String {
        self.device.info().device_type.to_string()
    }

    /// ``backend:device_type:number``, which selects this device.
    #[getter]
    fn filter_string(&self) -> String {
        self.device.filter_string()
    }

    /// Largest single allocation, in bytes.
    #[getter]
    fn max_mem_alloc_size(&self) -> u64 {
        self.device.info().max_alloc_bytes
    }

    /// Memory of the device, in bytes.
    #[getter]
    fn global_mem_size(&self) -> u64 {
        self.device.info().global_mem_bytes
    }

    /// Number of parallel compute units.
    #[getter]
    fn max_compute_units(&self) -> u32 {
        self.device.info().compute_units
    }

    /// True with half-precision arithmetic.
    #[getter]
    fn has_aspect_fp16(&self) -> bool {
        self.device.info().has(Aspects::FP16)
    }

    /// True with double-precision arithmetic.
    #[getter]
    fn has_aspect_fp64(&self) -> bool {
        self.device.info().has(Aspects::FP64)
    }

    /// True when host USM can be allocated.
    #[getter]
    fn has_aspect_usm_host_allocations(&self) -> bool {
        self.device.info().has(Aspects::USM_HOST_ALLOCATIONS)
    }

    /// True when device USM can be allocated.
    #[getter]
    fn has_aspect_usm_device_allocations(&self) -> bool {
        self.device.info().has(Aspects::USM_DEVICE_ALLOCATIONS)
    }

    /// True when shared USM can be allocated.
    #[getter]
    fn has_aspect_usm_shared_allocations(&self) -> bool {
        self.device.info().has(Aspects::USM_SHARED_ALLOCATIONS)
    }

    /// True for a CPU.
    #[getter]
    fn is_cpu(&self) -> bool {
        self.device.info().device_type == DeviceType::Cpu
    }

    /// True for a GPU.
    #[getter]
    fn is_gpu(&self) -> bool {
        self.device.info().device_type == DeviceType::Gpu
    }

    /// True for an accelerator.
    #[getter]
    fn is_accelerator(&self) -> bool {
        self.device.info().device_type == DeviceType::Accelerator
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| self.device == other.get().device)
    }

    fn __hash__(&self) -> u64 {
        self.hash_value()
    }

    fn __repr__(&self) -> String {
        format!("<usm.SyclDevice {} ({})>", self.device.filter_string(), self.device.info().name)
    }
}
