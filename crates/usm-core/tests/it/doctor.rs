//! The doctor's report: on this machine, without SYCL, and in processes of which something is wrong.
#![allow(clippy::unwrap_used)]

use crate::common;
use usm_core::{BackendId, DoctorReport, ProblemKind, Runtime, RuntimeOptions};

fn kinds(report: &DoctorReport) -> Vec<ProblemKind> {
    report.problems.iter().map(|problem| problem.kind).collect()
}

#[test]
fn without_sycl_there_is_one_problem() {
    let report = Runtime::new(RuntimeOptions::new().host_only()).doctor();
    assert_eq!(kinds(&report), [ProblemKind::SwitchedOff]);
    assert_eq!((report.sycl.as_ref(), report.places.len(), report.devices.len()), (None, 0, 1));
    assert!(report.devices[0].is_default && report.devices[0].filter_string == "host:cpu:0");
    assert!(!report.backend(BackendId::Sycl).unwrap().state.is_available());
    let text = report.to_string();
    for part in
        ["* host:cpu:0", "ONEAPI_DEVICE_SELECTOR", "what to do: ", "sycl   missing", "host   available"]
    {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
}

#[test]
fn a_working_installation_has_no_problem() {
    let Some(queue) = common::sycl_queue() else { return };
    let report = Runtime::global().doctor();
    let sycl = report.sycl.as_ref().unwrap();
    assert!(sycl.path.is_file() && sycl.version.starts_with(|c: char| c.is_ascii_digit()), "{sycl:?}");
    assert_eq!(report.places.iter().filter(|place| place.in_use).count(), 1, "{:?}", report.places);
    assert!(report.devices.iter().any(|device| device.filter_string == queue.device().filter_string()));
    assert_eq!(report.devices.iter().filter(|device| device.is_default).count(), 1);
    let text = report.to_string();
    let drivers = report.environment.iter().find(|variable| variable.name == "OCL_ICD_FILENAMES").unwrap();
    let is_switched_off = std::env::var("USM_SYCL_AUTOCONFIG").is_ok_and(|value| value == "0");
    if let (Some(driver), Some(list), false) = (&sycl.driver, &drivers.value, is_switched_off) {
        assert!(list.contains(driver.to_str().unwrap()), "{text}");
    }
    assert_eq!(kinds(&report), [], "{text}");
    assert!(text.contains("Problems\n  none\n") && text.contains(&sycl.version), "{text}");
}

/// Runs one of the tests below in a process with other variables; they do their work there only.
#[cfg(feature = "sycl")]
fn in_child(test: &str, variables: &[(&str, &str)]) -> bool {
    if std::env::var_os("USM_DOCTOR_CHILD").is_some() {
        return true;
    }
    if common::sycl_queue().is_some() {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args([&format!("doctor::{test}"), "--exact", "--nocapture"])
            .env("USM_DOCTOR_CHILD", "1")
            .env("USM_CUDA", "0")
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let passed = output.status.success() && text.contains("1 passed");
        assert!(passed, "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    }
    false
}

#[cfg(feature = "sycl")]
#[test]
fn a_selector_that_hides_all_devices_is_named() {
    if in_child("a_selector_that_hides_all_devices_is_named", &[("ONEAPI_DEVICE_SELECTOR", "cuda:gpu")]) {
        let report = Runtime::global().doctor();
        assert!(kinds(&report).contains(&ProblemKind::SelectorHidesDevices), "{report}");
        assert!(report.sycl.is_some() && report.devices.len() == 1, "{report}");
        assert!(report.to_string().contains("ONEAPI_DEVICE_SELECTOR=cuda:gpu leaves no device"), "{report}");
    }
}

#[cfg(feature = "sycl")]
#[test]
fn a_driver_that_may_not_be_registered_is_named() {
    // A folder without the drivers that the machine has registered.
    let vendors = std::env::temp_dir().join(format!("usm-doctor-vendors-{}", std::process::id()));
    std::fs::create_dir_all(&vendors).unwrap();
    let vendors_value = vendors.to_str().unwrap();
    let variables =
        [("USM_SYCL_AUTOCONFIG", "0"), ("OCL_ICD_FILENAMES", ""), ("OCL_ICD_VENDORS", vendors_value)];
    if in_child("a_driver_that_may_not_be_registered_is_named", &variables) {
        let report = Runtime::global().doctor();
        assert_eq!(kinds(&report), [ProblemKind::DriverNotRegistered], "{report}");
    }
    std::fs::remove_dir_all(vendors).unwrap();
}

#[cfg(feature = "sycl")]
#[test]
fn places_that_have_nothing_are_listed() {
    let empty = std::env::temp_dir().join(format!("usm-doctor-empty-{}", std::process::id()));
    std::fs::create_dir_all(&empty).unwrap();
    let variables = ["VIRTUAL_ENV", "CONDA_PREFIX", "CMPLR_ROOT", "ONEAPI_ROOT"].map(|name| (name, ""));
    let variables = [variables.as_slice(), &[("USM_SYCL_ROOT", empty.to_str().unwrap())]].concat();
    if in_child("places_that_have_nothing_are_listed", &variables) {
        let report = Runtime::global().doctor();
        // A library that the dynamic loader finds by its bare name would be used.
        if report.sycl.is_none() {
            assert_eq!(kinds(&report), [ProblemKind::NothingAtRoot], "{report}");
            assert_eq!(report.places[0].origin, "USM_SYCL_ROOT");
            assert!(report.problems[0].remedy.contains("unset USM_SYCL_ROOT"));
        }
    }
    std::fs::remove_dir_all(empty).unwrap();
}

#[cfg(feature = "sycl")]
#[test]
fn a_library_without_its_runtime_is_named() {
    if std::env::var_os("USM_DOCTOR_CHILD").is_none() && common::sycl_queue().is_none() {
        return;
    }
    let dir = std::env::temp_dir().join(format!("usm-doctor-target-{}", std::process::id()));
    let name = "a_library_without_its_runtime_is_named";
    if std::env::var_os("USM_DOCTOR_CHILD").is_none() {
        // What `pip install --target` leaves.
        let library = Runtime::global().doctor().sycl.unwrap().path;
        std::fs::create_dir_all(dir.join("dpctl")).unwrap();
        std::fs::copy(library, dir.join("dpctl/libDPCTLSyclInterface.so")).unwrap();
    }
    let variables = ["VIRTUAL_ENV", "CONDA_PREFIX", "CMPLR_ROOT", "ONEAPI_ROOT"].map(|name| (name, ""));
    let root = dir.to_str().unwrap().to_owned();
    let variables = [variables.as_slice(), &[("USM_SYCL_ROOT", root.as_str())]].concat();
    if in_child(name, &variables) {
        let report = Runtime::global().doctor();
        assert_eq!(kinds(&report), [ProblemKind::IncompleteInstallation], "{report}");
        assert!(report.problems[0].what.contains("pip install --target"), "{report}");
    } else {
        std::fs::remove_dir_all(dir).unwrap();
    }
}
