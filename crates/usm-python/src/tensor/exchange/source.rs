//! What an object with elements is, found out with one look at each attribute of a protocol.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use usm_array::Scalar;

use super::host::HostElements;
use crate::attribute;
use crate::builtin::is_builtin;
use crate::errors::{type_name, without_numpy};
use crate::imported;
use crate::interface::cuda;
use crate::interface::import::{Found, INTERFACE, array_if_usm};
use crate::number::is_plain_sequence;
use crate::objects::UsmNdarray;
use crate::tensor::arguments;

/// What an object is.
pub(in crate::tensor) enum Source<'a, 'py> {
    /// A Python number.
    Number(Scalar),
    /// USM that says so.
    Array(Found<'a>),
    /// A list, tuple or range of elements.
    Sequence,
    /// Elements that host code reaches.
    Host(Host),
    /// Elements that only DLPack has, by this method.
    Dlpack(Bound<'py, PyAny>),
    /// CUDA memory that only `__cuda_array_interface__` tells of.
    Cuda(Bound<'py, PyDict>),
    /// None of these.
    Other,
}

/// How an object has its elements.
pub(in crate::tensor) enum Host {
    /// By the buffer protocol, which tells byte orders, and NumPy's read-only arrays.
    Buffer,
    /// In an array that NumPy makes of it.
    NumPy,
}

impl<'a, 'py> Source<'a, 'py> {
    /// What the object is.
    pub(in crate::tensor) fn of(object: &'a Bound<'py, PyAny>) -> PyResult<Self> {
        if let Some(number) = arguments::python_number(object)? {
            return Ok(Self::Number(number));
        }
        match usm_array_of(object)? {
            Some(array) => Ok(Self::Array(array)),
            None => Self::beside_usm(object),
        }
    }

    /// As [`of`](Self::of), of an operand: objects without the interface that are not arrays of NumPy are `Other`, so that their own
    /// operators get their turn.
    pub(in crate::tensor) fn of_operand(object: &'a Bound<'py, PyAny>) -> PyResult<Self> {
        if let Some(number) = arguments::python_number(object)? {
            return Ok(Self::Number(number));
        }
        match array_if_usm(object)? {
            Some(array) => Ok(Self::Array(array)),
            None if is_numpy(object)? => Self::beside_usm(object),
            None => Ok(Self::Other),
        }
    }

    /// As [`of`](Self::of), sooner for USM than for numbers.
    pub(super) fn of_array(object: &'a Bound<'py, PyAny>) -> PyResult<Self> {
        if let Some(array) = usm_array_of(object)? {
            return Ok(Self::Array(array));
        }
        match arguments::python_number(object)? {
            Some(number) => Ok(Self::Number(number)),
            None => Self::beside_usm(object),
        }
    }

    /// As [`of`](Self::of), of an object that is neither a number nor USM.
    pub(in crate::tensor) fn beside_usm(object: &'a Bound<'py, PyAny>) -> PyResult<Self> {
        if is_plain_sequence(object) {
            return Ok(Self::Sequence);
        }
        // SAFETY: PY1.
        let has_buffer = unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) } != 0;
        if has_buffer && !cuda::is_behind_buffer(object)? {
            return Ok(Self::Host(Host::Buffer));
        }
        if is_builtin(object) {
            return Ok(Self::Other);
        }
        let py = object.py();
        if !object.is_instance_of::<PyString>()
            && !object.is_instance_of::<PyDict>()
            && let Some(method) = attribute::optional(object, intern!(py, "__dlpack__"))?
        {
            return Ok(Self::Dlpack(method));
        }
        if let Some(dict) = cuda::interface_of(object)? {
            return Ok(Self::Cuda(dict));
        }
        let is_array = object.hasattr(intern!(py, "__array__"))? || is_numpy(object)?;
        Ok(if is_array { Self::Host(Host::NumPy) } else { Self::Other })
    }
}

impl Source<'_, '_> {
    /// Whether the object is an array or a sequence.
    pub(in crate::tensor) fn has_elements(&self) -> bool {
        !matches!(self, Self::Number(_) | Self::Other)
    }
}

impl Host {
    /// The elements; `name` is what messages call the object.
    pub(super) fn elements(&self, name: &str, object: &Bound<'_, PyAny>) -> PyResult<HostElements> {
        match self {
            Self::Buffer => HostElements::of(name, object),
            Self::NumPy => HostElements::of(name, &numpy_array(object)?),
        }
    }
}

/// What `numpy.asarray` makes of an object.
pub(super) fn numpy_array<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let numpy = imported::import(py, intern!(py, "numpy")).map_err(|error| without_numpy(py, error))?;
    numpy.call_method1(intern!(py, "asarray"), (object,))
}

/// Whether an object is an array of NumPy, or calls itself one.
pub(in crate::tensor) fn is_numpy(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    object.hasattr(intern!(object.py(), "__array_interface__"))
}

/// Whether the operators of a NumPy array come before ours, since its class adds a mask, units or rules to the elements. Such a class
/// has an `__array_ufunc__` of its own, as NEP 13 says, or else a higher `__array_priority__` than plain arrays.
pub(in crate::tensor) fn has_own_operators(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    // A method of C, and not of Python, is the one of `numpy.ndarray` and of NumPy's numbers.
    if let Some(method) = object.get_type().getattr_opt(intern!(py, "__array_ufunc__"))?
        && !method.hasattr(intern!(py, "__objclass__"))?
    {
        return Ok(true);
    }
    match object.getattr_opt(intern!(py, "__array_priority__"))? {
        Some(priority) => Ok(priority.extract::<f64>().is_ok_and(|priority| priority > 0.0)),
        None => Ok(false),
    }
}

/// The refusal of an object without elements.
pub(super) fn no_elements(name: &str, object: &Bound<'_, PyAny>) -> PyErr {
    let found = type_name(object);
    type_error!(
        "{name}: found {found}, allowed are numbers, sequences, and objects with {INTERFACE}, the buffer protocol or DLPack"
    )
}

/// The array over the memory of an object, when it is USM and says so.
fn usm_array_of<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<Option<Found<'a>>> {
    let array = array_if_usm(object)?;
    if array.is_some() || is_builtin(object) {
        return Ok(array);
    }
    match attribute::optional(object, intern!(object.py(), "__usm_ndarray__"))? {
        Some(array) if array.is_instance_of::<UsmNdarray>() => {
            Ok(array_if_usm(&array)?.map(|array| Found::Imported(array.into_boxed())))
        }
        _ => Ok(None),
    }
}
