//! The pool that memory comes from when a program says nothing.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use usm_array::usm_memory::MemoryResource;
use usm_array::usm_memory::resource::{process_pool, use_process_pool};

use super::pool::{close_lost_pools, entries};
use crate::sycl::runtime;

/// use_default_pool(enabled)
///
/// Say whether memory that is allocated from now on comes from the default pool, and tell how it was before. It is on unless the
/// environment variable ``USM_POOL`` is ``0``.
///
/// The default pool keeps memory that is let go, up to 256 MiB for each device and kind, and hands it out again: it saves the time
/// that a runtime takes, and that new pages take. It has memory in the default context of a device only, and none where use_pool()
/// named another pool. True also ends pools of use_pool() whose MemoryPool the program has let go, with their limits.
///
/// >>> import usm.memory as um
/// >>> was_on = um.use_default_pool(True)
/// >>> address = um.MemoryUSMShared(100)._pointer
/// >>> um.MemoryUSMShared(100)._pointer == address
/// True
/// >>> um.use_default_pool(was_on)
/// True
#[pyfunction]
pub(crate) fn use_default_pool(py: Python<'_>, enabled: bool) -> bool {
    if enabled {
        close_lost_pools(py);
    }
    use_process_pool(enabled)
}

/// trim_default_pool()
///
/// Give the memory of the default pool that nobody uses back to the runtime, and return the number of its bytes. Waits for work that
/// is pending on it.
///
/// Then backends give the memory that they keep back to the system. Other libraries and other processes can have it.
///
/// >>> import usm.memory as um
/// >>> memory = um.MemoryUSMShared(100)
/// >>> del memory
/// >>> um.trim_default_pool() >= 100, um.trim_default_pool()
/// (True, 0)
#[pyfunction]
pub(crate) fn trim_default_pool(py: Python<'_>) -> PyResult<usize> {
    let runtime = runtime::get(py)?;
    Ok(py.detach(|| {
        let bytes = process_pool().trim();
        runtime.trim();
        bytes
    }))
}

/// default_pool_stats()
///
/// Numbers of the default pool, as a dict: bytes of live memory (`current_bytes`) and of the most at a time (`peak_bytes`), as asked
/// for; bytes that the pool holds (`slab_bytes`) and of the part that nobody uses (`idle_bytes`), and how often memory was reused.
///
/// >>> import usm.memory as um
/// >>> sorted(um.default_pool_stats())
/// ['current_bytes', 'idle_bytes', 'peak_bytes', 'reused_count', 'slab_bytes']
#[pyfunction]
pub(crate) fn default_pool_stats(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    entries(py, &py.detach(|| process_pool().statistics()))
}
