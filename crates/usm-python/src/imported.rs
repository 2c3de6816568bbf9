//! Modules that the program has imported, without importing them.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use usm_array::usm_core::fork::ForkOnce;

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
