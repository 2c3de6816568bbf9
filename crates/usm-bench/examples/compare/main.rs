//! The Rust cases of `cargo xtask bench`; the loops to compare with are written for x86-64.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]
#![allow(clippy::multiple_unsafe_ops_per_block, clippy::too_many_arguments, clippy::cast_precision_loss)]

#[cfg(target_arch = "x86_64")]
mod cases;

fn main() {
    #[cfg(target_arch = "x86_64")]
    cases::main();
}
