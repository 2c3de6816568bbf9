//! Tests of arrays, one module per topic. What changes the process has a program of its own beside this folder.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use test_stacks as _;

#[path = "../common/mod.rs"]
mod common;

#[path = "../common/external.rs"]
mod external;

mod asynchronous;
mod casts;
mod construct;
mod container_spec;
mod conversions;
mod copies;
mod create;
mod device_ops;
mod dlpack;
mod dlpack_refusals;
mod errors;
mod exchange;
mod host_tasks;
mod indexing;
mod kernel_path;
mod manipulate;
mod manipulate_rules;
mod narrow;
mod nested;
mod ops;
mod printing;
mod public_types;
mod random_layouts;
mod ranges;
mod reductions;
mod staging;
#[cfg(feature = "svg")]
mod svg;
mod typed;
mod view_chains;
mod view_parts;
mod view_rules;
mod views;
