//! New arrays of the elements of others: joined, repeated, rolled, reshaped
//!
//! Results are made by copying blocks into slices of new row-major memory. Where several arrays come together, the computation
//! follows the data: all of them have one queue, and the kind of the result is [`coerced_kind`](crate::coerced_kind) of theirs. Functions that only
//! make views (flip, squeeze, expand_dims, unstack, broadcast_arrays, …) are with the views.
//!
//! | file | job |
//! |---|---|
//! | `follow.rs` | queue, kind, dtype and order of the result |
//! | `out.rs` | the result in an array of the caller |
//! | `reach.rs` | which code reaches the memory of an operation |
//! | `join.rs` | concat and stack |
//! | `tile.rs` | an array repeated as a whole |
//! | `repeat.rs` | each element repeated |
//! | `roll.rs` | elements moved around along axes |
//! | `reshape_copy.rs` | another shape, by a copy where there is no view |

mod follow;
mod join;
mod out;
mod reach;
mod repeat;
mod reshape_copy;
mod roll;
mod tile;

pub use follow::{ResultPlace, check_queues, common_order};
pub use reach::{OperandMemory, Reach};
pub use repeat::Repeats;
