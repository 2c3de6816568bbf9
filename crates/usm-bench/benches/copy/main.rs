//! Strided copies beside loops written by hand for each case, one after the other in turn: `cargo bench --bench copy [-- filter]`.
#![allow(clippy::needless_range_loop, reason = "hand-written loops index several arrays at once")]
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]
#![allow(clippy::multiple_unsafe_ops_per_block, clippy::too_many_arguments)]

#[cfg(target_arch = "x86_64")]
mod cases;
#[cfg(target_arch = "x86_64")]
mod limit;
#[cfg(target_arch = "x86_64")]
mod table;

#[cfg(target_arch = "x86_64")]
fn main() {
    table::main();
}

#[cfg(not(target_arch = "x86_64"))]
fn main() {
    println!("the loops to compare with are written for x86-64");
}
