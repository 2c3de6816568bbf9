//! Python's slices as start, stop and step.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PySlice;

/// Start, stop and step of a slice; ends that are left out, or beyond any size, are the furthest there are.
///
/// # Errors
/// Python's own: TypeError for what is no integer, ValueError for a step of zero.
pub(crate) fn unpack(slice: &Bound<'_, PySlice>) -> PyResult<(isize, isize, isize)> {
    let [mut start, mut stop, mut step] = [0; 3];
    // SAFETY: PY1: a slice, and three integers to be written.
    let status = unsafe { ffi::PySlice_Unpack(slice.as_ptr(), &raw mut start, &raw mut stop, &raw mut step) };
    if status == 0 { Ok((start, stop, step)) } else { Err(PyErr::fetch(slice.py())) }
}
