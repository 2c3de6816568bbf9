//! Arrays put together, taken apart and repeated.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use usm_array::{Repeats, UsmArray, Work};

use super::{operands, results};
use crate::errors::OrRaise;
use crate::objects::UsmNdarray;

/// concat(arrays, /, *, axis=0)
///
/// The arrays of a tuple or list one behind the other along an axis that exists, or all their elements in one with ``axis=None``.
/// The dtype is the promoted one.
///
/// Raises ValueError when the shapes differ in more than the axis, ExecutionPlacementError for arrays of several queues.
///
/// >>> import usm.tensor as ut
/// >>> a = ut.arange(2, device="host")
/// >>> ut.concat((a, a[::-1])).tolist()
/// [0, 1, 1, 0]
#[pyfunction]
#[pyo3(signature = (arrays, /, *, axis=Some(0)), text_signature = "(arrays, /, *, axis=0)")]
pub(crate) fn concat(py: Python<'_>, arrays: &Bound<'_, PyAny>, axis: Option<isize>) -> PyResult<UsmNdarray> {
    let arrays = operands::arrays("arrays", arrays)?;
    results::array(py, Work::of_copies(&arrays), move || {
        UsmArray::concat(&arrays.iter().collect::<Vec<_>>(), axis)
    })
}

/// stack(arrays, /, *, axis=0)
///
/// The arrays of a tuple or list, all of one shape, one behind the other along a new axis. The dtype is the promoted one.
///
/// Raises ValueError when the shapes differ, ExecutionPlacementError for arrays of several queues.
///
/// >>> import usm.tensor as ut
/// >>> a = ut.arange(2, device="host")
/// >>> ut.stack([a, a], axis=-1).tolist()
/// [[0, 0], [1, 1]]
#[pyfunction]
#[pyo3(signature = (arrays, /, *, axis=0))]
pub(crate) fn stack(py: Python<'_>, arrays: &Bound<'_, PyAny>, axis: isize) -> PyResult<UsmNdarray> {
    let arrays = operands::arrays("arrays", arrays)?;
    results::array(py, Work::of_copies(&arrays), move || {
        UsmArray::stack(&arrays.iter().collect::<Vec<_>>(), axis)
    })
}

/// unstack(x, /, *, axis=0)
///
/// A tuple of views, one for each place of an axis, without the axis.
///
/// Raises ValueError when there is no such axis.
///
/// >>> import usm.tensor as ut
/// >>> [row.tolist() for row in ut.unstack(ut.eye(2, device="host"))]
/// [[1.0, 0.0], [0.0, 1.0]]
#[pyfunction]
#[pyo3(signature = (x, /, *, axis=0))]
pub(crate) fn unstack<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    axis: isize,
) -> PyResult<Bound<'py, PyTuple>> {
    let array = operands::array("x", x)?;
    results::tuple(py, array.unstack(axis).or_raise()?)
}

/// repeat(x, repeats, /, *, axis=None)
///
/// Each element along an axis several times: `repeats` times, or as often as the tuple, list or integer array `repeats` says for
/// each place. Without an axis all elements in row-major order.
///
/// Raises ValueError for negative counts, or another number of counts than places.
///
/// >>> import usm.tensor as ut
/// >>> ut.repeat(ut.arange(3, device="host"), (0, 1, 2)).tolist()
/// [1, 2, 2]
#[pyfunction]
#[pyo3(signature = (x, repeats, /, *, axis=None))]
pub(crate) fn repeat(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    repeats: &Bound<'_, PyAny>,
    axis: Option<&Bound<'_, PyAny>>,
) -> PyResult<UsmNdarray> {
    let (x, axis) = (operands::array("x", x)?, operands::axis("axis", axis)?);
    if operands::is_sequence(repeats) {
        let counts = operands::counts("repeats", repeats)?;
        let work = Work::of_repeat(&x, Repeats::Counts(&counts));
        return results::array(py, work, move || x.repeat(Repeats::Counts(&counts), axis));
    }
    if !repeats.is_instance_of::<UsmNdarray>() && repeats.hasattr("__index__")? {
        let count = operands::counts("repeats", repeats)?.first().copied().unwrap_or(0);
        let work = Work::of_repeat(&x, Repeats::Each(count));
        return results::array(py, work, move || x.repeat(Repeats::Each(count), axis));
    }
    let counts = operands::array("repeats", repeats)?;
    let work = Work::of_repeat(&x, Repeats::Array(&counts));
    results::array(py, work, move || x.repeat(Repeats::Array(&counts), axis))
}

/// tile(x, repetitions, /)
///
/// The array laid side by side: `repetitions[k]` times along axis `k`, where the shorter one of the shape and the repetitions is
/// filled up with leading ones.
///
/// Raises ValueError for negative repetitions.
///
/// >>> import usm.tensor as ut
/// >>> ut.tile(ut.arange(2, device="host"), (2, 2)).tolist()
/// [[0, 1, 0, 1], [0, 1, 0, 1]]
#[pyfunction]
#[pyo3(signature = (x, repetitions, /))]
pub(crate) fn tile(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    repetitions: &Bound<'_, PyAny>,
) -> PyResult<UsmNdarray> {
    let (x, repetitions) = (operands::array("x", x)?, operands::counts("repetitions", repetitions)?);
    results::array(py, Work::of_tile(&x, &repetitions), move || x.tile(&repetitions))
}

/// roll(x, /, shift, *, axis=None)
///
/// The elements moved by `shift` places along `axis`, or by several shifts along several axes; those that leave at one end come
/// in again at the other. Without an axis all elements are moved in row-major order.
///
/// Raises ValueError when shifts and axes do not pair up.
///
/// >>> import usm.tensor as ut
/// >>> ut.roll(ut.arange(4, device="host"), 1).tolist()
/// [3, 0, 1, 2]
#[pyfunction]
#[pyo3(signature = (x, /, shift, *, axis=None))]
pub(crate) fn roll(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    shift: &Bound<'_, PyAny>,
    axis: Option<&Bound<'_, PyAny>>,
) -> PyResult<UsmNdarray> {
    let (x, shifts) = (operands::array("x", x)?, operands::indices("shift", shift)?);
    let axes = operands::axes("axis", axis)?;
    results::array(py, Work::of_copies([&x]), move || x.roll(&shifts, axes.as_deref()))
}
