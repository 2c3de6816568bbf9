//! Which backends there are, and the choice of a device.
#![allow(clippy::unwrap_used)]

mod common;

use usm_core::{BackendId, BackendState, Error, Runtime, RuntimeOptions};

#[test]
fn the_host_device_is_always_there() {
    let runtime = Runtime::new(RuntimeOptions::new().without_sycl());
    assert_eq!(runtime.host_device().filter_string(), "host:cpu:0");
    for selector in ["host:cpu:0", "host", "host:cpu", "cpu", "0"] {
        assert_eq!(&runtime.select(&selector.parse().unwrap()).unwrap(), runtime.host_device(), "{selector}");
    }
    assert_eq!(&runtime.default_device(), runtime.host_device());
    let queue = runtime.default_queue(runtime.host_device()).unwrap();
    assert_eq!(queue, runtime.default_queue(runtime.host_device()).unwrap(), "the same at each call");
}

#[test]
fn a_missing_backend_says_why() {
    let runtime = Runtime::new(RuntimeOptions::new().without_sycl());
    let status = runtime.status();
    let sycl = status.iter().find(|status| status.backend == BackendId::Sycl).unwrap();
    assert!(!sycl.state.is_available());
    assert!(matches!(&sycl.state, BackendState::Missing { reason, .. } if reason.contains("switched off")));
    let error = runtime.select(&"opencl:cpu".parse().unwrap()).unwrap_err();
    assert!(matches!(error, Error::BackendUnavailable { .. }) && error.to_string().contains("switched off"));
    let error = runtime.select(&"host:cpu:1".parse().unwrap()).unwrap_err();
    assert!(
        matches!(error, Error::NoSuchDevice { .. }) && error.to_string().contains("host:cpu:0"),
        "{error}"
    );
}

#[test]
fn sycl_devices_come_first_and_are_selected_by_their_names() {
    let Some(queue) = common::sycl_queue() else { return };
    let runtime = Runtime::global();
    let devices = runtime.devices();
    assert_eq!(devices.last(), Some(runtime.host_device()));
    for device in &devices {
        assert_eq!(&runtime.select(&device.filter_string().parse().unwrap()).unwrap(), device);
        let info = device.info();
        assert!(!info.name.is_empty() && info.global_mem_bytes > 0 && info.max_alloc_bytes > 0, "{info:?}");
    }
    assert_eq!(runtime.default_device().backend_id(), BackendId::Sycl);
    assert!(queue.properties().in_order);
    assert!(runtime.status().iter().all(|status| status.state.is_available()));
}
