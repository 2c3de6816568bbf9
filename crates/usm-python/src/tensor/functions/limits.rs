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

#[pymethods]
impl FinfoObject {
    /// Bits of one real number.
    #[getter]
    fn bits(&self) -> u32 {
        self.limits.bits
    }

    /// Distance from 1 to the next larger number.
    #[getter]
    fn eps(&self) -> f64 {
        self.limits.eps
    }

    /// Distance from 1 to the next smaller number.
    #[getter]
    fn epsneg(&self) -> f64 {
        self.limits.eps / 2.0 // there is one bit more below 1
    }

    /// Largest number.
    #[getter]
    fn max(&self) -> f64 {
        self.limits.max
    }

    /// Lowest number.
    #[getter]
    fn min(&self) -> f64 {
        self.limits.min
    }

    /// Smallest positive number in full precision.
    #[getter]
    fn smallest_normal(&self) -> f64 {
        self.limits.smallest_normal
    }

    /// The same as smallest_normal.
    #[getter]
    fn tiny(&self) -> f64 {
        self.limits.smallest_normal
    }

    /// Decimal digits to which numbers are precise.
    #[getter]
    fn precision(&self) -> f64 {
        (-self.limits.eps.log10()).floor()
    }

    /// 10 to the power of minus precision.
    #[getter]
    fn resolution(&self) -> f64 {
        // By parsing, which is exact where a power is not.
        format!("1e-{}", self.precision()).parse().unwrap_or(f64::NAN)
    }

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

#[pymethods]
impl IinfoObject {
    /// Bits of one integer.
    #[getter]
    fn bits(&self) -> u32 {
        self.limits.bits
    }

    /// Largest integer.
    #[getter]
    fn max(&self) -> PyResult<u64> {
        Ok(u64::try_from(self.limits.max)?)
    }

    /// Lowest integer.
    #[getter]
    fn min(&self) -> PyResult<i64> {
        Ok(i64::try_from(self.limits.min)?)
    }

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
