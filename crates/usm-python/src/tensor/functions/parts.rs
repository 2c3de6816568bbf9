//! Parts of complex numbers, and their conjugates.

use pyo3::prelude::*;
use usm_array::{CopyOrder, UsmArray, Work};

use super::super::arguments::copy_order;
use super::elementwise::unary_functions;
use super::operands;
use super::results;
use crate::errors::OrRaise;
use crate::objects::UsmNdarray;

/// real(x, /, *, out=None, order="K")
///
/// The real parts of complex numbers, as a view; of other numbers the array itself. With `out` they are copied there. With `order`
/// ``"C"`` or ``"F"`` they are copied where they lie otherwise.
///
/// >>> import usm.tensor as ut
/// >>> a = ut.asarray([1 + 2j, 3 - 4j], sycl_queue="host")
/// >>> ut.real(a).tolist(), ut.real(a).strides
/// ([1.0, 3.0], (2,))
#[pyfunction]
#[pyo3(signature = (x, /, *, out=None, order="K"))]
pub(crate) fn real<'py>(
    x: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    order: &str,
) -> PyResult<Bound<'py, PyAny>> {
    part(x, out, order, real_part)
}

/// imag(x, /, *, out=None, order="K")
///
/// The imaginary parts of complex numbers, as a view; of other numbers a new array of zeros. `out` and `order` are as for real.
///
/// >>> import usm.tensor as ut
/// >>> a = ut.asarray([1 + 2j, 3 - 4j], sycl_queue="host")
/// >>> ut.imag(a)[0] = 7
/// >>> a.tolist()
/// [(1+7j), (3-4j)]
#[pyfunction]
#[pyo3(signature = (x, /, *, out=None, order="K"))]
pub(crate) fn imag<'py>(
    x: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    order: &str,
) -> PyResult<Bound<'py, PyAny>> {
    part(x, out, order, |x| Bound::new(x.py(), imag_part(x.py(), x.get().array())?))
}

unary_functions! {
    /// conj(x, /, *, out=None, order="K")
    ///
    /// A new array of the complex conjugates, which are the elements themselves for other numbers. `out` and `order` are as for equal.
    ///
    /// >>> import usm.tensor as ut
    /// >>> ut.conj(ut.asarray([1 + 2j], sycl_queue="host")).tolist()
    /// [(1-2j)]
    conj: |x: &UsmArray| (x.dtype(), Work::of_conj(x));
}

/// A view, unless the elements have to be somewhere else.
fn part<'py>(
    x: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    order: &str,
    part_of: impl FnOnce(&Bound<'py, UsmNdarray>) -> PyResult<Bound<'py, UsmNdarray>>,
) -> PyResult<Bound<'py, PyAny>> {
    let order = copy_order(order)?;
    let view = part_of(&operands::ours("x", x)?)?;
    if out.is_none() && matches!(order, CopyOrder::Any | CopyOrder::Keep) {
        return Ok(view.into_any());
    }
    let array = view.get().array().clone();
    let check = |out: &UsmArray| out.check_out_of(&[&array], array.dtype());
    results::ResultTarget::new(out, &[("x", (&array).into())], check)?
        .give(x.py(), move || array.clone().in_order_of(order, &[&array]))
}

/// The real parts of complex numbers, as a view; of other numbers the array itself.
pub(in crate::tensor) fn real_part<'py>(array: &Bound<'py, UsmNdarray>) -> PyResult<Bound<'py, UsmNdarray>> {
    let ours = array.get().array();
    if ours.dtype().kind() != 'c' {
        return Ok(array.clone());
    }
    Bound::new(array.py(), UsmNdarray::from_array(ours.real().or_raise()?))
}

/// The imaginary parts of complex numbers, as a view; of other numbers new zeros.
pub(in crate::tensor) fn imag_part(py: Python<'_>, array: &UsmArray) -> PyResult<UsmNdarray> {
    let (work, array) = (Work::of_imag(array), array.clone());
    results::array(py, work, move || array.imag_or_zeros())
}
