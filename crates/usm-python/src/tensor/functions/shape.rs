//! The same elements in another shape, and arrays repeated to a common one.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use usm_array::{CopyMode, UsmArray, Work};

use super::super::arguments;
use super::super::arguments::copy_mode;
use super::{operands, results};
use crate::errors::OrRaise;
use crate::number::item;
use crate::objects::UsmNdarray;

/// reshape(x, /, shape, *, order="C", copy=None)
///
/// The elements in the order ``"C"`` or ``"F"`` with another shape, of which one size may be -1 and follows from the others: a
/// view where there is one, else a copy; always a copy with ``copy=True``.
///
/// Raises ValueError for a shape of another number of elements, or with ``copy=False`` when a copy is needed.
///
/// >>> import usm.tensor as ut
/// >>> ut.reshape(ut.arange(4, device="host"), (2, -1)).tolist()
/// [[0, 1], [2, 3]]
#[pyfunction]
#[pyo3(signature = (x, /, shape, *, order="C", copy=None))]
pub(crate) fn reshape(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    shape: &Bound<'_, PyAny>,
    order: &str,
    copy: Option<bool>,
) -> PyResult<UsmNdarray> {
    let (x, shape) = (operands::found("x", x)?, operands::indices("shape", shape)?);
    let order = arguments::order(order)?;
    let mode = copy_mode(copy);
    // What takes time is a copy, and only that lets other threads of Python run.
    if mode == CopyMode::IfNeeded
        && let Some(view) = x.try_reshape_view(&shape, order).or_raise()?
    {
        return Ok(UsmNdarray::from_array(view));
    }
    let x = x.into_array();
    results::array(py, Work::of_copies([&x]), move || x.reshape(&shape, order, mode))
}

/// broadcast_to(x, /, shape)
///
/// A read-only view with axes of size 1 and missing leading axes repeated to a shape.
///
/// Raises ValueError when the shape does not fit.
///
/// >>> import usm.tensor as ut
/// >>> ut.broadcast_to(ut.arange(2, device="host"), (2, 2)).tolist()
/// [[0, 1], [0, 1]]
#[pyfunction]
#[pyo3(signature = (x, /, shape))]
pub(crate) fn broadcast_to(x: &Bound<'_, PyAny>, shape: &Bound<'_, PyAny>) -> PyResult<UsmNdarray> {
    let shape = arguments::shape(shape)?;
    operands::found("x", x)?.broadcast_to(&shape).or_raise().map(UsmNdarray::from_array)
}

/// broadcast_arrays(*arrays)
///
/// Read-only views of the arrays, repeated to their common shape, in a tuple.
///
/// Raises ValueError when the shapes do not broadcast.
///
/// >>> import usm.tensor as ut
/// >>> a, b = ut.broadcast_arrays(ut.zeros(3, device="host"), ut.zeros((2, 1), device="host"))
/// >>> a.shape, b.shape
/// ((2, 3), (2, 3))
#[pyfunction]
#[pyo3(signature = (*arrays))]
pub(crate) fn broadcast_arrays<'py>(
    py: Python<'py>,
    arrays: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyTuple>> {
    let arrays = operands::variadic("arrays", arrays)?;
    let arrays: Vec<&UsmArray> = arrays.iter().collect();
    results::tuple(py, UsmArray::broadcast_arrays(&arrays).or_raise()?)
}

/// broadcast_shapes(*shapes)
///
/// The shape to which arrays of these shapes are repeated, a tuple.
///
/// Raises ValueError when the shapes do not broadcast.
///
/// >>> import usm.tensor as ut
/// >>> ut.broadcast_shapes((2, 1), (3,), ())
/// (2, 3)
#[pyfunction]
#[pyo3(signature = (*shapes))]
pub(crate) fn broadcast_shapes<'py>(
    py: Python<'py>,
    shapes: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyTuple>> {
    let shapes: Vec<Vec<usize>> = shapes
        .iter()
        .enumerate()
        .map(|(i, shape)| operands::counts(&item("shapes", i), &shape))
        .collect::<PyResult<_>>()?;
    let shapes: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
    PyTuple::new(py, usm_array::broadcast_shapes(&shapes).or_raise()?)
}
