//! Reductions along axes.

use pyo3::prelude::*;
use usm_array::{UsmArray, Work};

use super::{operands, results};
use crate::objects::UsmNdarray;

/// all(x, /, *, axis=None, keepdims=False)
///
/// Whether all elements along axes are true, that is not zero: along one axis, several, or all of them.
/// With `keepdims` the axes stay with size 1.
///
/// Raises ValueError when there is no such axis, or one is named twice.
///
/// >>> import usm.tensor as ut
/// >>> ut.all(ut.arange(3, device="host")).item()
/// False
#[pyfunction]
#[pyo3(signature = (x, /, *, axis=None, keepdims=false))]
pub(crate) fn all(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    axis: Option<&Bound<'_, PyAny>>,
    keepdims: bool,
) -> PyResult<UsmNdarray> {
    let (x, axes) = (operands::array("x", x)?, operands::axes("axis", axis)?);
    results::array(py, Work::of_operands([&x]), move || x.all(axes.as_deref(), keepdims))
}

/// any(x, /, *, axis=None, keepdims=False)
///
/// Whether any element along axes is true, that is not zero: along one axis, several, or all of them.
/// With `keepdims` the axes stay with size 1.
///
/// Raises ValueError when there is no such axis, or one is named twice.
///
/// >>> import usm.tensor as ut
/// >>> ut.any(ut.arange(3, device="host")).item()
/// True
#[pyfunction]
#[pyo3(signature = (x, /, *, axis=None, keepdims=false))]
pub(crate) fn any(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    axis: Option<&Bound<'_, PyAny>>,
    keepdims: bool,
) -> PyResult<UsmNdarray> {
    let (x, axes) = (operands::array("x", x)?, operands::axes("axis", axis)?);
    results::array(py, Work::of_operands([&x]), move || x.any(axes.as_deref(), keepdims))
}

/// Reductions that can write to `out`, with their documentation.
macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[pyfunction]
        #[pyo3(signature = (x, /, *, axis=None, keepdims=false, out=None))]
        pub(crate) fn $name<'py>(
            x: &Bound<'py, PyAny>,
            axis: Option<&Bound<'py, PyAny>>,
            keepdims: bool,
            out: Option<&Bound<'py, PyAny>>,
        ) -> PyResult<Bound<'py, PyAny>> {
            let (array, axes) = (operands::array("x", x)?, operands::axes("axis", axis)?);
            let operands = [("x", (&array).into())];
            results::ResultTarget::new(out, &operands, UsmArray::check_out)?.give(x.py(), move || array.$name(axes.as_deref(), keepdims))
        }
    )*};
}

reductions! {
    /// min(x, /, *, axis=None, keepdims=False, out=None)
    ///
    /// The least elements along axes. NaN is the least where there is one. Arguments as of all, and `out`, an array of the result's shape
    /// and dtype to write it to.
    ///
    /// Raises ValueError for complex numbers, and when an axis to reduce has no elements.
    ///
    /// >>> import usm.tensor as ut
    /// >>> ut.min(ut.arange(3, device="host")).item()
    /// 0
    min;

    /// max(x, /, *, axis=None, keepdims=False, out=None)
    ///
    /// The greatest elements along axes. NaN is the greatest where there is one. Arguments as of all, and `out`, an array of the result's shape
    /// and dtype to write it to.
    ///
    /// Raises ValueError for complex numbers, and when an axis to reduce has no elements.
    ///
    /// >>> import usm.tensor as ut
    /// >>> ut.max(ut.eye(2, 3, device="host"), axis=0).tolist()
    /// [1.0, 1.0, 0.0]
    max;

    /// count_nonzero(x, /, *, axis=None, keepdims=False, out=None)
    ///
    /// How many elements along axes are not zero, as ``int64``. Arguments as of all, and `out`, an array of the result's shape
    /// and dtype to write it to.
    ///
    /// Raises ValueError when there is no such axis.
    ///
    /// >>> import usm.tensor as ut
    /// >>> ut.count_nonzero(ut.arange(3, device="host")).item()
    /// 2
    count_nonzero;
}

/// sum(x, /, *, axis=None, dtype=None, keepdims=False, out=None)
///
/// The sums of elements along axes. Without a dtype that of real and complex numbers stays; signed integers and booleans give
/// ``int64``, unsigned ones ``uint64``. With one the elements are cast to it first. The other arguments as of max.
///
/// Raises ValueError when there is no such axis, and for a sum of booleans as booleans.
///
/// >>> import usm.tensor as ut
/// >>> ut.sum(ut.eye(2, 3, dtype="u1", device="host"), axis=0).tolist()
/// [1, 1, 0]
#[pyfunction]
#[pyo3(signature = (x, /, *, axis=None, dtype=None, keepdims=false, out=None))]
pub(crate) fn sum<'py>(
    x: &Bound<'py, PyAny>,
    axis: Option<&Bound<'py, PyAny>>,
    dtype: Option<&Bound<'py, PyAny>>,
    keepdims: bool,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (array, axes) = (operands::array("x", x)?, operands::axes("axis", axis)?);
    let dtype = operands::dtype("dtype", dtype)?;
    results::ResultTarget::new(out, &[("x", (&array).into())], UsmArray::check_out)?
        .give(x.py(), move || array.sum(axes.as_deref(), keepdims, dtype))
}
