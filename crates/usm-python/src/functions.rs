//! Functions of the package `usm` that tell what is there, backends and live memory; and how many threads may work.

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};
use usm_array::usm_core::{BackendState, Runtime};
use usm_array::usm_memory::{live_allocations as live_memory, live_borrows};
use usm_array::{num_threads, set_num_threads as set_limit};

use crate::number::index;
use crate::sycl::runtime;

/// backends()
///
/// What became of each backend, as a list of dicts: `name`, `available`, the `library` it was loaded from, the `reason` why it
/// is missing, every place that was `tried`, `notes`, and the filter strings of its `devices`.
///
/// >>> import usm
/// >>> [backend["name"] for backend in usm.backends()]
/// ['sycl', 'cuda', 'host']
#[pyfunction]
pub(crate) fn backends(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let runtime = runtime::get(py)?;
    let status = py.detach(|| Runtime::status(runtime));
    let describe = |status: &usm_array::usm_core::BackendStatus| {
        let dict = PyDict::new(py);
        dict.set_item("name", status.backend.to_string())?;
        dict.set_item("available", status.state.is_available())?;
        let (library, reason, tried, notes) = match &status.state {
            BackendState::Available { library, notes, tried, .. } => {
                let library = library.as_ref().map(|path| path.display().to_string());
                (library, None, tried.clone(), notes.clone())
            }
            BackendState::Missing { reason, tried, .. } => {
                (None, Some(reason.clone()), tried.clone(), Vec::new())
            }
            other => (None, Some(other.to_string()), Vec::new(), Vec::new()),
        };
        dict.set_item("library", library)?;
        dict.set_item("reason", reason)?;
        dict.set_item("tried", tried)?;
        dict.set_item("notes", notes)?;
        dict.set_item("devices", &status.devices)?;
        Ok(dict)
    };
    status.iter().map(describe).collect()
}

/// live_allocations()
///
/// What is alive in this process, as a dict: `count` allocations of our own and their `bytes`, and how many ranges of external
/// memory are `borrowed`.
///
/// >>> import usm
/// >>> sorted(usm.live_allocations())
/// ['borrowed', 'bytes', 'count']
#[pyfunction]
pub(crate) fn live_allocations(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let live = live_memory();
    [("count", live.count), ("bytes", live.bytes), ("borrowed", live_borrows())].into_py_dict(py)
}

/// set_num_threads(limit)
///
/// Limits the threads that one copy uses, the calling one included, from now on. Casts, fills and ranges of numbers count as copies. 0
/// stands for no limit: as many threads as this process has processors, or as the environment variable ``USM_NUM_THREADS`` says on
/// first use. One thread copies less than 1 MiB.
///
/// Raises TypeError unless the limit is an integer, ValueError for a negative one.
///
/// >>> import usm
/// >>> usm.set_num_threads(1)
/// >>> usm.get_num_threads()
/// 1
/// >>> usm.set_num_threads(0)
#[pyfunction]
pub(crate) fn set_num_threads(limit: &Bound<'_, PyAny>) -> PyResult<()> {
    set_limit(index::<usize>("limit", limit)?);
    Ok(())
}

/// get_num_threads()
///
/// The most threads that one copy uses, the calling one included.
///
/// >>> import usm
/// >>> usm.get_num_threads() >= 1
/// True
#[pyfunction]
pub(crate) fn get_num_threads() -> usize {
    num_threads()
}
