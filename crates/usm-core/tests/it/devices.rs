//! Platforms, sub-devices, facts and selection, on the host backend and on the real SYCL device.
#![allow(clippy::unwrap_used)]

use crate::common;
use usm_core::{
    AffinityDomain, Aspects, BackendId, Context, Device, DeviceLocation, DeviceType, Error, HostDevice,
    Partition, Queue, QueueProperties, Runtime, RuntimeOptions, UsmKind,
};

/// A CPU with 2 compute units and a GPU with 10 in two NUMA domains and 4096 bytes.
fn simulated() -> Runtime {
    let gpu = HostDevice::new(DeviceType::Gpu).compute_units(10).numa_domains(2).memory_bytes(4096);
    let cpu = HostDevice::new(DeviceType::Cpu).compute_units(2);
    Runtime::new(RuntimeOptions::new().host_only().host_devices([cpu, gpu]))
}

fn units(parts: &[Device]) -> Vec<u32> {
    parts.iter().map(|part| part.info().compute_units).collect()
}

/// Root devices that have parts: simulated ones, and the real one where there is one and it has.
fn roots() -> Vec<Device> {
    let mut roots = simulated().devices();
    let real = common::sycl_queue().map(|queue| queue.device().clone());
    roots.extend(real.filter(|device| device.info().max_sub_devices > 1));
    roots
}

#[test]
fn sub_devices_are_parts_without_a_number() {
    for root in roots() {
        let units_of_root = usize::try_from(root.info().compute_units).unwrap();
        assert_eq!((root.parent().unwrap(), root.info().max_sub_devices > 0), (None, true), "{root:?}");
        let counts = Partition::ByCounts(vec![1; units_of_root]);
        for partition in [Partition::Equally(1), counts] {
            let parts = root.create_sub_devices(&partition).unwrap();
            assert_eq!(units(&parts), vec![1; units_of_root], "{root:?}");
            let again = root.create_sub_devices(&partition).unwrap();
            assert!(
                parts[0] != parts[1] && parts[0] != root && parts[0] != again[0],
                "new ones at each call"
            );
            for part in &parts {
                assert_eq!(part.parent().unwrap().as_ref(), Some(&root));
                assert_eq!((part.info().number, part.filter_selector()), (None, None));
                assert_eq!(part.filter_string(), format!("sub-device of {}", root.filter_string()));
                assert_eq!(part.platform().unwrap(), root.platform().unwrap());
                assert!(part.filter_string().parse::<usm_core::FilterSelector>().is_err());
                let info = part.info();
                assert_eq!(info.global_mem_bytes, root.info().global_mem_bytes);
                assert_eq!(info.aspects, root.info().aspects);
            }
        }
    }
}

#[test]
fn partitions_that_cannot_be_say_why() {
    for root in roots() {
        let units = usize::try_from(root.info().compute_units).unwrap();
        for (partition, expected) in [
            (Partition::Equally(0), "at least 1 compute unit"),
            (Partition::Equally(units + 1), "not so many compute units"),
            (Partition::ByCounts(vec![]), "no part"),
            (Partition::ByCounts(vec![1, 0]), "at least 1 compute unit"),
            (Partition::ByCounts(vec![units, 1]), "not so many compute units"),
            (Partition::ByAffinity(AffinityDomain::L1Cache), "does not offer"),
        ] {
            let error = root.create_sub_devices(&partition).unwrap_err();
            let text = error.to_string();
            assert!(matches!(error, Error::CannotPartition { .. }) && text.contains(expected), "{text}");
            let numbers = format!("it has {units} compute units");
            assert!(
                text.contains(&numbers)
                    && text.contains(&root.filter_string())
                    && text.contains(&partition.to_string()),
                "{text}"
            );
        }
        let smallest = root.create_sub_devices(&Partition::Equally(1)).unwrap().remove(0);
        let error = smallest.create_sub_devices(&Partition::Equally(1)).unwrap_err();
        assert!(error.to_string().contains("cannot be partitioned at all"), "{error}");
    }
}

#[test]
fn contexts_queues_and_memory_of_sub_devices_work() {
    for root in roots() {
        let parts = root.create_sub_devices(&Partition::ByCounts(vec![1, 1])).unwrap();
        let own = parts[0].default_context().unwrap();
        assert_eq!(own, parts[0].clone().default_context().unwrap(), "the same for all clones");
        assert_eq!(own.devices().unwrap(), parts[..1]);
        assert_ne!(own, root.default_context().unwrap());
        let over_both = Context::new(&parts).unwrap();
        assert_eq!(over_both.devices().unwrap(), parts);
        let refused = over_both.create_queue(&root, QueueProperties::IN_ORDER);
        assert!(matches!(refused, Err(Error::DeviceNotInContext { .. })));
        let refused = root.default_context().unwrap().create_queue(&parts[0], QueueProperties::IN_ORDER);
        assert!(refused.unwrap_err().to_string().contains("sub-device of"));
        let first = own.create_queue(&parts[0], QueueProperties::IN_ORDER).unwrap();
        let second = over_both.create_queue(&parts[1], QueueProperties::OUT_OF_ORDER).unwrap();
        for queue in [first, second] {
            for kind in UsmKind::ALL {
                let [a, b] = [0; 2].map(|_| queue.allocate(kind, 1000).unwrap());
                let mut bytes = [0; 1000];
                let (from, to) = (a.as_ptr().as_ptr(), b.as_ptr().as_ptr());
                // SAFETY: within the blocks, one after the other, waited for.
                let set = unsafe { queue.memset(from, 7, 1000, &[]) }.unwrap();
                // SAFETY: as above.
                let copied = unsafe { queue.memcpy(to, from, 1000, &[set]) }.unwrap();
                // SAFETY: as above.
                unsafe { queue.memcpy(bytes.as_mut_ptr(), to, 1000, &[copied]) }.unwrap().wait().unwrap();
                assert_eq!(bytes, [7; 1000]);
                let info = queue.context().pointer_info(a.address()).unwrap();
                assert_eq!(info.kind, kind);
                let device = queue.context().pointer_device(a.address()).unwrap().unwrap();
                // OpenCL names the first of a context's sub-devices, which have the same memory.
                assert!(&device == queue.device() || device == parts[0], "{device:?} {kind}");
                assert_eq!(device.parent().unwrap().as_ref(), Some(&root), "asked of the runtime");
            }
        }
    }
}

#[test]
fn a_default_queue_of_a_sub_device_is_always_the_same() {
    for root in roots() {
        let runtime = simulated();
        let part = root.create_sub_devices(&Partition::ByCounts(vec![1])).unwrap().remove(0);
        let queue = runtime.default_queue(&part).unwrap();
        assert_eq!((queue.device(), queue.context()), (&part, &part.default_context().unwrap()));
        assert_eq!(queue, runtime.default_queue(&part).unwrap());
        assert_eq!(queue, runtime.queue_in(queue.context(), &part).unwrap());
    }
}

#[test]
fn simulated_parts_share_the_memory_of_their_root() {
    let gpu = simulated().select_type(DeviceType::Gpu).unwrap();
    let halves = gpu.create_sub_devices(&Partition::ByAffinity(AffinityDomain::NextPartitionable)).unwrap();
    assert_eq!(units(&halves), [5, 5]);
    let parts = halves[0].create_sub_devices(&Partition::Equally(2)).unwrap();
    assert_eq!(units(&parts), [2, 2]);
    assert_eq!(parts[0].filter_string(), "sub-device of sub-device of host:gpu:0");
    assert!(halves[0].create_sub_devices(&Partition::ByAffinity(AffinityDomain::Numa)).is_err());
    let queue = |device: &Device| Queue::clone(&simulated().default_queue(device).unwrap());
    let block = queue(&parts[0]).allocate(UsmKind::Device, 3000).unwrap();
    assert!(matches!(queue(&halves[1]).allocate(UsmKind::Shared, 1097), Err(Error::OutOfMemory { .. })));
    queue(&gpu).allocate(UsmKind::Shared, 1096).unwrap();
    drop(block);
    queue(&halves[1]).allocate(UsmKind::Host, 4096).unwrap();
}

#[test]
fn platforms_have_their_devices() {
    for runtime in [&simulated(), Runtime::global()] {
        let platforms = runtime.platforms().unwrap();
        let of_platforms: Vec<_> =
            platforms.iter().flat_map(|platform| platform.devices().unwrap()).collect();
        for device in runtime.devices() {
            assert!(of_platforms.contains(&device), "{device:?}");
            let platform = device.platform().unwrap();
            assert!(platforms.contains(&platform));
            assert_eq!(platform.backend_id(), device.backend_id());
            assert_eq!(platform.info().backend_name, device.info().backend_name);
            assert!(!platform.info().name.is_empty() && !platform.info().version.is_empty());
            assert!(!platform.info().vendor.is_empty());
            let (context, of_platform) =
                (device.default_context().unwrap(), platform.default_context().unwrap());
            if device.backend_id() == BackendId::Cuda {
                // Each GPU has one of its own; a platform has that of its first one.
                assert_eq!(context.devices().unwrap(), [device]);
                assert_eq!(of_platform, platform.devices().unwrap()[0].default_context().unwrap());
            } else {
                assert_eq!(of_platform, context);
            }
        }
        let text = runtime.tree().unwrap().to_string();
        for device in runtime.devices() {
            assert!(text.contains(&format!("── {}", device.filter_string())), "{text}");
            assert!(text.contains(&format!("aspects: {}", device.info().aspects)), "{text}");
        }
        assert_eq!(text.matches("(default)").count(), 1, "{text}");
    }
}

#[test]
fn facts_are_plausible() {
    for root in roots() {
        let info = root.info();
        assert!(
            !info.name.is_empty() && !info.vendor.is_empty() && !info.driver_version.is_empty(),
            "{info:?}"
        );
        assert!(
            info.max_work_group_size > 0 && info.max_work_item_sizes.iter().all(|&size| size > 0),
            "{info:?}"
        );
        assert!(info.max_sub_groups > 0 && !info.sub_group_sizes.contains(&0), "{info:?}");
        assert!(!info.sub_group_sizes.is_empty() && info.profiling_timer_resolution_ns > 0, "{info:?}");
        assert!(info.native_vector_widths.char >= info.native_vector_widths.long, "{info:?}");
        assert!(info.preferred_vector_widths.float > 0 && info.native_vector_widths.float > 0, "{info:?}");
        let by_type = match info.device_type {
            DeviceType::Cpu => Aspects::CPU,
            DeviceType::Gpu => Aspects::GPU,
            DeviceType::Accelerator => Aspects::ACCELERATOR,
            _ => Aspects::CUSTOM,
        };
        assert!(
            info.has(by_type) && info.aspects.intersection(Aspects::CPU | Aspects::GPU).iter().count() < 2
        );
        assert!(UsmKind::ALL.iter().all(|&kind| info.supports(kind) == info.has(Aspects::of_kind(kind))));
    }
    let Some(queue) = common::sycl_queue() else { return };
    let info = queue.device().info();
    assert!(info.global_cache_bytes > 0 && info.global_cache_line_bytes.is_power_of_two(), "{info:?}");
    assert!(info.global_cache_type.is_some() && info.local_mem_bytes > 0, "{info:?}");
}

#[test]
fn devices_are_selected_by_type_aspects_and_score() {
    let runtime = simulated();
    let name = |device: usm_core::Result<Device>| device.map(|device| device.filter_string());
    assert_eq!(runtime.default_device().unwrap().filter_string(), "host:gpu:0", "a GPU before a CPU");
    assert_eq!(name(runtime.select_type(DeviceType::Cpu)).unwrap(), "host:cpu:0");
    let none = runtime.select_type(DeviceType::Accelerator).unwrap_err().to_string();
    assert!(none.contains("type accelerator") && none.contains("host:cpu:0, host:gpu:0"), "{none}");
    let with = |required, forbidden| name(runtime.select_with_aspects(required, forbidden));
    assert_eq!(with(Aspects::FP64, Aspects::empty()).unwrap(), "host:gpu:0");
    assert_eq!(with(Aspects::FP64, Aspects::EMULATED).unwrap(), "host:cpu:0");
    let none = with(Aspects::IMAGE | Aspects::FP64, Aspects::CPU).unwrap_err().to_string();
    assert!(none.contains("aspects [fp64, image] without [cpu]"), "{none}");
    let few_units = |device: &Device| Some(std::cmp::Reverse(device.info().compute_units));
    assert_eq!(name(runtime.select_with(few_units)).unwrap(), "host:cpu:0");
    assert_eq!(name(runtime.select_with(|_| Some(0))).unwrap(), "host:cpu:0", "the first of equals");
    assert!(runtime.select_with(|_| None::<u8>).is_err());
}

#[test]
fn filter_selectors_take_the_preferred_of_all_they_accept() {
    let runtime = simulated();
    for (selector, expected) in [
        ("cpu,gpu", "host:gpu:0"),
        ("gpu,cpu", "host:gpu:0"),
        ("host", "host:gpu:0"),
        ("0", "host:cpu:0"),
        ("1", "host:gpu:0"),
        ("accelerator,cpu", "host:cpu:0"),
        ("cuda:gpu,host:cpu", "host:cpu:0"),
        ("gpu:1,cpu:0", "host:cpu:0"),
        ("host:1,host:0", "host:gpu:0"),
    ] {
        let device = runtime.select(selector).unwrap();
        assert_eq!(device.filter_string(), expected, "{selector}");
        assert_eq!(runtime.select(device.filter_selector().unwrap()).unwrap(), device);
    }
    let error = runtime.select("gpu:1,accelerator").unwrap_err();
    assert!(matches!(&error, Error::NoSuchDevice { .. }) && error.to_string().contains("gpu:1,accelerator"));
    let error = runtime.select("cuda,hip:gpu").unwrap_err();
    assert!(matches!(error, Error::BackendUnavailable { .. }));
    let Some(queue) = common::sycl_queue() else { return };
    let device = queue.device();
    for selector in [format!("host,{}", device.filter_string()), "accelerator:7,cpu".to_owned()] {
        let found = Runtime::global().select(selector).unwrap();
        assert_eq!(found.backend_id(), BackendId::Sycl, "SYCL devices come first");
    }
}

#[test]
fn parts_of_parts_have_an_end() {
    for root in roots() {
        let all = Partition::ByCounts(vec![root.info().compute_units.try_into().unwrap()]);
        let mut device = root.clone();
        let levels = (0..100).take_while(|_| {
            let parts = device.create_sub_devices(&all);
            if let Err(error) = &parts {
                assert!(error.to_string().contains("a part of a part"), "{error}");
            }
            parts.map(|parts| device = parts[0].clone()).is_ok()
        });
        assert_eq!(levels.count(), 32);
        assert!(device.filter_string().ends_with(&root.filter_string()));
        drop(device);
        assert!(root.create_sub_devices(&all).is_ok());
    }
}

#[test]
fn devices_are_found_where_they_were() {
    for root in roots() {
        let runtime = Runtime::global();
        if runtime.select(root.filter_string()).is_ok_and(|found| found == root) {
            let location = root.location().unwrap();
            assert_eq!((&location.root, location.parts.len()), (&root.filter_string(), 0));
            assert_eq!(runtime.device_at(&location).unwrap(), root);
        }
    }
    let host = HostDevice::new(DeviceType::Gpu).compute_units(8).numa_domains(2);
    let runtime = Runtime::new(RuntimeOptions::new().host_only().host_devices([host]));
    let root = runtime.host_device();
    for partition in
        [Partition::Equally(2), Partition::ByCounts(vec![1, 4]), Partition::ByAffinity(AffinityDomain::Numa)]
    {
        for (position, part) in root.create_sub_devices(&partition).unwrap().iter().enumerate() {
            let location = part.location().unwrap();
            assert_eq!(location.parts, [(partition.clone(), position)]);
            let found = runtime.device_at(&location).unwrap();
            assert_eq!(found.info(), part.info());
            assert_eq!((found.parent().unwrap().as_ref(), found.location().unwrap()), (Some(root), location));
        }
    }
    let part = root.create_sub_devices(&Partition::Equally(4)).unwrap().remove(1);
    let grandchild = part.create_sub_devices(&Partition::Equally(1)).unwrap().remove(3);
    let location = grandchild.location().unwrap();
    assert_eq!(location.parts, [(Partition::Equally(4), 1), (Partition::Equally(1), 3)]);
    assert_eq!(runtime.device_at(&location).unwrap().location().unwrap(), location);

    let missing = |change: fn(&mut DeviceLocation)| {
        let mut changed = location.clone();
        change(&mut changed);
        runtime.device_at(&changed).unwrap_err().to_string()
    };
    assert!(missing(|location| location.root = "host:gpu:1".to_owned()).contains("there are: host:gpu:0"));
    assert!(missing(|location| location.parts[1].1 = 4).contains("part 4 of sub-device of host:gpu:0"));
    assert!(missing(|location| location.parts[0].0 = Partition::Equally(9)).contains("compute units"));
    let text = missing(|location| location.pci_address = Some("0000:17:00.0".to_owned()));
    assert!(text.contains("host:gpu:0 at the PCI address 0000:17:00.0"), "{text}");
}
