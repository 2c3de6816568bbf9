//! What fuzzers run: a function of bytes for each path on which numbers and texts of others come in. A function panics where the library
//! is wrong.
//!
//! `cargo xtask verify fuzz` runs the functions under libFuzzer (`fuzz/`). The tests here run them over the corpus of that folder, over
//! changed inputs of it, and over random bytes.
//!
//! | file | job |
//! |---|---|
//! | `texts.rs` | names of dtypes and all else, typestrs, formats of buffers, filters of devices |
//! | `layouts.rs` | layouts, slices of them, and whether two overlap |
//! | `views.rs` | chains of views of layouts |
//! | `imports.rs` | `__sycl_usm_array_interface__`, `__cuda_array_interface__` and DLPack |
//! | `copies.rs` | assignments between parts of one memory |
//! | `kernels.rs` | PTX and SPIR-V |
//! | `processes.rs` | handles, answers and memory of other processes |
//! | `mutation.rs` | changed inputs, for the tests |

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is what a fuzzer looks for")]

mod copies;
mod imports;
mod kernels;
mod layouts;
#[cfg(test)]
mod mutation;
// Linux alone shares memory between processes.
#[cfg(not(windows))]
mod processes;
#[cfg(test)]
mod tests;
mod texts;
mod views;

use arbitrary::{Result, Unstructured};

pub use copies::copies;
pub use imports::{cuda_interfaces, interfaces, tensors};
pub use kernels::{modules, ptx};
pub use layouts::{layouts, overlaps, slices};
#[cfg(not(windows))]
pub use processes::{answers, handles, shares};
pub use texts::{dtypes, filters, names};
pub use views::views;

/// A function that takes what it needs from bytes. An error says that they are too few.
pub type Target = fn(&mut Unstructured<'_>) -> Result<()>;

/// All targets by name.
#[cfg(test)]
const TARGETS: &[(&str, Target)] = &[
    #[cfg(not(windows))]
    ("answers", answers),
    ("copies", copies),
    ("cuda-interfaces", cuda_interfaces),
    ("dtypes", dtypes),
    ("filters", filters),
    #[cfg(not(windows))]
    ("handles", handles),
    ("interfaces", interfaces),
    ("layouts", layouts),
    ("modules", modules),
    ("names", names),
    ("overlaps", overlaps),
    ("ptx", ptx),
    #[cfg(not(windows))]
    ("shares", shares),
    ("slices", slices),
    ("tensors", tensors),
    ("views", views),
];

/// Runs a target over an input. A program of the fuzzer holds no code but that of its target: libFuzzer looks at all code after each input.
///
/// # Panics
/// When the library is wrong.
pub fn run(target: Target, bytes: &[u8]) {
    // Too few bytes are no input.
    let _ = target(&mut Unstructured::new(bytes));
}
