//! Kernels on the real SYCL device: what they see of arguments, ranges, memory and dependencies, and what is refused.
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::spirv;

use usm_core::{
    Allocation, Context, Error, Event, ExecutionRange, Kernel, KernelArgument, KernelBundle, NdRange, Queue,
    QueueProperties, UsmKind,
};

fn build(queue: &Queue, source: &str) -> KernelBundle {
    KernelBundle::from_opencl_source(queue.context(), queue.device(), source, "").unwrap()
}

fn run(queue: &Queue, kernel: &Kernel, arguments: &[KernelArgument], range: impl Into<ExecutionRange>) {
    submit(queue, kernel, arguments, range, &[]).wait().unwrap();
}

fn submit(
    queue: &Queue,
    kernel: &Kernel,
    arguments: &[KernelArgument],
    range: impl Into<ExecutionRange>,
    after: &[Event],
) -> Event {
    // SAFETY: tests pass what their kernels declare, with blocks as large as the range, and wait for the event.
    unsafe { queue.submit_kernel(kernel, arguments, range, after) }.unwrap()
}

/// A refused submission.
fn refused(
    queue: &Queue,
    kernel: &Kernel,
    arguments: &[KernelArgument],
    range: impl Into<ExecutionRange>,
) -> Error {
    // SAFETY: refused; nothing is touched.
    unsafe { queue.submit_kernel(kernel, arguments, range, &[]) }.unwrap_err()
}

/// Shared memory of zeros.
fn zeros(queue: &Queue, len_bytes: usize) -> Allocation {
    let block = queue.allocate(UsmKind::Shared, len_bytes).unwrap();
    // SAFETY: within the block, waited for.
    unsafe { queue.memset(block.as_ptr().as_ptr(), 0, len_bytes, &[]) }.unwrap().wait().unwrap();
    block
}

fn read(queue: &Queue, block: &Allocation) -> Vec<u8> {
    let mut bytes = vec![0; block.len_bytes()];
    // SAFETY: both as long as the block, waited for.
    unsafe { queue.memcpy(bytes.as_mut_ptr(), block.as_ptr().as_ptr(), bytes.len(), &[]) }
        .unwrap()
        .wait()
        .unwrap();
    bytes
}

fn words(queue: &Queue, block: &Allocation) -> Vec<u32> {
    read(queue, block).as_chunks::<4>().0.iter().map(|word| u32::from_ne_bytes(*word)).collect()
}

#[test]
fn every_type_of_argument_arrives() {
    let Some(queue) = common::sycl_queue() else { return };
    let types = ["char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double"];
    let arguments: [(KernelArgument, Vec<u8>); 10] = [
        ((-2_i8).into(), (-2_i8).to_ne_bytes().to_vec()),
        (200_u8.into(), vec![200]),
        ((-300_i16).into(), (-300_i16).to_ne_bytes().to_vec()),
        (60_000_u16.into(), 60_000_u16.to_ne_bytes().to_vec()),
        ((-70_000_i32).into(), (-70_000_i32).to_ne_bytes().to_vec()),
        (4_000_000_000_u32.into(), 4_000_000_000_u32.to_ne_bytes().to_vec()),
        (i64::MIN.into(), i64::MIN.to_ne_bytes().to_vec()),
        (u64::MAX.into(), vec![255; 8]),
        (1.5_f32.into(), 1.5_f32.to_ne_bytes().to_vec()),
        ((-0.1_f64).into(), (-0.1_f64).to_ne_bytes().to_vec()),
    ];
    let used = if queue.device().info().has(usm_core::Aspects::FP64) { 10 } else { 9 };
    let source: String = (0..used)
        .map(|i| format!("kernel void take_{0}(global {0} *to, {0} value) {{ *to = value; }}\n", types[i]))
        .collect();
    let bundle = build(&queue, &source);
    for (name, (argument, bytes)) in types.iter().zip(&arguments).take(used) {
        let kernel = bundle.kernel(&format!("take_{name}")).unwrap();
        let block = zeros(&queue, 16);
        run(&queue, &kernel, &[(&block).into(), argument.clone()], 1);
        let mut expected = bytes.clone();
        expected.resize(16, 0);
        assert_eq!(read(&queue, &block), expected, "{name}");
    }
    let all = format!(
        "kernel void add_all({}, global int *to) {{ *to = (int)(a0 + a1 + a2 + a3 + a4) + (a7 == 0xffffffffffffffffUL); }}",
        (0..used).map(|i| format!("{} a{i}", types[i])).collect::<Vec<_>>().join(", ")
    );
    let kernel = build(&queue, &all).kernel("add_all").unwrap();
    let block = zeros(&queue, 4);
    let mut given: Vec<KernelArgument> =
        arguments.iter().take(used).map(|(argument, _)| argument.clone()).collect();
    given.push((&block).into());
    run(&queue, &kernel, &given, 1);
    assert_eq!(words(&queue, &block), [(-2 + 200 - 300 + 60_000 - 70_000 + 1_i32).cast_unsigned()]);
}

/// A struct with fields of each size, an array and a struct in it, without padding.
#[derive(Clone, Copy, usm_core::DeviceCopyable)]
#[repr(C)]
struct Parameters {
    base: u64,
    factor: f32,
    shift: i16,
    flags: [u8; 2],
    scale: common::Scale,
}

#[test]
fn structs_arrive_by_value() {
    let Some(queue) = common::sycl_queue() else { return };
    let source = "struct scale { uint factor; uint offset; };
    struct parameters { ulong base; float factor; short shift; uchar flags[2]; struct scale scale; };
    kernel void take(global ulong *to, struct parameters given, uint last) {
        to[0] = given.base; to[1] = (ulong)(given.factor * 8); to[2] = (ulong)(long)given.shift;
        to[3] = given.flags[0] * 1000 + given.flags[1]; to[4] = given.scale.factor; to[5] = given.scale.offset;
        to[6] = last; to[7] = sizeof(struct parameters);
    }";
    let kernel = build(&queue, source).kernel("take").unwrap();
    let block = zeros(&queue, 64);
    let scale = common::Scale { factor: 7, offset: u32::MAX };
    let given = Parameters { base: 1 << 40, factor: 2.5, shift: -3, flags: [200, 100], scale };
    run(&queue, &kernel, &[(&block).into(), given.into(), 9_u32.into()], 1);
    let found = read(&queue, &block);
    let found: Vec<u64> = found.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect();
    let shift = (-3_i64).cast_unsigned();
    assert_eq!(
        found,
        [1 << 40, 20, shift, 200_100, 7, u64::from(u32::MAX), 9, size_of::<Parameters>() as u64]
    );

    let scale_words = build(&queue, common::KERNELS).kernel("scale_u32").unwrap();
    let block = zeros(&queue, 400);
    for (factor, offset) in [(1, 5), (3, 2)] {
        let scale = common::Scale { factor, offset };
        run(&queue, &scale_words, &[(&block).into(), scale.into()], NdRange::new(100, 10));
    }
    assert_eq!(words(&queue, &block), [17; 100]);
    // The runtime compares sizes.
    let error = refused(&queue, &scale_words, &[(&block).into(), [1_u32; 3].into()], 1);
    assert!(matches!(error, Error::Backend { .. }), "{error}");
}

#[test]
fn the_last_dimension_varies_fastest_and_is_opencls_first() {
    let Some(queue) = common::sycl_queue() else { return };
    let source = "kernel void ids(global uint *to) {
        size_t linear = (get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + get_global_id(0);
        to[linear * 2] = get_global_id(2) * 10000 + get_global_id(1) * 100 + get_global_id(0);
        to[linear * 2 + 1] = get_local_size(2) * 10000 + get_local_size(1) * 100 + get_local_size(0);
    }";
    let kernel = build(&queue, source).kernel("ids").unwrap();
    let ranges: [ExecutionRange; 7] = [
        5.into(),
        [2, 3].into(),
        [2, 3, 4].into(),
        NdRange::new(6, 3).into(),
        NdRange::new([4, 6], [2, 3]).into(),
        NdRange::new([2, 4, 6], [1, 2, 3]).into(),
        NdRange::new([2, 4, 6], [2, 4, 6]).into(),
    ];
    let digits = |sizes: &[usize]| sizes.iter().fold(0, |number, size| number * 100 + size);
    for range in ranges {
        let global = range.global();
        let sizes = global.sizes();
        let items: usize = sizes.iter().product();
        let block = zeros(&queue, items * 8);
        run(&queue, &kernel, &[(&block).into()], range);
        let found = words(&queue, &block);
        for item in 0..items {
            // The position of a C-ordered array of these sizes.
            let mut rest = item;
            let mut position: Vec<usize> =
                sizes.iter().rev().map(|size| (rest % size, rest /= size).0).collect();
            position.reverse();
            assert_eq!(found[item * 2] as usize, digits(&position), "{range}");
            if let Some(local) = range.local() {
                let ones = [1, 1, 1];
                let local = [&ones[local.sizes().len()..], local.sizes()].concat();
                assert_eq!(found[item * 2 + 1] as usize, digits(&local), "{range}");
            }
        }
    }
}

#[test]
fn work_groups_share_local_memory() {
    let Some(queue) = common::sycl_queue() else { return };
    let kernel = build(&queue, common::KERNELS).kernel("sum_u32").unwrap();
    let values: Vec<u32> = (0..1024).map(|i| i * i % 1009).collect();
    let from = zeros(&queue, 4096);
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    // SAFETY: both 4096 bytes, waited for.
    unsafe { queue.memcpy(from.as_ptr().as_ptr(), bytes.as_ptr(), 4096, &[]) }.unwrap().wait().unwrap();
    for group in [1, 2, 16, 64, 256] {
        let to = zeros(&queue, 4096 / group);
        let scratch = KernelArgument::local_memory(group * 4);
        run(&queue, &kernel, &[(&to).into(), (&from).into(), scratch], NdRange::new(1024, group));
        let expected: Vec<u32> = values.chunks(group).map(|part| part.iter().sum()).collect();
        assert_eq!(words(&queue, &to), expected, "{group}");
    }
}

#[test]
fn several_local_arguments_lie_apart_and_are_aligned() {
    let Some(queue) = common::sycl_queue() else { return };
    let source = "kernel void apart(global uint *to, local uchar *a, local ulong *b, local uchar *c, local float4 *d) {
        size_t i = get_local_id(0);
        a[i] = i; b[i] = 1000 + i; c[i] = 100 + i; d[i] = (float4)(i);
        barrier(CLK_LOCAL_MEM_FENCE);
        size_t j = get_local_size(0) - 1 - i;
        to[get_global_id(0)] = a[j] + b[j] + c[j] + (uint)d[j].w
            + (((size_t)b % 8 + (size_t)d % 16) ? 1000000 : 0);
    }";
    let kernel = build(&queue, source).kernel("apart").unwrap();
    let block = zeros(&queue, 6 * 3 * 4);
    let local = KernelArgument::local_memory;
    let arguments = [(&block).into(), local(3), local(24), local(3), local(48)];
    run(&queue, &kernel, &arguments, NdRange::new(18, 3));
    assert_eq!(words(&queue, &block), [1108, 1104, 1100].repeat(6));
}

#[test]
fn kernels_read_and_write_every_kind() {
    let Some(queue) = common::sycl_queue() else { return };
    let kernel = build(&queue, common::KERNELS).kernel("copy_bytes").unwrap();
    let bytes: Vec<u8> = (0..1000).map(|i| (i % 251) as u8).collect();
    for from_kind in UsmKind::ALL {
        for to_kind in UsmKind::ALL {
            let from = queue.allocate(from_kind, 1000).unwrap();
            let to = queue.allocate(to_kind, 1000).unwrap();
            // SAFETY: both 1000 bytes, waited for by the next wait, since the queue is in order.
            unsafe { queue.memcpy(from.as_ptr().as_ptr(), bytes.as_ptr(), 1000, &[]) }.unwrap();
            run(&queue, &kernel, &[to.as_ptr().into(), from.as_ptr().as_ptr().cast_const().into()], 1000);
            assert_eq!(read(&queue, &to), bytes, "{from_kind} to {to_kind}");
        }
    }
}

#[test]
fn kernels_run_after_their_dependencies() {
    let Some(in_order) = common::sycl_queue() else { return };
    let queue = in_order.context().create_queue(in_order.device(), QueueProperties::OUT_OF_ORDER).unwrap();
    let source = "kernel void advance(global uint *x, uint add) {
        size_t i = get_global_id(0); uint value = x[i];
        for (int k = 0; k < 50; k++) value = value * 3 + add;
        x[i] = value;
    }";
    let kernel = build(&queue, source).kernel("advance").unwrap();
    let len = 50_000;
    let block = queue.allocate(UsmKind::Device, len * 4).unwrap();
    for round in 0..5_u32 {
        // SAFETY: within the block; ordered by events; waited for below.
        let mut last =
            unsafe { queue.fill(block.as_ptr().as_ptr(), &round.to_ne_bytes(), len, &[]) }.unwrap();
        let mut expected = round;
        for add in 0..6_u32 {
            last = submit(&queue, &kernel, &[(&block).into(), add.into()], len, &[last]);
            for _ in 0..50 {
                expected = expected.wrapping_mul(3).wrapping_add(add);
            }
        }
        last.wait().unwrap();
        assert!(words(&in_order, &block).iter().all(|&word| word == expected), "{round}");
    }
}

#[test]
fn a_submitted_kernel_needs_no_handles() {
    let Some(queue) = common::sycl_queue() else { return };
    let block = zeros(&queue, 4 << 20);
    let events: Vec<Event> = (0..4_usize)
        .map(|part| {
            let own = queue.context().create_queue(queue.device(), QueueProperties::OUT_OF_ORDER).unwrap();
            let kernel = build(&own, common::KERNELS).kernel("fill_u32").unwrap();
            let to = KernelArgument::pointer(block.address() + (part << 20));
            submit(&own, &kernel, &[to, 77_u32.into()], 1 << 18, &[])
        })
        .collect();
    events.iter().for_each(|event| event.wait().unwrap());
    assert!(words(&queue, &block).iter().all(|&word| word == 77));
}

#[test]
fn a_spirv_module_runs() {
    let Some(queue) = common::sycl_queue() else { return };
    let module = spirv::fill_module("put");
    // SAFETY: valid.
    let bundle = unsafe { KernelBundle::from_spirv(queue.context(), queue.device(), &module, "") }.unwrap();
    assert!(bundle.has_kernel("put") && !bundle.has_kernel("pu"));
    let kernel = bundle.kernel("put").unwrap();
    assert_eq!((kernel.name(), kernel.info().num_args), ("put", 2));
    let block = zeros(&queue, 400);
    run(&queue, &kernel, &[(&block).into(), 0xdead_beef_u32.into()], 90);
    assert_eq!(words(&queue, &block), [vec![0xdead_beef; 90], vec![0; 10]].concat());
    run(&queue, &kernel, &[(&block).into(), 5_u32.into()], NdRange::new([4, 25], [2, 5]));
    assert_eq!(words(&queue, &block), [vec![5; 25], vec![0xdead_beef; 65], vec![0; 10]].concat());
}

#[test]
fn what_is_no_spirv_is_an_error() {
    let Some(queue) = common::sycl_queue() else { return };
    let (context, device) = (queue.context(), queue.device());
    // SAFETY: refused, or a start of a valid module without anything in it, or valid.
    let from = |module: &[u8]| unsafe { KernelBundle::from_spirv(context, device, module, "") };
    for junk in [&[][..], b"kernel void f() {}", &[0; 64], &[255; 4096]] {
        assert!(matches!(from(junk), Err(Error::InvalidSpirv { .. })), "{junk:?}");
    }
    let module = spirv::fill_module("put");
    // Cut at any byte: within an instruction, or between two of them, where only the runtime can tell.
    for end in 0..module.len() {
        match from(&module[..end]) {
            Err(Error::InvalidSpirv { .. } | Error::KernelBuild { .. }) => {}
            // Without any function it is a module, but one that has nothing.
            Ok(bundle) => assert!(!bundle.has_kernel("put"), "{end}"),
            Err(other) => unreachable!("{end}: {other}"),
        }
    }
    from(&module).unwrap().kernel("put").unwrap();
}

#[test]
fn source_that_does_not_build_is_an_error() {
    let Some(queue) = common::sycl_queue() else { return };
    let (context, device) = (queue.context(), queue.device());
    let from =
        |source: &str, options: &str| KernelBundle::from_opencl_source(context, device, source, options);
    for source in ["kernel void f( {", "#error no", "kernel void f(global nothing *x) {}"] {
        let error = from(source, "").unwrap_err();
        assert!(matches!(error, Error::KernelBuild { language: "OpenCL C", .. }), "{error}");
        assert!(error.to_string().contains(&device.filter_string()), "{error}");
    }
    let source = "kernel void f(global int *x) { *x = VALUE; }";
    assert!(matches!(from(source, ""), Err(Error::KernelBuild { .. })));
    assert!(matches!(from(source, "-DVALUE=1 -no-such-option"), Err(Error::KernelBuild { .. })));
    let kernel = from(source, "-DVALUE=31").unwrap().kernel("f").unwrap();
    let block = zeros(&queue, 4);
    run(&queue, &kernel, &[(&block).into()], 1);
    assert_eq!(words(&queue, &block), [31]);

    assert!(matches!(from("x\0", ""), Err(Error::NulByte { what: "OpenCL C source", position: 1 })));
    assert!(matches!(from(source, "-D\0"), Err(Error::NulByte { what: "build options", position: 2 })));
    let empty = from("", "").unwrap();
    for name in ["f", "", "a\0b", "kernel"] {
        let error = empty.kernel(name).unwrap_err();
        assert!(matches!(&error, Error::NoSuchKernel { name: found } if found == name), "{error}");
        assert!(!empty.has_kernel(name));
    }
}

#[test]
fn what_cannot_be_submitted_says_why_and_harms_nothing() {
    let Some(queue) = common::sycl_queue() else { return };
    let bundle = build(&queue, common::KERNELS);
    let fill = bundle.kernel("fill_u32").unwrap();
    let sum = bundle.kernel("sum_u32").unwrap();
    let block = zeros(&queue, 64);
    let to = || KernelArgument::from(&block);
    let good = [to(), 3_u32.into()];

    let one_more = [to(), 3_u32.into(), 3_u32.into()];
    for arguments in [&good[..0], &good[..1], &one_more] {
        let error = refused(&queue, &fill, arguments, 1);
        assert!(matches!(error, Error::KernelArguments { expected: 2, .. }), "{error}");
        assert!(
            error.to_string().contains(&format!("\"fill_u32\" has 2 arguments, but {}", arguments.len()))
        );
    }
    let too_large = fill.info().work_group_size + 1;
    for range in [0.into(), NdRange::new(6, 4).into(), NdRange::new(too_large, too_large).into()] {
        let range: ExecutionRange = range;
        let error = refused(&queue, &fill, &good, range);
        assert!(matches!(error, Error::KernelRange { .. }), "{error}");
    }
    let max = usize::try_from(queue.device().info().local_mem_bytes).unwrap();
    for bytes in [0, max + 1, usize::MAX] {
        let local = KernelArgument::local_memory(bytes);
        let error = refused(&queue, &sum, &[to(), to(), local], NdRange::new(4, 4));
        assert!(matches!(error, Error::LocalMemory { .. }), "{error}");
    }
    // The runtime compares sizes.
    for argument in [3_u8.into(), 3_u64.into(), to(), KernelArgument::local_memory(4)] {
        let error = refused(&queue, &fill, &[to(), argument.clone()], 1);
        assert!(matches!(error, Error::Backend { .. }), "{argument}: {error}");
    }
    assert_eq!(words(&queue, &block), [0; 16]);
    run(&queue, &fill, &good, 16);
    assert_eq!(words(&queue, &block), [3; 16]);
}

#[test]
fn a_kernel_of_another_context_is_refused_with_both_named() {
    let Some(queue) = common::sycl_queue() else { return };
    let host = common::host_queue();
    let other = Context::new(std::slice::from_ref(queue.device())).unwrap();
    let in_other = other.create_queue(queue.device(), QueueProperties::IN_ORDER).unwrap();
    let fill = build(&in_other, common::KERNELS).kernel("fill_u32").unwrap();
    assert_eq!(fill.bundle().context(), &other);
    let block = zeros(&in_other, 16);
    let arguments = [(&block).into(), 1_u32.into()];
    for wrong in [&queue, &host] {
        let error = refused(wrong, &fill, &arguments, 4);
        assert!(matches!(error, Error::KernelMismatch { what: "context", .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(&other.to_string()) && text.contains(&wrong.context().to_string()), "{text}");
    }
    run(&in_other, &fill, &arguments, 4);
    assert_eq!(words(&in_other, &block), [1; 4]);
    let error = KernelBundle::from_opencl_source(queue.context(), host.device(), "", "").unwrap_err();
    assert!(matches!(error, Error::DeviceNotInContext { .. }), "{error}");
}

#[test]
fn the_host_backend_says_that_it_has_no_kernels() {
    let host = common::host_queue();
    let (context, device) = (host.context(), host.device());
    let errors = [
        KernelBundle::from_opencl_source(context, device, common::KERNELS, "").unwrap_err(),
        // SAFETY: valid.
        unsafe { KernelBundle::from_spirv(context, device, &spirv::fill_module("put"), "") }.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.to_string(), "the host backend does not support kernels");
    }
    // What is wrong anyway is said first.
    // SAFETY: refused.
    let error = unsafe { KernelBundle::from_spirv(context, device, b"junk", "") }.unwrap_err();
    assert!(matches!(error, Error::InvalidSpirv { .. }), "{error}");
}

#[test]
fn threads_build_and_submit_at_once() {
    let Some(queue) = common::sycl_queue() else { return };
    let bundle = build(&queue, common::KERNELS);
    let shared = bundle.kernel("fill_u32").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8_u32 {
            let (queue, shared) = (&queue, &shared);
            scope.spawn(move || {
                let own =
                    queue.context().create_queue(queue.device(), QueueProperties::OUT_OF_ORDER).unwrap();
                let built = (thread < 2).then(|| build(&own, common::KERNELS).kernel("fill_u32").unwrap());
                for round in 0..50 {
                    let block = own.allocate(UsmKind::Shared, 256).unwrap();
                    let kernel = built.as_ref().filter(|_| round % 2 == 0).unwrap_or(shared);
                    let value = thread * 1000 + round;
                    run(&own, kernel, &[(&block).into(), value.into()], 64);
                    assert_eq!(words(&own, &block), [value; 64]);
                }
                // Without a wait in between, so that one thread sets arguments while another one submits.
                let block = own.allocate(UsmKind::Shared, 400 * 64).unwrap();
                let events: Vec<Event> = (0..400_u32)
                    .map(|part| {
                        let to = KernelArgument::pointer(block.address() + part as usize * 64);
                        submit(&own, shared, &[to, (thread * 1000 + part).into()], 16, &[])
                    })
                    .collect();
                events.iter().for_each(|event| event.wait().unwrap());
                let expected: Vec<u32> = (0..400 * 16).map(|i| thread * 1000 + i / 16).collect();
                assert_eq!(words(&own, &block), expected);
            });
        }
    });
}
