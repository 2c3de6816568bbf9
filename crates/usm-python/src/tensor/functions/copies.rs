//! Copies of arrays, of the same dtype or another.

use pyo3::prelude::*;
use usm_array::{Conversion, CopyMode, default_dtypes};

use super::super::arguments::copy_order;
use super::super::{arguments, transfer};
use super::{new_memory, operands};
use crate::number::of_text;
use crate::objects::UsmNdarray;

/// astype(x, dtype, /, *, order="K", casting="unsafe", copy=True, device=None)
///
/// The elements cast to a dtype, in new memory of the same USM type and on the same queue, unless `device` names another one. With
/// ``copy=False`` the array itself, if dtype, place and order are the ones asked for. `casting` says which casts are allowed:
/// ``"no"``, ``"equiv"``, ``"safe"``, ``"same_kind"`` or ``"unsafe"``; `order` is as for empty_like.
///
/// Integers wrap around, real numbers beyond an integer type become its nearest value and NaN 0.
///
/// Raises TypeError for a cast that is not allowed.
///
/// >>> import usm.tensor as ut
/// >>> ut.astype(ut.full(2, 1.5, device="host"), "i4").tolist()
/// [1, 1]
#[pyfunction]
#[pyo3(signature = (x, dtype, /, *, order="K", casting="unsafe", copy=true, device=None))]
pub(crate) fn astype<'py>(
    x: &Bound<'py, PyAny>,
    dtype: &Bound<'py, PyAny>,
    order: &str,
    casting: &str,
    copy: bool,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let (array, order) = (operands::array("x", x)?, copy_order(order)?);
    let queue = new_memory::named_queue(py, None, device)?;
    let device = queue.as_ref().unwrap_or(array.queue()).device();
    let dtype = Some(arguments::explicit_dtype(dtype, &|| default_dtypes(device))?);
    let copy = if copy { CopyMode::Always } else { CopyMode::IfNeeded };
    let casting = of_text("casting", casting)?;
    let wanted = Conversion { dtype, queue: queue.as_ref(), order, copy, casting, ..Conversion::default() };
    if array.is_as(&wanted) && x.is_instance_of::<UsmNdarray>() {
        return Ok(x.clone());
    }
    let cast = transfer::converted(py, &array, &wanted)?;
    UsmNdarray::object(py, cast)
}

/// copy(x, /, *, order="K")
///
/// A copy in memory of the same USM type and on the same queue. `order` is as for empty_like.
///
/// >>> import usm.tensor as ut
/// >>> a = ut.zeros(2, "i4", device="host")
/// >>> b = ut.copy(a)
/// >>> b[0] = 7
/// >>> a.tolist(), b.tolist()
/// ([0, 0], [7, 0])
#[pyfunction]
#[pyo3(signature = (x, /, *, order="K"))]
pub(crate) fn copy(py: Python<'_>, x: &Bound<'_, PyAny>, order: &str) -> PyResult<UsmNdarray> {
    let array = operands::array("x", x)?;
    let order = copy_order(order)?;
    let wanted = Conversion { order, copy: CopyMode::Always, ..Conversion::default() };
    transfer::converted(py, &array, &wanted).map(UsmNdarray::from_array)
}
