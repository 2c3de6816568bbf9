//! The shared library is found beside the tests, and its copies do not share counters.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use test_stacks as _;

use libloading::Library;
use sycl_loopback::{Control, Kind, Loopback, library_path};

#[test]
fn the_library_is_where_cargo_puts_it() {
    let path = library_path();
    assert!(path.is_file(), "{}", path.display());
    Control::open(&path).unwrap();
}

#[test]
fn copies_count_for_themselves() {
    let first = Loopback::new().unwrap();
    let second = Loopback::new().unwrap();
    // SAFETY: the loopback library has no initialisation routines.
    let library = unsafe { Library::new(first.path()) }.unwrap();
    // SAFETY: the C function takes nothing and returns a pointer.
    let create = unsafe { library.get::<unsafe extern "C" fn() -> *mut u8>("DPCTLDevice_Create") }.unwrap();
    // SAFETY: the C function takes nothing and returns a pointer.
    assert!(!unsafe { create() }.is_null());
    assert_eq!(first.leaks(), [(Kind::Device, 1)]);
    assert_eq!(second.leaks(), []);
}

#[test]
fn a_copy_is_removed_with_its_owner() {
    let loopback = Loopback::new().unwrap();
    let path = loopback.path().to_owned();
    assert!(path.is_file());
    drop(loopback);
    assert!(!path.exists());
}
