//! Views with other axes.

use pyo3::prelude::*;
use usm_array::UsmArray;

use super::operands;
use crate::errors::OrRaise;
use crate::number::index;
use crate::objects::UsmNdarray;

/// A view: no memory is touched to make it.
pub(super) fn view(view: usm_array::Result<UsmArray>) -> PyResult<UsmNdarray> {
    view.or_raise().map(UsmNdarray::from_array)
}

/// permute_dims(x, /, axes)
///
/// A view with the axes in another order: axis `k` of the result is axis `axes[k]` of `x`.
///
/// Raises ValueError unless `axes` has each axis once.
///
/// >>> import usm.tensor as ut
/// >>> ut.permute_dims(ut.zeros((2, 3, 4), "i1", device="host"), (2, 0, 1)).shape
/// (4, 2, 3)
#[pyfunction]
#[pyo3(signature = (x, /, axes))]
pub(crate) fn permute_dims(x: &Bound<'_, PyAny>, axes: &Bound<'_, PyAny>) -> PyResult<UsmNdarray> {
    let axes = operands::indices("axes", axes)?;
    view(operands::found("x", x)?.permute(&axes))
}

/// moveaxis(x, source, destination, /)
///
/// A view with the axes `source` at the places `destination`, each an integer or a tuple of them. The others stay in their order.
///
/// Raises ValueError when there is no such axis, or one is named twice.
///
/// >>> import usm.tensor as ut
/// >>> ut.moveaxis(ut.zeros((2, 3, 4), "i1", device="host"), 0, -1).shape
/// (3, 4, 2)
#[pyfunction]
#[pyo3(signature = (x, source, destination, /))]
pub(crate) fn moveaxis(
    x: &Bound<'_, PyAny>,
    source: &Bound<'_, PyAny>,
    destination: &Bound<'_, PyAny>,
) -> PyResult<UsmNdarray> {
    let source = operands::indices("source", source)?;
    let destination = operands::indices("destination", destination)?;
    view(operands::found("x", x)?.moveaxis(&source, &destination))
}

/// swapaxes(X, axis1, axis2)
///
/// A view with two axes exchanged.
///
/// Raises ValueError when there is no such axis.
///
/// >>> import usm.tensor as ut
/// >>> ut.swapaxes(ut.zeros((2, 3, 4), "i1", device="host"), 0, 2).shape
/// (4, 3, 2)
#[pyfunction]
#[allow(non_snake_case, reason = "dpctl's name")]
#[pyo3(signature = (X, axis1, axis2))]
pub(crate) fn swapaxes(
    X: &Bound<'_, PyAny>,
    axis1: &Bound<'_, PyAny>,
    axis2: &Bound<'_, PyAny>,
) -> PyResult<UsmNdarray> {
    let (axis1, axis2) = (index("axis1", axis1)?, index("axis2", axis2)?);
    view(operands::found("X", X)?.swapaxes(axis1, axis2))
}

/// expand_dims(x, /, axis=0)
///
/// A view with new axes of size 1 at the given places of the result, an integer or a tuple of them.
///
/// Raises ValueError when there is no such place, or one is named twice.
///
/// >>> import usm.tensor as ut
/// >>> ut.expand_dims(ut.zeros((2, 3), "i1", device="host"), (0, -1)).shape
/// (1, 2, 3, 1)
#[pyfunction]
#[pyo3(signature = (x, /, axis=None), text_signature = "(x, /, axis=0)")]
pub(crate) fn expand_dims(x: &Bound<'_, PyAny>, axis: Option<&Bound<'_, PyAny>>) -> PyResult<UsmNdarray> {
    let axes = operands::axes("axis", axis)?.unwrap_or_else(|| vec![0]);
    view(operands::found("x", x)?.expand_dims(&axes))
}

/// squeeze(x, /, axis=None)
///
/// A view without the given axes of size 1, an integer or a tuple of them, or without all axes of size 1.
///
/// Raises ValueError for an axis of another size, or none at all.
///
/// >>> import usm.tensor as ut
/// >>> ut.squeeze(ut.zeros((1, 3, 1), "i1", device="host"), 0).shape
/// (3, 1)
#[pyfunction]
#[pyo3(signature = (x, /, axis=None))]
pub(crate) fn squeeze(x: &Bound<'_, PyAny>, axis: Option<&Bound<'_, PyAny>>) -> PyResult<UsmNdarray> {
    let (x, axes) = (operands::found("x", x)?, operands::axes("axis", axis)?);
    // NumPy and dpnp let these pass where there is no axis at all.
    let is_scalar = x.ndim() == 0 && matches!(axes.as_deref(), Some([0 | -1]));
    view(x.squeeze(axes.as_deref().filter(|_| !is_scalar)))
}

/// matrix_transpose(x)
///
/// A view with the last two axes exchanged.
///
/// Raises ValueError for an array of fewer than two axes.
///
/// >>> import usm.tensor as ut
/// >>> ut.matrix_transpose(ut.zeros((2, 3, 4), "i1", device="host")).shape
/// (2, 4, 3)
#[pyfunction]
pub(crate) fn matrix_transpose(x: &Bound<'_, PyAny>) -> PyResult<UsmNdarray> {
    view(operands::found("x", x)?.matrix_transpose())
}

/// flip(x, /, *, axis=None)
///
/// A view with the elements in reverse order along an axis, several axes, or all of them.
///
/// Raises ValueError when there is no such axis.
///
/// >>> import usm.tensor as ut
/// >>> ut.flip(ut.arange(3, device="host")).tolist()
/// [2, 1, 0]
#[pyfunction]
#[pyo3(signature = (x, /, *, axis=None))]
pub(crate) fn flip(x: &Bound<'_, PyAny>, axis: Option<&Bound<'_, PyAny>>) -> PyResult<UsmNdarray> {
    let axes = operands::axes("axis", axis)?;
    view(operands::found("x", x)?.flip(axes.as_deref()))
}
