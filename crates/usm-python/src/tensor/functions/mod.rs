//! The functions of `usm.tensor`: each parses its arguments, calls one function of `usm_array`, and wraps the result.
//!
//! | file | job |
//! |---|---|
//! | `operands.rs` | arguments: arrays, numbers, axes, dtypes, words |
//! | `new_memory.rs` | where: `device=`, `sycl_queue=`, `usm_type=` |
//! | `results.rs` | where results go: the kind of memory that follows from the operands, `out=` |
//! | `result_place.rs` | the rules of that as functions |
//! | `create.rs`, `like.rs`, `ranges.rs`, `matrices.rs` | new arrays |
//! | `axes.rs`, `shape.rs`, `join.rs`, `copies.rs` | other axes and shapes, arrays joined and repeated, casts |
//! | `take.rs`, `select.rs` | elements by index and by condition |
//! | `dtypes.rs`, `limits.rs`, `inspect.rs` | what there is to know of dtypes and of the namespace |
//! | `elementwise.rs`, `compare.rs`, `logic.rs`, `classify.rs`, `reduce.rs`, `close.rs` | comparisons and reductions |
//! | `parts.rs` | parts of complex numbers |

pub(crate) mod axes;
pub(crate) mod classify;
pub(crate) mod close;
pub(crate) mod compare;
pub(crate) mod copies;
pub(crate) mod create;
pub(crate) mod dtypes;
mod elementwise;
pub(crate) mod inspect;
pub(crate) mod join;
pub(crate) mod like;
pub(crate) mod limits;
pub(crate) mod logic;
pub(crate) mod matrices;
mod new_memory;
mod operands;
pub(crate) mod parts;
pub(crate) mod ranges;
pub(crate) mod reduce;
pub(crate) mod result_place;
pub(super) mod results;
pub(crate) mod select;
pub(crate) mod shape;
pub(crate) mod take;

use super::dtype::object as dtype_object;
pub(in crate::tensor) use new_memory::device_queue;
pub(in crate::tensor) use shape::reshape;
