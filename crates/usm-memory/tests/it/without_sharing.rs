//! Buffers of several processes on Windows: an error that names the way that works, and a copy.
#![allow(clippy::unwrap_used, clippy::panic)]

use usm_memory::processes::{self, Handle};
use usm_memory::usm_core::{self, UsmKind};
use usm_memory::{Error, UsmBuffer};

use crate::common;

fn is_refused(error: &Error) -> bool {
    matches!(error, Error::Core(usm_core::Error::NotShareable { reason }) if reason.contains("a copy works"))
}

#[test]
fn handles_are_refused_and_a_copy_works() {
    for queue in common::queues() {
        let buffer = UsmBuffer::allocate(&queue, UsmKind::Device, 1 << 16).unwrap();
        buffer.fill(&[7]).unwrap();
        for error in [
            buffer.share().unwrap_err(),
            Handle::new(&buffer).unwrap_err(),
            processes::bytes_for_one(&buffer, false).unwrap_err(),
        ] {
            assert!(is_refused(&error), "{error}");
        }
        assert_eq!(buffer.to_vec().unwrap(), [7; 1 << 16]);
        assert_eq!((processes::pending_handles(), processes::opened()), (0, 0));
        assert_eq!(processes::release_handles(), 0);
    }
}

#[test]
fn bytes_that_are_no_handle_are_still_told_apart() {
    let error = processes::open(b"no handle", None).unwrap_err();
    assert!(matches!(error, Error::InvalidHandle { .. }), "{error}");
    assert!(processes::hand_over().unwrap().is_none());
}
