//! `MemoryUSMHost`, `MemoryUSMDevice`, `MemoryUSMShared` and what they share.

mod bytes;
mod construct;
mod default_pool;
pub(crate) mod pickle;
mod pool;
mod snapshot;
mod transfer;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PySlice, PyTuple};
use std::ffi::c_int;
use usm_array::Work;
use usm_array::usm_core::UsmKind;
use usm_array::usm_memory::UsmBuffer;

pub(crate) use self::construct::{MemoryUSMDevice, MemoryUSMHost, MemoryUSMShared, as_usm_memory, wrap};
pub(crate) use self::default_pool::{default_pool_stats, trim_default_pool, use_default_pool};
pub(crate) use self::pickle::{from_pickle, over_buffer};
pub(crate) use self::pool::{MemoryPool, current_pool, use_pool};
pub(crate) use self::snapshot::{LiveMemory, MemorySnapshot, memory_stats, take_snapshot};
pub(crate) use self::transfer::copy;
use crate::buffer_export;
use crate::errors::{OrRaise, OrValueError, no_cuda, type_name};
use crate::interface::{cuda, export, import};
use crate::interrupt;
use crate::objects::Memory;
use crate::sycl::{queue_context, queue_device, queue_object, queue_or_context};

#[pymethods]
impl Memory {
    /// Number of bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.buffer.len_bytes()
    }

    /// Number of bytes.
    #[getter]
    fn size(&self) -> usize {
        self.buffer.len_bytes()
    }

    /// Address of the first byte.
    #[getter]
    fn _pointer(&self) -> usize {
        self.buffer.address()
    }

    /// True when the bytes cannot be written through this object.
    #[getter]
    fn readonly(&self) -> bool {
        !self.buffer.is_writable()
    }

    /// The queue used for copies.
    #[getter]
    fn sycl_queue<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        queue_object(py, self.buffer.queue())
    }

    /// The queue, by the name that Cython code of dpctl uses.
    #[getter]
    fn _queue<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.sycl_queue(py)
    }

    /// The context the memory is bound to.
    #[getter]
    fn sycl_context<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        queue_context(py, self.buffer.queue())
    }

    /// The context, by the name that Cython code of dpctl uses.
    #[getter]
    fn _context<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.sycl_context(py)
    }

    /// The device of the queue.
    #[getter]
    fn sycl_device<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        queue_device(py, self.buffer.queue())
    }

    /// The object that owns imported memory; None for memory of our own.
    #[getter]
    fn reference_obj(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        import::producer(&self.buffer).map(|object| object.clone_ref(py))
    }

    /// Kind of the memory: ``"host"``, ``"device"`` or ``"shared"``; ``"unknown"`` where the context of `syclobj` does not know it.
    ///
    /// >>> from usm.memory import MemoryUSMShared
    /// >>> memory = MemoryUSMShared(8)
    /// >>> memory.get_usm_type(), memory.get_usm_type(memory.sycl_queue)
    /// ('shared', 'shared')
    #[pyo3(signature = (syclobj=None))]
    fn get_usm_type(&self, syclobj: Option<&Bound<'_, PyAny>>) -> PyResult<&'static str> {
        Ok(kind_in(&self.buffer, syclobj)?.map_or("unknown", UsmKind::as_str))
    }

    /// Kind of the memory as dpctl numbers them: 0 unknown, 1 device, 2 shared, 3 host.
    ///
    /// >>> from usm.memory import MemoryUSMShared
    /// >>> MemoryUSMShared(8).get_usm_type_enum()
    /// 2
    #[pyo3(signature = (syclobj=None))]
    fn get_usm_type_enum(&self, syclobj: Option<&Bound<'_, PyAny>>) -> PyResult<u8> {
        Ok(match kind_in(&self.buffer, syclobj)? {
            None => 0,
            Some(UsmKind::Device) => 1,
            Some(UsmKind::Shared) => 2,
            Some(UsmKind::Host) => 3,
        })
    }

    /// Label the memory, of which this object may be a part, in snapshots. Labels are kept as long as the process lives, each once:
    /// use a few names, not one for each object.
    ///
    /// >>> import usm.memory as um
    /// >>> memory = um.MemoryUSMHost(8)
    /// >>> memory.set_tag("input")
    /// >>> [row.tag for row in um.snapshot() if row.address == memory._pointer and row.tag]
    /// ['input']
    fn set_tag(&self, label: &str) {
        self.buffer.set_tag(label);
    }

    /// The dictionary by which other SYCL libraries use this memory without a copy.
    #[getter]
    fn __sycl_usm_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        export::memory(py, self)
    }

    /// The dictionary by which CUDA libraries use this memory without a copy. AttributeError for memory of other devices.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        cuda::export(py, &self.as_bytes_array()?)?.ok_or_else(no_cuda)
    }

    /// Copy to `obj`, a writable contiguous buffer of at least as many bytes, and return it; without `obj` to a new NumPy array of
    /// bytes, or a bytearray where there is no NumPy.
    ///
    /// Raises ValueError for a buffer that is too small, BufferError for one that is read-only.
    ///
    /// >>> from usm.memory import MemoryUSMDevice
    /// >>> memory = MemoryUSMDevice(3)
    /// >>> memory.memset(65)
    /// >>> memory.copy_to_host(bytearray(4))
    /// bytearray(b'AAA\x00')
    #[pyo3(signature = (obj=None))]
    fn copy_to_host<'py>(
        &self,
        py: Python<'py>,
        obj: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        transfer::to_host(py, &self.buffer, obj)
    }

    /// Copy from `obj`, a contiguous buffer of at most as many bytes.
    ///
    /// Raises TypeError for an object without a buffer, ValueError for one that is too large or for read-only memory.
    ///
    /// >>> from usm.memory import MemoryUSMDevice
    /// >>> memory = MemoryUSMDevice(4)
    /// >>> memory.memset()
    /// >>> memory.copy_from_host(b"abc")
    /// >>> memory.tobytes()
    /// b'abc\x00'
    fn copy_from_host(&self, obj: &Bound<'_, PyAny>) -> PyResult<()> {
        transfer::from_host(&self.buffer, obj)
    }

    /// Copy from USM of any kind: an object with the interface, contiguous and of at most as many bytes.
    ///
    /// Raises ValueError for an object without the interface, for one that is too large, and for read-only memory.
    ///
    /// >>> from usm.memory import MemoryUSMDevice, MemoryUSMShared
    /// >>> source, target = MemoryUSMShared(2), MemoryUSMDevice(2)
    /// >>> source.copy_from_host(b"hi")
    /// >>> target.copy_from_device(source)
    /// >>> target.tobytes()
    /// b'hi'
    fn copy_from_device(&self, sycl_usm_ary: &Bound<'_, PyAny>) -> PyResult<()> {
        transfer::from_usm(&self.buffer, sycl_usm_ary)
    }

    /// Set every byte to `val`, 0 to 255.
    ///
    /// Raises OverflowError for another value, ValueError for read-only memory.
    ///
    /// >>> from usm.memory import MemoryUSMShared
    /// >>> memory = MemoryUSMShared(2)
    /// >>> memory.memset(97)
    /// >>> bytes(memory)
    /// b'aa'
    #[pyo3(signature = (val=0))]
    fn memset(&self, py: Python<'_>, val: u8) -> PyResult<()> {
        let buffer = self.buffer.clone();
        let work = Work::of_bytes(buffer.len_bytes(), &[&buffer]);
        interrupt::run(py, work, move || buffer.fill(&[val]))?.or_raise()
    }

    /// The content as bytes.
    ///
    /// >>> from usm.memory import MemoryUSMShared
    /// >>> memory = MemoryUSMShared(2)
    /// >>> memory.memset()
    /// >>> memory.tobytes()
    /// b'\x00\x00'
    fn tobytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        bytes::content(py, &self.buffer)
    }

    /// The bytes of a slice with step 1: an object of the same kind over the same memory, read-only where this one is.
    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let slice = key
            .cast::<PySlice>()
            .map_err(|_| type_error!("found {}, allowed is a slice of bytes", type_name(key)))?;
        let indices = slice.indices(self.buffer.len_bytes().cast_signed())?;
        if indices.step != 1 {
            return Err(value_error!("found a step of {}, allowed is 1", indices.step));
        }
        let part = self.buffer.sub_buffer(indices.start.cast_unsigned(), indices.slicelength);
        wrap(key.py(), part.or_raise()?)
    }

    /// A copy in new memory of the same kind on the same queue, writable even when this is not.
    fn __copy__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let buffer = self.buffer.clone();
        let copy = interrupt::run(py, Work::through(buffer.len_bytes()), move || buffer.try_clone())?;
        wrap(py, copy.or_raise()?)
    }

    fn __deepcopy__<'py>(&self, py: Python<'py>, _memo: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.__copy__(py)
    }

    fn __reduce_ex__<'py>(slf: &Bound<'py, Self>, protocol: i32) -> PyResult<Bound<'py, PyTuple>> {
        let (make, arguments) = pickle::reduce(slf, protocol)?;
        PyTuple::new(slf.py(), [make, arguments.into_pyobject(slf.py())?.into_any()])
    }

    fn __sizeof__(&self) -> usize {
        self.buffer.len_bytes()
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.tobytes(py)
    }

    fn __len__(&self) -> usize {
        self.buffer.len_bytes()
    }

    fn __repr__(&self) -> String {
        let (kind, len, address) = (self.buffer.kind(), self.buffer.len_bytes(), self.buffer.address());
        format!("<USM-{kind} memory of {len} bytes at {address:#x}>")
    }

    /// Size, place, device and owner of the memory, as a table.
    #[cfg(feature = "svg")]
    fn _repr_html_(&self) -> String {
        self.buffer.to_html_fragment()
    }

    /// # Safety
    /// Python calls it with a view to fill.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let array = slf.get().as_bytes_array()?;
        // SAFETY: PY2: the view is Python's to fill.
        unsafe { buffer_export::fill(slf.as_any(), &array, array.is_host_accessible(), view, flags) }
    }

    /// # Safety
    /// Python calls it with a view that `__getbuffer__` filled.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: PY2: the view is one that `fill` filled.
        unsafe { buffer_export::release(view) };
    }
}

/// The kind that a name of a USM type stands for.
pub(crate) fn kind_argument(name: &str, text: &str) -> PyResult<UsmKind> {
    text.parse().or_value_error(name)
}

/// The kind as the context of an object sees it, by default as it is.
fn kind_in(buffer: &UsmBuffer, syclobj: Option<&Bound<'_, PyAny>>) -> PyResult<Option<UsmKind>> {
    let Some(object) = syclobj.filter(|object| !object.is_none()) else {
        return Ok(Some(buffer.kind()));
    };
    let bound_to = queue_or_context("syclobj", object)?;
    Ok(bound_to.context().pointer_info(buffer.address()).map(|info| info.kind))
}
