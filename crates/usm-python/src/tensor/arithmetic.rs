//! Operators with arithmetic, which call the functions that providers compute: Python code in `usm.compute`.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use usm_array::usm_core::fork::ForkOnce;

use super::exchange::{has_own_operators, is_numpy};
use crate::builtin::is_builtin;
use crate::called;
use crate::errors::type_name;
use crate::imported;
use crate::interface::import::INTERFACE;
use crate::number::is_list_or_tuple;
use crate::objects::UsmNdarray;

/// An operator of two operands.
#[derive(Clone, Copy)]
pub(super) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
    Power,
    Matmul,
    LeftShift,
    RightShift,
    BitwiseAnd,
    BitwiseOr,
    BitwiseXor,
}

/// An operator of one operand.
#[derive(Clone, Copy)]
pub(super) enum Unary {
    Negative,
    Positive,
    Abs,
    Invert,
}

impl Binary {
    /// The function of `usm.tensor`.
    const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Subtract => "subtract",
            Self::Multiply => "multiply",
            Self::Divide => "divide",
            Self::FloorDivide => "floor_divide",
            Self::Remainder => "remainder",
            Self::Power => "pow",
            Self::Matmul => "matmul",
            Self::LeftShift => "bitwise_left_shift",
            Self::RightShift => "bitwise_right_shift",
            Self::BitwiseAnd => "bitwise_and",
            Self::BitwiseOr => "bitwise_or",
            Self::BitwiseXor => "bitwise_xor",
        }
    }

    fn function(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        static FUNCTIONS: [ForkOnce<Py<PyAny>>; 13] = [const { ForkOnce::new() }; 13];
        function(py, &FUNCTIONS[self as usize], self.name())
    }

    /// `array operator other`, or `NotImplemented` where the other operand may know how to compute with this memory.
    pub(super) fn apply<'py>(
        self,
        array: &Bound<'py, UsmNdarray>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match is_operand(other)? {
            true => call(array.py(), &self.function(array.py())?, (array, other)),
            false => Ok(array.py().NotImplemented().into_bound(array.py())),
        }
    }

    /// `other operator array`, for an object without an operator for arrays.
    pub(super) fn reflected<'py>(
        self,
        array: &Bound<'py, UsmNdarray>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match is_operand(other)? {
            true => call(array.py(), &self.function(array.py())?, (other, array)),
            false => Ok(array.py().NotImplemented().into_bound(array.py())),
        }
    }

    /// The function with all its arguments.
    pub(super) fn call<'py>(
        self,
        x1: &Bound<'py, PyAny>,
        x2: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
        order: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        call_with(&self.function(x1.py())?, (x1, x2), out, order)
    }

    /// `array operator= other`, in the memory of the array.
    pub(super) fn assign(self, array: &Bound<'_, UsmNdarray>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = array.py();
        if matches!(self, Self::Matmul) {
            // Its operands may not overlap the result.
            let result = call(py, &self.function(py)?, (array, other))?;
            return array.set_item(py.Ellipsis(), result);
        }
        let out = PyDict::new(py);
        out.set_item(intern!(py, "out"), array)?;
        called::python(py, || self.function(py)?.call((array, other), Some(&out))).map(drop)
    }
}

impl Unary {
    fn function(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        static FUNCTIONS: [ForkOnce<Py<PyAny>>; 4] = [const { ForkOnce::new() }; 4];
        let name = match self {
            Self::Negative => "negative",
            Self::Positive => "positive",
            Self::Abs => "abs",
            Self::Invert => "bitwise_invert",
        };
        function(py, &FUNCTIONS[self as usize], name)
    }

    pub(super) fn apply<'py>(self, array: &Bound<'py, UsmNdarray>) -> PyResult<Bound<'py, PyAny>> {
        call(array.py(), &self.function(array.py())?, (array,))
    }

    /// The function with all its arguments.
    pub(super) fn call<'py>(
        self,
        x: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
        order: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        call_with(&self.function(x.py())?, (x,), out, order)
    }
}

fn call_with<'py>(
    function: &Bound<'py, PyAny>,
    operands: impl pyo3::call::PyCallArgs<'py>,
    out: Option<&Bound<'py, PyAny>>,
    order: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let keywords = PyDict::new(function.py());
    keywords.set_item(intern!(function.py(), "out"), out)?;
    keywords.set_item(intern!(function.py(), "order"), order)?;
    called::python(function.py(), || function.call(operands, Some(&keywords)))
}

fn call<'py>(
    py: Python<'py>,
    function: &Bound<'py, PyAny>,
    operands: impl pyo3::call::PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    called::python(py, || function.call1(operands))
}

/// A function of the table of `usm.compute`, found once.
fn function<'py>(py: Python<'py>, found: &ForkOnce<Py<PyAny>>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let find = || {
        let functions = imported::import(py, intern!(py, "usm.compute._functions"))?;
        functions.call_method1(intern!(py, "function"), ("", name)).map(Bound::unbind)
    };
    Ok(found.get_or_try_init(find)?.bind(py).clone())
}

/// Whether the functions take an object: numbers, arrays of ours, plain ones of NumPy, and objects with the interface. Others are asked
/// next.
fn is_operand(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if object.is_exact_instance_of::<UsmNdarray>() {
        return Ok(true);
    }
    if super::arguments::python_number(object)?.is_some() {
        return Ok(true);
    }
    if is_builtin(object) {
        // Lists would be asked next, and repeat themselves as often as an array without axes says.
        return match is_list_or_tuple(object) {
            true => Err(type_error!(
                "found a {}, allowed are numbers and arrays; usm.tensor.asarray makes an array of it",
                type_name(object)
            )),
            false => Ok(false),
        };
    }
    if object.get_type().module()? == "numpy" || is_numpy(object)? {
        return has_own_operators(object).map(|has| !has);
    }
    object.hasattr(INTERFACE)
}

/// What NumPy's protocols give for a call of one of its functions with an array among its operands: the function of that name of
/// `usm.compute._protocols`.
pub(super) fn protocol<'py>(
    py: Python<'py>,
    name: &str,
    operands: impl pyo3::call::PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let protocols = imported::import(py, intern!(py, "usm.compute._protocols"))?;
    let function = protocols.getattr(name)?;
    call(py, &function, operands)
}
