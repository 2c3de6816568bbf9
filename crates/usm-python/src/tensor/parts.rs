//! Real and imaginary parts.

use pyo3::prelude::*;
use usm_array::UsmArray;

use crate::errors::OrRaise;
use crate::objects::UsmNdarray;

/// The real parts of complex numbers, as a view; of other numbers the array itself.
pub(super) fn real<'py>(array: &Bound<'py, UsmNdarray>) -> PyResult<Bound<'py, UsmNdarray>> {
    let ours = array.get().array();
    if ours.dtype().kind() != 'c' {
        return Ok(array.clone());
    }
    Bound::new(array.py(), UsmNdarray::from_array(ours.real().or_raise()?))
}

/// The imaginary parts of complex numbers, as a view; of other numbers new zeros.
pub(super) fn imag(py: Python<'_>, array: &UsmArray) -> PyResult<UsmArray> {
    if array.dtype().kind() == 'c' {
        return array.imag().or_raise();
    }
    let zeros = || UsmArray::zeros(array.queue(), array.kind(), array.shape(), array.dtype());
    py.detach(zeros).or_raise()
}
