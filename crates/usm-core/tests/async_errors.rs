//! Asynchronous errors come out of the next wait. One test alone in its process, since the handler is global.
#![cfg(feature = "sycl")]
#![allow(clippy::unwrap_used)]

use test_stacks as _;

use std::sync::Arc;

use sycl_loopback::Loopback;
use usm_core::backend::sycl::SyclBackend;
use usm_core::{Error, Runtime, Unclaimed, UsmKind};

#[test]
fn the_next_wait_reports_what_the_handler_got() {
    let loopback = Loopback::new().unwrap();
    // SAFETY: the loopback library, in a process without a SYCL runtime.
    let api = unsafe { sycl_sys::Api::load_from(loopback.path()) }.unwrap();
    let runtime = Runtime::with_backend(Arc::new(SyclBackend::new(api))).unwrap();
    let queue = runtime.default_queue(&runtime.default_device().unwrap()).unwrap();
    let block = queue.allocate(UsmKind::Device, 8).unwrap();
    // SAFETY: within the block, waited for.
    let event = unsafe { queue.memset(block.as_ptr().as_ptr(), 1, 8, &[]) }.unwrap();
    assert!(loopback.raise_async(2));
    let error = event.wait().unwrap_err();
    assert!(matches!(error, Error::Asynchronous { code: 2, meaning: "kernel", .. }), "{error}");
    event.wait().unwrap();
    queue.wait().unwrap();

    // An error that arrives in one thread's wait is that wait's, not that of another thread.
    assert!(loopback.raise_async(3));
    let (other, complete) = (queue.clone(), event.clone());
    let there = std::thread::spawn(move || other.wait()).join().unwrap();
    assert!(matches!(there, Err(Error::Asynchronous { code: 3, .. })), "{there:?}");
    complete.wait().unwrap();

    // Nor does one get lost with a result that nobody claims, as of a wait that was broken off.
    for is_claimed in [true, false] {
        assert!(loopback.raise_async(4));
        let other = queue.clone();
        let there = std::thread::spawn(move || Unclaimed::of(|| other.wait())).join().unwrap();
        let result = if is_claimed { Unclaimed::of(|| there.claim()) } else { there };
        queue.wait().unwrap();
        drop(result);
        let error = queue.wait().unwrap_err();
        assert!(matches!(error, Error::Asynchronous { code: 4, .. }), "{error}");
        queue.wait().unwrap();
    }

    // Nor with a wait for what comes before another operation.
    assert!(loopback.raise_async(5));
    event.as_dependency(event.wait().unwrap_err()).unwrap();
    let error = queue.wait().unwrap_err();
    assert!(matches!(error, Error::Asynchronous { code: 5, .. }), "{error}");

    assert!(loopback.raise_async(-30));
    let error = queue.wait().unwrap_err();
    assert!(error.to_string().contains("-30 (not a SYCL error code)"), "{error}");
    queue.wait().unwrap();
}
