//! The derive macros of the usm crates. Users reach them through `usm-core`.

mod device_copyable;
mod error_debug;

use proc_macro::TokenStream;
use syn::{DeriveInput, Error, parse_macro_input};

/// Lets kernels take a `#[repr(C)]` struct by value; `usm_core::DeviceCopyable` has the documentation and examples.
///
/// The struct has at least one byte, no padding, no type parameters, and only fields that are `DeviceCopyable` themselves. A raw pointer
/// is one if its field is marked `#[device_copyable(usm_pointer)]`. `#[device_copyable(crate = path)]` on the struct names the path of
/// `usm_core` where that is not `::usm_core`.
#[proc_macro_derive(DeviceCopyable, attributes(device_copyable))]
pub fn device_copyable(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    device_copyable::expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Implements `Debug` for an error: `{:?}` is its `Display`, and `{:#?}` has variant and fields.
///
/// `main` prints the error that it returns with `{:?}`, so a reader sees the sentence.
#[proc_macro_derive(ErrorDebug)]
pub fn error_debug(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    error_debug::expand(&input).unwrap_or_else(Error::into_compile_error).into()
}
