//! Elements by integers along an axis.

use pyo3::prelude::*;
use usm_array::{UsmArray, Work, check_queues};

use super::super::operand::NumberOrArray;
use super::operands;
use super::results;
use crate::errors::OrRaise;
use crate::number::of_text;
use crate::objects::UsmNdarray;

/// take(x, indices, /, *, axis=None, out=None, mode="raise")
///
/// The elements at the places `indices` of an axis, a copy in which the axes of the integers `indices`, an array or a sequence, take
/// the place of that axis. An array of one axis needs none named. Negative indices count from the end; of those outside of the axis `mode` makes an
/// error (``"raise"``), their remainder (``"wrap"``), or the first or last place (``"clip"``).
///
/// The result is written to `out`, an array of its shape and dtype, where there is one.
///
/// Raises IndexError for an index outside of the axis, ValueError without an axis for several axes.
///
/// >>> import usm.tensor as ut
/// >>> a = ut.arange(5, device="host")
/// >>> ut.take(a, a[3:]).tolist(), ut.take(a, ut.full(1, 7, device="host"), mode="wrap").tolist()
/// ([3, 4], [2])
#[pyfunction]
#[pyo3(signature = (x, indices, /, *, axis=None, out=None, mode="raise"))]
pub(crate) fn take<'py>(
    x: &Bound<'py, PyAny>,
    indices: &Bound<'py, PyAny>,
    axis: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    mode: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let array = operands::array("x", x)?;
    let indices = operands::places("indices", indices, &array)?;
    let axis = array.only_axis(operands::axis("axis", axis)?).or_raise()?;
    let mode = of_text("mode", mode)?;
    let all = [("x", (&array).into()), ("indices", (&indices).into())];
    results::ResultTarget::new(out, &all, UsmArray::check_out)?
        .give(x.py(), move || array.take(&indices, axis, mode))
}

/// put(x, indices, vals, /, *, axis=None, mode="raise")
///
/// Change the elements that take gives. The values, numbers or arrays, are cast to the dtype of `x` and broadcast to the shape of
/// what take gives; the last of several values for one element wins. Nothing is written when an index is refused.
///
/// Raises IndexError and ValueError as take, and ValueError for a read-only array.
///
/// >>> import usm.tensor as ut
/// >>> a = ut.zeros(4, "i4", device="host")
/// >>> ut.put(a, ut.arange(2, device="host"), 7)
/// >>> a.tolist()
/// [7, 7, 0, 0]
#[pyfunction]
#[pyo3(signature = (x, indices, vals, /, *, axis=None, mode="raise"))]
pub(crate) fn put(
    x: &Bound<'_, PyAny>,
    indices: &Bound<'_, PyAny>,
    vals: &Bound<'_, PyAny>,
    axis: Option<&Bound<'_, PyAny>>,
    mode: &str,
) -> PyResult<()> {
    let array = operands::array("x", x)?;
    let indices = operands::places("indices", indices, &array)?;
    let axis = array.only_axis(operands::axis("axis", axis)?).or_raise()?;
    let mode = of_text("mode", mode)?;
    let values = cast_value("vals", vals, &array)?;
    check_all_queues(&array, &indices, &values)?;
    results::run(x.py(), Work::of_operands([&array, &indices]), move || match axis {
        Some(axis) => array.put_on_axis(&indices, &values, axis, mode),
        None => array.put(&indices, &values, mode),
    })
}

/// take_along_axis(x, indices, /, *, axis=-1, mode="raise")
///
/// For each element of the integer array `indices`, which has as many axes as `x`, the element at that place of the axis and at
/// the same index of the other axes; along these the two are broadcast. `mode` is as for take.
///
/// Raises IndexError for an index outside of the axis, ValueError for another number of axes.
///
/// >>> import usm.tensor as ut
/// >>> a = ut.reshape(ut.arange(6, device="host"), (2, 3))
/// >>> ut.take_along_axis(a, ut.full((2, 1), 2, device="host")).tolist()
/// [[2], [5]]
#[pyfunction]
#[pyo3(signature = (x, indices, /, *, axis=-1, mode="raise"),
    text_signature = "(x, indices, /, *, axis=-1, mode='raise')")]
pub(crate) fn take_along_axis(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    indices: &Bound<'_, PyAny>,
    axis: isize,
    mode: &str,
) -> PyResult<UsmNdarray> {
    let array = operands::array("x", x)?;
    let indices = operands::places("indices", indices, &array)?;
    let mode = of_text("mode", mode)?;
    check_queues([("x", (&array).into()), ("indices", (&indices).into())]).or_raise()?;
    results::array(py, Work::of_operands([&array, &indices]), move || {
        array.take_along_axis(&indices, Some(axis), mode)
    })
}

/// put_along_axis(x, indices, vals, /, *, axis=-1, mode="raise")
///
/// Change the elements that take_along_axis gives. The values, numbers or arrays, are cast to the dtype of `x` and broadcast to
/// the shape of what it gives; the last of several values for one element wins. Nothing is written when an index is refused.
///
/// Raises IndexError and ValueError as take_along_axis, and ValueError for a read-only array.
///
/// >>> import usm.tensor as ut
/// >>> a = ut.zeros((2, 2), "i4", device="host")
/// >>> ut.put_along_axis(a, ut.full((2, 1), 1, device="host"), 7)
/// >>> a.tolist()
/// [[0, 7], [0, 7]]
#[pyfunction]
#[pyo3(signature = (x, indices, vals, /, *, axis=-1, mode="raise"),
    text_signature = "(x, indices, vals, /, *, axis=-1, mode='raise')")]
pub(crate) fn put_along_axis(
    x: &Bound<'_, PyAny>,
    indices: &Bound<'_, PyAny>,
    vals: &Bound<'_, PyAny>,
    axis: isize,
    mode: &str,
) -> PyResult<()> {
    let array = operands::array("x", x)?;
    let indices = operands::places("indices", indices, &array)?;
    let (mode, values) = (of_text("mode", mode)?, cast_value("vals", vals, &array)?);
    check_all_queues(&array, &indices, &values)?;
    results::run(x.py(), Work::of_operands([&array, &indices]), move || {
        array.put_along_axis(&indices, &values, Some(axis), mode)
    })
}

/// Values for elements of an array: a number is cast as Python casts.
pub(super) fn cast_value(
    name: &str,
    object: &Bound<'_, PyAny>,
    target: &UsmArray,
) -> PyResult<NumberOrArray> {
    operands::value(name, object, Some(target), Some(target.dtype()))?.for_dtype(target.dtype())
}

fn check_all_queues(array: &UsmArray, indices: &UsmArray, values: &NumberOrArray) -> PyResult<()> {
    check_queues([("x", array.into()), ("indices", indices.into()), ("vals", values.into())]).or_raise()
}
