//! Triangles of matrices, and grids.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use usm_array::{Indexing, UsmArray, Work};

use super::operands::{self, Diagonal};
use super::results;
use crate::number::of_text;
use crate::objects::UsmNdarray;

/// tril(x, /, *, k=0)
///
/// A copy of a matrix, or of a stack of them, with zeros above the diagonal that is `k` elements to the right of the main one.
///
/// Raises ValueError for an array of fewer than two axes.
///
/// >>> import usm.tensor as ut
/// >>> ut.tril(ut.ones((2, 3), "u1", device="host")).tolist()
/// [[1, 0, 0], [1, 1, 0]]
#[pyfunction]
#[pyo3(signature = (x, /, *, k=Diagonal::MAIN), text_signature = "(x, /, *, k=0)")]
pub(crate) fn tril(py: Python<'_>, x: &Bound<'_, PyAny>, k: Diagonal) -> PyResult<UsmNdarray> {
    let x = operands::array("x", x)?;
    results::array(py, Work::of_operands([&x]), move || x.tril(k.0))
}

/// triu(x, /, *, k=0)
///
/// A copy of a matrix, or of a stack of them, with zeros below the diagonal that is `k` elements to the right of the main one.
///
/// Raises ValueError for an array of fewer than two axes.
///
/// >>> import usm.tensor as ut
/// >>> ut.triu(ut.ones((2, 3), "u1", device="host"), k=1).tolist()
/// [[0, 1, 1], [0, 0, 1]]
#[pyfunction]
#[pyo3(signature = (x, /, *, k=Diagonal::MAIN), text_signature = "(x, /, *, k=0)")]
pub(crate) fn triu(py: Python<'_>, x: &Bound<'_, PyAny>, k: Diagonal) -> PyResult<UsmNdarray> {
    let x = operands::array("x", x)?;
    results::array(py, Work::of_operands([&x]), move || x.triu(k.0))
}

/// meshgrid(*arrays, indexing="xy")
///
/// The coordinates of the points of a grid: for each array of at most one axis an array with as many axes as there are arrays, in
/// a tuple. With ``indexing="ij"`` axis `i` belongs to array `i`; with ``"xy"`` the first two are exchanged.
///
/// Raises ValueError for arrays of more axes.
///
/// >>> import usm.tensor as ut
/// >>> x, y = ut.meshgrid(ut.arange(2, device="host"), ut.arange(3, device="host"))
/// >>> x.tolist(), y.tolist()
/// ([[0, 1], [0, 1], [0, 1]], [[0, 0], [1, 1], [2, 2]])
#[pyfunction]
#[pyo3(signature = (*arrays, indexing="xy"))]
pub(crate) fn meshgrid<'py>(
    py: Python<'py>,
    arrays: &Bound<'py, PyTuple>,
    indexing: &str,
) -> PyResult<Bound<'py, PyTuple>> {
    let indexing: Indexing = of_text("indexing", indexing)?;
    let arrays = operands::variadic("arrays", arrays)?;
    let grids = results::run(py, Work::of_meshgrid(&arrays), move || {
        UsmArray::meshgrid(&arrays.iter().collect::<Vec<_>>(), indexing, true)
    })?;
    results::tuple(py, grids)
}
