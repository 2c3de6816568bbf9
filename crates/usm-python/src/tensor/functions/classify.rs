//! Classes of numbers.

use pyo3::prelude::*;

use super::elementwise::{booleans, unary_functions};

unary_functions! {
    /// isnan(x, /, *, out=None, order="K")
    ///
    /// Where elements are NaN, a part of complex ones included. `out` and `order` are as for equal.
    ///
    /// >>> import usm.tensor as ut
    /// >>> a = ut.asarray(memoryview(b"\0\0\xc0\x7f\0\0\x80\xff").cast("f"), sycl_queue="host")
    /// >>> ut.isnan(a).tolist()
    /// [True, False]
    isnan: booleans;

    /// isfinite(x, /, *, out=None, order="K")
    ///
    /// Where elements are neither NaN nor infinite, nor a part of complex ones is. `out` and `order` are as for equal.
    ///
    /// >>> import usm.tensor as ut
    /// >>> a = ut.asarray(memoryview(b"\0\0\xc0\x7f\0\0\x80\xff").cast("f"), sycl_queue="host")
    /// >>> ut.isfinite(a).tolist()
    /// [False, False]
    isfinite: booleans;

    /// isinf(x, /, *, out=None, order="K")
    ///
    /// Where elements are infinite, a part of complex ones included. `out` and `order` are as for equal.
    ///
    /// >>> import usm.tensor as ut
    /// >>> a = ut.asarray(memoryview(b"\0\0\xc0\x7f\0\0\x80\xff").cast("f"), sycl_queue="host")
    /// >>> ut.isinf(a).tolist()
    /// [False, True]
    isinf: booleans;

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
    signbit: booleans;
}
