//! The environment variables that select and hide devices.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::runtime::cuda::{DRIVER as CUDA_DRIVER, SWITCH as CUDA_SWITCH};
use crate::runtime::select::DEFAULT_DEVICE;

/// An environment variable that changes the devices.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// Its value without what this library has appended; `None` when it was not set.
    pub value: Option<String>,
    /// What this library has appended to it.
    pub added: Option<String>,
    /// Its effect.
    pub decides: &'static str,
}

/// Selects devices.
pub(super) const SELECTOR: &str = "ONEAPI_DEVICE_SELECTOR";
/// Selects devices, too.
pub(super) const ALLOW_LIST: &str = "SYCL_DEVICE_ALLOWLIST";
/// The OpenCL drivers.
pub(super) const DRIVERS: &str = "OCL_ICD_FILENAMES";
/// `0` forbids changing [`DRIVERS`].
pub(super) const AUTOCONFIG: &str = "USM_SYCL_AUTOCONFIG";

/// The first place where the SYCL runtime is searched for.
pub(super) const ROOT: &str = "USM_SYCL_ROOT";

/// Selects devices of the CUDA driver.
pub(super) const CUDA_VISIBLE: &str = "CUDA_VISIBLE_DEVICES";
/// `1` keeps host code away from device memory.
const STRICT_DEVICE: &str = "USM_STRICT_DEVICE";

const VARIABLES: [(&str, &str); 15] = [
    (DEFAULT_DEVICE, "the default device, a filter selector"),
    (SELECTOR, "which devices the SYCL runtime shows"),
    (ALLOW_LIST, "which devices the SYCL runtime shows"),
    (DRIVERS, "which OpenCL drivers are loaded"),
    ("OCL_ICD_VENDORS", "where OpenCL drivers are registered"),
    (ROOT, "where the SYCL runtime is searched for first"),
    (AUTOCONFIG, "0: the OpenCL CPU driver is not added to OCL_ICD_FILENAMES"),
    (STRICT_DEVICE, "1: device memory of a CPU is left to queues, as that of other devices"),
    (CUDA_SWITCH, "0: the CUDA driver is not loaded"),
    (CUDA_DRIVER, "the CUDA driver, in place of the installed one"),
    (CUDA_VISIBLE, "which devices the CUDA driver shows"),
    ("VIRTUAL_ENV", "a place where the SYCL runtime is searched for"),
    ("CONDA_PREFIX", "a place where the SYCL runtime is searched for"),
    ("CMPLR_ROOT", "a place where the SYCL runtime is searched for"),
    ("ONEAPI_ROOT", "a place where the SYCL runtime is searched for"),
];

/// All of them, with their values from `lookup`. `registered` are the OpenCL drivers that this library has appended.
pub(super) fn read(lookup: &dyn Fn(&str) -> Option<OsString>, registered: &[PathBuf]) -> Vec<Variable> {
    let read = |(name, decides)| {
        let found = lookup(name);
        let (value, added) = match &found {
            Some(list) if name == DRIVERS => parted(list, registered),
            _ => (found, None),
        };
        let [value, added] = [value, added].map(|text| Some(text?.to_string_lossy().into_owned()));
        Variable { name, value, added, decides }
    };
    VARIABLES.into_iter().map(read).collect()
}

/// A list of drivers as the user gave it, and what was appended to it.
fn parted(list: &OsString, registered: &[PathBuf]) -> (Option<OsString>, Option<OsString>) {
    let (added, given): (Vec<_>, Vec<_>) =
        env::split_paths(list).partition(|driver| registered.contains(driver));
    if added.is_empty() {
        return (Some(list.clone()), None);
    }
    let joined = |drivers: &[PathBuf]| env::join_paths(drivers).ok().filter(|list| !list.is_empty());
    (joined(&given), joined(&added))
}

/// All OpenCL drivers that are listed.
pub(super) fn drivers(environment: &[Variable]) -> Vec<PathBuf> {
    let variable = environment.iter().find(|variable| variable.name == DRIVERS);
    let lists = variable.into_iter().flat_map(|variable| [&variable.value, &variable.added]).flatten();
    let drivers = lists.flat_map(|list| env::split_paths(list).collect::<Vec<_>>());
    drivers.filter(|driver| !driver.as_os_str().is_empty()).collect()
}

/// The value of a variable by the user.
pub(super) fn given<'a>(environment: &'a [Variable], name: &str) -> Option<&'a str> {
    environment.iter().find(|variable| variable.name == name)?.value.as_deref()
}

/// The same, but an empty value counts as unset.
pub(super) fn value<'a>(environment: &'a [Variable], name: &str) -> Option<&'a str> {
    given(environment, name).filter(|value| !value.is_empty())
}
