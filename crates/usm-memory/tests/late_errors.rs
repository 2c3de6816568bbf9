//! Asynchronous errors that arrive while nobody waits for the operation: a later wait returns them. One test alone in its process, since the
//! runtime reports such an error once, to anybody.
#![cfg(feature = "sycl")]
#![allow(clippy::unwrap_used)]

use test_stacks as _;

use std::sync::Arc;

use sycl_loopback::Loopback;
use usm_memory::usm_core::backend::sycl::SyclBackend;
use usm_memory::usm_core::{Error as CoreError, Runtime, UsmKind};
use usm_memory::{Error, UsmBuffer, flight};

#[test]
fn an_error_that_a_release_of_host_memory_meets_comes_out_of_the_next_wait() {
    let loopback = Loopback::new().unwrap();
    // SAFETY: the stand-in of this workspace.
    let api = unsafe { sycl_sys::Api::load_from(loopback.path()) }.unwrap();
    let runtime = Runtime::with_backend(Arc::new(SyclBackend::new(api))).unwrap();
    let queue = runtime.default_queue(&runtime.default_device().unwrap()).unwrap();
    let buffer = UsmBuffer::allocate(&queue, UsmKind::Device, 64).unwrap();
    let upload = || {
        let start = |after: &[_]| Ok(buffer.copy_from_owned_async(vec![1_u8; 64], 0, after)?);
        flight::launch(&queue, vec![], start).unwrap()
    };
    let releases: [(&str, &dyn Fn()); 4] = [
        ("a sweep", &|| {
            upload();
            assert!(loopback.raise_async(2));
            flight::sweep();
        }),
        ("the next launch", &|| {
            upload();
            assert!(loopback.raise_async(3));
            upload();
        }),
        ("the drop of a completion", &|| {
            let upload = buffer.copy_from_vec_async(vec![1; 64], 0, &[]).unwrap();
            assert!(loopback.raise_async(4));
            drop(upload);
        }),
        ("the drop of memory", &|| {
            let other = UsmBuffer::allocate(&queue, UsmKind::Device, 64).unwrap();
            other.fill_async(&[1], &[]).unwrap();
            assert!(loopback.raise_async(5));
            drop(other);
        }),
    ];
    for (name, release) in releases {
        release();
        let waited = flight::wait(&queue);
        assert!(matches!(waited, Err(Error::Core(CoreError::Asynchronous { .. }))), "{name}: {waited:?}");
        flight::wait(&queue).unwrap();
        assert_eq!(buffer.to_vec().unwrap().len(), 64, "once");
    }
}
