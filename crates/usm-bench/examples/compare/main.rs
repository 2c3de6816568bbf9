//! The Rust side of the comparison of `cargo xtask bench`: says which cases it has, and runs their contenders when it is told to.
//!
//! Requests are lines, words apart by tabs; each is answered by one line of JSON:
//! `list`; `open CASE`; `run CONTENDER COUNT`, which gives nanoseconds for all of the runs, or a value; `close`.
#![allow(clippy::needless_range_loop, reason = "hand-written loops index several arrays at once")]
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]
#![allow(clippy::multiple_unsafe_ops_per_block, clippy::too_many_arguments, clippy::cast_precision_loss)]

#[cfg(target_arch = "x86_64")]
#[path = "../../benches/copy/cases.rs"]
mod cases;
#[cfg(target_arch = "x86_64")]
#[path = "../../benches/copy/limit.rs"]
mod limit;

#[cfg(target_arch = "x86_64")]
mod calls;
#[cfg(target_arch = "x86_64")]
mod contender;
#[cfg(target_arch = "x86_64")]
mod copies;
#[cfg(target_arch = "x86_64")]
mod guarded;
#[cfg(target_arch = "x86_64")]
mod live;
#[cfg(target_arch = "x86_64")]
mod memory;
#[cfg(target_arch = "x86_64")]
mod ramp;
#[cfg(target_arch = "x86_64")]
mod results;
#[cfg(target_arch = "x86_64")]
mod scale;
#[cfg(target_arch = "x86_64")]
mod serve;

#[cfg(target_arch = "x86_64")]
fn main() {
    serve::serve(&|stage| {
        copies::all(stage);
        results::all(stage);
        memory::all(stage);
        calls::all(stage);
        live::all(stage);
        scale::all(stage);
        guarded::all(stage);
    });
}

#[cfg(not(target_arch = "x86_64"))]
fn main() {
    println!("the loops to compare with are written for x86-64");
}
