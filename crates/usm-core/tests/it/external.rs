//! Handles that cross to other SYCL libraries and back, and junk that pretends to be one.
#![cfg(feature = "sycl")]
#![allow(clippy::unwrap_used)]

use crate::common;
use std::ffi::c_void;
use std::ptr;

use usm_core::{Context, Error, Queue, Runtime, UsmKind};

#[test]
fn handles_round_trip() {
    let Some(queue) = common::sycl_queue() else { return };
    let backend = Runtime::global().sycl_backend().unwrap();
    let handle = queue.to_external().unwrap();
    // SAFETY: a live heap queue.
    let back = unsafe { Queue::from_external(backend, handle.as_ptr().as_ptr()) }.unwrap();
    assert_eq!(back, queue);
    assert_eq!(back.context(), queue.context());
    assert_eq!(back.device(), queue.device());
    assert_eq!(back.properties(), queue.properties());
    drop(handle);
    back.allocate(UsmKind::Shared, 8).unwrap();

    let own = Context::new(std::slice::from_ref(queue.device())).unwrap();
    for context in [&own, queue.context()] {
        let handle = context.to_external().unwrap();
        // SAFETY: a live heap context.
        let back = unsafe { Context::from_external(backend, handle.as_ptr().as_ptr()) }.unwrap();
        assert_eq!(&back, context);
    }
}

#[test]
fn junk_is_refused() {
    let Some(queue) = common::sycl_queue() else { return };
    let backend = Runtime::global().sycl_backend().unwrap();
    let zeros = [0_usize; 32];
    let text = *b"sixteen bytes of text, then more";
    let (queue_handle, context_handle) =
        (queue.to_external().unwrap(), queue.context().to_external().unwrap());
    let host_block = common::host_queue().allocate(UsmKind::Device, 4096).unwrap();
    let junk = [
        ptr::null_mut(),
        ptr::without_provenance_mut(0xdead),
        ptr::without_provenance_mut(0xdead_0000),
        ptr::without_provenance_mut(usize::MAX),
        (&raw const zeros).cast_mut().cast::<c_void>(),
        (&raw const text).cast_mut().cast(),
        host_block.as_ptr().as_ptr().cast(),
        (junk_is_refused as fn() as *mut c_void),
    ];
    for pointer in junk.iter().chain([&context_handle.as_ptr().as_ptr()]) {
        // SAFETY: no SYCL queue at all, which the call detects.
        let refused = unsafe { Queue::from_external(backend, *pointer) };
        assert!(matches!(refused, Err(Error::InvalidExternalHandle { what: "queue", .. })), "{pointer:?}");
    }
    for pointer in junk.iter().chain([&queue_handle.as_ptr().as_ptr()]) {
        // SAFETY: no SYCL context at all, which the call detects.
        let refused = unsafe { Context::from_external(backend, *pointer) };
        assert!(matches!(refused, Err(Error::InvalidExternalHandle { what: "context", .. })), "{pointer:?}");
    }
}

#[test]
fn the_host_backend_hands_out_nothing() {
    let queue = common::host_queue();
    assert!(matches!(queue.to_external(), Err(Error::NoExternalHandle { what: "queue", .. })));
    assert!(matches!(queue.context().to_external(), Err(Error::NoExternalHandle { what: "context", .. })));
}
