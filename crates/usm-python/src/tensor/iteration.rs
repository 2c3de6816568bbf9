//! Iterators over an array.

use std::ops::Range;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use usm_array::SliceItem;

use crate::errors::OrRaise;
use crate::objects::UsmNdarray;

/// The views along the first axis, one after the other.
#[pyclass(name = "_Views", module = "usm._usm")]
pub(crate) struct Views {
    array: Py<UsmNdarray>,
    rest: Range<isize>,
    backwards: bool,
}

/// An iterator of the views along the first axis.
pub(super) fn views(array: &Bound<'_, UsmNdarray>, backwards: bool) -> PyResult<Views> {
    let Some(&len) = array.get().array().shape().first() else {
        return Err(PyTypeError::new_err("iteration over an array without axes"));
    };
    Ok(Views { array: array.clone().unbind(), rest: 0..len.cast_signed(), backwards })
}

#[pymethods]
impl Views {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self) -> PyResult<Option<UsmNdarray>> {
        let index = if self.backwards { self.rest.next_back() } else { self.rest.next() };
        let view = index.map(|index| self.array.get().array().slice_boxed(&[SliceItem::Index(index)]));
        Ok(view.transpose().or_raise()?.map(UsmNdarray::from_array))
    }

    fn __length_hint__(&self) -> usize {
        self.rest.len()
    }
}
