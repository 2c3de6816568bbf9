//! Whether numbers are close to each other.

use pyo3::prelude::*;
use usm_array::{Tolerance, UsmArray, Work, check_queues};

use super::operands;
use super::results;
use crate::errors::OrRaise;
use crate::objects::UsmNdarray;

/// allclose(a1, a2, atol=1e-08, rtol=1e-05, equal_nan=False)
///
/// Whether all elements of `a1` are close to those of `a2`, an array without axes: `|a1 - a2| <= atol + rtol * |a2|`. `a2` may be a number.
/// NaN is close to NaN with `equal_nan`.
///
/// Raises ValueError when the shapes do not broadcast, ExecutionPlacementError for arrays of several queues.
///
/// >>> import usm.tensor as ut
/// >>> ut.allclose(ut.ones(2, device="host"), 1 + 1e-9).item()
/// True
#[pyfunction]
#[pyo3(signature = (a1, a2, atol=1e-8, rtol=1e-5, equal_nan=false))]
pub(crate) fn allclose(
    py: Python<'_>,
    a1: &Bound<'_, PyAny>,
    a2: &Bound<'_, PyAny>,
    atol: f64,
    rtol: f64,
    equal_nan: bool,
) -> PyResult<UsmNdarray> {
    let tolerance = Tolerance { relative: rtol, absolute: atol, equal_nan };
    compared(py, a1, a2, tolerance, |close| close.all(None, false))
}

/// isclose(a1, a2, rtol=1e-05, atol=1e-08, equal_nan=False)
///
/// Where the elements of `a1` are close to those of `a2`: `|a1 - a2| <= atol + rtol * |a2|`. `a2` may be a number.
/// NaN is close to NaN with `equal_nan`.
///
/// Raises ValueError when the shapes do not broadcast, ExecutionPlacementError for arrays of several queues.
///
/// >>> import usm.tensor as ut
/// >>> ut.isclose(ut.ones(2, device="host"), ut.linspace(1, 1.1, 2, device="host")).tolist()
/// [True, False]
#[pyfunction]
#[pyo3(signature = (a1, a2, rtol=1e-5, atol=1e-8, equal_nan=false))]
pub(crate) fn isclose(
    py: Python<'_>,
    a1: &Bound<'_, PyAny>,
    a2: &Bound<'_, PyAny>,
    rtol: f64,
    atol: f64,
    equal_nan: bool,
) -> PyResult<UsmNdarray> {
    let tolerance = Tolerance { relative: rtol, absolute: atol, equal_nan };
    compared(py, a1, a2, tolerance, Ok)
}

/// What `finish` makes of where the elements are close.
fn compared(
    py: Python<'_>,
    a1: &Bound<'_, PyAny>,
    a2: &Bound<'_, PyAny>,
    tolerance: Tolerance,
    finish: fn(UsmArray) -> usm_array::Result<UsmArray>,
) -> PyResult<UsmNdarray> {
    let (a1, a2) = (operands::array("a1", a1)?, operands::operand("a2", a2)?);
    check_queues([("a1", (&a1).into()), ("a2", (&a2).into())]).or_raise()?;
    let work = Work::of_operands(results::arrays([Some(&a1), a2.array()]));
    results::array(py, work, move || finish(a1.isclose(&a2, tolerance)?))
}
