//! Logic of elements.

use pyo3::prelude::*;

use super::elementwise::{binary_functions, unary_functions};

binary_functions! {
    /// Where the elements of both are true, that is not zero.
    logical_and, logical_and: "", "a, True" => "[False, True, True]";
    /// Where an element of one of both is true, that is not zero.
    logical_or, logical_or: "", "a, False" => "[False, True, True]";
    /// Where an element of exactly one of both is true, that is not zero.
    logical_xor, logical_xor: "", "a, True" => "[True, False, False]";
    /// logical_and of booleans, for the operator ``&``.
    bitwise_and, bitwise_and: " and for elements that are no booleans", "ut.less(a, 2), True" => "[True, True, False]";
    /// logical_or of booleans, for the operator ``|``.
    bitwise_or, bitwise_or: " and for elements that are no booleans", "ut.less(a, 1), ut.greater(a, 1)" => "[True, False, True]";
    /// logical_xor of booleans, for the operator ``^``.
    bitwise_xor, bitwise_xor: " and for elements that are no booleans", "ut.less(a, 2), ut.greater(a, 0)" => "[True, False, True]";
}

unary_functions! {
    /// logical_not(x, /, *, out=None, order="K")
    ///
    /// Where elements are not true, that is zero. `out` and `order` are as for equal.
    ///
    /// >>> import usm.tensor as ut
    /// >>> ut.logical_not(ut.arange(3, device="host")).tolist()
    /// [True, False, False]
    logical_not;

    /// bitwise_invert(x, /, *, out=None, order="K")
    ///
    /// logical_not of booleans, for the operator ``~``. `out` and `order` are as for equal.
    ///
    /// Raises ValueError for elements that are no booleans.
    ///
    /// >>> import usm.tensor as ut
    /// >>> ut.bitwise_invert(ut.less(ut.arange(2, device="host"), 1)).tolist()
    /// [False, True]
    bitwise_invert;
}
