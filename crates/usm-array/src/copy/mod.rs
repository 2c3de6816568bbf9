//! Copying elements: to and from the host, from array to array, and filling
//!
//! | file | job |
//! |---|---|
//! | `plan.rs` | in which order, and in which runs, elements are copied; only arithmetic |
//! | `execute.rs` | doing it in memory that host code can touch |
//! | `host.rs` | arrays to and from host slices, whatever their kind |
//! | `staged.rs` | memory that host code cannot touch, through a copy |
//! | `assign.rs` | arrays to arrays |
//! | `fill.rs` | one value for all elements |

mod assign;
mod execute;
mod fill;
mod host;
mod plan;
mod staged;
