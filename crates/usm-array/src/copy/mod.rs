//! Copying elements: to and from the host, from array to array, from one dtype to another, and filling
//!
//! A plan says in which order elements are copied, an executor carries it out:
//!
//! | file | job |
//! |---|---|
//! | `plan/` | in which order elements are copied, whole or in parts; only arithmetic |
//! | `cast/` | elements of one dtype to elements of another |
//! | `place.rs` | where the two sides of a copy are, and the guards over them |
//! | `executor.rs` | who carries a plan out: all that can happen, chosen in one place |
//! | `execute.rs` | carrying it out |
//! | `submit.rs` | what a queue does with both sides |
//!
//! | file | executor |
//! |---|---|
//! | `host/` | host code, in memory that it reaches |
//! | `overlap.rs` | the same for arrays that have bytes in common |
//! | `host_task.rs` | host tasks of a queue |
//! | `copy_kernels/` | kernels |
//! | `staged/` | pieces of device memory, to and from host memory |
//!
//! | file | operation |
//! |---|---|
//! | `assign.rs` | arrays to arrays |
//! | `host_bytes.rs` | arrays to and from host slices |
//! | `converted.rs` | arrays of another dtype, kind, queue or order |
//! | `view_slices.rs` | typed views to and from slices |
//! | `fill.rs` | one value for all elements |
//! | `computed.rs` | elements that a function computes |

mod assign;
mod cast;
mod computed;
mod converted;
mod copy_kernels;
mod execute;
mod executor;
mod fill;
mod host;
mod host_bytes;
mod host_task;
mod overlap;
mod place;
mod plan;
mod staged;
mod submit;
mod view_slices;

pub(crate) use computed::compute;
pub use converted::{Conversion, CopyMode};
