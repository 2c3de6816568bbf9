//! Logic of elements.

use pyo3::prelude::*;
use usm_array::{UsmArray, is_bitwise_of_integers};

use super::super::arithmetic::{Binary, Unary};
use super::elementwise::{self, binary_functions, booleans, unary_functions};
use super::operands;

binary_functions! {
    /// Where the elements of both are true, that is not zero.
    logical_and, logical_and: "", "a, True" => "[False, True, True]";
    /// Where an element of one of both is true, that is not zero.
    logical_or, logical_or: "", "a, False" => "[False, True, True]";
    /// Where an element of exactly one of both is true, that is not zero.
    logical_xor, logical_xor: "", "a, True" => "[True, False, False]";
}

unary_functions! {
    /// logical_not(x, /, *, out=None, order="K")
    ///
    /// Where elements are not true, that is zero. `out` and `order` are as for equal.
    ///
    /// >>> import usm.tensor as ut
    /// >>> ut.logical_not(ut.arange(3, device="host")).tolist()
    /// [True, False, False]
    logical_not: booleans;
}

/// Functions of two operands that this package computes for booleans, and a provider for integers.
macro_rules! bitwise_functions {
    ($($(#[$doc:meta])* $name:ident, $operator:ident;)*) => {$(
        $(#[$doc])*
        #[pyfunction]
        #[pyo3(signature = (x1, x2, /, *, out=None, order="K"))]
        pub(crate) fn $name<'py>(
            x1: &Bound<'py, PyAny>,
            x2: &Bound<'py, PyAny>,
            out: Option<&Bound<'py, PyAny>>,
            order: &str,
        ) -> PyResult<Bound<'py, PyAny>> {
            // Both ways import an object again, but not what is ours.
            let (x1, x2) = (operands::imported("x1", x1)?, operands::imported("x2", x2)?);
            if is_bitwise_of_integers(&operands::operand("x1", &x1)?, &operands::operand("x2", &x2)?) {
                return Binary::$operator.call(&x1, &x2, out, order);
            }
            elementwise::binary((&x1, &x2), out, order, |a, b| a.$name(b), |b, a| b.$name(a))
        }
    )*};
}

bitwise_functions! {
    /// bitwise_and(x1, x2, /, *, out=None, order="K")
    ///
    /// The bits that both integers have, for the operator ``&``; of booleans logical_and. `out` and `order` are as for equal.
    ///
    /// Raises ValueError for elements that are neither integers nor booleans.
    ///
    /// >>> import usm.tensor as ut
    /// >>> a = ut.arange(3, device="host")
    /// >>> ut.bitwise_and(ut.less(a, 2), True).tolist()
    /// [True, True, False]
    bitwise_and, BitwiseAnd;

    /// bitwise_or(x1, x2, /, *, out=None, order="K")
    ///
    /// The bits that one of both integers has, for the operator ``|``; of booleans logical_or. `out` and `order` are as for equal.
    ///
    /// Raises ValueError for elements that are neither integers nor booleans.
    ///
    /// >>> import usm.tensor as ut
    /// >>> a = ut.arange(3, device="host")
    /// >>> ut.bitwise_or(ut.less(a, 1), ut.greater(a, 1)).tolist()
    /// [True, False, True]
    bitwise_or, BitwiseOr;

    /// bitwise_xor(x1, x2, /, *, out=None, order="K")
    ///
    /// The bits that exactly one of both integers has, for the operator ``^``; of booleans logical_xor. `out` and `order` are as for equal.
    ///
    /// Raises ValueError for elements that are neither integers nor booleans.
    ///
    /// >>> import usm.tensor as ut
    /// >>> a = ut.arange(3, device="host")
    /// >>> ut.bitwise_xor(ut.less(a, 2), ut.greater(a, 0)).tolist()
    /// [True, False, True]
    bitwise_xor, BitwiseXor;
}

/// bitwise_invert(x, /, *, out=None, order="K")
///
/// The other bits of integers, for the operator ``~``; of booleans logical_not. `out` and `order` are as for equal.
///
/// Raises ValueError for elements that are neither integers nor booleans.
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
    let x = operands::ours("x", x)?;
    let array = x.get().array();
    match is_bitwise_of_integers(array, array) {
        true => Unary::Invert.call(&x, out, order),
        false => elementwise::unary(&x, out, order, booleans, UsmArray::bitwise_invert),
    }
}
