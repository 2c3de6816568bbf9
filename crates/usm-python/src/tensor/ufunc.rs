//! Arrays as operands of NumPy, which computes where host code reaches the memory.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU8, Ordering};

use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyDict, PyFloat, PyInt, PyTuple};
use usm_array::{Axes, DefaultDtypes, Dtype, Order, ResultPlace, UsmArray, product_shape};

use super::{arguments, construct, dtype};
use crate::buffer_export;
use crate::called;
use crate::errors::OrRaise;
use crate::imported;
use crate::new_numpy;
use crate::objects::UsmNdarray;

/// The buffer protocol over memory of a device that host code reaches, that of a CPU, too.
#[pyclass(frozen, name = "_HostMemory", module = "usm._usm")]
#[derive(Debug)]
struct HostMemory(UsmNdarray);

#[pymethods]
impl HostMemory {
    /// # Safety
    /// Python calls it with a view to fill.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        // SAFETY: PY2: the view is Python's to fill.
        unsafe { buffer_export::fill(slf.as_any(), slf.get().0.array(), true, view, flags) }
    }

    /// # Safety
    /// Python calls it with a view that `__getbuffer__` filled.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: PY2: the view is one that `fill` filled.
        unsafe { buffer_export::release(view) };
    }
}

/// _numpy_view(array, is_written=False)
///
/// An array of NumPy over the memory of an array, also over device memory where host code reaches that: of a CPU. It waits for
/// pending work that writes the elements, and where NumPy is going to write them also for work that reads them.
///
/// Raises ValueError for other device memory.
///
/// >>> import usm.tensor as ut
/// >>> from usm._usm import _numpy_view
/// >>> _numpy_view(ut.zeros(2, usm_type="host")).nbytes
/// 16
#[pyfunction]
#[pyo3(name = "_numpy_view", signature = (array, is_written=false))]
pub(crate) fn numpy_view<'py>(
    array: &Bound<'py, UsmNdarray>,
    is_written: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, ours) = (array.py(), array.get().array());
    if !ours.is_host_accessible() && !ours.is_host_reachable() {
        return Err(PyValueError::new_err("array: found device memory that host code does not reach"));
    }
    ours.wait_for_host(is_written).or_raise()?;
    if let Some(view) = new_numpy::view(array.as_any(), ours)? {
        return Ok(view);
    }
    let memory = Bound::new(py, HostMemory(UsmNdarray::from_array(ours.clone())))?;
    imported::import(py, intern!(py, "numpy"))?.call_method1(intern!(py, "asarray"), (memory,))
}

/// Codes of operands: dtypes in the order of [`Dtype::ALL`], the types of numbers of Python, and no operand.
const CODES: usize = Dtype::ALL.len() + 5;
const NONE: usize = CODES - 1;

/// A universal function of NumPy with one or two operands, computed into USM: of elements, or the product of matrices.
///
/// Small arrays are what it is for: each step that is not needed takes as long as the computation.
#[pyclass(frozen, name = "_Ufunc", module = "usm._usm")]
pub(crate) struct Ufunc {
    ufunc: Py<PyAny>,
    general: Py<PyAny>,
    resolve: Py<PyAny>,
    is_product: bool,
    /// The dtypes of results by the codes of two operands: places in [`Dtype::ALL`], counted from 1.
    known: Box<[AtomicU8]>,
}

#[pymethods]
impl Ufunc {
    /// `general(operands, keywords, out)` computes where shapes are broadcast, and `resolve(ufunc, dtypes)` tells the dtype of the result
    /// for dtypes and for types of numbers.
    #[new]
    #[pyo3(signature = (ufunc, general, resolve, *, is_product=false))]
    fn new(ufunc: Py<PyAny>, general: Py<PyAny>, resolve: Py<PyAny>, is_product: bool) -> Self {
        let known = (0..CODES * CODES).map(|_| AtomicU8::new(0)).collect();
        Self { ufunc, general, resolve, is_product, known }
    }

    fn __call__<'py>(
        &self,
        operands: &Bound<'py, PyTuple>,
        keywords: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = operands.py();
        match self.at_once(operands, out)? {
            Some(result) => Ok(result.into_any()),
            None => called::python(py, || self.general.bind(py).call1((operands, keywords, out))),
        }
    }
}

impl Ufunc {
    /// `None` for shapes that do not fit as they are, and for more than two operands.
    fn at_once<'py>(
        &self,
        operands: &Bound<'py, PyTuple>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, UsmNdarray>>> {
        if operands.len() > 2 {
            return Ok(None);
        }
        let py = operands.py();
        let objects: Vec<Bound<'py, PyAny>> = operands.iter().collect();
        let found: Vec<_> = objects.iter().map(|object| object.cast_exact::<UsmNdarray>().ok()).collect();
        let arrays: Vec<&UsmArray> = found.iter().flatten().map(|array| array.get().array()).collect();
        let out = match out.map(|out| out.cast::<UsmNdarray>()) {
            None => None,
            Some(Ok(out)) => Some(out),
            Some(Err(_)) => return Ok(None),
        };
        let shape = match arrays.as_slice() {
            [x1, x2] if self.is_product => product_shape(x1.shape(), x2.shape()),
            _ if self.is_product => None,
            arrays => common_shape(arrays),
        };
        let Some(shape) = shape else { return Ok(None) };
        let Some(place) = ResultPlace::of(&arrays, &shape) else { return Ok(None) };
        if out.is_some_and(|out| out.get().array().shape() != &shape[..]) {
            return Ok(None);
        }
        let result = match out {
            Some(out) => out.clone(),
            None => {
                let Some(dtype) = self.dtype(&objects, &found)? else { return Ok(None) };
                let order = if self.is_product { Order::C } else { place.order };
                let new = UsmArray::builder(&shape, dtype).order(order);
                let new = construct::in_new_memory(py, new, place.kind, place.queue)?;
                Bound::new(py, UsmNdarray::from_array(new))?
            }
        };
        let view = |(object, found): (&Bound<'py, PyAny>, &Option<&Bound<'py, UsmNdarray>>)| match found {
            Some(array) => numpy_view(array, false),
            None => Ok(object.clone()),
        };
        let mut views = objects.iter().zip(&found).map(view);
        let (x1, x2) = (views.next().transpose()?, views.next().transpose()?);
        let (ufunc, keywords) = (self.ufunc.bind(py), PyDict::new(py));
        keywords.set_item(intern!(py, "out"), numpy_view(&result, true)?)?;
        match (x1, x2) {
            (Some(x1), Some(x2)) => called::python(py, || ufunc.call((x1, x2), Some(&keywords)))?,
            (Some(x1), None) => called::python(py, || ufunc.call((x1,), Some(&keywords)))?,
            (None, _) => return Ok(None),
        };
        Ok(Some(result))
    }

    /// The dtype of the result. `None` where an operand is no number.
    fn dtype(
        &self,
        objects: &[Bound<'_, PyAny>],
        found: &[Option<&Bound<'_, UsmNdarray>>],
    ) -> PyResult<Option<Dtype>> {
        let mut codes = [NONE; 2];
        for (code, (object, found)) in codes.iter_mut().zip(objects.iter().zip(found)) {
            *code = match found {
                Some(array) => array.get().array().dtype() as usize,
                None => match of_number(object) {
                    Some(number) => Dtype::ALL.len() + number,
                    None => return Ok(None),
                },
            };
        }
        let known = &self.known[codes[0] * CODES + codes[1]];
        if let Some(place) = usize::from(known.load(Ordering::Relaxed)).checked_sub(1) {
            return Ok(Dtype::ALL.get(place).copied());
        }
        let Some(object) = objects.first() else { return Ok(None) };
        let py = object.py();
        let of_numpy = |(object, found): (&Bound<'_, PyAny>, &Option<&Bound<'_, UsmNdarray>>)| match found {
            Some(array) => dtype::of_numpy(py, array.get().array().dtype()).map(Bound::unbind),
            None => Ok(object.get_type().into_any().unbind()),
        };
        let dtypes = objects.iter().zip(found).map(of_numpy).collect::<PyResult<Vec<_>>>()?;
        let dtypes = PyTuple::new(py, dtypes)?;
        let dtype = called::python(py, || self.resolve.bind(py).call1((&self.ufunc, dtypes)))?;
        let dtype = arguments::explicit_dtype(&dtype, &|| DefaultDtypes::WITH_FP64)?;
        known.store(dtype as u8 + 1, Ordering::Relaxed);
        Ok(Some(dtype))
    }
}

/// The shape of all arrays; `None` where they are broadcast, which takes longer than small arrays take.
fn common_shape(arrays: &[&UsmArray]) -> Option<Axes<usize>> {
    let (first, others) = arrays.split_first()?;
    let is_common = others.iter().all(|array| array.shape() == first.shape());
    is_common.then(|| first.shape().iter().copied().collect())
}

/// The place of the type of a number of Python, `None` for other objects and for numbers of a subclass.
pub(super) fn of_number(object: &Bound<'_, PyAny>) -> Option<usize> {
    if object.is_exact_instance_of::<PyFloat>() {
        Some(0)
    } else if object.is_exact_instance_of::<PyInt>() {
        Some(1)
    } else if object.is_exact_instance_of::<PyBool>() {
        Some(2)
    } else if object.is_exact_instance_of::<PyComplex>() {
        Some(3)
    } else {
        None
    }
}
