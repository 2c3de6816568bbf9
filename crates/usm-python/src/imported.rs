//! Modules: those that the program has imported, and those that we import at their first use.
#![expect(clippy::disallowed_methods, reason = "others call this module in place of them")]

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule, PyString};
use usm_array::usm_core::fork::ForkOnce;

use crate::called;

/// The module of that name, if it is imported. It may be half done.
pub(crate) fn module<'py>(
    py: Python<'py>,
    name: &Bound<'py, PyString>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    // The import system keeps this dict, whatever `sys.modules` is called later.
    static MODULES: ForkOnce<Py<PyDict>> = ForkOnce::new();
    let modules = MODULES.get_or_try_init(|| -> PyResult<_> {
        Ok(py.import("sys")?.getattr(intern!(py, "modules"))?.cast_into::<PyDict>()?.unbind())
    })?;
    // `None` is how a program forbids an import.
    Ok(modules.bind(py).get_item(name)?.filter(|module| !module.is_none()))
}

/// Imports a module at its first use. A fork of another thread waits for that: in a child, the lock of a module that the other thread was
/// importing stays locked for ever.
pub(crate) fn import<'py>(py: Python<'py>, name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyModule>> {
    if module(py, name)?.is_some() {
        return py.import(name);
    }
    static IMPORTING: ForkOnce<Py<PyAny>> = ForkOnce::new();
    // In an extension this may import the package, which no fork waits for.
    let find = || called::python(py, || py.import("usm._locate"))?.getattr("importing").map(Bound::unbind);
    let importing = IMPORTING.get_or_try_init(find)?.bind(py);
    called::python(py, || {
        importing.call_method0(intern!(py, "acquire"))?;
        let imported = py.import(name);
        importing.call_method0(intern!(py, "release"))?;
        imported
    })
}
