//! Which memory is live, for Python: rows, sums, drawings.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList};
use usm_array::usm_core::UsmKind;
use usm_array::usm_memory;
use usm_array::usm_memory::snapshot::{self, Snapshot, Totals};

/// A row of a MemorySnapshot: memory that was live.
///
/// >>> import usm.memory as um
/// >>> memory = um.MemoryUSMShared(100, queue="host:cpu:0")
/// >>> memory.set_tag("weights")
/// >>> [row] = [row for row in um.snapshot() if row.address == memory._pointer and not row.is_reserve]
/// >>> row.nbytes, row.usm_type, row.holder, row.tag, row.device
/// (100, 'shared', 'leased', 'weights', 'host:cpu:0')
#[pyclass(frozen, weakref, module = "usm.memory")]
#[derive(Debug)]
pub struct LiveMemory(snapshot::LiveMemory);

class_of_facts! {
    LiveMemory: |this| this.0;
    facts {
        /// Address of the first byte.
        address: usize = |row| row.address;
        /// Length in bytes, as asked for.
        nbytes: usize = |row| row.len_bytes;
        /// Kind of the memory: ``"host"``, ``"device"`` or ``"shared"``.
        usm_type: &'static str = |row| row.kind.as_str();
        /// Who frees it: ``"owned"`` memory this package, ``"borrowed"`` memory an external owner, ``"leased"`` memory a pool, as the default one, whose own
        /// memory is listed, too.
        holder: &'static str = |row| row.holder.as_str();
        /// True for memory that a pool holds to hand out parts of it.
        is_reserve: bool = |row| row.is_reserve;
        /// The label that set_tag() gave it, or None.
        tag: Option<&str> = |row| row.tag.as_deref();
        /// Seconds since its allocation, to a few milliseconds.
        age: f64 = |row| row.age.as_secs_f64();
        /// Filter string of the device.
        device: &str = |row| &row.device;
        /// A number that is equal for memory of one context in one snapshot.
        context: usize = |row| row.context;
    }
    methods {
        fn __repr__(&self) -> String {
            format!("<usm.memory.LiveMemory {}>", self.0)
        }
    }
}

/// All USM that was live in this process at one time: what snapshot() gives. LiveMemory by number, in the order of addresses;
/// ``str()`` of it is a table.
///
/// >>> import usm.memory as um
/// >>> memory = um.MemoryUSMShared(100)
/// >>> found = um.snapshot()
/// >>> len(found) == len(list(found)) > 0, found[0].address <= found[-1].address
/// (True, True)
#[pyclass(frozen, weakref, mapping, module = "usm.memory")]
#[derive(Debug)]
pub struct MemorySnapshot(Snapshot);

#[pymethods]
impl MemorySnapshot {
    /// Sums over the memory of each kind, as memory_stats() gives them.
    ///
    /// >>> import usm.memory as um
    /// >>> memory = um.MemoryUSMHost(100)
    /// >>> um.snapshot().totals()["host"]["owned_bytes"] >= 100
    /// True
    fn totals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let sums = PyDict::new(py);
        for kind in UsmKind::ALL {
            let Totals { count, owned_bytes, borrowed_bytes, leased_bytes, .. } = self.0.totals(kind);
            let sum = PyDict::new(py);
            sum.set_item("count", count)?;
            sum.set_item("owned_bytes", owned_bytes)?;
            sum.set_item("borrowed_bytes", borrowed_bytes)?;
            sum.set_item("leased_bytes", leased_bytes)?;
            sums.set_item(kind.as_str(), sum)?;
        }
        Ok(sums)
    }

    /// A drawing: a bar for each row, as long as it has bytes. The 2000 largest rows are drawn.
    ///
    /// >>> import usm.memory as um
    /// >>> um.snapshot().to_svg()[:4]
    /// '<svg'
    #[cfg(feature = "svg")]
    fn to_svg(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.to_svg())
    }

    /// A table over time as a page that needs no network and no scripts: a bar for each row, from its allocation to the snapshot.
    /// Check boxes choose kinds, owners and labels.
    ///
    /// >>> import usm.memory as um
    /// >>> um.snapshot().to_html()[:15]
    /// '<!DOCTYPE html>'
    #[cfg(feature = "svg")]
    fn to_html(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.to_html())
    }

    #[cfg(feature = "svg")]
    fn _repr_html_(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.to_html_fragment())
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<LiveMemory> {
        let from_start = if index < 0 { index.saturating_add_unsigned(self.0.len()) } else { index };
        let row = usize::try_from(from_start).ok().and_then(|index| self.0.iter().nth(index));
        let missing = || PyIndexError::new_err(format!("found row {index} of {}", self.0.len()));
        row.cloned().map(LiveMemory).ok_or_else(missing)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.0.iter().cloned().map(LiveMemory))?.try_iter()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<usm.memory.MemorySnapshot of {} rows>", self.0.len())
    }
}

/// snapshot()
///
/// All USM that is live in this process through this package: owned, borrowed, and handed out by pools. Memory that other threads
/// allocate or free meanwhile may be in it or not.
///
/// >>> import usm.memory as um
/// >>> memory = um.MemoryUSMDevice(100)
/// >>> any(row.address == memory._pointer for row in um.snapshot())
/// True
#[pyfunction]
#[pyo3(name = "snapshot")]
pub(crate) fn take_snapshot(py: Python<'_>) -> MemorySnapshot {
    MemorySnapshot(py.detach(usm_memory::snapshot))
}

/// memory_stats()
///
/// How much USM is live in this process: a dict with an entry for ``"host"``, ``"device"`` and ``"shared"`` memory, each a dict of
/// the `count` of live pieces and the bytes of those that are owned, borrowed from external owners, and leased from pools (parts
/// of what the pools own). MemoryPool.stats() has the numbers of a pool over time.
///
/// >>> import usm.memory as um
/// >>> before = um.memory_stats()["shared"]["leased_bytes"]
/// >>> memory = um.MemoryUSMShared(100, queue="host:cpu:0")
/// >>> um.memory_stats()["shared"]["leased_bytes"] - before
/// 100
#[pyfunction]
pub(crate) fn memory_stats(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    take_snapshot(py).totals(py)
}
