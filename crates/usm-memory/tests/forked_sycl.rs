//! Memory of SYCL devices in a forked child, over the loopback library, which has a CPU and a GPU. Needs no SYCL.
#![cfg(not(windows))] // no process is forked there
#![cfg(feature = "sycl")]
#![allow(clippy::unwrap_used)]

use test_stacks as _;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use sycl_loopback::Loopback;
use usm_memory::resource::DirectResource;
use usm_memory::usm_core::backend::sycl::SyclBackend;
use usm_memory::usm_core::{Error as CoreError, Runtime, UsmKind};
use usm_memory::{Error, UsmBuffer};

/// The status with which a child ends after `work`.
fn child(work: impl FnOnce()) -> i32 {
    // SAFETY: the child runs on this thread's copy alone, and ends without destructors.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let code = i32::from(catch_unwind(AssertUnwindSafe(work)).is_err());
        // SAFETY: ends the process at once.
        unsafe { libc::_exit(code) };
    }
    let mut status = -1;
    // SAFETY: a child of ours, and a place for its status.
    unsafe { libc::waitpid(pid, &raw mut status, 0) };
    status
}

fn is_refused<T>(result: Result<T, Error>) -> bool {
    matches!(result, Err(Error::Core(CoreError::ForkedRuntime)))
}

/// What a GPU's driver maps is not there in a child: a read would end it with a signal.
#[test]
fn host_code_of_a_child_touches_no_memory_that_it_does_not_have() {
    let loopback = Loopback::new().unwrap();
    // SAFETY: the loopback library, in a process without a SYCL runtime.
    let api = unsafe { sycl_sys::Api::load_from(loopback.path()) }.unwrap();
    let runtime = Runtime::with_backend(Arc::new(SyclBackend::new(api))).unwrap();
    for (name, is_here) in [("opencl:cpu", true), ("opencl:gpu", false)] {
        let device = runtime.select(name).unwrap();
        let queue = runtime.default_queue(&device).unwrap();
        for kind in UsmKind::ALL {
            let buffer = UsmBuffer::allocate_in(&DirectResource, &queue, kind, 64).unwrap();
            buffer.copy_from_host(&[7; 64], 0).unwrap();
            let status = child(|| {
                let mut bytes = [0; 64];
                let read = buffer.copy_to_host(&mut bytes, 0);
                let written = buffer.copy_from_host(&[8; 64], 0);
                let guards = (buffer.read_range(0..64).map(drop), buffer.write_range(0..64).map(drop));
                if is_here && !buffer.is_host_reachable() {
                    // USM_STRICT_DEVICE sends every copy to the queue, which the child must not use.
                    assert!(is_refused(read) && is_refused(written), "{kind}");
                } else if is_here {
                    read.unwrap();
                    written.unwrap();
                    assert_eq!(bytes, [7; 64]);
                    assert!(guards.0.is_ok() && guards.1.is_ok());
                } else {
                    assert!(is_refused(read) && is_refused(written), "{kind}");
                    assert!(is_refused(guards.0) && is_refused(guards.1), "{kind}");
                }
            });
            assert_eq!(status, 0, "{name} {kind}");
            let mut bytes = [0; 64];
            buffer.copy_to_host(&mut bytes, 0).unwrap();
            assert_eq!(bytes, [7; 64], "the parent goes on with what it has");
        }
    }
}
