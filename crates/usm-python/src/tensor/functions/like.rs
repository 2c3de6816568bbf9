//! New arrays after the model of another one.

use pyo3::prelude::*;
use usm_array::{LikeOptions, UsmArray, Work};

use super::super::arguments::copy_order;
use super::create::Placement;
use super::operands;
use super::{new_memory, results};
use crate::objects::UsmNdarray;

/// Functions of a model with their documentation.
macro_rules! like_functions {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[pyfunction]
        #[pyo3(signature = (x, /, *, dtype=None, order="K", device=None, usm_type=None, sycl_queue=None))]
        pub(crate) fn $name(
            py: Python<'_>,
            x: &Bound<'_, PyAny>,
            dtype: Option<&Bound<'_, PyAny>>,
            order: &str,
            device: Option<&Bound<'_, PyAny>>,
            usm_type: Option<&str>,
            sycl_queue: Option<&Bound<'_, PyAny>>,
        ) -> PyResult<UsmNdarray> {
            let model = operands::array("x", x)?;
            like(py, model, (device, sycl_queue, usm_type), dtype, order, UsmArray::$name)
        }
    )*};
}

like_functions! {
    /// empty_like(x, /, *, dtype=None, order="K", device=None, usm_type=None, sycl_queue=None)
    ///
    /// A new array whose elements have no particular value, with the shape of `x`, and with its dtype, USM type and queue unless said otherwise. `order` is
    /// ``"C"``, ``"F"``, ``"A"`` (column-major if `x` is) or ``"K"`` (the axes lie in memory as those of `x`).
    ///
    /// Raises USMAllocationError when the memory cannot be allocated, TypeError when `device` and `sycl_queue` name two queues.
    ///
    /// >>> import usm.tensor as ut
    /// >>> model = ut.zeros((2, 3), "i4", usm_type="shared", device="host")
    /// >>> like = ut.empty_like(model, dtype="f4")
    /// >>> like.shape, like.usm_type, like.itemsize
    /// ((2, 3), 'shared', 4)
    empty_like;

    /// zeros_like(x, /, *, dtype=None, order="K", device=None, usm_type=None, sycl_queue=None)
    ///
    /// A new array of zeros. Arguments as of empty_like.
    ///
    /// >>> import usm.tensor as ut
    /// >>> ut.zeros_like(ut.ones(3, "i4", device="host")).tolist()
    /// [0, 0, 0]
    zeros_like;

    /// ones_like(x, /, *, dtype=None, order="K", device=None, usm_type=None, sycl_queue=None)
    ///
    /// A new array of ones. Arguments as of empty_like.
    ///
    /// >>> import usm.tensor as ut
    /// >>> ut.ones_like(ut.zeros(3, "f4", device="host"), dtype="i1").tolist()
    /// [1, 1, 1]
    ones_like;
}

/// full_like(x, /, fill_value, *, dtype=None, order="K", device=None, usm_type=None, sycl_queue=None)
///
/// A new array of one value, or of an array or a sequence that broadcasts to the shape. The value does not change the dtype.
/// The other arguments as of empty_like.
///
/// Raises OverflowError for a number that the dtype does not hold, ValueError for NaN in integers and for an array that does not
/// broadcast, TypeError for a complex number in real ones.
///
/// >>> import usm.tensor as ut
/// >>> ut.full_like(ut.zeros(2, "u1", device="host"), 7).tolist()
/// [7, 7]
#[pyfunction]
#[pyo3(signature = (x, /, fill_value, *, dtype=None, order="K", device=None, usm_type=None, sycl_queue=None))]
#[expect(clippy::too_many_arguments, reason = "dpctl's arguments")]
pub(crate) fn full_like(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    fill_value: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
    order: &str,
    device: Option<&Bound<'_, PyAny>>,
    usm_type: Option<&str>,
    sycl_queue: Option<&Bound<'_, PyAny>>,
) -> PyResult<UsmNdarray> {
    let model = operands::array("x", x)?;
    let target = operands::dtype("dtype", dtype)?.unwrap_or(model.dtype());
    let value = operands::value("fill_value", fill_value, None, Some(target))?.for_dtype(target)?;
    like(py, model, (device, sycl_queue, usm_type), dtype, order, move |model, options| {
        model.full_like(&value, options)
    })
}

fn like(
    py: Python<'_>,
    model: UsmArray,
    (device, sycl_queue, usm_type): Placement<'_, '_>,
    dtype: Option<&Bound<'_, PyAny>>,
    order: &str,
    function: impl FnOnce(&UsmArray, &LikeOptions<'_>) -> usm_array::Result<UsmArray> + Send + 'static,
) -> PyResult<UsmNdarray> {
    let queue = new_memory::named_queue(py, sycl_queue, device)?;
    let (dtype, kind) = (operands::dtype("dtype", dtype)?, new_memory::kind(usm_type)?);
    let order = copy_order(order)?;
    let options = LikeOptions { shape: None, dtype, kind, queue: None, order };
    results::array(py, Work::of_like(&model, &options), move || {
        function(&model, &LikeOptions { queue: queue.as_ref(), ..options })
    })
}
