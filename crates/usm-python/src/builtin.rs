//! Objects of Python's own types, which have none of the methods that arrays and devices are known by.

use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyComplex, PyDict, PyEllipsis, PyFloat, PyInt, PyList, PyNone, PySlice, PyString,
    PyTuple,
};

/// Whether there is nothing to look for. In the limited API an attribute that is missing costs an exception.
pub(crate) fn is_builtin(object: &Bound<'_, PyAny>) -> bool {
    object.is_exact_instance_of::<PyInt>()
        || object.is_exact_instance_of::<PyTuple>()
        || object.is_exact_instance_of::<PyList>()
        || object.is_exact_instance_of::<PyFloat>()
        || object.is_exact_instance_of::<PySlice>()
        || object.is_exact_instance_of::<PyString>()
        || object.is_exact_instance_of::<PyNone>()
        || object.is_exact_instance_of::<PyBool>()
        || object.is_exact_instance_of::<PyComplex>()
        || object.is_exact_instance_of::<PyBytes>()
        || object.is_exact_instance_of::<PyDict>()
        || object.is_exact_instance_of::<PyEllipsis>()
}
