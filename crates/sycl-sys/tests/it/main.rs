//! Tests of the search, of loading and of the table. What changes the process has a program of its own beside this folder.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use test_stacks as _;

#[macro_use]
#[path = "../common/mod.rs"]
mod common;
#[path = "../../examples/interface/comparison/mod.rs"]
mod comparison;

mod forms;
mod interface;
mod load_errors;
#[cfg(not(windows))]
mod locate;
#[cfg(windows)]
mod locate_on_windows;
mod loopback;
mod partition;
