//! Arithmetic, which is left to the libraries that use the same memory: a refusal that names them.

use pyo3::prelude::*;
use usm_array::UsmArray;
use usm_array::usm_core::{BackendId, DeviceType};

use crate::objects::UsmNdarray;

/// `NotImplemented` where the other operand has the operator, and may compute with this memory; else a refusal. `reflected` is the
/// method that Python asks it for.
pub(super) fn binary<'py>(
    array: &UsmArray,
    operator: &str,
    other: &Bound<'py, PyAny>,
    reflected: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let py = other.py();
    // Numbers know no arrays; lists and texts have some of the methods, for other purposes.
    let is_builtin = other.get_type().module()? == "builtins";
    if !is_builtin && !other.is_instance_of::<UsmNdarray>() && other.hasattr(reflected)? {
        return Ok(py.NotImplemented().into_bound(py));
    }
    Err(refused(array, operator))
}

/// Why there is no result, and which libraries give one.
pub(super) fn refused(array: &UsmArray, operator: &str) -> PyErr {
    type_error!("{operator}: usm.tensor holds and moves arrays and has no arithmetic; {}", libraries(array))
}

/// The libraries that compute on the memory of an array `a` where it is.
fn libraries(array: &UsmArray) -> &'static str {
    let device = array.device();
    let is_sycl = device.backend_id() == BackendId::Sycl;
    let is_gpu = device.info().device_type == DeviceType::Gpu;
    if device.backend_id() == BackendId::Cuda {
        return match array.is_host_accessible() {
            true => "cupy.asarray(a) and numpy.asarray(a) compute on this memory without a copy",
            false => "cupy.asarray(a) and torch.from_dlpack(a) compute on this memory without a copy",
        };
    }
    match (array.is_host_accessible(), is_sycl, is_gpu) {
        (true, false, _) => "numpy.asarray(a) and torch.from_dlpack(a) compute on this memory without a copy",
        (true, true, false) => {
            "dpnp.tensor.asarray(a), numpy.asarray(a) and torch.from_numpy(numpy.asarray(a)) compute on this memory without a copy"
        }
        (true, true, true) => {
            "dpnp.tensor.asarray(a), torch.from_dlpack(a) and numpy.asarray(a) compute on this memory without a copy"
        }
        (false, true, false) => "dpnp.tensor.asarray(a) computes on this memory without a copy",
        (false, true, true) => {
            "dpnp.tensor.asarray(a) and torch.from_dlpack(a) compute on this memory without a copy"
        }
        (false, false, _) => {
            "no library computes on device memory of the host backend: usm.tensor.asnumpy(a) copies it, and numpy.asarray(a) \
             computes without a copy on an array made with usm_type=\"shared\""
        }
    }
}
