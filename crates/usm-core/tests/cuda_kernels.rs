//! Kernels from PTX: on the stand-in of the driver, or with `USM_REQUIRE_CUDA=1` on the device that is found.
#![cfg(feature = "cuda")]
#![allow(clippy::unwrap_used, clippy::panic)]

use test_stacks as _;

use std::cell::Cell;
use std::fmt::Write;
use std::slice::from_ref;
use std::sync::Arc;

use cuda_loopback::{Kind, Loopback};
use usm_core::backend::Backend;
use usm_core::backend::cuda::CudaBackend;
use usm_core::{
    Allocation, BackendId, Error, ExecutionRange, Kernel, KernelArgument, KernelBundle, NdRange, Queue,
    QueueProperties, Result, Runtime, UsmKind, drops,
};

/// A queue, and the stand-in below it unless the device is a given one.
struct Gpu {
    queue: Queue,
    driver: Option<Loopback>,
}

fn gpu() -> Gpu {
    if std::env::var_os("USM_REQUIRE_CUDA").is_some() {
        return Gpu { queue: usm_core::testing::cuda_queue().unwrap(), driver: None };
    }
    stand_in()
}

fn stand_in() -> Gpu {
    let driver = Loopback::new().unwrap();
    // SAFETY: the stand-in of the driver.
    let backend: Arc<dyn Backend> =
        Arc::new(unsafe { CudaBackend::load(driver.path().as_os_str(), 0) }.unwrap());
    let devices = Runtime::with_backend(backend).unwrap().devices();
    let device = devices.iter().find(|device| device.backend_id() == BackendId::Cuda).unwrap();
    let queue = device.default_context().unwrap().create_queue(device, QueueProperties::IN_ORDER).unwrap();
    Gpu { queue, driver: Some(driver) }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        if !std::thread::panicking()
            && let Some(driver) = &self.driver
        {
            assert_eq!(driver.faults(), Vec::<String>::new());
        }
    }
}

fn build(queue: &Queue, text: &str, options: &str) -> Result<KernelBundle> {
    // SAFETY: PTX as its manual defines it, or text that the compiler refuses.
    unsafe { KernelBundle::from_ptx(queue.context(), queue.device(), text, options) }
}

/// A text of kernels for each GPU that these tests may run on.
fn ptx(kernels: &str) -> String {
    format!(".version 6.3\n.target sm_50\n.address_size 64\n{kernels}")
}

fn kernel(queue: &Queue, kernels: &str, name: &str) -> Kernel {
    build(queue, &ptx(kernels), "").unwrap().kernel(name).unwrap()
}

/// Shared memory of zeros.
fn zeros(queue: &Queue, len_bytes: usize) -> Allocation {
    let block = queue.allocate(UsmKind::Shared, len_bytes).unwrap();
    // SAFETY: within the block, waited for.
    unsafe { queue.memset(block.as_ptr().as_ptr(), 0, len_bytes, &[]) }.unwrap().wait().unwrap();
    block
}

fn words(block: &Allocation) -> Vec<u32> {
    let count = block.len_bytes() / 4;
    // SAFETY: shared memory, which no operation uses any more.
    unsafe { std::slice::from_raw_parts(block.as_ptr().cast::<u32>().as_ptr(), count) }.to_vec()
}

fn try_run(
    queue: &Queue,
    kernel: &Kernel,
    arguments: &[KernelArgument],
    range: impl Into<ExecutionRange>,
) -> Result<()> {
    // SAFETY: tests pass what their kernels declare, with blocks as large as the range; waited for.
    unsafe { queue.submit_kernel(kernel, arguments, range, &[]) }?.wait()
}

/// `add_number(words, number)`: work-item `i` along x adds the number to word `i`.
const ADD: &str = "
.visible .entry add_number(.param .u64 words, .param .u32 number)
{
    .reg .b32 %r<6>;
    .reg .b64 %d<4>;
    ld.param.u64 %d1, [words];
    ld.param.u32 %r1, [number];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    mul.wide.u32 %d2, %r5, 4;
    add.s64 %d3, %d1, %d2;
    ld.global.u32 %r2, [%d3];
    add.u32 %r2, %r2, %r1;
    st.global.u32 [%d3], %r2;
    ret;
}
";

#[test]
fn plain_ranges_run_each_work_item_once() {
    let gpu = gpu();
    let queue = &gpu.queue;
    let add = kernel(queue, ADD, "add_number");
    let info = add.info();
    assert_eq!((info.num_args, info.max_sub_group_size), (2, 32));
    assert!(info.work_group_size >= 32 && info.registers > 0, "{info:?}");
    for count in [1, 7, 64, 1000, 1009, 4096] {
        let block = zeros(queue, 4 * (count + 1));
        try_run(queue, &add, &[(&block).into(), 5_u32.into()], count).unwrap();
        try_run(queue, &add, &[(&block).into(), 2_u32.into()], NdRange::new(count, 1)).unwrap();
        let mut expected = vec![7; count + 1];
        expected[count] = 0;
        assert_eq!(words(&block), expected);
    }
}

/// A struct with a pointer to USM in it, as CUDA C declares `struct { u32 *words; u32 factor; u32 offset; }`.
#[derive(Clone, Copy, usm_core::DeviceCopyable)]
#[repr(C)]
struct Scaled {
    #[device_copyable(usm_pointer)]
    words: *mut u32,
    factor: u32,
    offset: u32,
}

/// `scale(scaled, number)`: work-item `i` along x writes `words[i] * factor + offset + number`.
const SCALE: &str = "
.visible .entry scale(.param .align 8 .b8 scaled[16], .param .u32 number)
{
    .reg .b32 %r<8>;
    .reg .b64 %d<4>;
    ld.param.u64 %d1, [scaled];
    ld.param.u32 %r1, [scaled+8];
    ld.param.u32 %r2, [scaled+12];
    ld.param.u32 %r3, [number];
    mov.u32 %r4, %ctaid.x;
    mov.u32 %r5, %ntid.x;
    mov.u32 %r6, %tid.x;
    mad.lo.u32 %r7, %r4, %r5, %r6;
    mul.wide.u32 %d2, %r7, 4;
    add.s64 %d3, %d1, %d2;
    ld.global.u32 %r4, [%d3];
    mad.lo.u32 %r4, %r4, %r1, %r2;
    add.u32 %r4, %r4, %r3;
    st.global.u32 [%d3], %r4;
    ret;
}
";

#[test]
fn structs_arrive_by_value_with_their_pointers() {
    let gpu = gpu();
    let queue = &gpu.queue;
    let scale = kernel(queue, SCALE, "scale");
    let block = zeros(queue, 4 * 101);
    for (factor, offset, number) in [(1, 5, 1_u32), (3, 2, 100)] {
        let scaled = Scaled { words: block.as_ptr().as_ptr().cast(), factor, offset };
        try_run(queue, &scale, &[scaled.into(), number.into()], NdRange::new(100, 10)).unwrap();
    }
    let mut expected = vec![6 * 3 + 2 + 100; 101];
    expected[100] = 0;
    assert_eq!(words(&block), expected);
    for (wrong, bytes) in
        [(KernelArgument::from([1_u32; 3]), 12), ([1_u64; 3].into(), 24), ((&block).into(), 8)]
    {
        let error = try_run(queue, &scale, &[wrong, 1_u32.into()], 1).unwrap_err();
        assert!(
            matches!(error, Error::ArgumentSize { position: 0, found_bytes, expected_bytes: 16, .. } if found_bytes == bytes),
            "{error}"
        );
    }
}

#[test]
fn arguments_of_every_type_arrive() {
    let types = [("u8", 1), ("s16", 2), ("u32", 4), ("u64", 8), ("f32", 4), ("f64", 8), ("u64", 8)];
    let mut text = ".visible .entry all(.param .u64 to".to_owned();
    for (i, (ty, _)) in types.iter().enumerate() {
        write!(text, ", .param .{ty} p{i}").unwrap();
    }
    text.push_str(
        ")\n{\n.reg .b64 %d;\n.reg .b16 %h;\n.reg .b32 %r;\n.reg .b64 %l;\nld.param.u64 %d, [to];\n",
    );
    for (i, (_, bytes)) in types.iter().enumerate() {
        let register = ["", "%h", "%h", "", "%r", "", "", "", "%l"][*bytes];
        let bits = 8 * bytes;
        writeln!(text, "ld.param.b{bits} {register}, [p{i}];\nst.global.b{bits} [%d+{}], {register};", 8 * i)
            .unwrap();
    }
    text.push_str("ret;\n}\n");
    let gpu = gpu();
    let all = kernel(&gpu.queue, &text, "all");
    let block = zeros(&gpu.queue, 56);
    let arguments: [KernelArgument; 8] = [
        (&block).into(),
        200_u8.into(),
        (-3_i16).into(),
        0xdead_beef_u32.into(),
        (-5_i64).into(),
        1.5_f32.into(),
        (-0.25_f64).into(),
        KernelArgument::pointer(block.address() + 8),
    ];
    try_run(&gpu.queue, &all, &arguments, 1).unwrap();
    let word = |argument: &KernelArgument| {
        let mut word = [0; 8];
        word[..argument.as_bytes().len()].copy_from_slice(argument.as_bytes());
        word
    };
    let expected: Vec<u8> = arguments[1..].iter().flat_map(word).collect();
    // SAFETY: shared memory, which no operation uses any more.
    let found = unsafe { std::slice::from_raw_parts(block.as_ptr().as_ptr(), 56) };
    assert_eq!(found, expected);
}

#[test]
fn many_arguments_arrive_in_order() {
    let parameters: String = (0..40).map(|i| format!(", .param .u32 p{i}")).collect();
    let stores: String =
        (0..40).map(|i| format!("ld.param.u32 %r, [p{i}];\nst.global.u32 [%d+{}], %r;\n", 4 * i)).collect();
    let text = format!(
        ".visible .entry many(.param .u64 to{parameters})\n{{\n.reg .b64 %d;\n.reg .b32 %r;\nld.param.u64 %d, [to];\n{stores}ret;\n}}"
    );
    let gpu = gpu();
    let many = kernel(&gpu.queue, &text, "many");
    let block = zeros(&gpu.queue, 160);
    let numbers = (0..40_u32).map(|i| (i * i).into());
    let arguments: Vec<KernelArgument> = std::iter::once((&block).into()).chain(numbers).collect();
    try_run(&gpu.queue, &many, &arguments, 1).unwrap();
    assert_eq!(words(&block), (0..40).map(|i| i * i).collect::<Vec<u32>>());
}

#[test]
fn the_last_dimension_of_a_range_is_x() {
    // Thread (x, y, z) stores 100 z + 10 y + x at its place in the range of 2, 3 and 4.
    let text = "
.visible .entry place(.param .u64 to)
{
    .reg .b32 %r<12>;
    .reg .b64 %d<4>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mov.u32 %r1, %ctaid.y;
    mov.u32 %r2, %ntid.y;
    mov.u32 %r3, %tid.y;
    mad.lo.u32 %r5, %r1, %r2, %r3;
    mov.u32 %r1, %ctaid.z;
    mov.u32 %r2, %ntid.z;
    mov.u32 %r3, %tid.z;
    mad.lo.u32 %r6, %r1, %r2, %r3;
    mad.lo.u32 %r7, %r6, 3, %r5;
    mad.lo.u32 %r7, %r7, 4, %r4;
    mad.lo.u32 %r8, %r6, 10, %r5;
    mad.lo.u32 %r8, %r8, 10, %r4;
    ld.param.u64 %d1, [to];
    mul.wide.u32 %d2, %r7, 4;
    add.s64 %d3, %d1, %d2;
    st.global.u32 [%d3], %r8;
    ret;
}";
    let gpu = gpu();
    let place = kernel(&gpu.queue, text, "place");
    let expected: Vec<u32> =
        (0..2).flat_map(|z| (0..3).flat_map(move |y| (0..4).map(move |x| 100 * z + 10 * y + x))).collect();
    let ranges: [ExecutionRange; 3] = [
        [2, 3, 4].into(),
        NdRange::new([2, 3, 4], [1, 3, 2]).into(),
        NdRange::new([2, 3, 4], [2, 1, 4]).into(),
    ];
    for range in ranges {
        let block = zeros(&gpu.queue, 96);
        try_run(&gpu.queue, &place, &[(&block).into()], range).unwrap();
        assert_eq!(words(&block), expected, "{range}");
    }
}

#[test]
fn local_memory_is_dynamic_shared_memory() {
    // Reverses the words of a work-group through the second of two parts.
    let text = "
.extern .shared .align 16 .b8 dynamic[];
.visible .entry reverse(.param .u64 words, .param .u32 first, .param .u32 second)
{
    .reg .b32 %r<12>;
    .reg .b64 %d<4>;
    ld.param.u64 %d1, [words];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ntid.x;
    mul.wide.u32 %d2, %r1, 4;
    add.s64 %d3, %d1, %d2;
    ld.global.u32 %r3, [%d3];
    mov.u32 %r4, dynamic;
    ld.param.u32 %r5, [first];
    add.u32 %r5, %r4, %r5;
    st.shared.u8 [%r5], 1;
    ld.param.u32 %r6, [second];
    add.u32 %r6, %r4, %r6;
    shl.b32 %r7, %r1, 2;
    add.u32 %r7, %r6, %r7;
    st.shared.u32 [%r7], %r3;
    bar.sync 0;
    sub.u32 %r8, %r2, %r1;
    sub.u32 %r8, %r8, 1;
    shl.b32 %r8, %r8, 2;
    add.u32 %r8, %r6, %r8;
    ld.shared.u32 %r9, [%r8];
    sub.u32 %r10, %r6, %r5;
    mad.lo.u32 %r9, %r10, 1000, %r9;
    st.global.u32 [%d3], %r9;
    ret;
}";
    let gpu = gpu();
    let queue = &gpu.queue;
    let reverse = kernel(queue, text, "reverse");
    let block = zeros(queue, 4 * 64);
    for i in 0..64_u32 {
        let to = block.as_ptr().cast::<u32>().as_ptr().wrapping_add(i as usize);
        // SAFETY: within the block, which no operation uses.
        unsafe { to.write(i) };
    }
    let local = KernelArgument::local_memory;
    try_run(queue, &reverse, &[(&block).into(), local(5), local(4 * 64)], NdRange::new(64, 64)).unwrap();
    // The second part begins 16 bytes behind the first one.
    assert_eq!(words(&block), (0..64).rev().map(|i| i + 16_000).collect::<Vec<u32>>());
    let too_much = usize::try_from(queue.device().info().local_mem_bytes).unwrap() + 1;
    let refused =
        try_run(queue, &reverse, &[(&block).into(), local(5), local(too_much)], NdRange::new(64, 64));
    assert!(matches!(refused, Err(Error::LocalMemory { .. })), "{refused:?}");
}

#[test]
fn kernels_are_ordered_with_copies_and_events_of_other_queues() {
    let gpu = gpu();
    let queue = &gpu.queue;
    let other = queue.context().create_queue(queue.device(), QueueProperties::IN_ORDER).unwrap();
    let add = kernel(queue, ADD, "add_number");
    let block = queue.allocate(UsmKind::Device, 4 * 1024).unwrap();
    let mut found = vec![0_u32; 1024];
    // SAFETY: within the block; ordered by events, waited for below.
    let filled = unsafe { queue.fill(block.as_ptr().as_ptr(), &10_u32.to_ne_bytes(), 1024, &[]) }.unwrap();
    let arguments = [(&block).into(), 1_u32.into()];
    // SAFETY: as above.
    let first = unsafe { other.submit_kernel(&add, &arguments, 1024, from_ref(&filled)) }.unwrap();
    // SAFETY: as above.
    let second =
        unsafe { queue.submit_kernel(&add, &arguments, NdRange::new(1024, 128), from_ref(&first)) }.unwrap();
    // SAFETY: as above.
    let copied = unsafe { queue.memcpy(found.as_mut_ptr().cast(), block.as_ptr().as_ptr(), 4096, &[second]) };
    copied.unwrap().wait().unwrap();
    assert_eq!(found, [12; 1024]);
}

#[test]
fn what_cannot_run_says_why_and_harms_nothing() {
    let gpu = gpu();
    let queue = &gpu.queue;
    let add = kernel(queue, ADD, "add_number");
    let block = zeros(queue, 64);
    let to = || KernelArgument::from(&block);
    for (position, arguments) in
        [(1, [to(), 3_u8.into()]), (1, [to(), 3_u64.into()]), (0, [3_u32.into(), 3_u32.into()])]
    {
        let error = try_run(queue, &add, &arguments, 16).unwrap_err();
        assert!(matches!(error, Error::ArgumentSize { position: found, .. } if found == position), "{error}");
        assert!(error.to_string().contains("kernel \"add_number\": argument"), "{error}");
    }
    let error = try_run(queue, &add, &[to()], 16).unwrap_err();
    assert!(matches!(error, Error::KernelArguments { expected: 2, found: 1, .. }), "{error}");
    let large = add.info().work_group_size + 1;
    for range in [NdRange::new(large, large).into(), ExecutionRange::from([65_537, 1])] {
        let error = try_run(queue, &add, &[to(), 3_u32.into()], range).unwrap_err();
        assert!(matches!(error, Error::KernelRange { .. }), "{error}");
    }
    assert_eq!(words(&block), [0; 16]);

    let error = build(queue, &ptx(".entry k() { no.such.instruction %r1; }"), "").unwrap_err();
    let Error::KernelBuild { language: "PTX", log: Some(log), .. } = &error else { panic!("{error}") };
    assert!(log.contains("line") && error.to_string().contains(log.as_str()), "{log}");
    assert!(matches!(build(queue, "no PTX", ""), Err(Error::KernelBuild { .. })));
    let error = build(queue, &ptx(ADD), "-O3 -ftz").unwrap_err();
    assert!(error.to_string().contains("the option \"-ftz\" is unknown"), "{error}");
    assert!(matches!(build(queue, "\0", ""), Err(Error::NulByte { what: "PTX", position: 0 })));
    let bundle = build(queue, &ptx(ADD), "-maxrregcount=32 -O2 -lineinfo").unwrap();
    assert!(bundle.has_kernel("add_number"));
    for name in ["add", "", "add_number\0"] {
        assert!(matches!(bundle.kernel(name), Err(Error::NoSuchKernel { .. })), "{name:?}");
    }
    let error = KernelBundle::from_opencl_source(queue.context(), queue.device(), "", "").unwrap_err();
    assert!(error.to_string().contains("it takes PTX"), "{error}");
    let host = usm_core::testing::host_queue();
    assert!(matches!(build(&host, &ptx(ADD), ""), Err(Error::NotSupported { backend: BackendId::Host, .. })));
}

#[test]
fn a_bundle_may_go_while_its_kernel_runs() {
    thread_local!(static WAITS: Cell<usize> = const { Cell::new(0) });
    assert!(drops::around_waits_in_drops(|wait| {
        WAITS.set(WAITS.get() + 1);
        wait();
    }));
    let gpu = gpu();
    let queue = &gpu.queue;
    drop(kernel(queue, ADD, "add_number"));
    let modules = || gpu.driver.as_ref().map_or(0, |driver| driver.live(Kind::Module));
    assert_eq!(modules(), 0, "no kernel was submitted");
    let block = zeros(queue, 4096);
    if let Some(driver) = &gpu.driver {
        driver.hold(1000);
    }
    let event = {
        let add = kernel(queue, ADD, "add_number");
        // SAFETY: within the block, waited for below.
        unsafe { queue.submit_kernel(&add, &[(&block).into(), 3_u32.into()], 1024, &[]) }.unwrap()
    };
    assert_eq!((WAITS.get(), modules()), (0, usize::from(gpu.driver.is_some())), "no drop waits");
    event.wait().unwrap();
    assert_eq!(words(&block), [3; 1024]);
    // The wait has looked at the kernel.
    assert_eq!(modules(), 0);
}

#[test]
fn threads_submit_at_once() {
    let gpu = gpu();
    let add = kernel(&gpu.queue, ADD, "add_number");
    std::thread::scope(|scope| {
        for number in 0..4_u32 {
            let (queue, add) = (&gpu.queue, &add);
            scope.spawn(move || {
                let own = queue.context().create_queue(queue.device(), QueueProperties::IN_ORDER).unwrap();
                let block = zeros(&own, 256);
                for _ in 0..20 {
                    try_run(&own, add, &[(&block).into(), number.into()], 64).unwrap();
                }
                assert_eq!(words(&block), [20 * number; 64]);
            });
        }
    });
}

/// Builds, looks up, runs.
fn scenario(queue: &Queue) -> Result<()> {
    let block = queue.allocate(UsmKind::Shared, 256)?;
    let start = block.as_ptr().as_ptr();
    // SAFETY: within the block; waited for before it goes.
    unsafe { queue.memset(start, 0, 256, &[]) }?.wait()?;
    let add = build(queue, &ptx(ADD), "")?.kernel("add_number")?;
    try_run(queue, &add, &[(&block).into(), 4_u32.into()], 64)?;
    assert_eq!(words(&block), [4; 64]);
    Ok(())
}

#[test]
fn each_call_of_the_driver_fails_once() {
    const NEEDED: [&str; 6] = [
        "cuEventRecord",
        "cuFuncGetAttribute",
        "cuFuncGetParamInfo",
        "cuLaunchKernel",
        "cuModuleGetFunction",
        "cuModuleLoadDataEx",
    ];
    for function in NEEDED {
        let gpu = stand_in();
        let driver = gpu.driver.as_ref().unwrap();
        let mut failures = 0;
        for n in 1..10 {
            let calls = driver.calls(function).unwrap();
            driver.fail(function, n, 999).unwrap();
            let result = scenario(&gpu.queue);
            let has_failed = driver.calls(function).unwrap() - calls >= n;
            driver.reset();
            assert_eq!(result.is_err(), has_failed, "call {n} of {function}: {result:?}");
            failures += usize::from(has_failed);
            let live = [Kind::Module, Kind::Device, Kind::Managed].map(|kind| driver.live(kind));
            assert_eq!(live, [0; 3], "call {n} of {function}");
            scenario(&gpu.queue).unwrap();
            if !has_failed {
                break;
            }
        }
        assert!(failures > 0, "{function}");
    }
    // A failed release leaves the module in the driver, and nothing else happens.
    let gpu = stand_in();
    let driver = gpu.driver.as_ref().unwrap();
    driver.fail("cuModuleUnload", 1, 999).unwrap();
    scenario(&gpu.queue).unwrap();
    assert_eq!(driver.live(Kind::Module), 1);
    scenario(&gpu.queue).unwrap();
}

#[test]
fn kernels_of_a_lost_device_go_without_a_crash() {
    const ILLEGAL_ADDRESS: u32 = 700;
    for n in 1..60 {
        let gpu = stand_in();
        let driver = gpu.driver.as_ref().unwrap();
        let add = kernel(&gpu.queue, ADD, "add_number");
        assert!(driver.fail("*", n, ILLEGAL_ADDRESS).unwrap());
        if scenario(&gpu.queue).is_ok() {
            continue;
        }
        let later = [build(&gpu.queue, &ptx(ADD), "").map(drop), add.bundle().kernel("add_number").map(drop)];
        for error in later.into_iter().filter_map(Result::err) {
            assert!(matches!(error, Error::DeviceLost { .. }), "{n}: {error}");
        }
    }
}

#[test]
fn a_kernel_that_leaves_its_memory_loses_the_device() {
    let gpu = stand_in();
    let add = kernel(&gpu.queue, ADD, "add_number");
    let block = zeros(&gpu.queue, 64);
    let error = try_run(&gpu.queue, &add, &[(&block).into(), 1_u32.into()], 32).unwrap_err();
    assert!(matches!(error, Error::DeviceLost { .. }), "{error}");
    let refused = try_run(&gpu.queue, &add, &[(&block).into(), 1_u32.into()], 1).unwrap_err();
    assert!(refused.to_string().contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{refused}");
    let driver = gpu.driver.as_ref().unwrap();
    let faults = driver.faults();
    assert!(
        faults.len() == 1
            && faults[0].contains("the kernel add_number: ")
            && faults[0].contains("thread [16,"),
        "{faults:?}"
    );
    driver.reset();
}
