//! Classes of numbers.

use pyo3::prelude::*;

use super::elementwise::unary;

/// isnan(x, /, *, out=None, order="K")
///
/// Where elements are NaN, a part of complex ones included. `out` and `order` are as for equal.
///
/// >>> import usm.tensor as ut
/// >>> a = ut.asarray(memoryview(b"\0\0\xc0\x7f\0\0\x80\xff").cast("f"), sycl_queue="host")
/// >>> ut.isnan(a).tolist()
/// [True, False]
#[pyfunction]
#[pyo3(signature = (x, /, *, out=None, order="K"))]
pub(crate) fn isnan<'py>(
    x: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    order: &str,
) -> PyResult<Bound<'py, PyAny>> {
    unary(x, out, order, |x| x.isnan())
}

/// isfinite(x, /, *, out=None, order="K")
///
/// Where elements are neither NaN nor infinite, nor a part of complex ones is. `out` and `order` are as for equal.
///
/// >>> import usm.tensor as ut
/// >>> a = ut.asarray(memoryview(b"\0\0\xc0\x7f\0\0\x80\xff").cast("f"), sycl_queue="host")
/// >>> ut.isfinite(a).tolist()
/// [False, False]
#[pyfunction]
#[pyo3(signature = (x, /, *, out=None, order="K"))]
pub(crate) fn isfinite<'py>(
    x: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    order: &str,
) -> PyResult<Bound<'py, PyAny>> {
    unary(x, out, order, |x| x.isfinite())
}

/// isinf(x, /, *, out=None, order="K")
///
/// Where elements are infinite, a part of complex ones included. `out` and `order` are as for equal.
///
/// >>> import usm.tensor as ut
/// >>> a = ut.asarray(memoryview(b"\0\0\xc0\x7f\0\0\x80\xff").cast("f"), sycl_queue="host")
/// >>> ut.isinf(a).tolist()
/// [False, True]
#[pyfunction]
#[pyo3(signature = (x, /, *, out=None, order="K"))]
pub(crate) fn isinf<'py>(
    x: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    order: &str,
) -> PyResult<Bound<'py, PyAny>> {
    unary(x, out, order, |x| x.isinf())
}

/// signbit(x, /, *, out=None, order="K")
///
/// Where elements have their sign set, as negative numbers, -0.0 and some NaN have. `out` and `order` are as for equal.
///
/// Raises ValueError for complex numbers.
///
/// >>> import usm.tensor as ut
/// >>> a = ut.asarray(memoryview(b"\0\0\xc0\x7f\0\0\x80\xff").cast("f"), sycl_queue="host")
/// >>> ut.signbit(a).tolist()
/// [False, True]
#[pyfunction]
#[pyo3(signature = (x, /, *, out=None, order="K"))]
pub(crate) fn signbit<'py>(
    x: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    order: &str,
) -> PyResult<Bound<'py, PyAny>> {
    unary(x, out, order, |x| x.signbit())
}
