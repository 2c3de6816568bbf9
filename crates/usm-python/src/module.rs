//! The contents of the native module.

use pyo3::prelude::*;

/// The native half of the package `usm`. Import the names from `usm`, `usm.memory` and `usm.tensor`.
#[pymodule]
#[pyo3(name = "_usm")]
pub mod _usm {
    #[pymodule_export]
    use crate::errors::{
        SyclContextCreationError, SyclDeviceCreationError, SyclQueueCreationError, USMAllocationError,
        UsmError,
    };
    #[pymodule_export]
    use crate::functions::{
        backends, get_devices, get_num_devices, has_cpu_devices, has_gpu_devices, live_allocations,
        select_default_device,
    };
    #[pymodule_export]
    use crate::memory::{Memory, MemoryUSMDevice, MemoryUSMHost, MemoryUSMShared, as_usm_memory};
    #[pymodule_export]
    use crate::sycl::{SyclContext, SyclDevice, SyclQueue};
    #[pymodule_export]
    use crate::tensor::{Flags, UsmNdarray, asarray, asnumpy, empty, zeros};
}
