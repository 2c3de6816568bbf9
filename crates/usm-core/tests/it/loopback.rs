//! The SYCL backend over the loopback library: nothing leaks, nothing is misused, failures are errors. Needs no SYCL.
#![cfg(feature = "sycl")]
#![allow(clippy::unwrap_used)]

use crate::bases;
use std::sync::Arc;

use sycl_loopback::{Alignment, Form, Kind, Loopback};
use usm_core::{
    AffinityDomain, Aspects, BackendId, CacheType, Context, Error, EventStatus, ImageLimits, Partition,
    QueueProperties, Runtime, UsmKind, VectorWidths,
};

/// Runs a test with each form of the loopback library. A failure is that of the form printed last.
fn with_runtime(test: impl Fn(&Loopback, &Runtime)) {
    for form in Form::ALL {
        println!("{form:?}");
        with_runtime_of(form, &test);
    }
}

fn with_runtime_of(form: Form, test: impl FnOnce(&Loopback, &Runtime)) {
    let (loopback, backend) = bases::stand_in(|| Loopback::in_form(form));
    let runtime = Runtime::with_backend(Arc::new(backend)).unwrap();
    test(&loopback, &runtime);
    drop(runtime);
    assert_eq!(loopback.leaks(), []);
    assert_eq!(loopback.faults(), 0);
}

#[test]
fn devices_and_their_facts() {
    with_runtime(|_, runtime| {
        let names: Vec<_> = runtime.devices().iter().map(|device| device.filter_string()).collect();
        assert_eq!(names, ["opencl:cpu:0", "opencl:gpu:0", "host:cpu:0"]);
        assert_eq!(runtime.default_device().unwrap().filter_string(), "opencl:gpu:0", "a GPU before a CPU");
        let cpu = runtime.select("opencl:cpu").unwrap();
        let gpu = runtime.select("gpu").unwrap();
        assert!(cpu.info().has(Aspects::FP64) && !gpu.info().has(Aspects::FP64));
        assert_ne!(cpu, gpu);
        assert_ne!(cpu.default_context().unwrap(), gpu.default_context().unwrap());
        assert!(Context::new(&[cpu, gpu]).is_err(), "devices of two platforms");
    });
}

#[test]
fn a_round_trip_of_every_kind_leaves_nothing() {
    with_runtime(|loopback, runtime| {
        for device in runtime.devices().iter().filter(|device| device.backend_id() == BackendId::Sycl) {
            let context = Context::new(std::slice::from_ref(device)).unwrap();
            let queue =
                context.create_queue(device, QueueProperties::OUT_OF_ORDER.with_profiling(true)).unwrap();
            for kind in UsmKind::ALL {
                let a = queue.allocate(kind, 64).unwrap();
                let b = queue.allocate_aligned(kind, 64, 128).unwrap();
                assert!(b.address().is_multiple_of(128));
                let pattern: Vec<u8> = (0..16).collect();
                let (to, from) = (b.as_ptr().as_ptr(), a.as_ptr().as_ptr());
                // SAFETY: within live blocks, ordered by events, waited for.
                let filled = unsafe { queue.fill(from, &pattern, 4, &[]) }.unwrap();
                // SAFETY: as above.
                let copied = unsafe { queue.memcpy(to, from, 64, std::slice::from_ref(&filled)) }.unwrap();
                // SAFETY: as above; a fill with a dependency goes through a barrier.
                let cleared = unsafe { queue.memset(from, 0, 64, std::slice::from_ref(&copied)) }.unwrap();
                cleared.wait().unwrap();
                let mut bytes = [0; 64];
                // SAFETY: as above.
                unsafe { queue.memcpy(bytes.as_mut_ptr(), to, 64, &[]) }.unwrap().wait().unwrap();
                assert_eq!(bytes[..], pattern.repeat(4));
                assert_eq!(context.pointer_info(a.address() + 63).unwrap().kind, kind);
                assert_eq!(context.pointer_info(a.address() + 64), None);
            }
            queue.wait().unwrap();
            // A queue keeps the event of its last barrier.
            drop(queue);
            assert_eq!(loopback.live(Kind::Event), 0, "events are released");
        }
    });
}

/// PoCL ignores large alignments, CUDA refuses them.
#[test]
fn alignments_that_the_runtime_does_not_have_come_from_longer_blocks() {
    for limited in [Alignment::NoMoreThan(128), Alignment::UpTo(256)] {
        with_runtime(|loopback, runtime| {
            loopback.set_alignment(limited);
            let queue = runtime.default_queue(&runtime.default_device().unwrap()).unwrap();
            let kind_at = |address| queue.context().pointer_info(address).map(|info| info.kind);
            for kind in UsmKind::ALL {
                for align in [64, 128, 256, 4096, 2 << 20] {
                    let memory = queue.allocate_aligned(kind, 100, align).unwrap();
                    assert!(memory.address().is_multiple_of(align), "{limited:?} {kind} {align}");
                    assert_eq!(memory.len_bytes(), 100);
                    assert_eq!([0, 99].map(|at| kind_at(memory.address() + at)), [Some(kind); 2]);
                    // SAFETY: within a live block, waited for; the loopback notices what leaves its block.
                    unsafe { queue.memset(memory.as_ptr().as_ptr(), 7, 100, &[]) }.unwrap().wait().unwrap();
                    assert_eq!(loopback.live(Kind::Allocation), 1, "what was not aligned is free again");
                }
                let most = usize::try_from(queue.device().info().max_alloc_bytes).unwrap();
                let refused = queue.allocate_aligned(kind, 100, most.next_power_of_two()).unwrap_err();
                assert!(matches!(refused, Error::AlignmentNotHonoured { .. }), "{refused}");
            }
        });
    }
}

#[test]
fn an_alignment_that_is_preferred_is_a_wish() {
    for (alignment, is_honoured) in
        [(Alignment::Any, true), (Alignment::NoMoreThan(128), false), (Alignment::UpTo(256), false)]
    {
        with_runtime(|loopback, runtime| {
            loopback.set_alignment(alignment);
            let queue = runtime.default_queue(&runtime.default_device().unwrap()).unwrap();
            for needed in [None, Some(64), Some(128), Some(1024)] {
                let memory = queue.allocate_preferring(UsmKind::Device, 1 << 20, needed, 2 << 20).unwrap();
                assert!(memory.address().is_multiple_of(needed.unwrap_or(1)), "{alignment:?} {needed:?}");
                // A longer block would contain memory that is aligned so: a wish is not worth it.
                let may_be_padded = needed == Some(1024) && !is_honoured;
                assert!(may_be_padded || memory.address().is_multiple_of(2 << 20) == is_honoured);
            }
            for (needed, preferred) in [(Some(3), 64), (None, 0), (None, 48)] {
                let refused = queue.allocate_preferring(UsmKind::Device, 8, needed, preferred).unwrap_err();
                assert!(matches!(refused, Error::InvalidAlignment { .. }), "{refused}");
            }
        });
    }
}

#[test]
fn failures_of_the_runtime_are_errors() {
    with_runtime(|loopback, runtime| {
        let queue = runtime.default_queue(&runtime.default_device().unwrap()).unwrap();
        for (kind, symbol) in [
            (UsmKind::Host, "DPCTLmalloc_host"),
            (UsmKind::Device, "DPCTLmalloc_device"),
            (UsmKind::Shared, "DPCTLmalloc_shared"),
        ] {
            loopback.fail_next(symbol, 1).unwrap();
            assert!(matches!(queue.allocate(kind, 8), Err(Error::OutOfMemory { len_bytes: 8, .. })));
            queue.allocate(kind, 8).unwrap();
        }
        let block = queue.allocate(UsmKind::Shared, 8).unwrap();
        loopback.fail_next("DPCTLQueue_Memcpy", 1).unwrap();
        // SAFETY: refused; nothing is touched.
        let refused = unsafe { queue.memcpy(block.as_ptr().as_ptr(), [0; 8].as_ptr(), 8, &[]) };
        assert!(matches!(refused, Err(Error::Backend { call: "Queue_Memcpy", .. })));
        loopback.fail_next("DPCTLQueue_Create", 1).unwrap();
        let refused = queue.context().create_queue(queue.device(), QueueProperties::IN_ORDER);
        assert!(matches!(refused, Err(Error::Backend { call: "Queue_Create", .. })));
    });
}

#[test]
fn handles_that_are_not_sycl_objects_are_refused() {
    with_runtime(|_, runtime| {
        let backend = runtime.sycl_backend().unwrap();
        let queue = runtime.default_queue(&runtime.default_device().unwrap()).unwrap();
        // The loopback's handles are numbers, not addresses: just what a junk pointer is like.
        let handle = queue.to_external().unwrap();
        // SAFETY: no SYCL object, which the call detects.
        let refused = unsafe { usm_core::Queue::from_external(backend, handle.as_ptr().as_ptr()) };
        assert!(matches!(refused, Err(Error::InvalidExternalHandle { what: "queue", .. })));
    });
}

#[test]
fn an_operation_is_over_before_its_wait_fails() {
    with_runtime(|loopback, runtime| {
        let queue = runtime.default_queue(&runtime.default_device().unwrap()).unwrap();
        let block = queue.allocate(UsmKind::Shared, 8).unwrap();
        // SAFETY: within the block, waited for.
        let event = unsafe { queue.memset(block.as_ptr().as_ptr(), 7, 8, &[]) }.unwrap();
        // Whoever only looks sees that, too.
        loopback.fail_next("DPCTLEvent_GetCommandExecutionStatus", 1).unwrap();
        assert_eq!(event.status(), EventStatus::Failed);
        loopback.fail_next("DPCTLEvent_GetCommandExecutionStatus", 1).unwrap();
        assert!(event.is_complete());
        loopback.fail_next("DPCTLEvent_GetCommandExecutionStatus", 1).unwrap();
        assert!(matches!(event.wait(), Err(Error::Backend { call: "Event_WaitAndThrow", .. })));
        event.wait().unwrap();
    });
}

#[test]
fn composite_devices_and_their_components() {
    with_runtime(|_, runtime| {
        let [cpu, gpu, host] = runtime.devices().try_into().unwrap();
        assert_eq!(cpu.component_devices().unwrap(), std::slice::from_ref(&gpu));
        assert_eq!(gpu.composite_device().unwrap().as_ref(), Some(&cpu));
        assert_eq!(cpu.platform().unwrap().composite_devices().unwrap(), std::slice::from_ref(&cpu));
        assert_eq!(gpu.platform().unwrap().composite_devices().unwrap(), []);
        assert_eq!((gpu.component_devices().unwrap(), cpu.composite_device().unwrap()), (vec![], None));
        assert_eq!((host.component_devices().unwrap(), host.composite_device().unwrap()), (vec![], None));
        assert_eq!(host.platform().unwrap().composite_devices().unwrap(), []);
    });
}

#[test]
fn peer_access_that_is_still_on_goes_with_the_backend() {
    with_runtime(|loopback, runtime| {
        let gpu = runtime.default_device().unwrap();
        let tiles = gpu.create_sub_devices(&Partition::ByAffinity(AffinityDomain::Numa)).unwrap();
        tiles[0].enable_peer_access(&tiles[1]).unwrap();
        drop(tiles);
        assert_eq!(loopback.leaks(), [(Kind::Device, 4)], "two of the runtime, and the pair");
    });
}

#[test]
fn facts_are_those_of_the_device() {
    with_runtime(|_, runtime| {
        let info = runtime.default_device().unwrap().info().clone();
        assert_eq!(info.sub_group_sizes, [16, 32]);
        assert_eq!(info.max_work_item_sizes, [1024, 1024, 64]);
        assert_eq!((info.global_cache_bytes, info.global_cache_line_bytes), (1 << 20, 64));
        assert_eq!(info.global_cache_type, Some(CacheType::ReadWrite));
        assert_eq!((info.max_clock_mhz, info.profiling_timer_resolution_ns), (2000, 10));
        assert_eq!((info.max_sub_groups, info.max_sub_devices), (64, 64));
        let mut images = ImageLimits::default();
        (images.max_read_args, images.max_write_args) = (128, 64);
        (images.max_2d, images.max_3d) = ([8192, 4096], [2048, 1024, 512]);
        assert_eq!(info.images, images);
        let scores = runtime.devices().into_iter().map(|device| device.info().default_selector_score);
        assert_eq!(scores.collect::<Vec<_>>(), [300, 500, 3], "CPU, GPU, host device");
        let widths = |first| VectorWidths {
            char: first,
            short: first + 1,
            int: first + 2,
            long: first + 3,
            float: first + 4,
            double: first + 5,
            half: first + 6,
        };
        assert_eq!((info.preferred_vector_widths, info.native_vector_widths), (widths(1), widths(11)));
        let both = "gpu, fp16, online_compiler, queue_profiling, usm_device_allocations, usm_host_allocations, usm_shared_allocations";
        let aspects = info.aspects - Aspects::EXT_ONEAPI_IPC_MEMORY;
        assert_eq!(aspects.to_string(), both);
    });
}

#[test]
fn facts_that_only_one_form_has() {
    for (form, is_old) in [(Form::Dpctl022, true), (Form::Dpctl023, false)] {
        with_runtime_of(form, |_, runtime| {
            let info = runtime.default_device().unwrap().info().clone();
            assert_eq!(info.independent_sub_groups, is_old, "{form:?}");
            assert_eq!(info.has(Aspects::EXT_ONEAPI_IPC_MEMORY), !is_old, "{form:?}");
        });
    }
}

/// Whether the library of a form has an optional function.
fn is_in(form: Form, name: &str) -> bool {
    match name {
        "DPCTLDevice_GetSubGroupIndependentForwardProgress" => form == Form::Dpctl022,
        "DPCTLQueue_MemsetWithEvents" => form == Form::Dpctl023,
        name if name.starts_with("DPCTLIPCMem") => form == Form::Dpctl023,
        _ => true,
    }
}

/// The facts are unknown, and all else works.
#[test]
fn a_library_without_the_functions_that_only_inform_is_used() {
    for form in Form::ALL {
        // One of the two marks of 0.23 is among the optional functions.
        let gone: Vec<_> = sycl_sys::Api::OPTIONAL.iter().filter(|name| is_in(form, name)).copied().collect();
        let (_loopback, backend) = bases::stand_in(|| Loopback::lacking(form, &gone));
        let runtime = Runtime::with_backend(Arc::new(backend)).unwrap();
        let gpu = runtime.default_device().unwrap();
        let info = gpu.info();
        assert_eq!((info.name.as_str(), info.driver_version.as_str()), ("Loopback GPU", ""));
        assert_eq!((info.max_clock_mhz, info.max_work_item_sizes, info.global_cache_type), (0, [0; 3], None));
        assert_eq!((info.default_selector_score, &info.sub_group_sizes), (-1, &vec![]));
        assert!(runtime.tree().unwrap().to_string().contains("Loopback GPU"));
        assert_eq!(gpu.create_sub_devices(&Partition::ByAffinity(AffinityDomain::Numa)).unwrap().len(), 2);
        let queue = runtime.default_queue(&gpu).unwrap();
        let block = queue.allocate(UsmKind::Shared, 64).unwrap();
        // SAFETY: a valid module.
        let bundle = unsafe {
            usm_core::KernelBundle::from_spirv(
                queue.context(),
                &gpu,
                &crate::spirv::fill_module("fill_u32"),
                "",
            )
        };
        let kernel = bundle.unwrap().kernel("fill_u32").unwrap();
        assert_eq!((kernel.info().private_mem_bytes, kernel.info().max_sub_group_size), (0, 0));
        // SAFETY: within the block, waited for.
        let event = unsafe { queue.submit_kernel(&kernel, &[(&block).into(), 7_u32.into()], 16, &[]) };
        event.unwrap().wait().unwrap();
        // SAFETY: refused.
        let refused = unsafe { queue.submit_kernel(&kernel, &[(&block).into(), [7_u32].into()], 16, &[]) };
        assert!(matches!(refused, Err(Error::NotSupported { .. })), "{refused:?}");
    }
}

#[test]
fn sub_devices_by_affinity_are_the_tiles_in_each_form() {
    with_runtime(|_, runtime| {
        let gpu = runtime.default_device().unwrap();
        for (domain, parts) in [(AffinityDomain::Numa, Some(2)), (AffinityDomain::NextPartitionable, Some(2))]
            .into_iter()
            .chain([AffinityDomain::L4Cache, AffinityDomain::L3Cache].map(|domain| (domain, None)))
            .chain([AffinityDomain::L2Cache, AffinityDomain::L1Cache].map(|domain| (domain, None)))
        {
            let made = gpu.create_sub_devices(&Partition::ByAffinity(domain));
            assert_eq!(made.ok().map(|parts| parts.len()), parts, "{domain:?}");
        }
    });
}
