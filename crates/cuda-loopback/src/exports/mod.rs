//! The C functions, a file per topic. The header `cuda.h` has their contracts.

mod context;
mod control;
mod copy;
mod device;
mod driver;
mod event;
mod graph;
mod launch;
mod memory;
mod pool;
mod processes;
mod stream;

use crate::codes::{Code, Outcome};

/// Writes exported functions that run with the state locked, and a list of their names.
///
/// The functions are `unsafe` since C callers promise what the header says: output pointers are null or writable, and strings end with
/// a zero byte. The bodies that read or write through a pointer cite this promise.
macro_rules! export {
    ($(fn $name:ident($call:ident, $state:ident $(, $arg:ident: $ty:ty)* $(,)?) $body:block)*) => {
        pub(super) const NAMES: &[&str] = &[$(stringify!($name)),*];
        $(
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, unused_mut, clippy::too_many_arguments, reason = "functions of C")]
            unsafe extern "C" fn $name($($arg: $ty),*) -> crate::codes::Code {
                let $call = stringify!($name);
                crate::state::call($call, |mut $state: crate::state::Locked| { let _ = $call; $body })
            }
        )*
    };
}
use export;

/// Whether there is a C function with this name, which may fail on request.
fn is_known(name: &str) -> bool {
    let all = [
        context::NAMES,
        copy::NAMES,
        device::NAMES,
        driver::NAMES,
        event::NAMES,
        graph::NAMES,
        launch::NAMES,
        memory::NAMES,
        pool::NAMES,
        processes::NAMES,
        stream::NAMES,
    ];
    name == "*" || all.concat().contains(&name)
}

/// Writes to an output pointer; null is refused.
///
/// # Safety
/// 1. `to` is null or writable.
unsafe fn give<T>(to: *mut T, value: T) -> Outcome {
    if to.is_null() {
        return Err(Code::INVALID_VALUE.refusal());
    }
    // SAFETY: not null, so writable (1).
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// A handle for C.
fn handle(number: usize) -> crate::state::Handle {
    std::ptr::without_provenance_mut(number)
}
