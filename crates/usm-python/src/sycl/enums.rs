//! The words of dpctl's enumerations, which are Python classes: members out, members or plain words in.

use pyo3::prelude::*;
use pyo3::types::PyString;
use usm_array::usm_core::{CacheType, Device, DeviceType, EventStatus};

use crate::errors::type_name;
use crate::imported;

fn member<'py>(py: Python<'py>, class: &str, word: &str) -> PyResult<Bound<'py, PyAny>> {
    imported::import(py, intern!(py, "usm._enums"))?.getattr(class)?.getattr(word)
}

pub(crate) fn backend_type<'py>(py: Python<'py>, backend_name: &str) -> PyResult<Bound<'py, PyAny>> {
    member(py, "backend_type", backend_name).or_else(|_| member(py, "backend_type", "unknown"))
}

pub(crate) fn device_type(py: Python<'_>, ty: DeviceType) -> PyResult<Bound<'_, PyAny>> {
    member(py, "device_type", &ty.to_string())
}

pub(crate) fn cache_type(py: Python<'_>, ty: Option<CacheType>) -> PyResult<Bound<'_, PyAny>> {
    let word = match ty {
        Some(CacheType::Absent) => "none",
        Some(CacheType::ReadOnly) => "read_only",
        Some(CacheType::ReadWrite) => "read_write",
        _ => "indeterminate",
    };
    member(py, "global_mem_cache_type", word)
}

pub(crate) fn event_status(py: Python<'_>, status: EventStatus) -> PyResult<Bound<'_, PyAny>> {
    let word = match status {
        EventStatus::Submitted => "submitted",
        EventStatus::Running => "running",
        EventStatus::Complete => "complete",
        _ => "unknown_status",
    };
    member(py, "event_status_type", word)
}

/// Which devices are asked for.
pub(crate) struct Selection {
    backend: Option<String>,
    device_type: Option<String>,
}

impl Selection {
    /// From words or members of an enumeration, ours or dpctl's; without one, all.
    pub(crate) fn parse(
        backend: Option<&Bound<'_, PyAny>>,
        device_type: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        Ok(Self {
            backend: word("backend", "backend_type", backend)?,
            device_type: word("device_type", "device_type", device_type)?,
        })
    }

    pub(crate) fn has(&self, device: &Device) -> bool {
        let info = device.info();
        self.backend.as_ref().is_none_or(|name| name == info.backend_name)
            && self.device_type.as_ref().is_none_or(|name| *name == info.device_type.to_string())
    }
}

/// The word that an argument names; `None` for all.
fn word(name: &str, class: &str, argument: Option<&Bound<'_, PyAny>>) -> PyResult<Option<String>> {
    let Some(argument) = argument else { return Ok(None) };
    let py = argument.py();
    let is_enum = || argument.is_instance(&imported::import(py, intern!(py, "enum"))?.getattr("Enum")?);
    let word = if let Ok(text) = argument.cast::<PyString>() {
        text.to_string_lossy().into_owned()
    } else if is_enum()? {
        argument.getattr(intern!(py, "name"))?.extract()?
    } else {
        let found = type_name(argument);
        return Err(type_error!("{name}: found {found}, allowed is a str or a {class}"));
    };
    let words = imported::import(py, intern!(py, "usm._enums"))?.getattr(class)?;
    let words: Vec<String> = words.try_iter()?.map(|word| word?.extract()).collect::<PyResult<_>>()?;
    if !words.contains(&word) {
        return Err(value_error!("{name}: found {word:?}, allowed are {}", words.join(", ")));
    }
    Ok((word != "all").then_some(word))
}
