//! The C functions, a file per topic. The C headers of the real library have their contracts.

mod composite;
mod context;
mod control;
mod device;
mod event;
mod facts;
mod kernel;
mod memory;
mod partition;
mod platform;
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
