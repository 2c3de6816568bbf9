//! Modules and kernels.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use std::ffi::{CStr, CString, c_void};

use common::{Driver, Handle};
use cuda_loopback::Kind;

/// The kernel of usm-core for fills.
fn fill() -> CString {
    CString::new(include_str!("../ptx/fill.ptx")).unwrap()
}

/// A module of more kernels: each thread adds a number to its word; a kernel of 32 threads; one without arguments.
const MORE: &CStr = c".version 6.3
.target sm_70
.address_size 64
.visible .global .align 4 .u32 launches = 5;
.visible .entry add(.param .u64 words, .param .u16 number)
{
    .reg .b32 %r<4>;
    .reg .b16 %h;
    .reg .b64 %d<3>;
    ld.param.u64 %d1, [words];
    ld.param.u16 %h, [number];
    cvt.u32.u16 %r1, %h;
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %d2, %r2, 4;
    add.s64 %d1, %d1, %d2;
    red.global.add.u32 [%d1], %r1;
}
.visible .entry warp() .reqntid 32 { .shared .b8 tile[256]; ret; }
.visible .entry count(.param .u64 to)
{
    .reg .b32 %r<2>;
    .reg .b64 %d<2>;
    ld.param.u64 %d1, [to];
    atom.global.add.u32 %r1, [launches], 1;
    st.global.u32 [%d1], %r1;
}";

fn function_of(driver: &Driver, text: &CStr, name: &CStr) -> (Handle, Handle) {
    let module = made!(driver.cuModuleLoadData(text.as_ptr()));
    (module, made!(driver.cuModuleGetFunction(module, name.as_ptr())))
}

fn function(driver: &Driver) -> Handle {
    function_of(driver, &fill(), c"usm_fill").1
}

fn launch(
    driver: &Driver,
    function: Handle,
    stream: Handle,
    grid: u32,
    block: u32,
    mut values: [u64; 6],
) -> u32 {
    let mut arguments = values.each_mut().map(|value| std::ptr::from_mut(value).cast());
    let none = std::ptr::null_mut();
    driver.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, arguments.as_mut_ptr(), none)
}

#[test]
fn usm_fill_stores_vectors_head_and_tail() {
    let driver = Driver::new();
    let (stream, kernel) = (driver.stream(), function(&driver));
    let device: u64 = made!(driver.cuMemAlloc_v2(80));
    assert_eq!(driver.cuMemsetD8Async(device, 0, 80, stream), 0);
    let arguments = [device + 16, 3, u64::MAX, 0, device + 8, device + 64];
    assert_eq!(launch(&driver, kernel, stream, 1, 256, arguments), 0);
    let words: Vec<_> = driver.read(device, 80, stream).chunks(8).map(|word| word[0]).collect();
    assert_eq!(words, [0, 255, 255, 0, 255, 0, 255, 0, 255, 0]);
    assert_eq!(driver.loopback.faults(), [""; 0]);
    // Fewer threads store fewer vectors.
    assert_eq!(driver.cuMemsetD8Async(device, 0, 80, stream), 0);
    assert_eq!(launch(&driver, kernel, stream, 1, 2, [device, 5, u64::MAX, 1, 0, 0]), 0);
    assert_eq!(driver.read(device + 16, 17, stream)[15..], [0, 0]);
    for (grid, block) in [(0, 1), (1, 0), (1, 1025)] {
        assert_eq!(launch(&driver, kernel, stream, grid, block, arguments), 1);
    }
    assert_eq!(driver.loopback.faults(), [""; 0]);
    assert_eq!(launch(&driver, kernel, stream, 1, 1, [device + 8, 1, 0, 0, 0, 0]), 0);
    assert_eq!(driver.cuStreamSynchronize(stream), 716);
    assert!(driver.the_fault().contains("no multiple of 16"));
    assert_eq!(launch(&driver, kernel, stream, 1, 8, [device, 6, 0, 0, 0, 0]), 0);
    assert_eq!(driver.cuStreamSynchronize(stream), 700);
    assert!(driver.the_fault().contains("is in no allocation"));
}

#[test]
fn large_fills_are_those_of_the_interpreter() {
    let driver = Driver::new();
    let (stream, kernel) = (driver.stream(), function(&driver));
    let vectors = (1 << 16) + 300;
    let device: u64 = made!(driver.cuMemAlloc_v2(16 * vectors + 32));
    let [mut small, mut large] = [Vec::new(), Vec::new()];
    for (blocks, bytes) in [(1_u32 << 8, &mut small), (1 << 9, &mut large)] {
        assert_eq!(driver.cuMemsetD8Async(device, 0, 16 * vectors + 32, stream), 0);
        let count = (1 << 16) - 5;
        let arguments = [device + 16, count, 7, 1 << 60, device + 8, device + 16 + 16 * count];
        assert_eq!(launch(&driver, kernel, stream, blocks, 256, arguments), 0);
        *bytes = driver.read(device, 16 * vectors + 32, stream);
    }
    assert!(small == large && small[16..24] == 7_u64.to_le_bytes());
}

#[test]
fn modules_are_checked() {
    let driver = Driver::new();
    assert_eq!(driver.cuModuleLoadData(&mut 0, c"garbage".as_ptr()), 200);
    let wrong = c".version 6.3\n.entry k() {\n tanh.approx.f32 %f1, %f2;\n}";
    assert_eq!(driver.cuModuleLoadData(&mut 0, wrong.as_ptr()), 218);
    assert!(driver.the_fault().contains("line 3: the instruction tanh.approx.f32 is not supported"));
    // The log has as much of the text as it can.
    for len in [200_usize, 20] {
        let mut log = [1_u8; 200];
        let values = [log.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(len)];
        let loaded = driver.cuModuleLoadDataEx(&mut 0, wrong.as_ptr(), 2, [5, 6].as_ptr(), values.as_ptr());
        assert_eq!(loaded, 218);
        let text = CStr::from_bytes_until_nul(&log).unwrap().to_str().unwrap();
        assert!(text.starts_with("cuda-loopback: line") && (len < 200) != text.contains("tanh"), "{text}");
    }
    let (module, add) = function_of(&driver, MORE, c"add");
    assert_eq!(driver.cuModuleGetFunction(&mut 0, module, c"nope".as_ptr()), 500);
    let (mut offset, mut len) = (0, 0);
    let found =
        [0, 1, 2].map(|index| (driver.cuFuncGetParamInfo(add, index, &mut offset, &mut len), offset, len));
    assert_eq!(found, [(0, 0, 8), (0, 8, 2), (1, 8, 2)]);
    let warp = made!(driver.cuModuleGetFunction(module, c"warp".as_ptr()));
    let attributes = [0, 1, 3].map(|attribute| made!(driver.cuFuncGetAttribute(attribute, warp)));
    assert_eq!(attributes, [32, 256, 0]);
    let stream = driver.stream();
    let none = std::ptr::null_mut();
    let run =
        |block, shared| driver.cuLaunchKernel(warp, 1, 1, 1, block, 1, 1, shared, stream, none, none.cast());
    assert_eq!((run(32, 0), run(64, 0), run(32, 48 << 10)), (0, 1, 1));
    assert_eq!(driver.loopback.faults(), [""; 0]);
    assert_eq!(driver.cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, none, none.cast()), 1);
    assert!(driver.the_fault().contains("no readable argument"));
    assert_eq!(driver.loopback.live(Kind::Module), 1);
}

#[test]
fn modules_go_with_their_functions_when_no_kernel_runs() {
    let driver = Driver::new();
    let (module, add) = function_of(&driver, MORE, c"add");
    let stream = driver.stream();
    let words: u64 = made!(driver.cuMemAlloc_v2(32));
    assert_eq!(driver.cuMemsetD8Async(words, 0, 32, stream), 0);
    let (mut words_argument, mut number) = (words, 1000_u16);
    let mut arguments = [(&raw mut words_argument).cast(), (&raw mut number).cast()];
    let mut run = || {
        driver.cuLaunchKernel(add, 2, 1, 1, 8, 1, 1, 0, stream, arguments.as_mut_ptr(), std::ptr::null_mut())
    };
    assert_eq!(run(), 0);
    assert_eq!(driver.cuCtxSynchronize(), 0);
    assert_eq!(driver.read(words, 32, stream), [2000_u32.to_ne_bytes(); 8].concat());
    driver.loopback.hold(1000);
    assert_eq!(run(), 0);
    assert_eq!(driver.cuModuleUnload(module), 0);
    assert!(driver.the_fault().contains("may be running"));
    assert_eq!(run(), 400);
    assert!(driver.the_fault().contains("no live function"));
    assert_eq!(driver.cuModuleUnload(module), 400);
    assert!(driver.the_fault().contains("no live module"));
    assert_eq!(driver.loopback.live(Kind::Module), 0);
}

#[test]
fn variables_of_a_module_stay_between_launches() {
    let driver = Driver::new();
    let (_, count) = function_of(&driver, MORE, c"count");
    let stream = driver.stream();
    let word: u64 = made!(driver.cuMemAlloc_v2(4));
    for expected in 5_u32..8 {
        let mut argument = word;
        let mut arguments = [(&raw mut argument).cast()];
        let none = std::ptr::null_mut();
        assert_eq!(
            driver.cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, stream, arguments.as_mut_ptr(), none),
            0
        );
        assert_eq!(driver.read(word, 4, stream), expected.to_ne_bytes());
    }
}

#[test]
fn kernels_need_access_to_memory_of_peers() {
    let driver = Driver::with_devices(2);
    let can: i32 = made!(driver.cuDeviceCanAccessPeer(1, 0));
    assert_eq!(can, 1);
    let (stream, kernel, pool) = (driver.stream(), function(&driver), driver.pool(1));
    let of_pool: u64 = made!(driver.cuMemAllocFromPoolAsync(16, pool, stream));
    assert_eq!(driver.cuCtxPushCurrent_v2(driver.contexts[1]), 0);
    let direct: u64 = made!(driver.cuMemAlloc_v2(16));
    assert_eq!(driver.cuCtxPopCurrent_v2(&mut 0), 0);
    let run = |address| {
        assert_eq!(launch(&driver, kernel, stream, 1, 1, [address, 1, 0, 0, 0, 0]), 0);
        driver.cuStreamSynchronize(stream)
    };
    let refused = |address| {
        assert_eq!(run(address), 700);
        assert!(driver.the_fault().contains("no peer of device 0"));
    };
    refused(direct);
    assert_eq!(driver.cuCtxEnablePeerAccess(driver.contexts[1], 0), 0);
    assert_eq!(driver.cuCtxEnablePeerAccess(driver.contexts[1], 0), 704);
    assert_eq!(run(direct), 0);
    refused(of_pool);
    assert_eq!(driver.cuMemPoolSetAccess(pool, &[1, 0, 3], 1), 0);
    assert_eq!(run(of_pool), 0);
    assert_eq!(driver.cuMemPoolSetAccess(pool, &[1, 0, 0], 1), 0);
    refused(of_pool);
    assert_eq!(driver.cuCtxDisablePeerAccess(driver.contexts[1]), 0);
    assert_eq!(driver.cuCtxDisablePeerAccess(driver.contexts[1]), 705);
    refused(direct);
}
