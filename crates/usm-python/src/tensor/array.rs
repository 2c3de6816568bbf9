//! `usm_ndarray`.

use std::ffi::c_int;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCapsule, PyComplex, PyDict, PyFloat, PyInt, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use usm_array::{Scalar, UsmArray};

use super::arguments;
use super::construct::{self, Arguments};
use super::convert;
use super::dlpack;
use super::dtype;
use super::flags::Flags;
use crate::errors::{DEVICE_HINT, NUMPY_HINT, OrRaise, type_name};
use crate::interface::{export, import::visit_producer};
use crate::memory;
use crate::sycl::{SyclContext, SyclDevice, SyclQueue};
use crate::{buffer_export, import_array};

/// usm_ndarray(shape, dtype=None, strides=None, buffer="device", offset=0, order="C", buffer_ctor_kwargs={}, array_namespace=None)
///
/// An n-dimensional array over USM of any kind.
///
/// `buffer` is ``"device"``, ``"shared"`` or ``"host"`` for new memory, or memory or an array whose memory is used. `strides` and
/// `offset` are in elements and may be negative, as long as every element lies within the memory; new memory is as large as
/// they need, and offset 0 then stands for the one that makes the lowest element the first. `buffer_ctor_kwargs` are `queue`
/// and `alignment` of new memory.
///
/// Raises ValueError when an element would lie outside the memory, USMAllocationError when memory cannot be allocated.
#[pyclass(frozen, weakref, name = "usm_ndarray", module = "usm.tensor")]
#[derive(Debug)]
pub struct UsmNdarray {
    array: UsmArray,
}

impl UsmNdarray {
    /// Wraps an array.
    #[must_use]
    pub fn from_array(array: UsmArray) -> Self {
        Self { array }
    }

    /// The array.
    #[must_use]
    pub fn array(&self) -> &UsmArray {
        &self.array
    }

    fn only_value(&self, py: Python<'_>) -> PyResult<Scalar> {
        py.detach(|| self.array.item()).or_raise()
    }
}

#[pymethods]
impl UsmNdarray {
    #[new]
    #[pyo3(signature = (
        shape, dtype=None, strides=None, buffer=None, offset=None, order="C", buffer_ctor_kwargs=None, array_namespace=None
    ), text_signature = "(shape, dtype=None, strides=None, buffer='device', offset=0, order='C', buffer_ctor_kwargs={}, array_namespace=None)")]
    #[expect(clippy::too_many_arguments, reason = "dpctl's constructor, argument for argument")]
    fn new(
        py: Python<'_>,
        shape: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
        strides: Option<&Bound<'_, PyAny>>,
        buffer: Option<&Bound<'_, PyAny>>,
        offset: Option<&Bound<'_, PyAny>>,
        order: &str,
        buffer_ctor_kwargs: Option<&Bound<'_, PyDict>>,
        array_namespace: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        if let Some(other) = array_namespace {
            return Err(PyTypeError::new_err(format!(
                "array_namespace: found {}, allowed is None: arrays belong to usm.tensor",
                type_name(other)
            )));
        }
        let arguments = Arguments { shape, dtype, strides, buffer, offset, order, buffer_ctor_kwargs };
        construct::construct(py, &arguments).map(Self::from_array)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit_producer(self.array.buffer(), &visit)
    }

    /// Number of indices along each axis.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.array.shape())
    }

    /// Elements from one index to the next along each axis.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.array.strides())
    }

    /// Type of the elements: NumPy's dtype where NumPy is installed, otherwise a DType.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dtype::object(py, self.array.dtype())
    }

    /// Number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.array.ndim()
    }

    /// Number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.array.size()
    }

    /// Bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.array.itemsize_bytes()
    }

    /// Bytes of all elements side by side.
    #[getter]
    fn nbytes(&self) -> usize {
        self.array.size_bytes()
    }

    /// Address of the element with index zero.
    #[getter]
    fn _pointer(&self) -> usize {
        self.array.address()
    }

    /// Elements from the published address to the element with index zero.
    #[getter]
    fn _element_offset(&self) -> isize {
        self.array.published_offset()
    }

    /// The array with its axes in reverse order.
    #[getter]
    #[pyo3(name = "T")]
    fn transpose(&self) -> Self {
        Self::from_array(self.array.transpose())
    }

    /// The memory of the array.
    #[getter]
    fn usm_data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        memory::wrap(py, self.array.buffer().clone())
    }

    /// The memory of the array.
    #[getter]
    fn base<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.usm_data(py)
    }

    /// Kind of the memory: ``"host"``, ``"device"`` or ``"shared"``.
    #[getter]
    fn usm_type(&self) -> &'static str {
        self.array.kind().as_str()
    }

    /// The device of the array.
    #[getter]
    fn device(&self) -> SyclDevice {
        self.sycl_device()
    }

    /// The queue used for copies.
    #[getter]
    fn sycl_queue(&self) -> SyclQueue {
        SyclQueue::from_queue(self.array.queue().clone())
    }

    /// The context the memory is bound to.
    #[getter]
    fn sycl_context(&self) -> SyclContext {
        SyclContext::from_context(self.array.context().clone())
    }

    /// The device of the array.
    #[getter]
    fn sycl_device(&self) -> SyclDevice {
        SyclDevice::from_device(self.array.device().clone())
    }

    /// How the elements lie, and whether they can be changed.
    #[getter]
    fn flags(&self) -> Flags {
        Flags::of(&self.array)
    }

    /// The dictionary by which other SYCL libraries use the array without a copy.
    #[getter]
    fn __sycl_usm_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        export::array(py, &self.array)
    }

    /// Raises TypeError with a hint: no copy happens unseen. NumPy looks for it after the buffer protocol, which host and shared
    /// memory has.
    #[pyo3(signature = (_dtype=None, *, copy=None))]
    fn __array__(&self, _dtype: Option<&Bound<'_, PyAny>>, copy: Option<bool>) -> PyResult<()> {
        let _ = copy;
        let hint = if self.array.is_host_accessible() { NUMPY_HINT } else { DEVICE_HINT };
        Err(PyTypeError::new_err(hint))
    }

    /// A capsule with the array as a DLPack tensor, for ``from_dlpack`` of any library.
    ///
    /// With `max_version` (1, 0) and more it is versioned, else as before, which cannot be read-only. `dl_device` is the device that
    /// the consumer wants, by default ``__dlpack_device__()``: ``(kDLCPU, 0)`` is the memory itself where host code can touch it, and
    /// a copy of device memory. `copy` True copies in any case, None where it is needed, False never. `stream` is None or a queue;
    /// work that others have submitted to the array's queue has ended when this returns.
    ///
    /// Raises BufferError where a copy is needed and not allowed, or DLPack has no word for the device or for read-only.
    ///
    /// >>> import usm.tensor as ut
    /// >>> array = ut.asarray([1, 2], usm_type="host")
    /// >>> capsule = array.__dlpack__(max_version=(1, 0))
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<&Bound<'py, PyAny>>,
        dl_device: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        dlpack::export(py, &self.array, stream, max_version, dl_device, copy)
    }

    /// The device of DLPack: ``kDLOneAPI`` and the number of the SYCL device in the default context, else ``kDLCPU`` for memory that
    /// host code can touch.
    ///
    /// Raises BufferError for other memory.
    fn __dlpack_device__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        dlpack::device_of(py, &self.array)
    }

    /// The functions by which compiled code exchanges tensors with this class.
    #[classattr]
    fn __dlpack_c_exchange_api__(py: Python<'_>) -> PyResult<Py<PyCapsule>> {
        dlpack::exchange_api(py).map(Bound::unbind)
    }

    /// A view of some of the elements: integers, slices, ``...`` and None.
    fn __getitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.array.slice(&arguments::key(key)?).or_raise().map(Self::from_array)
    }

    /// Set the elements of a view to a number, or to those of an array of the same dtype that broadcasts to it.
    fn __setitem__(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = key.py();
        let target = self.array.slice(&arguments::key(key)?).or_raise()?;
        if let Some(scalar) = arguments::scalar(value)? {
            return py.detach(|| target.fill_scalar(scalar)).or_raise();
        }
        let source = import_array(value)?;
        py.detach(|| target.assign(&source)).or_raise()
    }

    fn __len__(&self) -> PyResult<usize> {
        let first = self.array.shape().first().copied();
        first.ok_or_else(|| PyTypeError::new_err("len() of an array without axes"))
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        self.item(py)?.is_truthy()
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let item = self.item(py)?;
        if !item.is_instance_of::<PyInt>() || item.is_instance_of::<PyBool>() {
            let message = format!("an array of {} is no index, allowed are integers", self.array.dtype());
            return Err(PyTypeError::new_err(message));
        }
        Ok(item)
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.get_type::<PyComplex>().call1((self.item(py)?,))
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.get_type::<PyInt>().call1((self.item(py)?,))
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        let value = self.item(py)?;
        py.get_type::<PyFloat>().call1((value,))?.extract()
    }

    /// The one element of the array as a Python number.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        convert::to_python(py, self.only_value(py)?)
    }

    /// The elements as nested lists of Python numbers.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        convert::to_list(py, &self.array)
    }

    /// A C-contiguous copy of the same kind and on the same queue.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        py.detach(|| self.array.copy()).or_raise().map(Self::from_array)
    }

    fn __repr__(&self) -> String {
        let array = &self.array;
        format!(
            "usm_ndarray(shape={:?}, dtype={:?}, usm_type={:?}, device={:?})",
            array.shape(),
            array.dtype().to_string(),
            array.kind().as_str(),
            array.device().filter_string()
        )
    }

    /// # Safety
    /// Python calls it with a view to fill.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        // SAFETY: the view is Python's to fill.
        unsafe { buffer_export::fill(slf.as_any(), &slf.get().array, view, flags) }
    }

    /// # Safety
    /// Python calls it with a view that `__getbuffer__` filled.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: the view is one that `fill` filled.
        unsafe { buffer_export::release(view) };
    }
}
