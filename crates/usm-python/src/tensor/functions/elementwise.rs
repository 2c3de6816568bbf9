//! What elementwise functions of one and of two operands have in common.

use pyo3::prelude::*;
use usm_array::{ArrayOrScalar, Dtype, UsmArray, Work};

use super::super::arguments::copy_order;
use super::super::operand::NumberOrArray;
use super::operands;
use super::results;
use crate::errors::ExecutionPlacementError;

/// A function of two operands that gives booleans. One operand may be a number; `reversed` is the one to call when that is the first.
pub(super) fn binary<'py>(
    (x1, x2): (&Bound<'py, PyAny>, &Bound<'py, PyAny>),
    out: Option<&Bound<'py, PyAny>>,
    order: &str,
    function: impl FnOnce(&UsmArray, ArrayOrScalar<'_>) -> usm_array::Result<UsmArray> + Send + 'static,
    reversed: impl FnOnce(&UsmArray, ArrayOrScalar<'_>) -> usm_array::Result<UsmArray> + Send + 'static,
) -> PyResult<Bound<'py, PyAny>> {
    let order = copy_order(order)?;
    let (a, b) = (operands::operand("x1", x1)?, operands::operand("x2", x2)?);
    if a.array().or(b.array()).is_none() {
        return Err(ExecutionPlacementError::new_err(
            "x1, x2: found two numbers, allowed is at least one array, which says where to compute",
        ));
    }
    let all = [("x1", (&a).into()), ("x2", (&b).into())];
    let check = |out: &UsmArray| out.check_out_of(&results::arrays([a.array(), b.array()]), Dtype::Bool);
    results::ResultTarget::new(out, &all, check)?.give(x1.py(), move || {
        let arrays = results::arrays([a.array(), b.array()]);
        let result = match (&a, &b) {
            (NumberOrArray::Array(a), b) => function(a, b.into())?,
            (a, NumberOrArray::Array(b)) => reversed(b, a.into())?,
            (NumberOrArray::Scalar(_), NumberOrArray::Scalar(_)) => {
                return Err(usm_array::ManipulateError::NoArrays.into());
            }
        };
        result.in_order_of(order, &arrays)
    })
}

/// A function of one array. `known` is the dtype of its result and the work for it.
pub(super) fn unary<'py>(
    x: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    order: &str,
    known: impl FnOnce(&UsmArray) -> (Dtype, Work),
    function: impl FnOnce(&UsmArray) -> usm_array::Result<UsmArray> + Send + 'static,
) -> PyResult<Bound<'py, PyAny>> {
    let (array, order) = (operands::array("x", x)?, copy_order(order)?);
    let (dtype, work) = known(&array);
    let check = |out: &UsmArray| out.check_out_of(&[&array], dtype);
    let target = results::ResultTarget::new(out, &[("x", (&array).into())], check)?;
    results::ResultTarget { work, ..target }
        .give(x.py(), move || function(&array)?.in_order_of(order, &[&array]))
}

/// Functions of two operands: what it is, name, the method with the operands exchanged, what else raises ValueError, and an example:
/// arguments and result.
macro_rules! binary_functions {
    ($($(#[$what:meta])* $name:ident, $reversed:ident: $raises:literal, $arguments:literal => $result:literal;)*) => {$(
        #[doc = concat!(stringify!($name), "(x1, x2, /, *, out=None, order=\"K\")")]
        ///
        $(#[$what])*
        ///
        /// The arrays are broadcast; one of the operands may be a number, which takes part by its kind only. The result is written to `out`,
        /// a boolean array of its shape, where there is one; `order` is as for empty_like, as far as both have it in common.
        ///
        #[doc = concat!(
            "Raises ValueError when the shapes do not broadcast", $raises, ", ExecutionPlacementError for arrays of several queues."
        )]
        ///
        /// >>> import usm.tensor as ut
        /// >>> a = ut.arange(3, device="host")
        #[doc = concat!(">>> ut.", stringify!($name), "(", $arguments, ").tolist()")]
        #[doc = $result]
        #[pyfunction]
        #[pyo3(signature = (x1, x2, /, *, out=None, order="K"))]
        pub(crate) fn $name<'py>(
            x1: &Bound<'py, PyAny>,
            x2: &Bound<'py, PyAny>,
            out: Option<&Bound<'py, PyAny>>,
            order: &str,
        ) -> PyResult<Bound<'py, PyAny>> {
            $crate::tensor::functions::elementwise::binary((x1, x2), out, order, |a, b| a.$name(b), |b, a| b.$reversed(a))
        }
    )*};
}
pub(super) use binary_functions;

/// Functions of one array with their documentation, and what is known of their results.
macro_rules! unary_functions {
    ($($(#[$doc:meta])* $name:ident: $known:expr;)*) => {$(
        $(#[$doc])*
        #[pyfunction]
        #[pyo3(signature = (x, /, *, out=None, order="K"))]
        pub(crate) fn $name<'py>(
            x: &Bound<'py, PyAny>,
            out: Option<&Bound<'py, PyAny>>,
            order: &str,
        ) -> PyResult<Bound<'py, PyAny>> {
            $crate::tensor::functions::elementwise::unary(x, out, order, $known, usm_array::UsmArray::$name)
        }
    )*};
}
pub(super) use unary_functions;

/// Of a function that gives a boolean for each element.
pub(super) fn booleans(array: &UsmArray) -> (Dtype, Work) {
    (Dtype::Bool, Work::of_operands([array]))
}
