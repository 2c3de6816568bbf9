//! Tests of the stand-in, one module per topic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use test_stacks as _;

#[macro_use]
#[path = "../common/mod.rs"]
mod common;

mod captures;
mod driver;
mod kernels;
mod memory;
mod misuse;
mod streams;
