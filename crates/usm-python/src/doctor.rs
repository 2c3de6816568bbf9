//! What `python -m usm` prints, as values: the device tree and the doctor's report.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use usm_array::usm_core::{DoctorReport, PlatformBranch};

use crate::errors::OrRaise;
use crate::sycl::runtime;

/// doctor()
///
/// Examine this machine: a dict with the `platforms` and their devices, the `sycl` runtime in use (None without one), the `places`
/// where it was searched for, the `environment` variables that matter, as the user set them, what this package has `added` to them,
/// the `problems`, each with what to do about it and whether something installed or requested fails, and all that as `text`, the
/// devices as a `tree`.
///
/// >>> import usm
/// >>> for problem in usm.doctor()["problems"]:
/// ...     text = problem["what"] + ": " + problem["remedy"]
#[pyfunction]
pub(crate) fn doctor(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let runtime = runtime::get(py)?;
    let report = py.detach(|| runtime.doctor());
    let tree = py.detach(|| runtime.tree()).or_raise()?;
    let found = PyDict::new(py);
    found.set_item("platforms", list(py, &tree.platforms, platform)?)?;
    found.set_item("sycl", sycl(py, &report)?)?;
    let place = |dict: &Bound<'_, PyDict>, place: &usm_array::usm_core::SearchedPlace| {
        dict.set_item("origin", &place.origin)?;
        dict.set_item("path", place.path.display().to_string())?;
        dict.set_item("outcome", &place.outcome)?;
        dict.set_item("in_use", place.in_use)
    };
    found.set_item("places", list(py, &report.places, place)?)?;
    let (environment, added) = (PyDict::new(py), PyDict::new(py));
    for variable in &report.environment {
        environment.set_item(variable.name, &variable.value)?;
        if let Some(value) = &variable.added {
            added.set_item(variable.name, value)?;
        }
    }
    found.set_item("environment", environment)?;
    found.set_item("added", added)?;
    let problem = |dict: &Bound<'_, PyDict>, problem: &usm_array::usm_core::Problem| {
        dict.set_item("kind", format!("{:?}", problem.kind))?;
        dict.set_item("is_failure", problem.kind.is_failure())?;
        dict.set_item("what", &problem.what)?;
        dict.set_item("remedy", &problem.remedy)?;
        dict.set_item("command", &problem.command)
    };
    found.set_item("problems", list(py, &report.problems, problem)?)?;
    found.set_item("tree", tree.to_string())?;
    found.set_item("text", report.to_string())?;
    Ok(found)
}

/// A list of dicts, each filled from an item.
fn list<'py, T>(
    py: Python<'py>,
    items: &[T],
    fill: impl Fn(&Bound<'py, PyDict>, &T) -> PyResult<()>,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for item in items {
        let dict = PyDict::new(py);
        fill(&dict, item)?;
        list.append(dict)?;
    }
    Ok(list)
}

fn platform(dict: &Bound<'_, PyDict>, branch: &PlatformBranch) -> PyResult<()> {
    let info = branch.platform.info();
    dict.set_item("name", &info.name)?;
    dict.set_item("vendor", &info.vendor)?;
    dict.set_item("version", &info.version)?;
    dict.set_item("backend", info.backend_name)?;
    let devices: Vec<_> = branch.devices.iter().map(|device| device.filter_string()).collect();
    dict.set_item("devices", devices)
}

fn sycl<'py>(py: Python<'py>, report: &DoctorReport) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(sycl) = &report.sycl else { return Ok(None) };
    let dict = PyDict::new(py);
    dict.set_item("library", sycl.path.display().to_string())?;
    dict.set_item("version", &sycl.version)?;
    dict.set_item("interface", &sycl.interface)?;
    dict.set_item("driver", sycl.driver.as_ref().map(|path| path.display().to_string()))?;
    Ok(Some(dict))
}
