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

/// A function that takes what it needs from bytes. An error says that they are too few.
type Target = fn(&mut Unstructured<'_>) -> Result<()>;

/// All targets by name.
pub const TARGETS: &[(&str, Target)] = &[
    #[cfg(not(windows))]
    ("answers", processes::answers),
    ("copies", copies::copies),
    ("cuda-interfaces", imports::cuda_interfaces),
    ("dtypes", texts::dtypes),
    ("filters", texts::filters),
    #[cfg(not(windows))]
    ("handles", processes::handles),
    ("interfaces", imports::interfaces),
    ("layouts", layouts::layouts),
    ("modules", kernels::modules),
    ("names", texts::names),
    ("overlaps", layouts::overlaps),
    ("ptx", kernels::ptx),
    #[cfg(not(windows))]
    ("shares", processes::shares),
    ("slices", layouts::slices),
    ("tensors", imports::tensors),
    ("views", views::views),
];

/// Runs one target.
///
/// # Panics
/// When the library is wrong, and for the name of no target.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|(known, _)| *known == name);
    let (_, target) = target.unwrap_or_else(|| panic!("found target {name}, allowed are those of TARGETS"));
    // Too few bytes are no input.
    let _ = target(&mut Unstructured::new(bytes));
}
