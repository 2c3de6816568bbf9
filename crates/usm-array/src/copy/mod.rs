//! Copying elements: to and from the host, from array to array, from one dtype to another, and filling
//!
//! Everything goes through one planner (`plan/`), which decides by arithmetic alone in which order elements are copied, and one
//! choice of who carries the plan out (`executor.rs`).
//!
//! | file | job |
//! |---|---|
//! | `plan/` | in which order elements are copied; only arithmetic |
//! | `cast/` | elements of one dtype to elements of another |
//! | `executor.rs` | who carries a plan out |
//! | `host/` | doing it in memory that host code can touch |
//! | `kernel/` | strided copies of memory that host code cannot touch, by the device |
//! | `by_kernel.rs` | arrays for which a kernel does it |
//! | `by_task.rs` | the same by host code, where a queue runs such on that memory |
//! | `staged/` | memory that host code cannot touch, to and from host memory |
//! | `overlap.rs` | arrays that have bytes in common |
//! | `assign.rs` | arrays to arrays |
//! | `astype.rs` | arrays of another dtype |
//! | `converted.rs` | arrays of another dtype, kind, queue or order, copied where that is needed |
//! | `host_bytes.rs` | arrays to and from host slices |
//! | `fill.rs` | one value for all elements |
//! | `computed.rs` | elements that a function computes |

mod assign;
mod astype;
mod by_kernel;
mod by_task;
mod cast;
mod computed;
mod converted;
mod executor;
mod fill;
mod host;
mod host_bytes;
mod kernel;
mod overlap;
mod plan;
mod staged;

pub use astype::CopyMode;
pub(crate) use computed::compute;
pub use converted::Conversion;
