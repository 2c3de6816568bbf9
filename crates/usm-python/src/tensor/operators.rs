//! Comparisons and the logic of booleans between an array and numbers or other arrays.

use pyo3::class::basic::CompareOp;
use pyo3::prelude::*;
use usm_array::{ArrayOrScalar, Result, UsmArray, Work, is_bitwise_of_integers};

use super::arithmetic::Binary;
use super::operand::NumberOrArray;
use crate::errors::{OrRaise, type_name};
use crate::interrupt;
use crate::objects::UsmNdarray;

type Function = fn(&UsmArray, ArrayOrScalar<'_>) -> Result<UsmArray>;

/// What stands between two operands.
#[derive(Clone, Copy)]
pub(super) struct Operator {
    function: Function,
    /// The operator of a provider for integers.
    of_integers: Option<Binary>,
}

impl From<CompareOp> for Operator {
    fn from(relation: CompareOp) -> Self {
        let function: Function = match relation {
            CompareOp::Eq => |a, b| a.equal(b),
            CompareOp::Ne => |a, b| a.not_equal(b),
            CompareOp::Lt => |a, b| a.less(b),
            CompareOp::Le => |a, b| a.less_equal(b),
            CompareOp::Gt => |a, b| a.greater(b),
            CompareOp::Ge => |a, b| a.greater_equal(b),
        };
        Self { function, of_integers: None }
    }
}

impl Operator {
    pub(super) const AND: Self = Self::bitwise(|a, b| a.bitwise_and(b), Binary::BitwiseAnd);
    pub(super) const OR: Self = Self::bitwise(|a, b| a.bitwise_or(b), Binary::BitwiseOr);
    pub(super) const XOR: Self = Self::bitwise(|a, b| a.bitwise_xor(b), Binary::BitwiseXor);

    const fn bitwise(function: Function, of_integers: Binary) -> Self {
        Self { function, of_integers: Some(of_integers) }
    }

    /// A new array, or `NotImplemented` for an object that is neither number nor array.
    pub(super) fn apply<'py>(
        self,
        slf: &Bound<'py, UsmNdarray>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, array) = (other.py(), slf.get().array());
        let Some(operand) = NumberOrArray::beside(array, other)? else {
            return Ok(py.NotImplemented().into_bound(py));
        };
        if let Some(operator) = self.of_integers
            && is_bitwise_of_integers(array, &operand)
        {
            return operator.apply(slf, other);
        }
        let (array, work) = (array.clone(), work(array, &operand));
        let result = interrupt::run(py, work, move || (self.function)(&array, (&operand).into()))?;
        UsmNdarray::object(py, result.or_raise()?)
    }

    /// The result in the memory of the array.
    pub(super) fn assign(self, slf: &Bound<'_, UsmNdarray>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        let array = slf.get().array();
        let Some(operand) = NumberOrArray::beside(array, other)? else {
            return Err(type_error!(
                "found {}, allowed are integers, booleans and arrays of them",
                type_name(other)
            ));
        };
        if let Some(operator) = self.of_integers
            && is_bitwise_of_integers(array, &operand)
        {
            return operator.assign(slf, other);
        }
        let (array, work) = (array.clone(), work(array, &operand));
        let job = move || array.assign(&(self.function)(&array, (&operand).into())?);
        interrupt::run(other.py(), work, job)?.or_raise()
    }
}

/// Whether some element is equal to a value, which is broadcast.
pub(super) fn contains(array: &UsmArray, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let Some(operand) = NumberOrArray::of(value)? else { return Ok(false) };
    let (array, work) = (array.clone(), work(array, &operand));
    interrupt::run(value.py(), work, move || array.contains(&operand))?.or_raise()
}

fn work(array: &UsmArray, other: &NumberOrArray) -> Work {
    Work::of_operands([array].into_iter().chain(other.array()))
}
