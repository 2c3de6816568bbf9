//! Comparisons and the logic of booleans between an array and numbers or other arrays.

use pyo3::class::basic::CompareOp;
use pyo3::prelude::*;
use usm_array::{ArrayOrScalar, Result, UsmArray, coerced_kind};

use super::operand::Operand;
use crate::errors::{OrRaise, type_name};
use crate::interrupt;
use crate::objects::UsmNdarray;

/// What stands between two operands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    And,
    Or,
    Xor,
}

impl From<CompareOp> for Operator {
    fn from(relation: CompareOp) -> Self {
        match relation {
            CompareOp::Eq => Self::Equal,
            CompareOp::Ne => Self::NotEqual,
            CompareOp::Lt => Self::Less,
            CompareOp::Le => Self::LessEqual,
            CompareOp::Gt => Self::Greater,
            CompareOp::Ge => Self::GreaterEqual,
        }
    }
}

impl Operator {
    fn run(self, first: &UsmArray, second: ArrayOrScalar<'_>) -> Result<UsmArray> {
        match self {
            Self::Equal => first.equal(second),
            Self::NotEqual => first.not_equal(second),
            Self::Less => first.less(second),
            Self::LessEqual => first.less_equal(second),
            Self::Greater => first.greater(second),
            Self::GreaterEqual => first.greater_equal(second),
            Self::And => first.bitwise_and(second),
            Self::Or => first.bitwise_or(second),
            Self::Xor => first.bitwise_xor(second),
        }
    }

    /// The operator that gives the same for the operands in the other order.
    fn reflected(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessEqual => Self::GreaterEqual,
            Self::Greater => Self::Less,
            Self::GreaterEqual => Self::LessEqual,
            other => other,
        }
    }

    /// A new array, or `NotImplemented` for an object that is neither number nor array.
    pub(super) fn apply<'py>(
        self,
        array: &UsmArray,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = other.py();
        let Some(other) = Operand::beside(array, other)? else {
            return Ok(py.NotImplemented().into_bound(py));
        };
        let (array, bytes) = (array.clone(), work_bytes(array, &other));
        let result = interrupt::run(py, bytes, move || match &other {
            // The result is in memory of the first operand's kind: the one that is furthest from the host comes first.
            Operand::Array(second) if coerced_kind([second.kind(), array.kind()]) != Some(array.kind()) => {
                self.reflected().run(second, (&array).into())
            }
            other => self.run(&array, other.into()),
        })?;
        Ok(Bound::new(py, UsmNdarray::from_array(result.or_raise()?))?.into_any())
    }

    /// The result in the memory of the array.
    pub(super) fn assign(self, array: &UsmArray, other: &Bound<'_, PyAny>) -> PyResult<()> {
        let Some(operand) = Operand::beside(array, other)? else {
            return Err(type_error!("found {}, allowed are booleans and arrays of them", type_name(other)));
        };
        let (array, bytes) = (array.clone(), work_bytes(array, &operand));
        let job = move || array.assign(&self.run(&array, (&operand).into())?);
        interrupt::run(other.py(), bytes, job)?.or_raise()
    }
}

/// Whether some element is equal to a value, which is broadcast.
pub(super) fn contains(array: &UsmArray, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let Some(operand) = Operand::of(value)? else { return Ok(false) };
    let (array, bytes) = (array.clone(), work_bytes(array, &operand));
    interrupt::run(value.py(), bytes, move || array.equal(&operand)?.is_any())?.or_raise()
}

/// The larger of both operands.
fn work_bytes(array: &UsmArray, other: &Operand) -> usize {
    other.array().map_or(0, UsmArray::size_bytes).max(array.size_bytes())
}
