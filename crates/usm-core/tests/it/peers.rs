//! Peer access: who can, once on and once off, and what a failure leaves behind.
#![allow(clippy::unwrap_used)]

use crate::bases;
use crate::common;
use std::sync::Arc;

use usm_core::backend::host::HostBackend;
use usm_core::testing::{Fault, FaultyBackend, Method};
use usm_core::{Device, Error, HostDevice, Partition, PeerAccess, Runtime, RuntimeOptions};

fn refused(result: usm_core::Result<bool>, expected: &str) {
    let error = result.unwrap_err();
    let message = error.to_string();
    let Error::PeerAccess { device, peer, reason } = error else { unreachable!("{message}") };
    assert!(reason.contains(expected) && message.contains(&device) && message.contains(&peer), "{message}");
}

/// A device and a peer whose memory it can access, if the backend has such a pair.
fn pair(runtime: &Runtime, device: &Device) -> Option<[Device; 2]> {
    if device.info().max_sub_devices == 0 {
        let same = |other: &Device| other.backend_id() == device.backend_id();
        let roots: Vec<_> = runtime.devices().into_iter().filter(same).collect();
        return roots.try_into().ok();
    }
    let parts = device.create_sub_devices(&Partition::ByCounts(vec![1, 1])).unwrap();
    let pair: [Device; 2] = parts.try_into().unwrap();
    pair[0].can_access_peer(&pair[1], PeerAccess::AccessSupported).then_some(pair)
}

#[test]
fn access_is_switched_on_and_off() {
    let mut pairs = 0;
    for base in bases::all() {
        let runtime = Runtime::with_backend(base.backend.clone()).unwrap();
        let device = runtime.default_device().unwrap();
        refused(device.enable_peer_access(&device), "its own memory");
        refused(device.enable_peer_access(runtime.host_device()), "different backends");
        assert!(!device.can_access_peer(&device, PeerAccess::AccessSupported));
        assert!(!device.can_access_peer(runtime.host_device(), PeerAccess::AtomicsSupported));
        let Some([a, b]) = pair(&runtime, &device) else { continue };
        let changes = [
            a.disable_peer_access(&b),
            a.enable_peer_access(&b),
            a.enable_peer_access(&b),
            b.disable_peer_access(&a),
            b.enable_peer_access(&a),
            a.disable_peer_access(&b),
            a.disable_peer_access(&b),
            a.enable_peer_access(&b),
            a.disable_peer_access(&b),
            b.disable_peer_access(&a),
        ];
        // What is so already is no error, and each direction is one of its own.
        let changed = changes.map(Result::unwrap);
        assert_eq!(changed, [false, true, false, false, true, true, false, true, true, true]);
        pairs += 1;
    }
    // That of SYCL has two forms.
    let stand_ins = 2 * usize::from(cfg!(feature = "sycl")) + usize::from(cfg!(feature = "cuda"));
    assert_eq!(pairs, 1 + stand_ins, "host, and the GPUs of the stand-ins");
}

#[test]
fn devices_without_peers_say_so() {
    let Some(queue) = common::sycl_queue() else { return };
    // OpenCL has no peer access.
    if queue.device().info().backend_name == "opencl" && queue.device().info().max_sub_devices > 1 {
        assert!(pair(Runtime::global(), queue.device()).is_none());
        let parts = queue.device().create_sub_devices(&Partition::ByCounts(vec![1, 1])).unwrap();
        refused(parts[0].enable_peer_access(&parts[1]), "does not support it");
        refused(parts[0].disable_peer_access(&parts[1]), "does not support it");
    }
}

#[test]
fn simulated_devices_of_one_backend_are_peers() {
    let gpus = [HostDevice::new(usm_core::DeviceType::Gpu), HostDevice::new(usm_core::DeviceType::Gpu)];
    let options = || RuntimeOptions::new().host_only().host_devices(gpus.clone());
    let (devices, others) = (Runtime::new(options()).devices(), Runtime::new(options()).devices());
    assert!(devices[0].can_access_peer(&devices[1], PeerAccess::AccessSupported));
    assert!(devices[0].can_access_peer(&devices[1], PeerAccess::AtomicsSupported));
    assert!(!devices[0].can_access_peer(&others[1], PeerAccess::AccessSupported));
    devices[0].enable_peer_access(&devices[1]).unwrap();
    devices[0].disable_peer_access(&devices[1]).unwrap();
}

#[test]
fn a_failure_leaves_access_as_it_was() {
    let gpu = HostDevice::new(usm_core::DeviceType::Gpu).compute_units(2);
    let faulty = Arc::new(FaultyBackend::new(Arc::new(HostBackend::with_devices(&[gpu]))));
    let runtime = Runtime::with_backend(faulty.clone()).unwrap();
    let Some([a, b]) = pair(&runtime, &runtime.default_device().unwrap()) else { unreachable!() };
    let fails = |run: fn(&Device, &Device) -> usm_core::Result<bool>| {
        faulty.arm(Fault::at(1).of(Method::SetPeerAccess));
        assert!(matches!(run(&a, &b), Err(Error::Backend { call: "set_peer_access", .. })));
        faulty.disarm();
    };
    fails(Device::enable_peer_access);
    assert!(a.enable_peer_access(&b).unwrap());
    fails(Device::disable_peer_access);
    assert!(a.disable_peer_access(&b).unwrap());
}
