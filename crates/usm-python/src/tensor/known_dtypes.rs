//! The objects of dtypes that have been given out, to tell one by its address.

use pyo3::prelude::*;
use usm_array::Dtype;
use usm_array::usm_core::fork::ForkOnce;

/// In the order of `Dtype::ALL`, without the narrow ones, which are its last.
static OBJECTS: ForkOnce<Vec<Py<PyAny>>> = ForkOnce::new();

/// The objects; `make` makes them unless they are there.
pub(super) fn get_or_make(make: impl Fn() -> PyResult<Vec<Py<PyAny>>>) -> PyResult<&'static Vec<Py<PyAny>>> {
    OBJECTS.get_or_try_init(make)
}

/// The dtype of one of the objects.
pub(super) fn find(object: &Bound<'_, PyAny>) -> Option<Dtype> {
    let place = OBJECTS.get()?.iter().position(|known| known.is(object))?;
    Dtype::ALL.get(place).copied()
}
