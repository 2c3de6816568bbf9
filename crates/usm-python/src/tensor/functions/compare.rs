//! Comparisons of elements.

use pyo3::prelude::*;

use super::elementwise::{binary, binary_functions};

binary_functions! {
    /// equal(x1, x2, /, *, out=None, order="K")
    ///
    /// Where the elements of `x1` equal those of `x2`. Numbers are compared by value, whatever their dtypes.
    ///
    /// The arrays are broadcast; one of the operands may be a number, which takes part by its kind only. The result is written to `out`,
    /// a boolean array of its shape, where there is one; `order` is as for empty_like, as far as both have it in common.
    ///
    /// Raises ValueError when the shapes do not broadcast, ExecutionPlacementError for arrays of several queues.
    ///
    /// >>> import usm.tensor as ut
    /// >>> a = ut.arange(3, device="host")
    /// >>> ut.equal(a, 1).tolist()
    /// [False, True, False]
    equal: equal, equal;

    /// not_equal(x1, x2, /, *, out=None, order="K")
    ///
    /// Where the elements of `x1` do not equal those of `x2`. Numbers are compared by value, whatever their dtypes.
    ///
    /// The arrays are broadcast; one of the operands may be a number, which takes part by its kind only. The result is written to `out`,
    /// a boolean array of its shape, where there is one; `order` is as for empty_like, as far as both have it in common.
    ///
    /// Raises ValueError when the shapes do not broadcast, ExecutionPlacementError for arrays of several queues.
    ///
    /// >>> import usm.tensor as ut
    /// >>> a = ut.arange(3, device="host")
    /// >>> ut.not_equal(a, 1).tolist()
    /// [True, False, True]
    not_equal: not_equal, not_equal;

    /// less(x1, x2, /, *, out=None, order="K")
    ///
    /// Where the elements of `x1` are less than those of `x2`. Numbers are compared by value, whatever their dtypes.
    ///
    /// The arrays are broadcast; one of the operands may be a number, which takes part by its kind only. The result is written to `out`,
    /// a boolean array of its shape, where there is one; `order` is as for empty_like, as far as both have it in common.
    ///
    /// Raises ValueError when the shapes do not broadcast and for complex numbers, ExecutionPlacementError for arrays of several queues.
    ///
    /// >>> import usm.tensor as ut
    /// >>> a = ut.arange(3, device="host")
    /// >>> ut.less(a, 1).tolist()
    /// [True, False, False]
    less: less, greater;

    /// less_equal(x1, x2, /, *, out=None, order="K")
    ///
    /// Where the elements of `x1` are at most those of `x2`. Numbers are compared by value, whatever their dtypes.
    ///
    /// The arrays are broadcast; one of the operands may be a number, which takes part by its kind only. The result is written to `out`,
    /// a boolean array of its shape, where there is one; `order` is as for empty_like, as far as both have it in common.
    ///
    /// Raises ValueError when the shapes do not broadcast and for complex numbers, ExecutionPlacementError for arrays of several queues.
    ///
    /// >>> import usm.tensor as ut
    /// >>> a = ut.arange(3, device="host")
    /// >>> ut.less_equal(a, 1).tolist()
    /// [True, True, False]
    less_equal: less_equal, greater_equal;

    /// greater(x1, x2, /, *, out=None, order="K")
    ///
    /// Where the elements of `x1` are greater than those of `x2`. Numbers are compared by value, whatever their dtypes.
    ///
    /// The arrays are broadcast; one of the operands may be a number, which takes part by its kind only. The result is written to `out`,
    /// a boolean array of its shape, where there is one; `order` is as for empty_like, as far as both have it in common.
    ///
    /// Raises ValueError when the shapes do not broadcast and for complex numbers, ExecutionPlacementError for arrays of several queues.
    ///
    /// >>> import usm.tensor as ut
    /// >>> a = ut.arange(3, device="host")
    /// >>> ut.greater(1, a).tolist()
    /// [True, False, False]
    greater: greater, less;

    /// greater_equal(x1, x2, /, *, out=None, order="K")
    ///
    /// Where the elements of `x1` are at least those of `x2`. Numbers are compared by value, whatever their dtypes.
    ///
    /// The arrays are broadcast; one of the operands may be a number, which takes part by its kind only. The result is written to `out`,
    /// a boolean array of its shape, where there is one; `order` is as for empty_like, as far as both have it in common.
    ///
    /// Raises ValueError when the shapes do not broadcast and for complex numbers, ExecutionPlacementError for arrays of several queues.
    ///
    /// >>> import usm.tensor as ut
    /// >>> a = ut.arange(3, device="host")
    /// >>> ut.greater_equal(a, 1).tolist()
    /// [False, True, True]
    greater_equal: greater_equal, less_equal;
}
