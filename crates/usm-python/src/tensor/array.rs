//! Methods of `usm_ndarray`.

use std::ffi::c_int;

use pyo3::class::basic::CompareOp;
use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyComplex, PyDict, PyFloat, PyInt, PyModule, PyString, PyTuple};
use usm_array::usm_core::UsmKind;
use usm_array::{UsmArray, Work, default_dtypes};

use super::arguments::explicit_dtype;
use super::arithmetic::{self, Binary, Unary};
use super::construct::{self, Arguments};
use super::exchange::narrow_view;
use super::flags::Flags;
use super::functions;
use super::iteration::Views;
use super::operators::{self, Operator};
use super::{dlpack, dtype, indexing, iteration, numbers, peer, pickle, print, transfer};
use crate::buffer_export;
use crate::errors::{DEVICE_HINT, NUMPY_HINT, OrRaise, no_cuda};
use crate::imported;
use crate::interface::{cuda, export};
use crate::memory;
use crate::number::word;
use crate::objects::{PyDevice, UsmNdarray};
use crate::sycl::{queue_context, queue_device, queue_object};

/// Versions of the array API standard. The newest has all that the others have.
const API_VERSIONS: [&str; 5] = ["2021.12", "2022.12", "2023.12", "2024.12", "2025.12"];

#[pymethods]
impl UsmNdarray {
    #[new]
    #[pyo3(signature = (
        shape, dtype=None, strides=None, buffer=None, offset=None, order="C", buffer_ctor_kwargs=None, array_namespace=None
    ), text_signature = "(shape, dtype=None, strides=None, buffer='device', offset=None, order='C', buffer_ctor_kwargs={}, array_namespace=None)")]
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
        construct::check_namespace(array_namespace)?;
        let arguments = Arguments { shape, dtype, strides, buffer, offset, order, buffer_ctor_kwargs };
        construct::construct(py, &arguments).map(Self::from_array)
    }

    /// Number of indices along each axis.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.attributes().shape(py, self.array())
    }

    /// Python asks for it when a shape is assigned.
    #[setter]
    fn set_shape(&self, _shape: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyAttributeError::new_err(
            "shape: cannot be assigned; use x.reshape(shape), which gives a view where there is one",
        ))
    }

    /// Elements from one index to the next along each axis.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.attributes().strides(py, self.array())
    }

    /// Type of the elements: NumPy's dtype where NumPy is installed, otherwise a DType.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dtype::object(py, self.array().dtype())
    }

    /// Number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.array().ndim()
    }

    /// Number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.array().size()
    }

    /// Bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.array().itemsize_bytes()
    }

    /// Bytes of all elements side by side.
    #[getter]
    fn nbytes(&self) -> usize {
        self.array().size_bytes()
    }

    /// Address of the element with index zero.
    #[getter]
    fn _pointer(&self) -> usize {
        self.array().address()
    }

    /// Elements from the published address to the element with index zero.
    #[getter]
    fn _element_offset(&self) -> isize {
        self.array().published_offset()
    }

    /// Address of the lowest byte, and the address behind the highest byte of the elements.
    #[getter]
    fn _byte_bounds(&self) -> (usize, usize) {
        let (start, range) = (self.array().buffer().address(), self.array().byte_range());
        (start + range.start, start + range.end)
    }

    /// The array with its axes in reverse order.
    #[getter]
    #[pyo3(name = "T")]
    fn transpose(&self) -> Self {
        Self::from_array(self.array().transpose_boxed())
    }

    /// The array with its last two axes exchanged; ValueError for fewer than two.
    #[getter]
    #[pyo3(name = "mT")]
    fn matrix_transpose(&self) -> PyResult<Self> {
        self.array().matrix_transpose().or_raise().map(Self::from_array)
    }

    /// The real parts of complex numbers, as a view; of other numbers the array itself.
    #[getter]
    fn real<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        functions::parts::real_part(slf)
    }

    /// The imaginary parts of complex numbers, as a view; of other numbers a new array of zeros.
    #[getter]
    fn imag(&self, py: Python<'_>) -> PyResult<Self> {
        functions::parts::imag_part(py, self.array())
    }

    /// The memory of the array.
    #[getter]
    fn usm_data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        memory::wrap(py, self.array().buffer().clone())
    }

    /// The memory of the array.
    #[getter]
    fn base<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.usm_data(py)
    }

    /// Kind of the memory: ``"host"``, ``"device"`` or ``"shared"``.
    #[getter]
    fn usm_type<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        usm_type(py, self.array())
    }

    /// Where the array is: a Device, which stands for the queue.
    #[getter]
    fn device<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDevice>> {
        self.attributes().device(py, self.array())
    }

    /// The queue used for copies.
    #[getter]
    fn sycl_queue<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        queue_object(py, self.array().queue())
    }

    /// The context the memory is bound to.
    #[getter]
    fn sycl_context<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        queue_context(py, self.array().queue())
    }

    /// The device of the array.
    #[getter]
    fn sycl_device<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        queue_device(py, self.array().queue())
    }

    /// How the elements lie, and whether they can be changed.
    #[getter]
    fn flags(slf: &Bound<'_, Self>) -> Flags {
        Flags::of(slf)
    }

    /// The module `usm.tensor`; ValueError for a version of the array API standard that it does not follow.
    #[pyo3(signature = (api_version=None))]
    fn __array_namespace__<'py>(
        &self,
        py: Python<'py>,
        api_version: Option<&str>,
    ) -> PyResult<Bound<'py, PyModule>> {
        if let Some(version) = api_version {
            word("api_version", version, &API_VERSIONS.map(|version| (version, ())))?;
        }
        imported::import(py, intern!(py, "usm.tensor"))
    }

    /// The dictionary by which other SYCL libraries use the array without a copy.
    #[getter]
    fn __sycl_usm_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        export::array(py, self.array())
    }

    /// The dictionary by which CUDA libraries such as Numba use the array without a copy, version 3 with the stream of the array's queue.
    ///
    /// AttributeError for memory of other devices.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        cuda::export(py, self.array())?.ok_or_else(no_cuda)
    }

    /// An array with negative strides as dpnp's, without a copy: dpnp refuses them in a dictionary. AttributeError for other arrays,
    /// of which the dictionary is enough, and where the program has not imported dpnp.
    #[getter]
    fn __usm_ndarray__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        peer::usm_ndarray(py, self.array())?.ok_or_else(|| {
            PyAttributeError::new_err(
                "__usm_ndarray__: only arrays with negative strides have it, beside dpnp",
            )
        })
    }

    /// A NumPy array over the memory, for elements that the buffer protocol does not have: bfloat16 and numbers of 8 bits, with the dtypes
    /// of ml_dtypes.
    ///
    /// Raises TypeError with a hint for others: no copy happens unseen. NumPy looks for it after the buffer protocol, which host and
    /// shared memory has.
    #[pyo3(signature = (dtype=None, *, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = self.array();
        if !array.is_host_accessible() {
            return Err(PyTypeError::new_err(DEVICE_HINT));
        }
        let Some(view) = narrow_view(py, array)? else { return Err(PyTypeError::new_err(NUMPY_HINT)) };
        let is_same = match dtype.filter(|dtype| !dtype.is_none()) {
            Some(dtype) => view.getattr(intern!(py, "dtype"))?.eq(dtype)?,
            None => true,
        };
        match (is_same, copy) {
            (true, Some(true)) => view.call_method0(intern!(py, "copy")),
            (true, _) => Ok(view),
            (false, Some(false)) => {
                Err(value_error!("copy: found False, which a cast from {} does not allow", array.dtype()))
            }
            (false, _) => view.call_method1(intern!(py, "astype"), (dtype,)),
        }
    }

    /// NumPy's functions of elements with an array among their operands, and operators whose first operand is NumPy's: the provider for
    /// the memory computes them, and the results are arrays of this class.
    #[pyo3(signature = (ufunc, method, *inputs, **options))]
    fn __array_ufunc__<'py>(
        slf: &Bound<'py, Self>,
        ufunc: &Bound<'py, PyAny>,
        method: &str,
        inputs: &Bound<'py, PyTuple>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        arithmetic::protocol(slf.py(), "array_ufunc", (slf, ufunc, method, inputs, options))
    }

    /// NumPy's other functions with an array among their arguments: the same as for `__array_ufunc__`.
    fn __array_function__<'py>(
        slf: &Bound<'py, Self>,
        func: &Bound<'py, PyAny>,
        types: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        arithmetic::protocol(slf.py(), "array_function", (slf, func, types, args, kwargs))
    }

    /// Before NumPy's arrays, for libraries that ask.
    #[classattr]
    #[pyo3(name = "__array_priority__")]
    const ARRAY_PRIORITY: f64 = 2000.0;

    /// What a provider of arithmetic keeps with the array: its own array over the same memory.
    #[getter]
    #[pyo3(name = "_provided")]
    fn provided<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.attributes().provided(py)
    }

    #[setter]
    #[pyo3(name = "_provided")]
    fn set_provided(&self, provided: Bound<'_, PyAny>) {
        self.attributes().provide(provided);
    }

    /// A capsule with the array as a DLPack tensor, for ``from_dlpack`` of any library.
    ///
    /// With `max_version` (1, 0) and more it is versioned, else as before, which cannot be read-only. `dl_device` is the device that
    /// the consumer wants, by default ``__dlpack_device__()``: ``(kDLCPU, 0)`` is the memory itself where host code can touch it, and
    /// a copy of device memory. `copy` True copies in any case, None where it is needed, False never. `stream` is None, -1 or a queue, for
    /// CUDA memory also the number of a stream; work that others have submitted to the array's queue is complete when this returns,
    /// or on CUDA ordered before that of the stream.
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
        dlpack::export(py, self.array(), stream, max_version, dl_device, copy)
    }

    /// The device of DLPack: ``kDLOneAPI`` and the number of the SYCL device in the default context, else ``kDLCPU`` for memory that
    /// host code can touch, and ``kDLExtDev`` for device memory of the host backend, which other libraries refuse. PyTorch gets
    /// ``kDLCPU`` for host and shared memory of a SYCL device that it cannot use.
    ///
    /// Raises BufferError for other memory.
    fn __dlpack_device__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        dlpack::device_of(py, self.array())
    }

    /// The functions by which compiled code exchanges tensors with this class.
    #[classattr]
    fn __dlpack_c_exchange_api__(py: Python<'_>) -> PyResult<Py<PyCapsule>> {
        dlpack::exchange_api(py).map(Bound::unbind)
    }

    /// The elements of a key, with NumPy's rules: a view for integers, slices, ``...`` and None, a copy for arrays and lists.
    fn __getitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<Self> {
        indexing::get(self.array(), key).map(Self::from_array)
    }

    /// Change the elements of a key to a number, or to those of an array or nested lists that broadcast to it.
    fn __setitem__(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        indexing::set(self.array(), key, value)
    }

    fn __len__(&self) -> PyResult<usize> {
        let first = self.array().shape().first().copied();
        first.ok_or_else(|| PyTypeError::new_err("len() of an array without axes"))
    }

    /// Views along the first axis.
    fn __iter__(slf: &Bound<'_, Self>) -> PyResult<Views> {
        iteration::views(slf, false)
    }

    /// Views along the first axis, the last one first.
    fn __reversed__(slf: &Bound<'_, Self>) -> PyResult<Views> {
        iteration::views(slf, true)
    }

    fn __contains__(&self, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        operators::contains(self.array(), value)
    }

    fn __richcmp__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        relation: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        Operator::from(relation).apply(slf, other)
    }

    fn __and__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Operator::AND.apply(slf, other)
    }

    fn __rand__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Operator::AND.apply(slf, other)
    }

    fn __iand__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Operator::AND.assign(slf, other)
    }

    fn __or__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Operator::OR.apply(slf, other)
    }

    fn __ror__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Operator::OR.apply(slf, other)
    }

    fn __ior__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Operator::OR.assign(slf, other)
    }

    fn __xor__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Operator::XOR.apply(slf, other)
    }

    fn __rxor__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Operator::XOR.apply(slf, other)
    }

    fn __ixor__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Operator::XOR.assign(slf, other)
    }

    fn __invert__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        functions::logic::bitwise_invert(slf.as_any(), None, "K")
    }

    fn __add__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Binary::Add.apply(slf, other)
    }

    fn __radd__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Binary::Add.reflected(slf, other)
    }

    fn __iadd__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Binary::Add.assign(slf, other)
    }

    fn __sub__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Binary::Subtract.apply(slf, other)
    }

    fn __rsub__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Binary::Subtract.reflected(slf, other)
    }

    fn __isub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Binary::Subtract.assign(slf, other)
    }

    fn __mul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Binary::Multiply.apply(slf, other)
    }

    fn __rmul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Binary::Multiply.reflected(slf, other)
    }

    fn __imul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Binary::Multiply.assign(slf, other)
    }

    fn __truediv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Binary::Divide.apply(slf, other)
    }

    fn __rtruediv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Binary::Divide.reflected(slf, other)
    }

    fn __itruediv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Binary::Divide.assign(slf, other)
    }

    fn __floordiv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Binary::FloorDivide.apply(slf, other)
    }

    fn __rfloordiv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Binary::FloorDivide.reflected(slf, other)
    }

    fn __ifloordiv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Binary::FloorDivide.assign(slf, other)
    }

    fn __mod__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Binary::Remainder.apply(slf, other)
    }

    fn __rmod__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Binary::Remainder.reflected(slf, other)
    }

    fn __imod__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Binary::Remainder.assign(slf, other)
    }

    fn __matmul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Binary::Matmul.apply(slf, other)
    }

    fn __rmatmul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Binary::Matmul.reflected(slf, other)
    }

    fn __imatmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Binary::Matmul.assign(slf, other)
    }

    fn __lshift__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Binary::LeftShift.apply(slf, other)
    }

    fn __rlshift__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Binary::LeftShift.reflected(slf, other)
    }

    fn __ilshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Binary::LeftShift.assign(slf, other)
    }

    fn __rshift__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Binary::RightShift.apply(slf, other)
    }

    fn __rrshift__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Binary::RightShift.reflected(slf, other)
    }

    fn __irshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Binary::RightShift.assign(slf, other)
    }

    fn __divmod__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        Ok((Binary::FloorDivide.apply(slf, other)?, Binary::Remainder.apply(slf, other)?))
    }

    fn __rdivmod__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        Ok((Binary::FloorDivide.reflected(slf, other)?, Binary::Remainder.reflected(slf, other)?))
    }

    fn __pow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        modulo: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if modulo.is_some() {
            return Ok(slf.py().NotImplemented().into_bound(slf.py()));
        }
        Binary::Power.apply(slf, other)
    }

    fn __rpow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        modulo: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if modulo.is_some() {
            return Ok(slf.py().NotImplemented().into_bound(slf.py()));
        }
        Binary::Power.reflected(slf, other)
    }

    fn __ipow__(
        slf: &Bound<'_, Self>,
        other: &Bound<'_, PyAny>,
        _modulo: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        Binary::Power.assign(slf, other)
    }

    fn __neg__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Unary::Negative.apply(slf)
    }

    fn __pos__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Unary::Positive.apply(slf)
    }

    fn __abs__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Unary::Abs.apply(slf)
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        numbers::truth(py, self.array())
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        numbers::index(py, self.array())
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        numbers::scalar(py, self.array(), &py.get_type::<PyComplex>())
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        numbers::scalar(py, self.array(), &py.get_type::<PyInt>())
    }

    fn __float__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        numbers::scalar(py, self.array(), &py.get_type::<PyFloat>())
    }

    /// The one element of the array as a Python number, or the element of an index: one integer that counts the elements in row-major
    /// order, or an integer for each axis. Raises ValueError without an index for an array of none or several elements.
    ///
    /// >>> import usm.tensor as ut
    /// >>> ut.zeros((1, 1), dtype="c8").item(), ut.arange(6).reshape(2, 3).item(1, 2), ut.arange(6).reshape(2, 3).item(4)
    /// (0j, 5, 4)
    #[pyo3(signature = (*index))]
    fn item<'py>(&self, py: Python<'py>, index: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        numbers::item_at(py, self.array(), index)
    }

    /// The same memory as elements of another dtype, as a view. Items of another size change the last axis, whose elements must lie side
    /// by side.
    ///
    /// Raises ValueError where the last axis does not hold whole elements of the dtype, or they are not aligned for it.
    ///
    /// >>> import usm.tensor as ut
    /// >>> ut.ones(2, dtype="f4").view("u4").tolist()
    /// [1065353216, 1065353216]
    #[pyo3(signature = (dtype))]
    fn view(&self, dtype: &Bound<'_, PyAny>) -> PyResult<Self> {
        let dtype = explicit_dtype(dtype, &|| default_dtypes(self.array().device()))?;
        self.array().reinterpret(dtype).or_raise().map(Self::from_array)
    }

    /// The elements as nested lists of Python numbers.
    ///
    /// >>> import usm.tensor as ut
    /// >>> ut.zeros((2, 1), dtype="i4").tolist()
    /// [[0], [0]]
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        numbers::to_list(py, self.array())
    }

    /// The elements in the order ``"C"`` or ``"F"`` with another shape, as of the function reshape: a tuple or integers, of which one
    /// may be -1 and follows from the others. A view where there is one, else a copy; always a copy with ``copy=True``.
    ///
    /// Raises ValueError for a shape of another number of elements, or with ``copy=False`` when a copy is needed.
    ///
    /// >>> import usm.tensor as ut
    /// >>> a = ut.arange(6, device="host")
    /// >>> a.reshape(2, -1).tolist(), a.reshape((3, 2), order="F").shape
    /// ([[0, 1, 2], [3, 4, 5]], (3, 2))
    #[pyo3(signature = (*shape, order="C", copy=None))]
    fn reshape(
        slf: &Bound<'_, Self>,
        shape: &Bound<'_, PyTuple>,
        order: &str,
        copy: Option<bool>,
    ) -> PyResult<Self> {
        let one = if shape.len() == 1 { Some(shape.get_item(0)?) } else { None };
        functions::reshape(slf.py(), slf.as_any(), one.as_ref().unwrap_or(shape.as_any()), order, copy)
    }

    /// A C-contiguous copy of the same kind and on the same queue, writable even when this is not.
    ///
    /// >>> import usm.tensor as ut
    /// >>> a = ut.zeros((2, 3))
    /// >>> a.T.copy().strides
    /// (2, 1)
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let array = self.array().clone();
        functions::results::array(py, Work::of_copy(&array), move || array.copy())
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __reduce_ex__<'py>(
        &self,
        py: Python<'py>,
        protocol: i32,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        pickle::reduce(py, self.array(), protocol)
    }

    /// The array on another device: itself where it is there, a view for another queue of its context, otherwise a copy of the
    /// same kind. `target_device` is a Device, a queue, a device or a filter string. What was submitted to the queue `stream`
    /// is complete first.
    ///
    /// >>> import usm.tensor as ut
    /// >>> a = ut.zeros(3)
    /// >>> a.to_device(a.device) is a, a.to_device("host:cpu:0").device
    /// (True, Device(host:cpu:0))
    #[pyo3(signature = (target_device, /, *, stream=None))]
    fn to_device<'py>(
        slf: &Bound<'py, Self>,
        target_device: &Bound<'py, PyAny>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        transfer::to_device(slf, target_device, stream)
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        print::text(py, self.array())
    }

    /// An array without axes in a format of Python's numbers; other arrays take only an empty format.
    ///
    /// >>> import usm.tensor as ut
    /// >>> f"{ut.asarray(1.5):.2f}"
    /// '1.50'
    fn __format__<'py>(
        slf: &Bound<'py, Self>,
        format_spec: &Bound<'py, PyString>,
    ) -> PyResult<Bound<'py, PyAny>> {
        numbers::format(slf, format_spec)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        print::repr(py, self.array())
    }

    /// The elements as text, what the array is as a table, and where its elements are in memory as a drawing.
    #[cfg(feature = "svg")]
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let array = self.array();
        let elements = print::text(py, array)?;
        Ok(py.detach(|| array.html_fragment_with(&elements)))
    }

    /// # Safety
    /// Python calls it with a view to fill.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let array = slf.get().array();
        // SAFETY: PY2: the view is Python's to fill.
        unsafe { buffer_export::fill(slf.as_any(), array, array.is_host_accessible(), view, flags) }
    }

    /// # Safety
    /// Python calls it with a view that `__getbuffer__` filled.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: PY2: the view is one that `fill` filled.
        unsafe { buffer_export::release(view) };
    }
}

/// The name of the kind, the same object each time.
fn usm_type<'py>(py: Python<'py>, array: &UsmArray) -> Bound<'py, PyString> {
    let name = match array.kind() {
        UsmKind::Host => intern!(py, "host"),
        UsmKind::Device => intern!(py, "device"),
        UsmKind::Shared => intern!(py, "shared"),
    };
    name.clone()
}
