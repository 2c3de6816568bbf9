//! Elements by conditions.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use usm_array::{UsmArray, Work, check_queues, where_dtype};

use super::super::arguments::copy_order;
use super::operands;
use super::results;
use super::take::cast_value;
use crate::errors::OrRaise;
use crate::objects::UsmNdarray;

/// nonzero(arr)
///
/// Where elements are not zero: for each axis an array of their indices, in row-major order, in a tuple.
///
/// Raises ValueError for an array without axes.
///
/// >>> import usm.tensor as ut
/// >>> rows, columns = ut.nonzero(ut.eye(2, device="host"))
/// >>> rows.tolist(), columns.tolist()
/// ([0, 1], [0, 1])
#[pyfunction]
pub(crate) fn nonzero<'py>(arr: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
    let array = operands::array("arr", arr)?;
    let indices = results::run(arr.py(), Work::of_operands([&array]), move || array.nonzero())?;
    results::tuple(arr.py(), indices)
}

/// extract(condition, arr)
///
/// The elements for which a condition of as many elements is not zero, both in row-major order: an array of one axis.
///
/// Raises ValueError for another number of elements.
///
/// >>> import usm.tensor as ut
/// >>> a = ut.arange(4, device="host")
/// >>> ut.extract(ut.greater(a, 1), a).tolist()
/// [2, 3]
#[pyfunction]
pub(crate) fn extract(
    py: Python<'_>,
    condition: &Bound<'_, PyAny>,
    arr: &Bound<'_, PyAny>,
) -> PyResult<UsmNdarray> {
    let (condition, array) = (operands::array("condition", condition)?, operands::array("arr", arr)?);
    check_queues([("condition", (&condition).into()), ("arr", (&array).into())]).or_raise()?;
    results::array(py, Work::of_operands([&array, &condition]), move || array.extract(&condition))
}

/// place(arr, mask, vals)
///
/// Change the elements for which a mask of as many elements is not zero. Values are taken in row-major order and repeated as often
/// as needed.
///
/// Raises ValueError for another number of elements, for no value where one is needed, and for a read-only array.
///
/// >>> import usm.tensor as ut
/// >>> a = ut.arange(4, device="host")
/// >>> ut.place(a, ut.greater(a, 1), ut.full(1, 9, device="host"))
/// >>> a.tolist()
/// [0, 1, 9, 9]
#[pyfunction]
pub(crate) fn place(
    arr: &Bound<'_, PyAny>,
    mask: &Bound<'_, PyAny>,
    vals: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let (array, mask) = (operands::array("arr", arr)?, operands::array("mask", mask)?);
    let values = cast_value("vals", vals, &array)?;
    check_queues([("arr", (&array).into()), ("mask", (&mask).into()), ("vals", (&values).into())])
        .or_raise()?;
    results::run(arr.py(), Work::of_operands([&array, &mask]), move || array.place(&mask, &values))
}

/// where(condition, x1, x2, /, *, order="K", out=None)
///
/// Elements of `x1` where a condition is not zero, of `x2` elsewhere. The three are broadcast; `x1` and `x2` may be numbers. The
/// dtype is the promoted one; `order` is as for empty_like, as far as all arrays have it in common. The result is written to
/// `out`, an array of its shape and dtype, where there is one.
///
/// Raises ValueError when the shapes do not broadcast, ExecutionPlacementError for arrays of several queues.
///
/// >>> import usm.tensor as ut
/// >>> a = ut.arange(4, device="host")
/// >>> ut.where(ut.less(a, 2), a, -1).tolist()
/// [0, 1, -1, -1]
#[pyfunction]
#[pyo3(name = "where", signature = (condition, x1, x2, /, *, order="K", out=None))]
pub(crate) fn where_<'py>(
    condition: &Bound<'py, PyAny>,
    x1: &Bound<'py, PyAny>,
    x2: &Bound<'py, PyAny>,
    order: &str,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = condition.py();
    let (condition, order) = (operands::array("condition", condition)?, copy_order(order)?);
    let (x1, x2) = (operands::operand("x1", x1)?, operands::operand("x2", x2)?);
    let all = [("condition", (&condition).into()), ("x1", (&x1).into()), ("x2", (&x2).into())];
    let check = |out: &UsmArray| {
        let arrays = results::arrays([Some(&condition), x1.array(), x2.array()]);
        out.check_out_of(&arrays, where_dtype(&condition, &x1, &x2))
    };
    results::ResultTarget::new(out, &all, check)?.give(py, move || {
        let arrays = results::arrays([Some(&condition), x1.array(), x2.array()]);
        usm_array::where_(&condition, &x1, &x2)?.in_order_of(order, &arrays)
    })
}
