//! The results of functions as Python objects, or in the array that the caller gave for them.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use usm_array::{UsmArray, Work};

use super::super::operand::same_queue;
use super::operands;
use crate::errors::OrRaise;
use crate::interrupt;
use crate::objects::UsmNdarray;

/// As [`interrupt::run`], for a job that may fail. It owns its operands, since it may go on when Ctrl-C ends the waiting for a long one.
pub(super) fn run<T: Send + 'static>(
    py: Python<'_>,
    work: Work,
    job: impl FnOnce() -> usm_array::Result<T> + Send + 'static,
) -> PyResult<T> {
    interrupt::run(py, work, job)?.or_raise()
}

/// The arrays among the operands of a function.
pub(super) fn arrays<const N: usize>(operands: [Option<&UsmArray>; N]) -> Vec<&UsmArray> {
    operands.into_iter().flatten().collect()
}

/// As [`run`], for a function that gives one array.
pub(in crate::tensor) fn array(
    py: Python<'_>,
    work: Work,
    job: impl FnOnce() -> usm_array::Result<UsmArray> + Send + 'static,
) -> PyResult<UsmNdarray> {
    run(py, work, job).map(UsmNdarray::from_array)
}

/// A tuple of arrays.
pub(super) fn tuple<'py>(
    py: Python<'py>,
    arrays: impl IntoIterator<Item = UsmArray, IntoIter: ExactSizeIterator>,
) -> PyResult<Bound<'py, pyo3::types::PyTuple>> {
    let arrays: Vec<_> = arrays.into_iter().map(UsmNdarray::from_array).collect();
    pyo3::types::PyTuple::new(py, arrays)
}

/// The result, or `out` with the elements of it.
pub(super) fn give<'py>(
    py: Python<'py>,
    out: Option<&Bound<'py, PyAny>>,
    work: Work,
    job: impl FnOnce() -> usm_array::Result<UsmArray> + Send + 'static,
) -> PyResult<Bound<'py, PyAny>> {
    let Some(out) = out else {
        return Ok(Bound::new(py, array(py, work, job)?)?.into_any());
    };
    let target = operands::array("out", out)?;
    if !target.is_writable() {
        return Err(PyValueError::new_err("out: found a read-only array, allowed are writable ones"));
    }
    let result = run(py, work, job)?;
    same_queue(&[("x", Some(&result)), ("out", Some(&target))])?;
    if target.shape() != result.shape() || target.dtype() != result.dtype() {
        return Err(value_error!(
            "out: found shape {:?} of {}, allowed is shape {:?} of {}",
            target.shape(),
            target.dtype(),
            result.shape(),
            result.dtype()
        ));
    }
    run(py, Work::of_copies([&target, &result]), move || target.assign(&result))?;
    Ok(out.clone())
}
