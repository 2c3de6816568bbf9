//! What fuzzers run: a function of bytes for each path on which numbers and texts of others come in. A function panics where the library
//! is wrong.
//!
//! `cargo xtask verify fuzz` runs the functions under libFuzzer (`fuzz/`). The tests here run them over the corpus of that
//! folder, and over random bytes.
//!
//! | file | job |
//! |---|---|
//! | `texts.rs` | names of dtypes, typestrs, formats of buffers, filters of devices |
//! | `layouts.rs` | layouts, slices of them, and whether two overlap |
//! | `imports.rs` | `__sycl_usm_array_interface__`, `__cuda_array_interface__` and DLPack |
//! | `copies.rs` | assignments between parts of one memory |

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is what a fuzzer looks for")]

mod copies;
mod imports;
mod layouts;
#[cfg(test)]
mod tests;
mod texts;

use arbitrary::{Result, Unstructured};

/// A function that takes what it needs from bytes. An error says that they are too few.
type Target = fn(&mut Unstructured<'_>) -> Result<()>;

/// All targets by name.
pub const TARGETS: [(&str, Target); 9] = [
    ("copies", copies::copies),
    ("cuda-interfaces", imports::cuda_interfaces),
    ("dtypes", texts::dtypes),
    ("filters", texts::filters),
    ("interfaces", imports::interfaces),
    ("layouts", layouts::layouts),
    ("overlaps", layouts::overlaps),
    ("slices", layouts::slices),
    ("tensors", imports::tensors),
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
