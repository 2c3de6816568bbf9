//! `MemoryUSMHost`, `MemoryUSMDevice`, `MemoryUSMShared` and what they share.

mod construct;
mod transfer;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::ffi::c_int;
use usm_array::usm_core::UsmKind;
use usm_array::usm_memory::UsmBuffer;
use usm_array::{Dtype, Layout, Order, UsmArray};

pub(crate) use self::construct::{MemoryUSMDevice, MemoryUSMHost, MemoryUSMShared, as_usm_memory, wrap};
pub(crate) use self::transfer::copy_bytes;
use crate::buffer_export;
use crate::errors::{OrRaise, OrValueError};
use crate::interface::{export, import};
use crate::sycl::{SyclContext, SyclDevice, SyclQueue};

/// What the three memory classes share: a range of bytes of USM.
#[pyclass(frozen, subclass, weakref, name = "_Memory", module = "usm._usm")]
#[derive(Debug)]
pub struct Memory {
    buffer: UsmBuffer,
}

impl Memory {
    /// The bytes.
    #[must_use]
    pub fn buffer(&self) -> &UsmBuffer {
        &self.buffer
    }

    /// The bytes as an array of one axis.
    pub(crate) fn as_bytes_array(&self) -> PyResult<UsmArray> {
        let layout = Layout::contiguous(&[self.buffer.len_bytes()], Order::C).or_raise()?;
        UsmArray::from_parts(self.buffer.clone(), Dtype::U8, layout, 0).or_raise()
    }
}

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
    fn sycl_queue(&self) -> SyclQueue {
        SyclQueue::from_queue(self.buffer.queue().clone())
    }

    /// The context the memory is bound to.
    #[getter]
    fn sycl_context(&self) -> SyclContext {
        SyclContext::from_context(self.buffer.context().clone())
    }

    /// The device of the queue.
    #[getter]
    fn sycl_device(&self) -> SyclDevice {
        SyclDevice::from_device(self.buffer.device().clone())
    }

    /// The object that owns imported memory; None for memory of our own.
    #[getter]
    fn reference_obj(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        import::producer(&self.buffer).map(|object| object.clone_ref(py))
    }

    /// Kind of the memory: ``"host"``, ``"device"`` or ``"shared"``.
    fn get_usm_type(&self) -> &'static str {
        self.buffer.kind().as_str()
    }

    /// The dictionary by which other SYCL libraries use this memory without a copy.
    #[getter]
    fn __sycl_usm_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        export::memory(py, &self.as_bytes_array()?)
    }

    /// Copy to `obj`, a writable contiguous buffer of as many bytes, and return it; without `obj` to a new bytearray.
    #[pyo3(signature = (obj=None))]
    fn copy_to_host<'py>(
        &self,
        py: Python<'py>,
        obj: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        transfer::to_host(py, &self.buffer, obj)
    }

    /// Copy from `obj`, a contiguous buffer of at most as many bytes.
    fn copy_from_host(&self, obj: &Bound<'_, PyAny>) -> PyResult<()> {
        transfer::from_host(&self.buffer, obj)
    }

    /// Copy from USM of any kind: an object with the interface, contiguous and of at most as many bytes.
    fn copy_from_device(&self, obj: &Bound<'_, PyAny>) -> PyResult<()> {
        transfer::from_usm(&self.buffer, obj)
    }

    /// Set every byte to `value`, 0 to 255.
    #[pyo3(signature = (value=0))]
    fn memset(&self, py: Python<'_>, value: u8) -> PyResult<()> {
        py.detach(|| self.buffer.fill(&[value])).or_raise()
    }

    /// The content as bytes.
    fn tobytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        PyBytes::new_with(py, self.buffer.len_bytes(), |bytes| {
            py.detach(|| self.buffer.copy_to_host(bytes, 0)).or_raise()
        })
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

    /// # Safety
    /// Python calls it with a view to fill.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let array = slf.get().as_bytes_array()?;
        // SAFETY: the view is Python's to fill.
        unsafe { buffer_export::fill(slf.as_any(), &array, view, flags) }
    }

    /// # Safety
    /// Python calls it with a view that `__getbuffer__` filled.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: the view is one that `fill` filled.
        unsafe { buffer_export::release(view) };
    }
}

/// The kind that a name of a USM type stands for.
pub(crate) fn kind_argument(name: &str, text: &str) -> PyResult<UsmKind> {
    text.parse().or_value_error(name)
}
