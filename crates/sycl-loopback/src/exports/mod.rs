//! The C functions, a file per topic. The C headers of the real library have their contracts.

use std::ffi::{CStr, c_char};

#[cfg(dpctl_023)]
mod added;
mod composite;
mod context;
mod control;
mod device;
mod event;
mod facts;
mod handles;
mod kernel;
mod memory;
mod partition;
mod platform;
#[cfg(dpctl_023)]
mod processes;
mod queue;
mod selector;
mod usm;

/// Writes an exported function that runs with the state locked; a body that gives `None` fails as C fails.
///
/// The functions are `unsafe` since C callers promise what the headers say; those bodies that read through a pointer
/// say which promise they use.
macro_rules! export {
    ($($(#[$attribute:meta])* fn $name:ident($state:ident $(, $arg:ident: $ty:ty)* $(,)?) $(-> $ret:ty)? $body:block)*) => {$(
        $(#[$attribute])*
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        unsafe extern "C" fn $name($($arg: $ty),*) $(-> $ret)? {
            crate::state::call(stringify!($name), |$state: &mut crate::state::State| $body)
        }
    )*};
}
use export;

/// Writes functions that tell something of the object of a handle, a row each.
macro_rules! getters {
    ($($name:ident -> $ty:ty = $getter:ident: $fact:expr;)*) => {
        super::export! {$(
            fn $name(state, handle: crate::state::Handle) -> $ty { state.$getter(handle).map($fact) }
        )*}
    };
}
use getters;

/// A zero-terminated string as text; `None` for NULL.
///
/// # Safety
/// 1. `text` is NULL or a zero-terminated string.
unsafe fn text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller's promise 1.
    unsafe { CStr::from_ptr(text) }.to_str().ok().map(str::to_owned)
}

/// The elements of an array of C.
///
/// # Safety
/// 1. `start` has `count` initialised elements.
unsafe fn elements<T: Copy>(start: *const T, count: usize) -> Vec<T> {
    (0..count)
        .map(|index| {
            // SAFETY: the caller's promise 1.
            let element = unsafe { start.add(index) };
            // SAFETY: the caller's promise 1: the element is initialised.
            unsafe { element.read() }
        })
        .collect()
}
