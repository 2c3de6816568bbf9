//! Tests of buffers, transfers and pools, one module per topic. What changes the process has a program of its own beside
//! this folder.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use test_stacks as _;

#[path = "../common/mod.rs"]
mod common;

mod abandoned;
mod brief;
mod buffer;
mod captures;
mod flights;
mod kernels;
mod owned;
mod panics;
mod pinned;
mod pool;
mod pool_order;
mod pool_threads;
#[cfg(not(windows))]
mod processes;
mod released;
mod rows;
mod slab_owners;
mod submitted;
mod submitted_random;
mod surface;
mod transfers;
mod two_gpus;
mod typed;
#[cfg(windows)]
mod without_sharing;
