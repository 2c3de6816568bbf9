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
        // SAFETY: PY1: this thread is attached to an interpreter.
        let interpreter = unsafe { ffi::PyInterpreterState_Get() };
        // SAFETY: PY1: the interpreter this thread is attached to.
        let id = unsafe { ffi::PyInterpreterState_GetID(interpreter) };
        if id != 0 {
            // Threads of the SYCL runtime attach to the main interpreter when they let Python objects go.
            return Err(PyImportError::new_err(
                "usm cannot be imported in a sub-interpreter, only in the main interpreter of a process",
            ));
        }
        crate::join::set_package();
        Ok(())
    }

    #[pymodule_export]
    use crate::doctor::doctor;
    #[pymodule_export]
    use crate::errors::{
        ExecutionPlacementError, SyclContextCreationError, SyclDeviceCreationError,
        SyclKernelInvalidRangeError, SyclKernelSubmitError, SyclProgramCompilationError,
        SyclQueueCreationError, SyclSubDeviceCreationError, USMAllocationError, UsmError,
    };
    #[pymodule_export]
    use crate::extension::_c_api;
    #[pymodule_export]
    use crate::functions::{backends, get_num_threads, live_allocations, set_num_threads};
    #[pymodule_export]
    use crate::interrupt::tell_progress;
    #[pymodule_export]
    use crate::ipc::{
        IpcHandle, bytes_for_one, export, hand_over, keep, open, open_cuda, pending, release_pending,
        withdraw,
    };
    #[pymodule_export]
    use crate::memory::{
        LiveMemory, MemoryPool, MemorySnapshot, MemoryUSMDevice, MemoryUSMHost, MemoryUSMShared,
        as_usm_memory, current_pool, default_pool_stats, from_pickle, memory_stats, over_buffer,
        take_snapshot, trim_default_pool, use_default_pool, use_pool,
    };
    #[pymodule_export]
    use crate::objects::{Memory, PyDevice, UsmNdarray};
    #[pymodule_export]
    use crate::program::{
        LocalAccessor, SyclKernel, SyclProgram, WorkGroupMemory, create_program_from_ptx,
        create_program_from_source, create_program_from_spirv,
    };
    #[pymodule_export]
    use crate::queue::from_cuda_stream;
    #[pymodule_export]
    use crate::selection::{
        get_device_cached_queue, get_devices, get_platforms, lsplatform, select_accelerator_device,
        select_cpu_device, select_default_device, select_device_with_aspects, select_gpu_device,
    };
    #[pymodule_export]
    use crate::sycl::pickle::{device_from_pickle, queue_from_pickle};
    #[pymodule_export]
    use crate::sycl::{_strict_device, unpickle_on};
    #[pymodule_export]
    use crate::sycl::{SyclContext, SyclDevice, SyclEvent, SyclPlatform, SyclQueue};
    #[pymodule_export]
    use crate::tensor::compute::{
        adopt, cuda_stream, dpnp_array, new, place as place_operands, publish, reaches, span,
    };
    #[pymodule_export]
    use crate::tensor::functions::{
        axes::{expand_dims, flip, matrix_transpose, moveaxis, permute_dims, squeeze, swapaxes},
        classify::{isfinite, isinf, isnan, signbit},
        close::{allclose, isclose},
        compare::{equal, greater, greater_equal, less, less_equal, not_equal},
        copies::{astype, copy},
        create::{empty, eye, full, ones, zeros},
        dtypes::{can_cast, isdtype, result_type},
        inspect::{__array_namespace_info__, NamespaceInfo},
        join::{concat, repeat, roll, stack, tile, unstack},
        like::{empty_like, full_like, ones_like, zeros_like},
        limits::{FinfoObject, IinfoObject, finfo, iinfo},
        logic::{
            bitwise_and, bitwise_invert, bitwise_or, bitwise_xor, logical_and, logical_not, logical_or,
            logical_xor,
        },
        matrices::{meshgrid, tril, triu},
        parts::{conj, imag, real},
        ranges::{arange, linspace},
        reduce::{all, any, count_nonzero, max, min, sum},
        result_place::{get_coerced_usm_type, get_execution_queue, validate_usm_type},
        select::{extract, nonzero, place, where_},
        shape::{broadcast_arrays, broadcast_shapes, broadcast_to, reshape},
        take::{put, put_along_axis, take, take_along_axis},
    };
    #[pymodule_export]
    use crate::tensor::ufunc::{Ufunc, numpy_view};
    #[pymodule_export]
    use crate::tensor::{Flags, PyDtype, array_from_pickle, array_over_buffer, dtype_named};
    #[pymodule_export]
    use crate::tensor::{
        asarray, asnumpy, dldevice_to_sycl_device, from_dlpack, from_numpy, sycl_device_to_dldevice, to_numpy,
    };
    #[pymodule_export]
    use crate::tensor::{get_print_options, set_print_options, usm_ndarray_repr, usm_ndarray_str};
}
