//! The contents of the native module.

use pyo3::prelude::*;

/// The native half of the package `usm`. Import the names from `usm`, `usm.memory` and `usm.tensor`.
#[pymodule]
#[pyo3(name = "_usm")]
pub mod _usm {
    use pyo3::exceptions::PyImportError;
    use pyo3::ffi;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        // SAFETY: this thread is attached to an interpreter.
        let interpreter = unsafe { ffi::PyInterpreterState_Get() };
        // SAFETY: the interpreter this thread is attached to.
        let id = unsafe { ffi::PyInterpreterState_GetID(interpreter) };
        if id != 0 {
            // Threads of the SYCL runtime attach to the main interpreter when they let Python objects go.
            return Err(PyImportError::new_err(
                "usm cannot be imported in a sub-interpreter, only in the main interpreter of a process",
            ));
        }
        crate::extension::set_package();
        Ok(())
    }

    #[pymodule_export]
    use crate::doctor::doctor;
    #[pymodule_export]
    use crate::errors::{
        SyclContextCreationError, SyclDeviceCreationError, SyclQueueCreationError,
        SyclSubDeviceCreationError, USMAllocationError, UsmError,
    };
    #[pymodule_export]
    use crate::extension::_c_api;
    #[pymodule_export]
    use crate::functions::{backends, live_allocations};
    #[pymodule_export]
    use crate::memory::{
        LiveMemory, Memory, MemoryPool, MemorySnapshot, MemoryUSMDevice, MemoryUSMHost, MemoryUSMShared,
        as_usm_memory, from_pickle, memory_stats, take_snapshot, use_pool,
    };
    #[pymodule_export]
    use crate::selection::{
        get_device_cached_queue, get_devices, get_num_devices, get_platforms, has_accelerator_devices,
        has_cpu_devices, has_gpu_devices, lsplatform, select_accelerator_device, select_cpu_device,
        select_default_device, select_device_with_aspects, select_gpu_device,
    };
    #[pymodule_export]
    use crate::sycl::{SyclContext, SyclDevice, SyclEvent, SyclPlatform, SyclQueue};
    #[pymodule_export]
    use crate::tensor::{Flags, PyDevice, PyDtype, UsmNdarray, array_from_pickle, dtype_named, empty, zeros};
    #[pymodule_export]
    use crate::tensor::{asarray, asnumpy, from_dlpack, from_numpy, to_numpy};
    #[pymodule_export]
    use crate::tensor::{get_print_options, set_print_options, usm_ndarray_repr, usm_ndarray_str};
}
