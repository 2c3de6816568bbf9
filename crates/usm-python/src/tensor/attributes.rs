//! Attributes of an array that are objects of their own, made when they are first asked for: most arrays are asked for none, and the
//! others again and again.

use std::fmt;

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use usm_array::UsmArray;
use usm_array::usm_core::UsmKind;
use usm_array::usm_core::fork::ForkOnce;

use super::device::PyDevice;

/// None of them refers to another Python object that could refer back, so the collector need not know of them.
pub(super) struct Attributes {
    shape: ForkOnce<Py<PyTuple>>,
    strides: ForkOnce<Py<PyTuple>>,
    device: ForkOnce<Py<PyDevice>>,
}

impl Attributes {
    pub(super) const fn new() -> Self {
        Self { shape: ForkOnce::new(), strides: ForkOnce::new(), device: ForkOnce::new() }
    }

    pub(super) fn shape<'py>(&self, py: Python<'py>, array: &UsmArray) -> PyResult<Bound<'py, PyTuple>> {
        let make = || PyTuple::new(py, array.shape()).map(Bound::unbind);
        self.shape.get_or_try_init(make).map(|shape| shape.bind(py).clone())
    }

    pub(super) fn strides<'py>(&self, py: Python<'py>, array: &UsmArray) -> PyResult<Bound<'py, PyTuple>> {
        let make = || PyTuple::new(py, array.strides()).map(Bound::unbind);
        self.strides.get_or_try_init(make).map(|strides| strides.bind(py).clone())
    }

    pub(super) fn device<'py>(&self, py: Python<'py>, array: &UsmArray) -> PyResult<Bound<'py, PyDevice>> {
        let make = || Py::new(py, PyDevice::of(array.queue()));
        self.device.get_or_try_init(make).map(|device| device.bind(py).clone())
    }
}

/// The name of the kind, the same object each time.
pub(super) fn usm_type<'py>(py: Python<'py>, array: &UsmArray) -> Bound<'py, PyString> {
    let name = match array.kind() {
        UsmKind::Host => intern!(py, "host"),
        UsmKind::Device => intern!(py, "device"),
        UsmKind::Shared => intern!(py, "shared"),
    };
    name.clone()
}

impl fmt::Debug for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Attributes")
    }
}
