//! Pools that a program switches on, and what they count.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use usm_array::usm_core::Device;
use usm_array::usm_memory::MemoryResource;
use usm_array::usm_memory::resource::{
    DefaultScope, DirectResource, PoolOptions, PoolResource, PoolStatistics, ShareableResource,
};

use crate::sycl::{queue_argument, runtime};

/// A pool that new memory comes from: what use_pool() and current_pool() give. Equal objects stand for the same pool.
///
/// It is used from the start. As a context manager, or with close(), it ends: its free memory goes back to the runtime, and what
/// is in use follows with its last object. Otherwise it lasts as long as the process, also without an object: current_pool() gives
/// a new one, and use_default_pool(True) ends pools without objects. Of several pools of a device the one made last counts, in
/// whatever order they end.
///
/// >>> import usm.memory as um
/// >>> with um.use_pool("host:cpu:0") as pool:
/// ...     first = um.MemoryUSMDevice(1000, queue="host:cpu:0")
/// ...     address = first._pointer
/// ...     del first
/// ...     second = um.MemoryUSMDevice(1000, queue="host:cpu:0")
/// ...     second._pointer == address, pool.stats()["current_bytes"], pool.stats()["total_count"]
/// (True, 1000, 2)
/// >>> pool.closed
/// True
#[pyclass(frozen, weakref, module = "usm.memory")]
#[derive(Debug)]
pub struct MemoryPool {
    shared: Arc<Shared>,
}

/// What the objects of one pool share with the list of pools.
#[derive(Debug)]
struct Shared {
    devices: Vec<Device>,
    /// `None` when it is closed. The lock is held for moments, never while Python runs.
    open: Mutex<Option<OpenPool>>,
}

/// Dropped in this order: nothing new comes from a pool that ends.
#[derive(Debug)]
struct OpenPool {
    _scope: DefaultScope,
    pool: Arc<PoolResource>,
}

/// The pools that are not closed, the newest last. Only threads with the interpreter touch the list.
static POOLS: Mutex<Vec<Arc<Shared>>> = Mutex::new(Vec::new());

fn pools() -> MutexGuard<'static, Vec<Arc<Shared>>> {
    POOLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the pools that no object stands for any more.
pub(super) fn close_lost_pools(py: Python<'_>) {
    let lost: Vec<Arc<Shared>> = pools().extract_if(.., |shared| Arc::strong_count(shared) == 1).collect();
    // Pending work on their memory is waited for.
    py.detach(|| drop(lost));
}

impl MemoryPool {
    fn take(&self) -> Option<OpenPool> {
        pools().retain(|shared| !Arc::ptr_eq(shared, &self.shared));
        self.shared.open.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn pool(&self) -> PyResult<Arc<PoolResource>> {
        let open = self.shared.open.lock().unwrap_or_else(PoisonError::into_inner);
        match &*open {
            Some(open) => Ok(Arc::clone(&open.pool)),
            None => Err(PyValueError::new_err("the pool is closed")),
        }
    }
}

#[pymethods]
impl MemoryPool {
    /// True when the pool is closed.
    #[getter]
    fn closed(&self) -> bool {
        self.shared.open.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// What went through the pool, as a dict of numbers: bytes and counts of live memory (`current_`), of the most at a time
    /// (`peak_`) and of all so far (`total_`), failed allocations; bytes of the memory that the pool holds (`slab_bytes`) and of
    /// the part that nobody uses (`idle_bytes`), and how often it was reused. With several threads the peaks may differ by the bytes
    /// that the caches of threads hold.
    ///
    /// Raises ValueError when the pool is closed.
    ///
    /// >>> import usm.memory as um
    /// >>> with um.use_pool("host:cpu:0") as pool:
    /// ...     memory = um.MemoryUSMShared(100, queue="host:cpu:0")
    /// ...     pool.stats()["current_bytes"], pool.stats()["slab_bytes"] >= 100
    /// (100, True)
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let pool = self.pool()?;
        let seen = py.detach(|| pool.statistics());
        let dict = entries(py, &seen)?;
        dict.set_item("total_bytes", seen.total_bytes)?;
        dict.set_item("current_count", seen.used_count)?;
        dict.set_item("peak_count", seen.peak_count)?;
        dict.set_item("total_count", seen.total_count)?;
        dict.set_item("failed_count", seen.failed_count)?;
        Ok(dict)
    }

    /// Let the peaks of stats() start again from the current numbers.
    ///
    /// >>> import usm.memory as um
    /// >>> with um.use_pool("host:cpu:0") as pool:
    /// ...     memory = um.MemoryUSMShared(100, queue="host:cpu:0")
    /// ...     del memory
    /// ...     pool.stats()["peak_bytes"]
    /// ...     pool.reset_peak()
    /// ...     pool.stats()["peak_bytes"]
    /// 100
    /// 0
    fn reset_peak(&self, py: Python<'_>) -> PyResult<()> {
        let pool = self.pool()?;
        py.detach(|| pool.reset_peak());
        Ok(())
    }

    /// Give the memory that nobody uses back to the runtime, and return the number of its bytes. Waits for work that is pending
    /// on it.
    ///
    /// >>> import usm.memory as um
    /// >>> with um.use_pool("host:cpu:0") as pool:
    /// ...     um.MemoryUSMShared(100, queue="host:cpu:0").nbytes
    /// ...     pool.trim() >= 100, pool.trim()
    /// 100
    /// (True, 0)
    fn trim(&self, py: Python<'_>) -> PyResult<usize> {
        let pool = self.pool()?;
        Ok(py.detach(move || pool.trim()))
    }

    /// End the pool; once more does nothing.
    ///
    /// >>> import usm.memory as um
    /// >>> pool = um.use_pool("host:cpu:0")
    /// >>> pool.close()
    /// >>> pool.closed
    /// True
    fn close(&self, py: Python<'_>) {
        let open = self.take();
        // Pending work on its memory is waited for.
        py.detach(|| drop(open));
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| Arc::ptr_eq(&other.get().shared, &self.shared))
    }

    fn __hash__(&self) -> usize {
        Arc::as_ptr(&self.shared).addr()
    }

    fn __enter__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        slf.get().pool()?;
        Ok(slf)
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _type: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) {
        self.close(py);
    }

    fn __repr__(&self) -> String {
        match self.pool() {
            Ok(pool) => {
                let seen = pool.statistics();
                let (used, slabs) = (seen.used_bytes, seen.slab_bytes);
                format!("<usm.memory.MemoryPool, {used} bytes in use, {slabs} bytes held>")
            }
            Err(_) => "<usm.memory.MemoryPool, closed>".to_owned(),
        }
    }
}

/// use_pool(device=None, *, max_retained_bytes=None, limit_bytes=None, shareable=False)
///
/// Let new memory of `device` come from a pool, which keeps what is let go and hands it out again. Memory objects, arrays and
/// copies that need memory between both sides use it. Returns the MemoryPool, which tells its numbers and ends the use of it,
/// by itself after a ``with`` block.
///
/// `device` is a device, a filter string, or a queue or context that names one; None stands for all root devices. Free memory
/// beyond `max_retained_bytes` for each context, device and kind goes back to the runtime (256 MiB unless given). With
/// `limit_bytes` the pool never holds more than that. Other processes can open memory of a `shareable` pool at any length (usm.ipc), on
/// the host and on CPUs.
///
/// >>> import usm.memory as um
/// >>> with um.use_pool(limit_bytes=1 << 20) as pool:
/// ...     memory = um.MemoryUSMHost(100)
/// ...     try:
/// ...         um.MemoryUSMHost(1 << 20)
/// ...     except um.USMAllocationError:
/// ...         pool.stats()["failed_count"]
/// 1
#[pyfunction]
#[pyo3(signature = (device=None, *, max_retained_bytes=None, limit_bytes=None, shareable=false))]
pub(crate) fn use_pool(
    py: Python<'_>,
    device: Option<&Bound<'_, PyAny>>,
    max_retained_bytes: Option<usize>,
    limit_bytes: Option<usize>,
    shareable: bool,
) -> PyResult<MemoryPool> {
    let devices = match device {
        Some(device) => vec![queue_argument(py, "device", Some(device))?.device().clone()],
        None => runtime::devices(py)?,
    };
    let mut options = PoolOptions::new();
    if let Some(bytes) = max_retained_bytes {
        options = options.max_retained_bytes(bytes);
    }
    if let Some(bytes) = limit_bytes {
        options = options.limit_bytes(bytes);
    }
    let upstream: Arc<dyn MemoryResource> =
        if shareable { Arc::new(ShareableResource) } else { Arc::new(DirectResource) };
    let pool = Arc::new(PoolResource::new(upstream, options));
    let scope = DefaultScope::enter(&devices, Arc::clone(&pool) as Arc<dyn MemoryResource>);
    let shared = Arc::new(Shared { devices, open: Mutex::new(Some(OpenPool { _scope: scope, pool })) });
    pools().push(Arc::clone(&shared));
    Ok(MemoryPool { shared })
}

/// The numbers that every pool tells.
pub(super) fn entries<'py>(py: Python<'py>, seen: &PoolStatistics) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("current_bytes", seen.used_bytes)?;
    dict.set_item("peak_bytes", seen.peak_bytes)?;
    dict.set_item("slab_bytes", seen.slab_bytes)?;
    dict.set_item("idle_bytes", seen.idle_bytes)?;
    dict.set_item("reused_count", seen.reused_count)?;
    Ok(dict)
}

/// current_pool(device=None)
///
/// The MemoryPool that new memory of `device` comes from, which use_pool() made, or None where it made none: the memory then comes
/// from the default pool or from the runtime. `device` is as for use_pool(), None stands for the default device.
///
/// >>> import usm.memory as um
/// >>> um.current_pool("host:cpu:0") is None
/// True
/// >>> pool = um.use_pool("host:cpu:0", limit_bytes=1 << 20)
/// >>> del pool
/// >>> um.current_pool("host:cpu:0").close()
/// >>> um.current_pool("host:cpu:0") is None
/// True
#[pyfunction]
#[pyo3(signature = (device=None))]
pub(crate) fn current_pool(
    py: Python<'_>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<MemoryPool>> {
    let queue = queue_argument(py, "device", device)?;
    let pools = pools();
    let found = pools.iter().rfind(|shared| shared.devices.contains(queue.device()));
    Ok(found.map(|shared| MemoryPool { shared: Arc::clone(shared) }))
}
