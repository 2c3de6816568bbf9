//! Tests of the search, of loading and of the table. What changes the process has a program of its own beside this folder.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use test_stacks as _;

#[path = "../common/mod.rs"]
mod common;

mod load_errors;
mod locate;
mod loopback;
mod partition;
