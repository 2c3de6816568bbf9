//! The one environment variable that is ever changed: `OCL_ICD_FILENAMES`, so that the OpenCL CPU device is seen.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::locate::names::SEPARATOR;

/// The list of drivers. The OpenCL loader reads it once, at the first request for a device.
pub(super) const DRIVERS: &str = "OCL_ICD_FILENAMES";

/// `0` forbids changing the list.
pub(super) const OPT_OUT: &str = "USM_SYCL_AUTOCONFIG";

/// Whether the environment allows changing the list.
pub(super) fn allowed() -> bool {
    env::var_os(OPT_OUT).is_none_or(|value| value != "0")
}

/// The list as it was before a change; unset is `None`.
#[derive(Debug)]
pub(super) struct Previous(Option<OsString>);

/// Appends a driver to the list; returns the list as it was, or `None` if the driver is listed already.
///
/// # Safety
///
/// 1. No other thread reads or writes the environment of the process meanwhile.
pub(super) unsafe fn register(driver: &Path) -> Option<Previous> {
    let current = env::var_os(DRIVERS);
    let list = appended(current.as_deref(), driver)?;
    // SAFETY: the caller's promise 1 is the one of `set_var`.
    unsafe { env::set_var(DRIVERS, list) };
    Some(Previous(current))
}

/// Takes a change back.
///
/// # Safety
///
/// 1. No other thread reads or writes the environment of the process meanwhile.
pub(super) unsafe fn restore(previous: Previous) {
    match previous.0 {
        // SAFETY: the caller's promise 1 is the one of `set_var`.
        Some(list) => unsafe { env::set_var(DRIVERS, list) },
        // SAFETY: the caller's promise 1 is the one of `remove_var`.
        None => unsafe { env::remove_var(DRIVERS) },
    }
}

/// The list with the driver at its end; `None` if no change is necessary.
fn appended(current: Option<&OsStr>, driver: &Path) -> Option<OsString> {
    let current = current.unwrap_or_default();
    let same = |listed: &Path| {
        listed == driver || matches!((listed.canonicalize(), driver.canonicalize()), (Ok(a), Ok(b)) if a == b)
    };
    if env::split_paths(current).any(|listed| same(&listed)) {
        return None;
    }
    let mut list = current.to_owned();
    if !list.is_empty() {
        list.push(SEPARATOR);
    }
    list.push(driver);
    Some(list)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::path::Path;

    use super::{SEPARATOR, appended};

    #[test]
    fn a_driver_is_appended_once_and_replaces_nothing() {
        let driver = Path::new("/v/lib/libintelocl.so");
        let list = |current: Option<&str>| {
            appended(current.map(OsStr::new), driver).map(|list| list.into_string().unwrap())
        };
        assert_eq!(list(None).as_deref(), Some("/v/lib/libintelocl.so"));
        assert_eq!(list(Some("")).as_deref(), Some("/v/lib/libintelocl.so"));
        let both = format!("/o.so{SEPARATOR}/v/lib/libintelocl.so");
        assert_eq!(list(Some("/o.so")).as_deref(), Some(&*both));
        assert_eq!(list(Some("/v/lib/libintelocl.so")), None);
        assert_eq!(list(Some(&format!("{both}{SEPARATOR}/p.so"))), None);
    }
}
