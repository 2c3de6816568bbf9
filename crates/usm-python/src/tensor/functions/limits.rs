//! What floating-point and integer dtypes can hold.

use pyo3::prelude::*;
use usm_array::{Finfo, Iinfo};

use super::dtype_object;
use super::dtypes::dtype_or_array;
use crate::errors::OrValueError;

/// Limits of a floating-point dtype, made by finfo.
///
/// >>> import usm.tensor as ut
/// >>> ut.finfo("float32").bits
/// 32
#[pyclass(frozen, name = "finfo_object", module = "usm.tensor")]
#[derive(Debug)]
pub(crate) struct FinfoObject {
    limits: Finfo,
}

class_of_facts! {
    FinfoObject: |this| this.limits;
    facts {
        /// Bits of one real number.
        bits: u32 = |limits| limits.bits;
        /// Distance from 1 to the next larger number.
        eps: f64 = |limits| limits.eps;
        /// Distance from 1 to the next smaller number.
        epsneg: f64 = |limits| limits.epsneg();
        /// Largest number.
        max: f64 = |limits| limits.max;
        /// Lowest number.
        min: f64 = |limits| limits.min;
        /// Smallest positive number in full precision.
        smallest_normal: f64 = |limits| limits.smallest_normal;
        /// The same as smallest_normal.
        tiny: f64 = |limits| limits.smallest_normal;
        /// Decimal digits to which numbers are precise.
        precision: f64 = |limits| limits.precision();
        /// 10 to the power of minus precision.
        resolution: f64 = |limits| limits.resolution();
    }
    methods {
        /// The real dtype that has these limits.
        #[getter]
        fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
            dtype_object(py, self.limits.dtype)
        }

        fn __repr__(&self) -> String {
            let Finfo { min, max, eps, dtype, .. } = self.limits;
            format!("finfo(min={min:e}, max={max:e}, eps={eps:e}, dtype={dtype})")
        }
    }
}

/// Limits of an integer dtype, made by iinfo.
///
/// >>> import usm.tensor as ut
/// >>> ut.iinfo("uint8").max
/// 255
#[pyclass(frozen, name = "iinfo_object", module = "usm.tensor")]
#[derive(Debug)]
pub(crate) struct IinfoObject {
    limits: Iinfo,
}

class_of_facts! {
    IinfoObject: |this| this.limits;
    facts {
        /// Bits of one integer.
        bits: u32 = |limits| limits.bits;
        /// Largest integer.
        max: PyResult<u64> = |limits| Ok(u64::try_from(limits.max)?);
        /// Lowest integer.
        min: PyResult<i64> = |limits| Ok(i64::try_from(limits.min)?);
    }
    methods {
        /// The dtype.
        #[getter]
        fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
            dtype_object(py, self.limits.dtype)
        }

        fn __repr__(&self) -> String {
            let Iinfo { min, max, dtype, .. } = self.limits;
            format!("iinfo(min={min}, max={max}, dtype={dtype})")
        }
    }
}

/// finfo(dtype, /)
///
/// The limits of a floating-point dtype, or of that of an array; of a complex one those of its parts. Attributes: `bits`, `eps`,
/// `max`, `min`, `smallest_normal`, `dtype`, and NumPy's `tiny`, `epsneg`, `precision` and `resolution`.
///
/// Raises ValueError for other dtypes.
///
/// >>> import usm.tensor as ut
/// >>> ut.finfo("complex64").eps == 2.0**-23
/// True
#[pyfunction]
#[pyo3(signature = (dtype, /))]
pub(crate) fn finfo(dtype: &Bound<'_, PyAny>) -> PyResult<FinfoObject> {
    let limits = usm_array::finfo(dtype_or_array("dtype", dtype)?).or_value_error("dtype")?;
    Ok(FinfoObject { limits })
}

/// iinfo(dtype, /)
///
/// The limits of an integer dtype, or of that of an array. Attributes: `bits`, `max`, `min`, `dtype`.
///
/// Raises ValueError for other dtypes.
///
/// >>> import usm.tensor as ut
/// >>> ut.iinfo("int16").min, ut.iinfo("int16").max
/// (-32768, 32767)
#[pyfunction]
#[pyo3(signature = (dtype, /))]
pub(crate) fn iinfo(dtype: &Bound<'_, PyAny>) -> PyResult<IinfoObject> {
    let limits = usm_array::iinfo(dtype_or_array("dtype", dtype)?).or_value_error("dtype")?;
    Ok(IinfoObject { limits })
}
