//! Several simulated devices on one machine: their names, contexts and limits.
#![allow(clippy::unwrap_used)]

use usm_core::{Context, DeviceType, Error, HostDevice, Runtime, RuntimeOptions, UsmKind};

fn runtime() -> Runtime {
    let gpu = HostDevice::new(DeviceType::Gpu);
    let small = gpu.clone().memory_bytes(4096).max_alloc_bytes(1024);
    Runtime::new(RuntimeOptions::new().host_only().host_devices([
        HostDevice::new(DeviceType::Cpu),
        gpu,
        small,
    ]))
}

#[test]
fn devices_are_told_apart() {
    let runtime = runtime();
    let names: Vec<_> = runtime.devices().iter().map(|device| device.filter_string()).collect();
    assert_eq!(names, ["host:cpu:0", "host:gpu:0", "host:gpu:1"]);
    for name in &names {
        assert_eq!(&runtime.select(name).unwrap().filter_string(), name);
    }
    assert_eq!(runtime.select("gpu:1").unwrap().filter_string(), "host:gpu:1");
    assert!(runtime.select("host:gpu:2").is_err());
    assert!(Runtime::new(RuntimeOptions::new().host_only().host_devices([])).devices().len() == 1);
}

#[test]
fn memory_belongs_to_its_device_and_context() {
    let runtime = runtime();
    let devices = runtime.devices();
    let blocks: Vec<_> = devices
        .iter()
        .flat_map(|device| {
            let queue = runtime.default_queue(device).unwrap();
            UsmKind::ALL.map(|kind| queue.allocate(kind, 16).unwrap())
        })
        .collect();
    for block in &blocks {
        for device in &devices {
            let context = device.default_context().unwrap();
            let expected = (block.device() == device).then_some(device);
            assert_eq!(context.pointer_device(block.address()).unwrap().as_ref(), expected);
        }
    }
    // One context over two devices: the pointer's device is the one it was allocated for.
    let both = Context::new(&devices[1..]).unwrap();
    for device in &devices[1..] {
        let queue = both.create_queue(device, usm_core::QueueProperties::IN_ORDER).unwrap();
        let block = queue.allocate(UsmKind::Device, 16).unwrap();
        assert_eq!(both.pointer_device(block.address()).unwrap().as_ref(), Some(device));
    }
    assert!(both.create_queue(&devices[0], usm_core::QueueProperties::IN_ORDER).is_err());
}

#[test]
fn limits_are_exact_and_freed_memory_counts_again() {
    let runtime = runtime();
    let small = runtime.select("host:gpu:1").unwrap();
    let queue = runtime.default_queue(&small).unwrap();
    assert_eq!((small.info().global_mem_bytes, small.info().max_alloc_bytes), (4096, 1024));
    for kind in UsmKind::ALL {
        assert!(matches!(queue.allocate(kind, 1025), Err(Error::TooLarge { max_bytes: 1024, .. })));
        let mut blocks: Vec<_> = (0..4).map(|_| queue.allocate(kind, 1024).unwrap()).collect();
        assert!(matches!(queue.allocate(kind, 1), Err(Error::OutOfMemory { len_bytes: 1, .. })));
        blocks.pop();
        queue.allocate(kind, 1024).unwrap();
    }
    let large = runtime.default_queue(&runtime.select("host:gpu:0").unwrap()).unwrap();
    large.allocate(UsmKind::Device, 8192).unwrap();
}
