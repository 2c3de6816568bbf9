//! Kernels on the SYCL backend without SYCL: results, counts, and every reason to refuse one, over the loopback library.
#![cfg(feature = "sycl")]
#![allow(clippy::unwrap_used)]

use crate::bases;
use crate::common;
use crate::spirv;

use std::sync::Arc;

use sycl_loopback::{Form, Kind, Loopback};
use usm_core::backend::Backend;
use usm_core::{
    BackendId, Context, Error, Event, KernelArgument, KernelBundle, NdRange, Queue, QueueProperties, Runtime,
    UsmKind,
};

/// Runs a test with each form of the loopback library. A failure is that of the form printed last.
fn with_queues(test: impl Fn(&Loopback, &Queue)) {
    for form in Form::ALL {
        println!("{form:?}");
        with_queues_of(form, &test);
    }
}

fn with_queues_of(form: Form, test: impl Fn(&Loopback, &Queue)) {
    let (loopback, backend) = bases::stand_in(|| Loopback::in_form(form));
    let backend: Arc<dyn Backend> = Arc::new(backend);
    let devices = Runtime::with_backend(backend).unwrap().devices();
    for device in devices.iter().filter(|device| device.backend_id() == BackendId::Sycl) {
        let context = Context::new(std::slice::from_ref(device)).unwrap();
        test(&loopback, &context.create_queue(device, QueueProperties::OUT_OF_ORDER).unwrap());
    }
    drop(devices);
    assert_eq!(loopback.leaks(), []);
    assert_eq!(loopback.faults(), 0);
}

fn build(queue: &Queue) -> Result<KernelBundle, Error> {
    KernelBundle::from_opencl_source(queue.context(), queue.device(), common::KERNELS, "")
}

fn submit(
    queue: &Queue,
    kernel: &str,
    arguments: &[KernelArgument],
    range: impl Into<usm_core::ExecutionRange>,
    after: &[Event],
) -> Result<Event, Error> {
    let kernel = build(queue)?.kernel(kernel)?;
    // SAFETY: each test passes what the kernels declare; the loopback library ends them at once.
    unsafe { queue.submit_kernel(&kernel, arguments, range, after) }
}

#[test]
fn known_kernels_work_on_usm_and_leave_nothing() {
    with_queues(|loopback, queue| {
        let [a, b, sums] = [0, 1, 2].map(|_| queue.allocate(UsmKind::Shared, 64).unwrap());
        let filled = submit(queue, "fill_u32", &[(&a).into(), 7_u32.into()], [4, 4], &[]).unwrap();
        let copied = submit(queue, "copy_bytes", &[(&b).into(), (&a).into()], 64, &[filled]).unwrap();
        let arguments = [(&sums).into(), (&b).into(), KernelArgument::local_memory(16)];
        submit(queue, "sum_u32", &arguments, NdRange::new(16, 4), &[copied]).unwrap().wait().unwrap();
        // SAFETY: shared memory, in which four sums of four were just written.
        let sums = unsafe { std::slice::from_raw_parts(sums.as_ptr().cast::<u32>().as_ptr(), 4) };
        assert_eq!(sums, [28; 4]);
        assert_eq!((loopback.live(Kind::Bundle), loopback.live(Kind::Kernel)), (0, 0));
    });
}

#[test]
fn structs_go_through_an_object_of_the_library_that_is_deleted() {
    with_queues(|loopback, queue| {
        let block = queue.allocate(UsmKind::Shared, 64).unwrap();
        submit(queue, "fill_u32", &[(&block).into(), 5_u32.into()], 16, &[]).unwrap().wait().unwrap();
        let scale = common::Scale { factor: 3, offset: 4 };
        submit(queue, "scale_u32", &[(&block).into(), scale.into()], 16, &[]).unwrap().wait().unwrap();
        // SAFETY: shared memory of 16 words, which no operation uses any more.
        let words = unsafe { std::slice::from_raw_parts(block.as_ptr().cast::<u32>().as_ptr(), 16) };
        assert_eq!(words, [19; 16]);
        // A struct of another size; the library answers NULL.
        let wrong = submit(queue, "scale_u32", &[(&block).into(), [1_u64; 2].into()], 16, &[]);
        assert!(matches!(wrong, Err(Error::Backend { .. })));
        loopback.fail_next("DPCTLRawKernelArg_Create", 1).unwrap();
        let error = submit(queue, "scale_u32", &[(&block).into(), scale.into()], 16, &[]).unwrap_err();
        assert!(error.to_string().contains("RawKernelArg_Create"), "{error}");
        loopback.fail_next("DPCTLRawKernelArg_Available", 1).unwrap();
        let error = submit(queue, "scale_u32", &[(&block).into(), scale.into()], 16, &[]).unwrap_err();
        assert!(error.to_string().contains("pass their fields one by one"), "{error}");
        assert_eq!(loopback.live(Kind::RawArgument), 0);
    });
}

#[test]
fn bundles_and_kernels_live_as_long_as_they_are_held() {
    with_queues(|loopback, queue| {
        let module = spirv::fill_module("fill_u32");
        // SAFETY: valid.
        let bundle =
            unsafe { KernelBundle::from_spirv(queue.context(), queue.device(), &module, "") }.unwrap();
        assert!(bundle.has_kernel("fill_u32") && !bundle.has_kernel("copy_bytes"));
        let kernel = bundle.kernel("fill_u32").unwrap();
        assert_eq!(kernel.info().num_args, 2);
        assert_eq!(kernel.info().work_group_size, queue.device().info().max_work_group_size);
        assert_eq!((loopback.live(Kind::Bundle), loopback.live(Kind::Kernel)), (1, 1));
        drop(bundle);
        assert_eq!(loopback.live(Kind::Bundle), 1, "the kernel keeps it");
        let other = kernel.clone();
        drop(kernel);
        assert_eq!((loopback.live(Kind::Bundle), loopback.live(Kind::Kernel)), (1, 1));
        drop(other);
        assert_eq!((loopback.live(Kind::Bundle), loopback.live(Kind::Kernel)), (0, 0));
    });
}

/// The question throws in drivers of other vendors, as PoCL's, which ends the process; the loopback library counts a fault.
#[test]
fn sub_groups_are_asked_of_drivers_that_know_them() {
    with_queues(|loopback, queue| {
        let kernel = build(queue).unwrap().kernel("fill_u32").unwrap();
        assert_eq!(loopback.faults(), 0);
        let info = kernel.info();
        let expected = match queue.device().info().vendor.as_str() {
            "Intel(R) Corporation" => (64, 16),
            _ => (0, 0),
        };
        assert_eq!((info.max_num_sub_groups, info.max_sub_group_size), expected);
        assert_eq!((info.compile_num_sub_groups, info.compile_sub_group_size), (0, 0));
    });
}

#[test]
fn what_the_device_cannot_do_is_said_before_it_is_tried() {
    with_queues(|loopback, queue| {
        loopback.fail_next("DPCTLDevice_HasAspect", 1).unwrap();
        let _ = queue.device().info();
        loopback.fail_next("DPCTLDevice_HasAspect", 1).unwrap();
        let error = build(queue).unwrap_err();
        assert!(error.to_string().contains("without the aspect online_compiler"), "{error}");
        loopback.fail_next("DPCTLDevice_GetBackend", 1).unwrap();
        let error = build(queue).unwrap_err();
        assert!(error.to_string().contains("source on other devices than those of OpenCL"), "{error}");
        loopback.fail_next("DPCTLDevice_GetBackend", 1).unwrap();
        let module = spirv::fill_module("fill_u32");
        // SAFETY: valid.
        let error = unsafe { KernelBundle::from_spirv(queue.context(), queue.device(), &module, "") };
        let error = error.unwrap_err();
        assert!(error.to_string().contains("other devices than those of OpenCL and Level Zero"), "{error}");
        assert_eq!(loopback.live(Kind::Bundle), 0);
    });
}

#[test]
fn failures_of_the_runtime_are_errors() {
    with_queues(|loopback, queue| {
        let block = queue.allocate(UsmKind::Device, 64).unwrap();
        let arguments = [(&block).into(), 1_u32.into()];
        let fill = |range: usm_core::ExecutionRange| submit(queue, "fill_u32", &arguments, range, &[]);
        let nd_range = NdRange::new(8, 4).into();
        loopback.fail_next("DPCTLKernelBundle_CreateFromOCLSource", 1).unwrap();
        assert!(matches!(fill(8.into()), Err(Error::KernelBuild { language: "OpenCL C", .. })));
        loopback.fail_next("DPCTLKernelBundle_GetKernel", 1).unwrap();
        assert!(matches!(fill(8.into()), Err(Error::NoSuchKernel { .. })));
        for symbol in ["DPCTLKernel_GetNumArgs", "DPCTLKernel_GetWorkGroupSize", "DPCTLQueue_SubmitRange"] {
            loopback.fail_next(symbol, 1).unwrap();
            assert!(matches!(fill(8.into()), Err(Error::Backend { .. })), "{symbol}");
        }
        loopback.fail_next("DPCTLQueue_SubmitNDRange", 1).unwrap();
        assert!(matches!(fill(nd_range), Err(Error::Backend { .. })));
        // Other types than the kernel has: the library answers NULL.
        let wrong = [(&block).into(), 1_u64.into()];
        assert!(matches!(submit(queue, "fill_u32", &wrong, 8, &[]), Err(Error::Backend { .. })));
        fill(nd_range).unwrap().wait().unwrap();
    });
}

#[test]
fn nothing_wrong_reaches_the_library() {
    with_queues(|loopback, queue| {
        let other = Context::new(std::slice::from_ref(queue.device())).unwrap();
        let other = other.create_queue(queue.device(), QueueProperties::IN_ORDER).unwrap();
        let block = queue.allocate(UsmKind::Shared, 64).unwrap();
        let (to, value) = (|| KernelArgument::from(&block), || KernelArgument::from(1_u32));
        let kernel = build(queue).unwrap().kernel("fill_u32").unwrap();
        // SAFETY: refused.
        let refused = unsafe { other.submit_kernel(&kernel, &[to(), value()], 4, &[]) };
        assert!(matches!(refused, Err(Error::KernelMismatch { what: "context", .. })));
        assert!(matches!(submit(queue, "fill_u32", &[to()], 4, &[]), Err(Error::KernelArguments { .. })));
        let large = queue.device().info().max_work_group_size * 2;
        for range in [0.into(), NdRange::new(5, 2).into(), NdRange::new(large, large).into()] {
            let range: usm_core::ExecutionRange = range;
            assert!(matches!(
                submit(queue, "fill_u32", &[to(), value()], range, &[]),
                Err(Error::KernelRange { .. })
            ));
        }
        let arguments = [to(), to(), KernelArgument::local_memory(0)];
        let refused = submit(queue, "sum_u32", &arguments, NdRange::new(4, 4), &[]);
        assert!(matches!(refused, Err(Error::LocalMemory { len_bytes: 0, .. })));
        assert_eq!(loopback.faults(), 0);
    });
}
