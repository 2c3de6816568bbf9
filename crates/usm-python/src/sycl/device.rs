//! Methods of `SyclDevice`.

use pyo3::exceptions::{PyDeprecationWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::{PyBool, PyString};
use usm_array::usm_core::{Aspects, Device, DeviceType, PeerAccess};

use super::classes::{SyclDevice, SyclPlatform};
use super::resolve::{device_argument, device_objects, device_of};
use super::runtime;
use super::{dpctl, enums, listing, partition, pickle};
use crate::errors::{OrRaise, wrong_type};
use crate::number::of_text;

/// Whether an object of this package or of dpctl stands for the same SYCL device; `None` lets the other object answer.
fn equal(device: &Bound<'_, SyclDevice>, other: &Bound<'_, PyAny>) -> PyResult<Option<bool>> {
    match dpctl::own_device(other)? {
        Some(other) => Ok(Some(device.get().device == other)),
        None => Ok(dpctl::is_their_device(other, device.hash()?)?.then_some(true)),
    }
}

/// A handle of a root device whose device USM this library leaves to queues, as that of a GPU: for the tests of this package.
#[pyfunction]
pub(crate) fn _strict_device(device: &Bound<'_, PyAny>) -> PyResult<SyclDevice> {
    let device = device_argument(device.py(), "device", Some(device))?;
    Ok(SyclDevice::from_device(device.strict().or_raise()?))
}

fn peer_argument(py: Python<'_>, peer: &Bound<'_, PyAny>) -> PyResult<Device> {
    let wrong = || wrong_type("peer", peer, "is a SyclDevice");
    if peer.is_instance_of::<PyString>() { Err(wrong()) } else { device_of(py, peer)?.ok_or_else(wrong) }
}

class_of_facts! {
    SyclDevice: |this| this.device.info();
    facts {
        /// True for a CPU.
        has_aspect_cpu: bool = |info| info.has(Aspects::CPU);
        /// True for a GPU.
        has_aspect_gpu: bool = |info| info.has(Aspects::GPU);
        /// True for an accelerator.
        has_aspect_accelerator: bool = |info| info.has(Aspects::ACCELERATOR);
        /// True for a device of another type.
        has_aspect_custom: bool = |info| info.has(Aspects::CUSTOM);
        /// True with half-precision arithmetic.
        has_aspect_fp16: bool = |info| info.has(Aspects::FP16);
        /// True with double-precision arithmetic.
        has_aspect_fp64: bool = |info| info.has(Aspects::FP64);
        /// True with 64-bit atomic operations.
        has_aspect_atomic64: bool = |info| info.has(Aspects::ATOMIC64);
        /// True with images.
        has_aspect_image: bool = |info| info.has(Aspects::IMAGE);
        /// True when kernels can be compiled at run time.
        has_aspect_online_compiler: bool = |info| info.has(Aspects::ONLINE_COMPILER);
        /// True when kernels can be linked at run time.
        has_aspect_online_linker: bool = |info| info.has(Aspects::ONLINE_LINKER);
        /// True when queues can record times.
        has_aspect_queue_profiling: bool = |info| info.has(Aspects::QUEUE_PROFILING);
        /// True when device USM can be allocated.
        has_aspect_usm_device_allocations: bool = |info| info.has(Aspects::USM_DEVICE_ALLOCATIONS);
        /// True when host USM can be allocated.
        has_aspect_usm_host_allocations: bool = |info| info.has(Aspects::USM_HOST_ALLOCATIONS);
        /// True when shared USM can be allocated.
        has_aspect_usm_shared_allocations: bool = |info| info.has(Aspects::USM_SHARED_ALLOCATIONS);
        /// True when any memory of the process works as shared USM.
        has_aspect_usm_system_allocations: bool = |info| info.has(Aspects::USM_SYSTEM_ALLOCATIONS);
        /// True with atomic operations on host USM, concurrent with the host.
        has_aspect_usm_atomic_host_allocations: bool = |info| info.has(Aspects::USM_ATOMIC_HOST_ALLOCATIONS);
        /// True with atomic operations on shared USM, concurrent with the host.
        has_aspect_usm_atomic_shared_allocations: bool = |info| info.has(Aspects::USM_ATOMIC_SHARED_ALLOCATIONS);
        /// True when kernels can be debugged from the host.
        has_aspect_host_debuggable: bool = |info| info.has(Aspects::HOST_DEBUGGABLE);
        /// True for a device that is emulated.
        has_aspect_emulated: bool = |info| info.has(Aspects::EMULATED);
        /// True for a component of a composite device.
        has_aspect_is_component: bool = |info| info.has(Aspects::IS_COMPONENT);
        /// True for a composite device.
        has_aspect_is_composite: bool = |info| info.has(Aspects::IS_COMPOSITE);
        /// True when other processes can map the device's memory.
        has_aspect_ext_oneapi_ipc_memory: bool = |info| info.has(Aspects::EXT_ONEAPI_IPC_MEMORY);
        /// Name of the device.
        name: &str = |info| &info.name;
        /// Vendor of the device.
        vendor: &str = |info| &info.vendor;
        /// Version of the driver.
        driver_version: &str = |info| &info.driver_version;
        /// True for a CPU.
        is_cpu: bool = |info| info.device_type == DeviceType::Cpu;
        /// True for a GPU.
        is_gpu: bool = |info| info.device_type == DeviceType::Gpu;
        /// True for an accelerator.
        is_accelerator: bool = |info| info.device_type == DeviceType::Accelerator;
        /// Largest single allocation, in bytes.
        max_mem_alloc_size: u64 = |info| info.max_alloc_bytes;
        /// Memory of the device, in bytes.
        global_mem_size: u64 = |info| info.global_mem_bytes;
        /// Cache of the device's memory, in bytes.
        global_mem_cache_size: u64 = |info| info.global_cache_bytes;
        /// Line of that cache, in bytes.
        global_mem_cache_line_size: u32 = |info| info.global_cache_line_bytes;
        /// Local memory of a work-group, in bytes.
        local_mem_size: u64 = |info| info.local_mem_bytes;
        /// Number of parallel compute units.
        max_compute_units: u32 = |info| info.compute_units;
        /// Highest clock frequency, in MHz; 0 where the runtime does not tell.
        max_clock_frequency: u32 = |info| info.max_clock_mhz;
        /// A tick of the clock of profiling times, in nanoseconds.
        profiling_timer_resolution: usize = |info| info.profiling_timer_resolution_ns;
        /// Most sub-devices that one partitioning gives; 0 for a device that cannot be partitioned.
        partition_max_sub_devices: u32 = |info| info.max_sub_devices;
        /// Largest work-group, in work-items.
        max_work_group_size: usize = |info| info.max_work_group_size;
        /// Number of dimensions of a range of work-items.
        max_work_item_dims: usize = |info| info.max_work_item_sizes.len();
        /// Most work-items of a work-group along each dimension of a 1-D range.
        max_work_item_sizes1d: (usize,) = |info| (info.max_work_item_sizes[2],);
        /// Most work-items of a work-group along each dimension of a 2-D range.
        max_work_item_sizes2d: (usize, usize) = |info| (info.max_work_item_sizes[1], info.max_work_item_sizes[2]);
        /// Most work-items of a work-group along each dimension of a 3-D range.
        max_work_item_sizes3d: (usize, usize, usize) = |info| info.max_work_item_sizes.into();
        /// Most sub-groups of a work-group.
        max_num_sub_groups: u32 = |info| info.max_sub_groups;
        /// Sizes that a sub-group can have, in work-items.
        sub_group_sizes: Vec<usize> = |info| info.sub_group_sizes.clone();
        /// True when the sub-groups of a work-group go on independently of each other.
        sub_group_independent_forward_progress: bool = |info| info.independent_sub_groups;
        /// Most images that a kernel can read.
        max_read_image_args: u32 = |info| info.images.max_read_args;
        /// Most images that a kernel can write.
        max_write_image_args: u32 = |info| info.images.max_write_args;
        /// Largest width of a 2-D image, in pixels.
        image_2d_max_width: usize = |info| info.images.max_2d[0];
        /// Largest height of a 2-D image, in pixels.
        image_2d_max_height: usize = |info| info.images.max_2d[1];
        /// Largest width of a 3-D image, in pixels.
        image_3d_max_width: usize = |info| info.images.max_3d[0];
        /// Largest height of a 3-D image, in pixels.
        image_3d_max_height: usize = |info| info.images.max_3d[1];
        /// Largest depth of a 3-D image, in pixels.
        image_3d_max_depth: usize = |info| info.images.max_3d[2];
        /// How much SYCL's default selector is for the device; negative for a device that it never selects. The host device has a
        /// low one above 0.
        default_selector_score: i32 = |info| info.default_selector_score;
        /// Elements of the vectors of char that the device prefers.
        preferred_vector_width_char: u32 = |info| info.preferred_vector_widths.char;
        /// Elements of the vectors of short that the device prefers.
        preferred_vector_width_short: u32 = |info| info.preferred_vector_widths.short;
        /// Elements of the vectors of int that the device prefers.
        preferred_vector_width_int: u32 = |info| info.preferred_vector_widths.int;
        /// Elements of the vectors of long that the device prefers.
        preferred_vector_width_long: u32 = |info| info.preferred_vector_widths.long;
        /// Elements of the vectors of float that the device prefers.
        preferred_vector_width_float: u32 = |info| info.preferred_vector_widths.float;
        /// Elements of the vectors of double that the device prefers; 0 without fp64.
        preferred_vector_width_double: u32 = |info| info.preferred_vector_widths.double;
        /// Elements of the vectors of half that the device prefers; 0 without fp16.
        preferred_vector_width_half: u32 = |info| info.preferred_vector_widths.half;
        /// Elements of the vectors of char of the device's instructions.
        native_vector_width_char: u32 = |info| info.native_vector_widths.char;
        /// Elements of the vectors of short of the device's instructions.
        native_vector_width_short: u32 = |info| info.native_vector_widths.short;
        /// Elements of the vectors of int of the device's instructions.
        native_vector_width_int: u32 = |info| info.native_vector_widths.int;
        /// Elements of the vectors of long of the device's instructions.
        native_vector_width_long: u32 = |info| info.native_vector_widths.long;
        /// Elements of the vectors of float of the device's instructions.
        native_vector_width_float: u32 = |info| info.native_vector_widths.float;
        /// Elements of the vectors of double of the device's instructions; 0 without fp64.
        native_vector_width_double: u32 = |info| info.native_vector_widths.double;
        /// Elements of the vectors of half of the device's instructions; 0 without fp16.
        native_vector_width_half: u32 = |info| info.native_vector_widths.half;
    }
    methods {
        #[new]
        #[allow(clippy::new_ret_no_self, reason = "beside dpctl an object of the joint class")]
        #[pyo3(signature = (arg=None))]
        fn new<'py>(py: Python<'py>, arg: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
            dpctl::device_object(py, &device_argument(py, "arg", arg)?)
        }

        /// Backend, a `backend_type`: host, opencl, level_zero, cuda or hip.
        #[getter]
        fn backend<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
            enums::backend_type(py, self.device.info().backend_name)
        }

        /// Type, a `device_type`: cpu, gpu, accelerator or custom.
        #[getter]
        fn device_type<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
            enums::device_type(py, self.device.info().device_type)
        }

        /// What the cache of the device's memory is for, a `global_mem_cache_type`.
        #[getter]
        fn global_mem_cache_type<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
            enums::cache_type(py, self.device.info().global_cache_type)
        }

        /// Most work-items of a work-group along each of three dimensions. Deprecated for max_work_item_sizes3d.
        #[getter]
        fn max_work_item_sizes(&self, py: Python<'_>) -> PyResult<(usize, usize, usize)> {
            let category = py.get_type::<PyDeprecationWarning>();
            PyErr::warn(py, &category, c"max_work_item_sizes is deprecated, use max_work_item_sizes3d", 1)?;
            Ok(self.max_work_item_sizes3d())
        }

        /// ``backend:device_type:number``, which selects this device.
        ///
        /// Raises ValueError for a sub-device, which no filter string selects.
        #[getter(filter_string)]
        fn whole_filter_string(&self, py: Python<'_>) -> PyResult<String> {
            self.get_filter_string(py, true, true)
        }

        /// A filter string that selects this device, with or without its backend and its type.
        ///
        /// Raises ValueError for a sub-device, which no filter string selects.
        #[pyo3(signature = (include_backend=true, include_device_type=true))]
        fn get_filter_string(
            &self,
            py: Python<'_>,
            include_backend: bool,
            include_device_type: bool,
        ) -> PyResult<String> {
            let runtime = runtime::get(py)?;
            let filter = py.detach(|| runtime.filter_of(&self.device, include_backend, include_device_type));
            filter.map(|filter| filter.to_string()).ok_or_else(|| {
                let found = self.device.filter_string();
                value_error!("found a {found}; only a root device has a filter string")
            })
        }

        /// Position of the device, or of the root device that it is a part of, in the list that get_devices() returns.
        ///
        /// Raises ValueError for a device that is not in it.
        fn get_device_id(&self, py: Python<'_>) -> PyResult<usize> {
            let (root, runtime) = (self.device.root().or_raise()?, runtime::get(py)?);
            let found = py.detach(|| runtime.number_of(&root));
            found.ok_or_else(|| PyValueError::new_err("the device is not in the list of devices"))
        }

        /// The device that this sub-device is a part of; None for a root device.
        #[getter]
        fn parent_device<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
            let parent = self.device.parent().or_raise()?;
            parent.map(|parent| dpctl::device_object(py, &parent)).transpose()
        }

        /// The root device that this sub-device is a part of; a root device itself.
        fn get_unpartitioned_parent_device<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
            dpctl::device_object(py, &self.device.root().or_raise()?)
        }

        /// create_sub_devices(*, partition)
        ///
        /// Parts of the device: a list of sub-devices. `partition` is a number of compute units of each, a list with the number of
        /// each, or an affinity domain: "numa", "L4_cache", "L3_cache", "L2_cache", "L1_cache" or "next_partitionable".
        ///
        /// Raises SyclSubDeviceCreationError when the device cannot be parted like that, TypeError and ValueError for other
        /// values.
        #[pyo3(signature = (*, partition), text_signature = "($self, /, *, partition)")]
        fn create_sub_devices<'py>(
            &self,
            py: Python<'py>,
            partition: &Bound<'py, PyAny>,
        ) -> PyResult<Vec<Bound<'py, PyAny>>> {
            let partition = partition::argument("partition", partition)?;
            let parts = py.detach(|| self.device.create_sub_devices(&partition)).or_raise()?;
            device_objects(py, parts)
        }

        /// The composite device that this device is a component of, or None.
        #[getter]
        fn composite_device<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
            let found = py.detach(|| self.device.composite_device()).or_raise()?;
            found.map(|found| dpctl::device_object(py, &found)).transpose()
        }

        /// The components of a composite device; an empty list for another one.
        fn component_devices<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
            device_objects(py, py.detach(|| self.device.component_devices()).or_raise()?)
        }

        /// The platform of the device.
        #[getter]
        fn sycl_platform(&self) -> PyResult<SyclPlatform> {
            self.device.platform().or_raise().map(SyclPlatform::from_platform)
        }

        /// True when this device can access the memory of `peer`; with "atomics_supported" by atomic operations.
        #[pyo3(signature = (peer, value="access_supported"))]
        fn can_access_peer(&self, py: Python<'_>, peer: &Bound<'_, PyAny>, value: &str) -> PyResult<bool> {
            let peer = peer_argument(py, peer)?;
            let access: PeerAccess = of_text("value", value)?;
            Ok(self.device.can_access_peer(&peer, access))
        }

        /// Let this device reach device memory of `peer` until it is disabled.
        ///
        /// Return whether this call changed anything: access that is enabled already is no error. Raises ValueError when the device
        /// cannot access that peer.
        fn enable_peer_access(&self, py: Python<'_>, peer: &Bound<'_, PyAny>) -> PyResult<bool> {
            self.device.enable_peer_access(&peer_argument(py, peer)?).or_raise()
        }

        /// Take enable_peer_access back.
        ///
        /// Return whether this call changed anything: access that is not enabled is no error. Raises ValueError when the device
        /// cannot access that peer.
        fn disable_peer_access(&self, py: Python<'_>, peer: &Bound<'_, PyAny>) -> PyResult<bool> {
            self.device.disable_peer_access(&peer_argument(py, peer)?).or_raise()
        }

        /// Print name, driver version, vendor and filter string.
        fn print_device_info(&self, py: Python<'_>) -> PyResult<()> {
            listing::print(py, &listing::device(&self.device))
        }

        // PyO3 does not take `__eq__` from a macro.
        fn __richcmp__<'py>(
            slf: &Bound<'py, Self>,
            other: &Bound<'py, PyAny>,
            op: CompareOp,
        ) -> PyResult<Bound<'py, PyAny>> {
            let py = slf.py();
            let answer = match op {
                CompareOp::Eq => equal(slf, other)?,
                CompareOp::Ne => equal(slf, other)?.map(|equal| !equal),
                _ => None,
            };
            Ok(match answer {
                Some(answer) => PyBool::new(py, answer).to_owned().into_any(),
                None => py.NotImplemented().into_bound(py),
            })
        }

        fn __hash__(&self) -> u64 {
            self.device.hash_value()
        }

        /// A pickle has the filter string, the PCI address where there is one, and the way to a sub-device.
        fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<pickle::Reduced<'py>> {
            pickle::device(py, &self.device)
        }

        fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
            slf
        }

        fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
            slf
        }

        /// Name of the class.
        #[getter]
        fn __name__(&self) -> &'static str {
            "SyclDevice"
        }

        fn __repr__(&self) -> String {
            format!("<usm.SyclDevice {} ({})>", self.device.filter_string(), self.device.info().name)
        }

        /// Name, driver, memory and kinds of USM of the device, as a table.
        #[cfg(feature = "svg")]
        fn _repr_html_(&self) -> String {
            usm_array::usm_memory::device_html(&self.device)
        }
    }
}
