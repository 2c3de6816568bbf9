//! Memory and arrays of several processes: the functions below `usm.ipc`.

use std::ffi::c_int;
#[cfg(not(windows))]
use std::os::fd::IntoRawFd;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};
use usm_array::usm_core::backend::SharedFile;
use usm_array::usm_core::{Device, Queue};
use usm_array::usm_memory::{self, UsmBuffer, processes};
use usm_array::{ArrayHandle, UsmArray};

use crate::errors::{OrRaise, in_place_of, set_raised, wrong_type};
use crate::memory::wrap;
use crate::objects::{Memory, UsmNdarray};
use crate::sycl::{queue_argument, runtime};

enum Offered {
    Array(ArrayHandle),
    Memory(processes::Handle),
}

/// A handle of an array or of memory, from usm.ipc.export. Other processes of this user open its bytes with usm.ipc.open, any number
/// of times, as long as the handle exists. Who has opened the memory keeps it.
///
/// ``bytes(handle)`` are the bytes, and a pickle of the handle is a pickle of them.
///
/// >>> import usm.tensor as ut, usm.ipc
/// >>> a = ut.arange(10000, usm_type="shared", device="host")
/// >>> handle = usm.ipc.export(a[::2])
/// >>> usm.ipc.open(bytes(handle))[3]  # in any process
/// usm_ndarray(6)
#[pyclass(frozen, module = "usm.ipc", name = "Handle")]
pub struct IpcHandle(Offered);

impl IpcHandle {
    fn data(&self) -> Vec<u8> {
        match &self.0 {
            Offered::Array(handle) => handle.bytes(),
            Offered::Memory(handle) => handle.bytes().to_vec(),
        }
    }
}

#[pymethods]
impl IpcHandle {
    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.data())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<PyBytes>().into_any(), (self.__bytes__(py),)))
    }

    fn __repr__(&self) -> String {
        let what = match &self.0 {
            Offered::Array(_) => "an array",
            Offered::Memory(_) => "memory",
        };
        format!("<usm.ipc.Handle of {what} of process {}>", std::process::id())
    }
}

/// What others can open.
enum Subject {
    Array(UsmArray),
    Memory(UsmBuffer),
}

fn exported(object: &Bound<'_, PyAny>) -> PyResult<Subject> {
    if let Ok(array) = object.cast::<UsmNdarray>() {
        return Ok(Subject::Array(array.get().array().clone()));
    }
    match object.cast::<Memory>() {
        Ok(memory) => Ok(Subject::Memory(memory.get().buffer.clone())),
        Err(_) => Err(wrong_type(
            "obj",
            object,
            "are usm_ndarray and memory of usm; usm.tensor.asarray takes other objects",
        )),
    }
}

/// export(obj)
///
/// A handle of an array or of memory: other processes of this user and machine open it with usm.ipc.open, and have the same bytes.
///
/// The memory stays until this process and all that have opened it are done with it, however they end. Who opens the handle gets what
/// the operations under way write to the memory: they are waited for here, or by usm.ipc.open for memory of a GPU. Nothing orders the
/// accesses of several processes afterwards.
///
/// Raises ValueError for memory that other processes cannot open, with what works; BufferError while a view to write to it exists.
///
/// >>> import usm.ipc, usm.tensor as ut
/// >>> handle = usm.ipc.export(ut.zeros((100, 100), usm_type="shared", device="host"))
/// >>> usm.ipc.open(bytes(handle)).shape
/// (100, 100)
#[pyfunction]
pub(crate) fn export(py: Python<'_>, obj: &Bound<'_, PyAny>) -> PyResult<IpcHandle> {
    let offered = match exported(obj)? {
        Subject::Array(array) => Offered::Array(py.detach(|| ArrayHandle::new(&array)).or_raise()?),
        Subject::Memory(buffer) => Offered::Memory(py.detach(|| processes::Handle::new(&buffer)).or_raise()?),
    };
    Ok(IpcHandle(offered))
}

/// _bytes_for_one(obj, may_end)
///
/// The bytes of a handle that one process opens, once, and that keep the memory until then. With `may_end`, memory that goes with this
/// process is refused.
#[pyfunction(name = "_bytes_for_one")]
pub(crate) fn bytes_for_one<'py>(
    py: Python<'py>,
    obj: &Bound<'py, PyAny>,
    may_end: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = match exported(obj)? {
        Subject::Array(array) => py.detach(|| array.bytes_for_one(may_end)).or_raise()?,
        Subject::Memory(buffer) => {
            py.detach(|| processes::bytes_for_one(&buffer, may_end)).or_raise()?.to_vec()
        }
    };
    Ok(PyBytes::new(py, &bytes))
}

/// _withdraw(handle)
///
/// Makes a handle of _bytes_for_one stale, and lets go of its memory. Whether it still kept the memory: False means that a process has
/// opened it.
#[pyfunction(name = "_withdraw")]
pub(crate) fn withdraw(py: Python<'_>, handle: &[u8]) -> PyResult<bool> {
    // The layout of an array comes after the handle of its memory.
    let memory = handle.get(..processes::LEN_BYTES).unwrap_or(handle);
    py.detach(|| processes::withdraw(memory)).or_raise()
}

/// open(handle, *, queue=None)
///
/// The array or memory of a handle or of its bytes: the same bytes as in the process that exported it, on `queue`, or on the default
/// queue of its device. In the process of the handle it is the same memory.
///
/// Raises ValueError for bytes that are no handle, UsmError for memory that is gone.
///
/// >>> import usm.ipc, usm.tensor as ut
/// >>> handle = usm.ipc.export(ut.ones(10000, usm_type="shared", device="host"))
/// >>> usm.ipc.open(handle).sum()
/// usm_ndarray(10000.)
#[pyfunction]
#[pyo3(signature = (handle, *, queue=None))]
pub(crate) fn open<'py>(
    py: Python<'py>,
    handle: &Bound<'py, PyAny>,
    queue: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let bytes = match handle.cast::<IpcHandle>() {
        Ok(handle) => handle.get().data(),
        Err(_) => bytes_of(handle)?,
    };
    // It finds the devices here.
    runtime::get(py)?;
    let queue = queue.map(|_| queue_argument(py, "queue", queue)).transpose()?;
    let queue_of = |device: &Device| match queue {
        Some(queue) => Ok(queue),
        None => default_queue(device),
    };
    if bytes.len() == processes::LEN_BYTES {
        let buffer = py.detach(|| processes::open_on(&bytes, queue_of)).or_raise()?;
        return wrap(py, buffer);
    }
    let array = py.detach(|| UsmArray::open_on(&bytes, queue_of)).or_raise()?;
    UsmNdarray::object(py, array)
}

/// open_cuda(handle, nbytes, *, offset_bytes=0, queue=None)
///
/// Device memory that another library has exported by ``cudaIpcGetMemHandle``: `nbytes` bytes from `offset_bytes` on in the block of
/// the handle, on `queue`, or on the default queue of the first CUDA device.
///
/// CuPy's ``cupy.cuda.runtime.ipcGetMemHandle`` gives such handles of 64 bytes. PyTorch's ``tensor.untyped_storage()._share_cuda_()``
/// gives one of 66 bytes, with the offset. The handle is of the block, and not of a part of it. The process that exported the memory
/// must keep it until the last array over it is gone: nothing tells that process. Handles of `export` have no such rule.
///
/// Raises ValueError for bytes that are no such handle and for a range beyond the block, UsmError when the driver refuses the handle:
/// its process has ended, is this one, or has freed the memory.
///
/// >>> import usm.ipc
/// >>> usm.ipc.open_cuda(bytes(63), 4096)
/// Traceback (most recent call last):
///     ...
/// ValueError: a handle of memory: found 63 bytes, allowed are the 64 bytes of cudaIpcGetMemHandle, and the 66 of PyTorch for memory of cudaMalloc
#[pyfunction]
#[pyo3(signature = (handle, nbytes, *, offset_bytes=0, queue=None))]
pub(crate) fn open_cuda<'py>(
    py: Python<'py>,
    handle: &Bound<'py, PyAny>,
    nbytes: usize,
    offset_bytes: usize,
    queue: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let bytes = bytes_of(handle)?;
    let runtime = runtime::get(py)?;
    let queue = queue.map(|_| queue_argument(py, "queue", queue)).transpose()?;
    let queue_of = || match queue {
        Some(queue) => Ok(queue),
        None => default_queue(&runtime.select("cuda")?),
    };
    let buffer =
        py.detach(|| UsmBuffer::open_cuda_handle(&bytes, offset_bytes, nbytes, queue_of)).or_raise()?;
    wrap(py, buffer)
}

/// The bytes of a handle from another process.
fn bytes_of(handle: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let allowed = "are a handle of usm.ipc.export and its bytes";
    let refused = in_place_of::<PyTypeError>(handle.py(), |_| wrong_type("handle", handle, allowed));
    PyMemoryView::from(handle).map_err(refused)?.call_method0(intern!(handle.py(), "tobytes"))?.extract()
}

/// The queue that arrays without a queue of their own are on.
fn default_queue(device: &Device) -> usm_memory::Result<Queue> {
    Python::attach(|py| runtime::default_queue_of(py, device)).map_err(|error| {
        set_raised(error);
        usm_memory::Error::Interrupted
    })
}

/// pending()
///
/// The number of handles of this process that keep memory: those that exist, and pickles that no process has read yet.
///
/// >>> import usm.ipc
/// >>> usm.ipc.pending() >= 0
/// True
#[pyfunction]
pub(crate) fn pending() -> usize {
    processes::pending_handles()
}

/// release_pending()
///
/// Lets go of the memory of pickles that no process has read, whose number it returns: those of messages to processes that have
/// ended. The pickles are stale then.
///
/// >>> import usm.ipc
/// >>> usm.ipc.release_pending()
/// 0
#[pyfunction]
pub(crate) fn release_pending(py: Python<'_>) -> usize {
    py.detach(processes::release_handles)
}

/// _hand_over()
///
/// The descriptors by which another process goes on for this one when it ends, for _keep; None where nothing is left to do. They are
/// the caller's.
#[pyfunction(name = "_hand_over")]
pub(crate) fn hand_over(py: Python<'_>) -> PyResult<Option<Vec<c_int>>> {
    let files = py.detach(processes::hand_over).or_raise()?;
    Ok(files.map(|files| files.into_iter().map(descriptor).collect()))
}

/// The descriptor of a file, which is the caller's.
#[cfg(not(windows))]
fn descriptor(file: SharedFile) -> c_int {
    file.into_raw_fd()
}

/// The descriptor of a file. Windows has no such files.
#[cfg(windows)]
fn descriptor(file: SharedFile) -> c_int {
    match file {}
}

/// _keep(listener, state, parent)
///
/// Goes on for a process that has ended, with the first two descriptors of its _hand_over, until others have opened all of its memory,
/// or the process `parent` has ended.
#[pyfunction(name = "_keep")]
pub(crate) fn keep(py: Python<'_>, listener: c_int, state: c_int, parent: u32) -> PyResult<()> {
    // SAFETY: promise 1 of `keep`: `usm.ipc` calls this alone, in a process of its own, with what that inherited.
    py.detach(|| unsafe { processes::keep(listener, state, parent) }).or_raise()
}
