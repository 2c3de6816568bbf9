//! Memory of cudarc as ours, and ours as its memory: on the stand-in of the driver, which a child process finds as the installed one, or
//! with `USM_REQUIRE_CUDA=1` on the GPU.
#![allow(clippy::unwrap_used)]

use test_stacks as _;

use std::env;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use cuda_loopback::{Control, Loopback};
use cudarc::driver::{CudaContext, CudaStream};
use usm_memory::usm_core::{BackendId, Queue, Runtime, UsmKind};
use usm_memory::{Error, TypedBuffer};

const DRIVER: &str = "USM_CUDA_DRIVER";
const ROLE: &str = "USM_TEST_CUDARC";

/// Runs a test on the GPU, or in a child process for which the stand-in is the installed driver.
fn on_a_gpu(test: &str, run: fn(&Queue, &Arc<CudaStream>)) {
    let is_child = env::var_os(ROLE).is_some();
    if !is_child && (env::var_os("USM_REQUIRE_CUDA").is_none() || env::var_os(DRIVER).is_some()) {
        let driver = Loopback::new().unwrap();
        let mut child = Command::new(env::current_exe().unwrap());
        child.args(["--exact", test, "--nocapture"]).env(ROLE, "1").env(DRIVER, driver.path());
        child.env("LD_LIBRARY_PATH", driver.path().parent().unwrap());
        let output = child.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {text}", output.status);
        return;
    }
    let runtime = Runtime::global();
    let device = runtime.devices_of(BackendId::Cuda).next().unwrap();
    let queue = runtime.default_queue(device).unwrap();
    let ordinal = usize::try_from(device.info().cuda_ordinal.unwrap()).unwrap();
    let context = CudaContext::new(ordinal).unwrap();
    run(&queue, &context.new_stream().unwrap());
    context.synchronize().unwrap();
    drop(context);
    if is_child {
        let driver = Control::open(Path::new(&env::var_os(DRIVER).unwrap())).unwrap();
        assert!(driver.calls("cuCtxSetCurrent").unwrap() > 0, "cudarc has another driver");
        assert_eq!(driver.faults(), Vec::<String>::new());
    }
}

#[test]
fn their_slice_is_our_memory_and_is_freed_as_theirs() {
    on_a_gpu("their_slice_is_our_memory_and_is_freed_as_theirs", |queue, stream| {
        let numbers: Vec<u32> = (0..10_000).collect();
        let slice = stream.clone_htod(&numbers).unwrap();
        let buffer = TypedBuffer::from_cudarc(queue, slice).unwrap();
        assert_eq!((buffer.kind(), buffer.len()), (UsmKind::Device, numbers.len()));
        assert_eq!(buffer.to_vec().unwrap(), numbers);
        buffer.as_buffer().fill(&7_u32.to_ne_bytes()).unwrap();
        let part = buffer.slice(10..12).unwrap();
        drop(buffer);
        assert_eq!(part.to_vec().unwrap(), [7, 7], "a part keeps the slice");
    });
}

#[test]
fn a_slice_without_elements_is_an_empty_buffer() {
    on_a_gpu("a_slice_without_elements_is_an_empty_buffer", |queue, stream| {
        let slice = stream.alloc_zeros::<u32>(0).unwrap();
        assert_eq!(TypedBuffer::from_cudarc(queue, slice).unwrap().to_vec().unwrap(), [0_u32; 0]);
        let slice = stream.alloc_zeros::<u32>(0).unwrap();
        assert!(TypedBuffer::from_shared_cudarc(queue, slice.into()).unwrap().is_empty());
    });
}

#[test]
fn a_shared_slice_is_read_by_both_and_written_by_none() {
    on_a_gpu("a_shared_slice_is_read_by_both_and_written_by_none", |queue, stream| {
        let slice = Arc::new(stream.clone_htod(&[1.5_f64, -2.5]).unwrap());
        let buffer = TypedBuffer::from_shared_cudarc(queue, Arc::clone(&slice)).unwrap();
        assert_eq!(buffer.to_vec().unwrap(), [1.5, -2.5]);
        assert!(matches!(buffer.as_buffer().fill(&[0; 8]), Err(Error::ReadOnly)));
        assert_eq!(Arc::strong_count(&slice), 2);
        drop(buffer);
        assert_eq!(Arc::strong_count(&slice), 1);
        assert_eq!(stream.clone_dtoh(slice.as_ref()).unwrap(), [1.5, -2.5]);
    });
}

#[test]
fn our_memory_is_borrowed_by_them_and_comes_back() {
    on_a_gpu("our_memory_is_borrowed_by_them_and_comes_back", |queue, stream| {
        for kind in [UsmKind::Device, UsmKind::Shared] {
            let buffer = TypedBuffer::<u16>::from_slice(queue, kind, &[1, 2, 3, 4]).unwrap();
            let mut writing = buffer.cudarc_write(stream).unwrap();
            assert!(buffer.to_vec().is_err(), "borrowed for writing");
            let mut view = writing.view_mut();
            stream.memcpy_htod(&[30_u16, 40], &mut view.slice_mut(2..)).unwrap();
            drop(writing);
            assert_eq!(buffer.to_vec().unwrap(), [1, 2, 30, 40], "{kind}");

            let reading = buffer.cudarc_read(stream).unwrap();
            let again = buffer.cudarc_read(stream).unwrap();
            assert_eq!(stream.clone_dtoh(&reading.view().slice(1..3)).unwrap(), [2, 30]);
            assert!(buffer.cudarc_write(stream).is_err(), "borrowed for reading");
            drop((reading, again));
            buffer.as_buffer().fill(&[5, 0]).unwrap();
            assert_eq!(stream.clone_dtoh(&buffer.cudarc_read(stream).unwrap().view()).unwrap(), [5; 4]);
        }
    });
}

#[test]
fn what_does_not_fit_is_refused() {
    on_a_gpu("what_does_not_fit_is_refused", |queue, stream| {
        let runtime = Runtime::global();
        let host = runtime.default_queue(runtime.host_device()).unwrap();
        let slice = stream.clone_htod(&[1_u8; 64]).unwrap();
        assert!(matches!(TypedBuffer::from_cudarc(&host, slice), Err(Error::NotUsm { .. })));
        let on_host = TypedBuffer::<u8>::from_slice(&host, UsmKind::Shared, &[0; 64]).unwrap();
        let error = on_host.cudarc_read(stream).unwrap_err().to_string();
        assert!(error.contains("another device"), "{error}");
        on_host.as_buffer().fill(&[1]).unwrap();
        let read_only = TypedBuffer::<u8>::from_slice(queue, UsmKind::Device, &[0; 64]).unwrap().read_only();
        assert!(matches!(read_only.cudarc_write(stream), Err(Error::ReadOnly)));
    });
}
