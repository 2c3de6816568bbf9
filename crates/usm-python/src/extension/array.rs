//! Arrays as arguments and results: any object with the interface in, the package's `usm_ndarray` out.

use std::ops::Deref;

use pyo3::Borrowed;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use usm_array::usm_core::{Queue, UsmKind};
use usm_array::{Dtype, UsmArray};

use super::handover::hand_over;
use super::package::{error_of_package, to_py_err};
use crate::errors::{reworded, type_name};
use crate::held::Kept;
use crate::imported;
use crate::interface::import::{INTERFACE, array_if_usm};
use crate::join::is_package;
use crate::objects::UsmNdarray;

/// An array of any library: as an argument any object with `__sycl_usm_array_interface__`, without a copy; as a result a
/// `usm.tensor.usm_ndarray` of the installed package `usm`.
///
/// It is a [`UsmArray`], so shape, strides, dtype, kind, device and queue of the elements are there, and views with
/// [`view`](UsmArray::view) and [`view_mut`](UsmArray::view_mut) where host code may touch the memory. The guards of these views and
/// those of the package see each other. Do work that takes long in `py.detach`.
///
/// An object that is no such array, or a wrong one, is a `TypeError` or `ValueError` whose text starts with the key that is wrong,
/// and PyO3 notes the argument's name at it: `while processing 'x'`.
///
/// ```no_run
/// use pyo3::prelude::*;
/// use usm_python::{PyTypedArray, PyUsmArray, to_py_err};
///
/// #[pyfunction]
/// fn transposed(x: PyUsmArray) -> PyUsmArray {
///     x.transpose().into()
/// }
///
/// #[pyfunction]
/// fn total(py: Python<'_>, x: PyTypedArray<f64>) -> PyResult<f64> {
///     py.detach(|| Ok(x.view()?.iter().sum())).map_err(|error| to_py_err(py, error))
/// }
/// ```
#[derive(Debug)]
pub struct PyUsmArray {
    array: UsmArray,
    /// The package's array that this came from.
    object: Option<Kept>,
}

impl PyUsmArray {
    /// The array of an argument that is checked by hand; the text of an error starts with `name`.
    ///
    /// # Errors
    /// `TypeError` or `ValueError` when the object is no array, or a wrong one.
    pub fn from_argument(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        object.extract().map_err(|error| reworded(py, error, |text| format!("{name}: {text}")))
    }

    /// A new C-contiguous array that the package allocates: from the pool of `usm.memory.use_pool` and within its limit. Its elements are
    /// undefined. An extension's own [`UsmArray::empty`] knows neither.
    ///
    /// Other code of Python may use the array from the start, so operations of an extension on it are complete when they return.
    ///
    /// ```no_run
    /// use pyo3::prelude::*;
    /// use usm_python::usm_array::Dtype;
    /// use usm_python::{PyUsmArray, to_py_err};
    ///
    /// #[pyfunction]
    /// fn ones_like(py: Python<'_>, x: PyUsmArray) -> PyResult<PyUsmArray> {
    ///     let ones = PyUsmArray::empty(py, x.queue(), x.kind(), x.shape(), Dtype::F32)?;
    ///     py.detach(|| ones.fill(1.0_f32)).map_err(|error| to_py_err(py, error))?;
    ///     Ok(ones)
    /// }
    /// ```
    ///
    /// # Errors
    /// `usm.USMAllocationError` when there is no memory left, or no more within the limit of the pool; `ValueError` for a shape that is too
    /// large.
    pub fn empty(
        py: Python<'_>,
        queue: &Queue,
        kind: UsmKind,
        shape: &[usize],
        dtype: Dtype,
    ) -> PyResult<Self> {
        // Without elements it takes no memory, and the package makes an object of its own of the queue.
        let like = UsmArray::empty(queue, kind, &[0], dtype).map_err(|error| to_py_err(py, error))?;
        let like = hand_over(py, like).map_err(|error| error_of_package(py, error))?;
        let keywords = PyDict::new(py);
        keywords.set_item(intern!(py, "dtype"), like.getattr(intern!(py, "dtype"))?)?;
        keywords.set_item(intern!(py, "usm_type"), kind.as_str())?;
        keywords.set_item(intern!(py, "sycl_queue"), like.getattr(intern!(py, "sycl_queue"))?)?;
        let empty = imported::import(py, intern!(py, "usm.tensor"))?.getattr(intern!(py, "empty"))?;
        empty.call((PyTuple::new(py, shape)?,), Some(&keywords))?.extract()
    }

    /// The array alone.
    #[must_use]
    pub fn into_inner(self) -> UsmArray {
        self.array
    }
}

impl Deref for PyUsmArray {
    type Target = UsmArray;

    fn deref(&self) -> &UsmArray {
        &self.array
    }
}

impl From<UsmArray> for PyUsmArray {
    fn from(array: UsmArray) -> Self {
        Self { array, object: None }
    }
}

impl<'py> FromPyObject<'_, 'py> for PyUsmArray {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let py = object.py();
        // Joins the package first, whose memory this may be.
        crate::sycl::runtime::get(py)?;
        let ours = match is_package() {
            true => object.is_instance_of::<UsmNdarray>(),
            false => {
                let class =
                    imported::import(py, intern!(py, "usm._usm"))?.getattr(intern!(py, "usm_ndarray"))?;
                object.get_type().is(&class)
            }
        };
        let array = array_if_usm(&object).map_err(|error| error_of_package(py, error))?.ok_or_else(|| {
            type_error!("found {}, allowed is an array: an object with {INTERFACE}", type_name(&object))
        })?;
        Ok(Self { array: array.into_array(), object: ours.then(|| Kept::of(&object)) })
    }
}

impl<'py> IntoPyObject<'py> for PyUsmArray {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.object.as_ref().and_then(Kept::object) {
            Some(object) => Ok(object.bind(py).clone()),
            None => hand_over(py, self.array).map_err(|error| error_of_package(py, error)),
        }
    }
}

/// What a type over an argument of another type has in common with that: the array, and the way back to Python.
macro_rules! over_array {
    ($name:ident $(<$element:ident>)?, $inner:tt) => {
        impl$(<$element>)? $name$(<$element>)? {
            /// The array alone.
            #[must_use]
            pub fn into_inner(self) -> UsmArray {
                self.$inner.into_inner()
            }
        }

        impl$(<$element>)? Deref for $name$(<$element>)? {
            type Target = UsmArray;

            fn deref(&self) -> &UsmArray {
                &self.$inner
            }
        }

        impl<'py, $($element: Element)?> IntoPyObject<'py> for $name$(<$element>)? {
            type Target = PyAny;
            type Output = Bound<'py, PyAny>;
            type Error = PyErr;

            fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                self.$inner.into_pyobject(py)
            }
        }
    };
}
pub(super) use over_array;

/// As [`PyUsmArray`], for an argument whose elements are changed: read-only arrays are refused with a `ValueError`.
///
/// ```no_run
/// use pyo3::prelude::*;
/// use usm_python::{PyUsmArrayMut, to_py_err};
///
/// #[pyfunction]
/// fn clear(py: Python<'_>, out: PyUsmArrayMut) -> PyResult<()> {
///     py.detach(|| out.fill_zero()).map_err(|error| to_py_err(py, error))
/// }
/// ```
#[derive(Debug)]
pub struct PyUsmArrayMut(PyUsmArray);

over_array!(PyUsmArrayMut, 0);

impl<'py> FromPyObject<'_, 'py> for PyUsmArrayMut {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let array = object.extract::<PyUsmArray>()?;
        if array.is_writable() {
            return Ok(Self(array));
        }
        Err(PyValueError::new_err("data: found a read-only array, allowed is a writable one"))
    }
}
