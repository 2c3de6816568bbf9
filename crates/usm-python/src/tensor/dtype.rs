//! Dtypes as Python objects: NumPy's where NumPy has them, otherwise our own. It has narrow floating-point numbers by ml_dtypes.

use pyo3::exceptions::{PyAttributeError, PyImportError, PyModuleNotFoundError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use usm_array::usm_core::fork::ForkOnce;
use usm_array::{DefaultDtypes, Dtype};

use super::{arguments, known_dtypes};
use crate::imported;

/// The class of dtypes: NumPy's, which is imported by the first call, and only once; without NumPy our own.
fn class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: ForkOnce<Py<PyType>> = ForkOnce::new();
    let find = || match imported::import(py, intern!(py, "numpy")) {
        Ok(numpy) => Ok(numpy.getattr("dtype")?.cast_into::<PyType>()?.unbind()),
        Err(error) if error.is_instance_of::<PyImportError>(py) => Ok(py.get_type::<PyDtype>().unbind()),
        Err(error) => Err(error),
    };
    Ok(CLASS.get_or_try_init(find)?.bind(py))
}

/// The objects of the dtypes that NumPy, or we without it, have.
fn plain(py: Python<'_>) -> PyResult<&'static Vec<Py<PyAny>>> {
    known_dtypes::get_or_make(|| {
        let class = class(py)?;
        let make = |dtype: Dtype| class.call1((dtype.name(),)).map(Bound::unbind);
        Dtype::ALL.into_iter().filter(|dtype| !dtype.is_narrow()).map(make).collect()
    })
}

/// The objects of the narrow dtypes, in the order of `Dtype::ALL`: those of ml_dtypes as NumPy's, otherwise our own. ml_dtypes is
/// imported by the first call.
fn narrow(py: Python<'_>) -> PyResult<&'static Vec<Py<PyAny>>> {
    static NARROW: ForkOnce<Vec<Py<PyAny>>> = ForkOnce::new();
    let class = class(py)?;
    NARROW.get_or_try_init(|| {
        let module = match imported::import(py, intern!(py, "ml_dtypes")) {
            _ if class.is(py.get_type::<PyDtype>()) => None,
            Ok(module) => Some(module),
            Err(error) if error.is_instance_of::<PyImportError>(py) => None,
            Err(error) => return Err(error),
        };
        let make = |dtype: Dtype| {
            let scalar = module.as_ref().map(|module| module.getattr(dtype.name())).transpose();
            match scalar {
                Ok(Some(scalar)) => class.call1((scalar,)).map(Bound::unbind),
                Err(error) if !error.is_instance_of::<PyAttributeError>(py) => Err(error),
                _ => Ok(Bound::new(py, PyDtype { dtype })?.into_any().unbind()),
            }
        };
        Dtype::ALL.into_iter().filter(|dtype| dtype.is_narrow()).map(make).collect()
    })
}

/// A dtype as the Python object that `usm_ndarray.dtype` gives: NumPy's dtype where NumPy has it, otherwise a `DType`.
pub(crate) fn object(py: Python<'_>, dtype: Dtype) -> PyResult<Bound<'_, PyAny>> {
    // The narrow ones are the last of all.
    if let Some(object) = plain(py)?.get(dtype as usize) {
        return Ok(object.bind(py).clone());
    }
    let objects = narrow(py)?;
    let place = Dtype::ALL.into_iter().filter(|other| other.is_narrow());
    match place.zip(objects).find(|(other, _)| *other == dtype).map(|(_, object)| object) {
        Some(object) => Ok(object.bind(py).clone()),
        None => Err(value_error!("dtype: {dtype} has no object")), // never: all dtypes are in the list
    }
}

/// NumPy's dtype. ModuleNotFoundError for a narrow one without ml_dtypes.
pub(crate) fn of_numpy(py: Python<'_>, dtype: Dtype) -> PyResult<Bound<'_, PyAny>> {
    let object = object(py, dtype)?;
    if !object.is_instance_of::<PyDtype>() {
        return Ok(object);
    }
    // As for other imports that fail: NumPy alone is missing with a message of its own.
    imported::import(py, intern!(py, "numpy"))?;
    Err(PyModuleNotFoundError::new_err(format!(
        "NumPy has {dtype} by ml_dtypes only: pip install ml_dtypes installs it; without it cast to float32, or exchange by DLPack"
    )))
}

/// _dtype(name)
///
/// The dtype of that name, or for "dtype" their class: how `usm.tensor` makes its names when they are first used.
///
/// >>> from usm._usm import _dtype
/// >>> _dtype("float32").itemsize
/// 4
#[pyfunction]
#[pyo3(name = "_dtype")]
pub(crate) fn named<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    if name == "dtype" {
        return Ok(class(py)?.clone().into_any());
    }
    let found = Dtype::ALL.into_iter().find(|dtype| dtype.name() == name);
    let found = found.ok_or_else(|| value_error!("name: found {name:?}, allowed is that of a dtype"))?;
    object(py, found)
}

/// DType(dtype)
///
/// The type of the elements of an array, where NumPy is not installed; where it is, arrays have NumPy's dtypes, and those of ml_dtypes for
/// bfloat16 and numbers of 8 bits; without ml_dtypes these are of this class. `dtype` is a name such as "float32", a typestr such as "|f4", a Python number type, or another dtype. Equal to each of these that means the same.
///
/// >>> import usm.tensor as ut
/// >>> dtype = ut.DType("|f4")
/// >>> dtype.name, dtype.kind, dtype.itemsize, dtype == "float32"
/// ('float32', 'f', 4, True)
#[pyclass(frozen, name = "DType", module = "usm.tensor")]
#[derive(Debug)]
pub struct PyDtype {
    dtype: Dtype,
}

#[pymethods]
impl PyDtype {
    #[new]
    fn new(dtype: &Bound<'_, PyAny>) -> PyResult<Self> {
        arguments::explicit_dtype(dtype, &|| DefaultDtypes::WITH_FP64).map(|dtype| Self { dtype })
    }

    /// The name in the array API standard, or in ml_dtypes.
    #[getter]
    fn name(&self) -> &'static str {
        self.dtype.name()
    }

    /// The typestr as NumPy writes it: with ``<`` or ``>`` for elements of several bytes.
    #[getter]
    fn str(&self) -> String {
        let order = match self.dtype.itemsize_bytes() {
            1 => '|',
            _ if cfg!(target_endian = "big") => '>',
            _ => '<',
        };
        let size = self.dtype.itemsize_bytes();
        // Narrow ones have no typestr; this is what ml_dtypes has.
        let typestr =
            self.dtype.typestr().map_or_else(|| format!("|{}{size}", self.dtype.kind()), str::to_owned);
        typestr.replace('|', order.encode_utf8(&mut [0; 4]))
    }

    /// One letter: ``b`` boolean, ``i`` signed, ``u`` unsigned, ``f`` real, ``c`` complex. Of narrow floating-point numbers that of
    /// ml_dtypes: ``V``, and ``f`` for float8_e5m2.
    #[getter]
    fn kind(&self) -> char {
        self.dtype.kind()
    }

    /// Bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.dtype.itemsize_bytes()
    }

    /// Bytes that the address of every element is a multiple of.
    #[getter]
    fn alignment(&self) -> usize {
        self.dtype.align_bytes()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let other = arguments::explicit_dtype(other, &|| DefaultDtypes::WITH_FP64);
        other.is_ok_and(|other| other == self.dtype)
    }

    /// That of the name, to which it is equal.
    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        PyString::new(py, self.dtype.name()).hash()
    }

    fn __str__(&self) -> &'static str {
        self.dtype.name()
    }

    fn __repr__(&self) -> String {
        format!("dtype('{}')", self.dtype)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (&'static str,)) {
        (py.get_type::<Self>(), (self.dtype.name(),))
    }
}
