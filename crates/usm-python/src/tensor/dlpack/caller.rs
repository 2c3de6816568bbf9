//! Which devices the library can use that calls `__dlpack__`: PyTorch does not say so.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use usm_array::UsmArray;
use usm_array::dlpack::UsableDevices;
use usm_array::usm_core::BackendId;
use usm_array::usm_core::fork::ForkOnce;

use crate::imported;

/// The module of PyTorch whose function `from_dlpack` all its imports of objects go through.
const PYTORCH: &str = "torch.utils.dlpack";

/// The devices whose memory the calling library can use.
///
/// `from_dlpack` of PyTorch names no device that it wants, and takes the tensor as it is. PyTorch for CPUs and NVIDIA GPUs then refuses
/// kDLOneAPI, and PyTorch for Intel GPUs knows no CPU of SYCL. Other libraries name a device, or take kDLOneAPI.
pub(super) fn usable_devices(py: Python<'_>, array: &UsmArray) -> PyResult<UsableDevices> {
    if array.device().backend_id() == BackendId::Cuda {
        return Ok(UsableDevices::All);
    }
    let Some(version) = imported::module(py, intern!(py, "torch.version"))?.filter(|_| is_pytorch(py)) else {
        return Ok(UsableDevices::All);
    };
    let xpu = version.getattr_opt(intern!(py, "xpu"))?;
    Ok(if xpu.is_some_and(|xpu| !xpu.is_none()) { UsableDevices::Gpus } else { UsableDevices::None })
}

/// Whether the Python function that calls is one of PyTorch's module for DLPack.
fn is_pytorch(py: Python<'_>) -> bool {
    static GLOBALS: ForkOnce<Py<PyAny>> = ForkOnce::new();
    // Called from compiled code, the built-in function gives the globals of the Python code that runs. It fails in a thread without any.
    let globals = || -> PyResult<Bound<'_, PyAny>> {
        let find = || imported::import(py, intern!(py, "builtins"))?.getattr("globals").map(Bound::unbind);
        GLOBALS.get_or_try_init(find)?.bind(py).call0()
    };
    let Ok(globals) = globals() else { return false };
    let name =
        globals.cast::<PyDict>().ok().and_then(|globals| globals.get_item(intern!(py, "__name__")).ok());
    // The comparison with a string runs no code of other types.
    name.flatten().is_some_and(|name| name.cast::<PyString>().is_ok_and(|name| name.as_borrowed() == PYTORCH))
}
