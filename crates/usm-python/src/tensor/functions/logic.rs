//! Logic of elements.

use pyo3::prelude::*;

use super::elementwise::{binary, binary_functions, unary};

binary_functions! {
    /// logical_and(x1, x2, /, *, out=None, order="K")
    ///
    /// Where the elements of both are true, that is not zero.
    ///
    /// The arrays are broadcast; one of the operands may be a number, which takes part by its kind only. The result is written to `out`,
    /// a boolean array of its shape, where there is one; `order` is as for empty_like, as far as both have it in common.
    ///
    /// Raises ValueError when the shapes do not broadcast, ExecutionPlacementError for arrays of several queues.
    ///
    /// >>> import usm.tensor as ut
    /// >>> a = ut.arange(3, device="host")
    /// >>> ut.logical_and(a, True).tolist()
    /// [False, True, True]
    logical_and: logical_and, logical_and;

    /// logical_or(x1, x2, /, *, out=None, order="K")
    ///
    /// Where an element of one of both is true, that is not zero.
    ///
    /// The arrays are broadcast; one of the operands may be a number, which takes part by its kind only. The result is written to `out`,
    /// a boolean array of its shape, where there is one; `order` is as for empty_like, as far as both have it in common.
    ///
    /// Raises ValueError when the shapes do not broadcast, ExecutionPlacementError for arrays of several queues.
    ///
    /// >>> import usm.tensor as ut
    /// >>> a = ut.arange(3, device="host")
    /// >>> ut.logical_or(a, False).tolist()
    /// [False, True, True]
    logical_or: logical_or, logical_or;

    /// logical_xor(x1, x2, /, *, out=None, order="K")
    ///
    /// Where an element of exactly one of both is true, that is not zero.
    ///
    /// The arrays are broadcast; one of the operands may be a number, which takes part by its kind only. The result is written to `out`,
    /// a boolean array of its shape, where there is one; `order` is as for empty_like, as far as both have it in common.
    ///
    /// Raises ValueError when the shapes do not broadcast, ExecutionPlacementError for arrays of several queues.
    ///
    /// >>> import usm.tensor as ut
    /// >>> a = ut.arange(3, device="host")
    /// >>> ut.logical_xor(a, True).tolist()
    /// [True, False, False]
    logical_xor: logical_xor, logical_xor;

    /// bitwise_and(x1, x2, /, *, out=None, order="K")
    ///
    /// logical_and of booleans, for the operator ``&``.
    ///
    /// The arrays are broadcast; one of the operands may be a number, which takes part by its kind only. The result is written to `out`,
    /// a boolean array of its shape, where there is one; `order` is as for empty_like, as far as both have it in common.
    ///
    /// Raises ValueError when the shapes do not broadcast and for elements that are no booleans, ExecutionPlacementError for arrays of several queues.
    ///
    /// >>> import usm.tensor as ut
    /// >>> a = ut.arange(3, device="host")
    /// >>> ut.bitwise_and(ut.less(a, 2), True).tolist()
    /// [True, True, False]
    bitwise_and: bitwise_and, bitwise_and;

    /// bitwise_or(x1, x2, /, *, out=None, order="K")
    ///
    /// logical_or of booleans, for the operator ``|``.
    ///
    /// The arrays are broadcast; one of the operands may be a number, which takes part by its kind only. The result is written to `out`,
    /// a boolean array of its shape, where there is one; `order` is as for empty_like, as far as both have it in common.
    ///
    /// Raises ValueError when the shapes do not broadcast and for elements that are no booleans, ExecutionPlacementError for arrays of several queues.
    ///
    /// >>> import usm.tensor as ut
    /// >>> a = ut.arange(3, device="host")
    /// >>> ut.bitwise_or(ut.less(a, 1), ut.greater(a, 1)).tolist()
    /// [True, False, True]
    bitwise_or: bitwise_or, bitwise_or;

    /// bitwise_xor(x1, x2, /, *, out=None, order="K")
    ///
    /// logical_xor of booleans, for the operator ``^``.
    ///
    /// The arrays are broadcast; one of the operands may be a number, which takes part by its kind only. The result is written to `out`,
    /// a boolean array of its shape, where there is one; `order` is as for empty_like, as far as both have it in common.
    ///
    /// Raises ValueError when the shapes do not broadcast and for elements that are no booleans, ExecutionPlacementError for arrays of several queues.
    ///
    /// >>> import usm.tensor as ut
    /// >>> a = ut.arange(3, device="host")
    /// >>> ut.bitwise_xor(ut.less(a, 2), ut.greater(a, 0)).tolist()
    /// [True, False, True]
    bitwise_xor: bitwise_xor, bitwise_xor;
}

/// logical_not(x, /, *, out=None, order="K")
///
/// Where elements are not true, that is zero. `out` and `order` are as for equal.
///
/// >>> import usm.tensor as ut
/// >>> ut.logical_not(ut.arange(3, device="host")).tolist()
/// [True, False, False]
#[pyfunction]
#[pyo3(signature = (x, /, *, out=None, order="K"))]
pub(crate) fn logical_not<'py>(
    x: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    order: &str,
) -> PyResult<Bound<'py, PyAny>> {
    unary(x, out, order, |x| x.logical_not())
}

/// bitwise_invert(x, /, *, out=None, order="K")
///
/// logical_not of booleans, for the operator ``~``. `out` and `order` are as for equal.
///
/// Raises ValueError for elements that are no booleans.
///
/// >>> import usm.tensor as ut
/// >>> ut.bitwise_invert(ut.less(ut.arange(2, device="host"), 1)).tolist()
/// [False, True]
#[pyfunction]
#[pyo3(signature = (x, /, *, out=None, order="K"))]
pub(crate) fn bitwise_invert<'py>(
    x: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    order: &str,
) -> PyResult<Bound<'py, PyAny>> {
    unary(x, out, order, |x| x.bitwise_invert())
}
