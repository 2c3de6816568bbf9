//! The texts of the printing functions about platforms and devices.

use std::fmt::Write as _;

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use usm_array::usm_core::{Device, Platform};

use crate::errors::OrRaise;
use crate::imported;

/// Through Python's `print`, so that a redirected `sys.stdout` gets it.
pub(crate) fn print(py: Python<'_>, text: &str) -> PyResult<()> {
    imported::import(py, intern!(py, "builtins"))?.getattr("print")?.call1((text,)).map(drop)
}

pub(crate) fn device(device: &Device) -> String {
    let info = device.info();
    format!(
        "    Name            {}\n    Driver version  {}\n    Vendor          {}\n    Filter string   {}\n",
        info.name,
        info.driver_version,
        info.vendor,
        device.filter_string()
    )
}

/// The argument `verbosity`: 0, 1 or 2. Other values are 0, with a warning.
pub(crate) fn verbosity(py: Python<'_>, argument: Option<&Bound<'_, PyAny>>) -> PyResult<u8> {
    let Some(argument) = argument else { return Ok(0) };
    if let Some(known) = argument.extract().ok().filter(|&number: &u8| number <= 2) {
        return Ok(known);
    }
    let category = py.get_type::<PyUserWarning>();
    PyErr::warn(py, &category, c"verbosity: allowed are 0, 1 and 2; it is taken as 0", 1)?;
    Ok(0)
}

/// The platform's name and version at verbosity 0, more about it at 1, and its devices at 2.
pub(crate) fn platform(platform: &Platform, verbosity: u8) -> PyResult<String> {
    let info = platform.info();
    if verbosity == 0 {
        return Ok(format!("{} {}", info.name, info.version));
    }
    let devices = platform.devices().or_raise()?;
    let mut text = format!(
        "    Name        {}\n    Version     {}\n    Vendor      {}\n    Backend     {}\n    Num Devices {}",
        info.name,
        info.version,
        info.vendor,
        info.backend_name,
        devices.len()
    );
    for (number, device) in devices.iter().enumerate().filter(|_| verbosity == 2) {
        let info = device.info();
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n      # {number}\n        Name                {}\n        Version             {}\n        Filter string       {}",
            info.name,
            info.driver_version,
            device.filter_string()
        );
    }
    Ok(text)
}
