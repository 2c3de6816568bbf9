//! From the operands of a function to where its result is, and into the array that the caller gave for it.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use usm_array::{Conversion, CopyOrder, Order, UsmArray, coerced_kind};

use super::super::operand::same_queue;
use super::operands;
use crate::errors::OrRaise;
use crate::interrupt::{self, Pass};
use crate::objects::UsmNdarray;

/// Runs a job on about `work_bytes` bytes without the interpreter. It owns its operands, since it may go on when Ctrl-C ends the
/// waiting for a long one.
pub(super) fn run<T: Send + 'static>(
    py: Python<'_>,
    work_bytes: usize,
    job: impl FnOnce() -> usm_array::Result<T> + Send + 'static,
) -> PyResult<T> {
    interrupt::run(py, work_bytes, job)?.or_raise()
}

/// The arrays among the operands of a function.
pub(super) fn arrays<const N: usize>(operands: [Option<&UsmArray>; N]) -> Vec<&UsmArray> {
    operands.into_iter().flatten().collect()
}

/// The bytes of the elements of some arrays that [this thread goes through](interrupt::bytes_here).
pub(super) fn work_bytes<'a>(arrays: impl IntoIterator<Item = &'a UsmArray>) -> usize {
    arrays.into_iter().fold(0, |sum, array| sum.saturating_add(interrupt::bytes_here(array)))
}

/// As [`work_bytes`] for copies of the elements: none where queues copy them, and nobody waits for that.
pub(super) fn copied_bytes<'a>(arrays: impl IntoIterator<Item = &'a UsmArray> + Clone) -> usize {
    let is_submitted = arrays.clone().into_iter().all(|array| !array.is_host_reachable());
    if is_submitted { 0 } else { work_bytes(arrays) }
}

/// As [`array`], in one pass over elements; `is_near` where this thread itself touches all memory.
pub(in crate::tensor) fn in_pass(
    py: Python<'_>,
    pass: Pass,
    is_near: bool,
    job: impl FnOnce() -> usm_array::Result<UsmArray> + Send + 'static,
) -> PyResult<UsmNdarray> {
    interrupt::run_at(py, pass, is_near, job)?.or_raise().map(UsmNdarray::from_array)
}

/// As [`run`], for a function that gives one array.
pub(super) fn array(
    py: Python<'_>,
    work_bytes: usize,
    job: impl FnOnce() -> usm_array::Result<UsmArray> + Send + 'static,
) -> PyResult<UsmNdarray> {
    run(py, work_bytes, job).map(UsmNdarray::from_array)
}

/// A tuple of arrays.
pub(super) fn tuple<'py>(
    py: Python<'py>,
    arrays: impl IntoIterator<Item = UsmArray, IntoIter: ExactSizeIterator>,
) -> PyResult<Bound<'py, pyo3::types::PyTuple>> {
    let arrays: Vec<_> = arrays.into_iter().map(UsmNdarray::from_array).collect();
    pyo3::types::PyTuple::new(py, arrays)
}

/// The result in memory of the kind that follows from the operands.
pub(super) fn follow(result: UsmArray, operands: &[&UsmArray]) -> usm_array::Result<UsmArray> {
    match coerced_kind(operands.iter().map(|array| array.kind())) {
        Some(kind) if kind != result.kind() => result.copy_to(result.queue(), kind),
        _ => Ok(result),
    }
}

/// The order of memory that operands have in common: column-major, if all are that only.
pub(in crate::tensor) fn common_order(operands: &[&UsmArray]) -> Order {
    if operands.iter().all(|array| array.is_f_contiguous_only()) { Order::F } else { Order::C }
}

/// The result with the axes in an order of memory, by default the one that the operands have in common.
pub(super) fn in_order(
    result: UsmArray,
    order: CopyOrder,
    operands: &[&UsmArray],
) -> usm_array::Result<UsmArray> {
    let order = match (order, common_order(operands)) {
        (CopyOrder::C, _) | (CopyOrder::Any | CopyOrder::Keep, Order::C) => CopyOrder::C,
        (CopyOrder::F, _) | (CopyOrder::Any | CopyOrder::Keep, Order::F) => CopyOrder::F,
    };
    result.converted(&Conversion { order, ..Conversion::default() })
}

/// The result, or `out` with the elements of it.
pub(super) fn give<'py>(
    py: Python<'py>,
    out: Option<&Bound<'py, PyAny>>,
    work_bytes: usize,
    job: impl FnOnce() -> usm_array::Result<UsmArray> + Send + 'static,
) -> PyResult<Bound<'py, PyAny>> {
    let Some(out) = out else {
        return Ok(Bound::new(py, array(py, work_bytes, job)?)?.into_any());
    };
    let target = operands::array("out", out)?;
    if !target.is_writable() {
        return Err(PyValueError::new_err("out: found a read-only array, allowed are writable ones"));
    }
    let result = run(py, work_bytes, job)?;
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
    run(py, copied_bytes([&target, &result]), move || target.assign(&result))?;
    Ok(out.clone())
}
