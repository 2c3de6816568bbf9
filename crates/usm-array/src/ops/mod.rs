//! Operations on elements: comparisons, classes of numbers, logic, and reductions such as `==`, `sum` and `all`
//!
//! Semantics are those of the Python array API standard 2025.12, and NumPy's where that is silent. Kernels work on memory that host code
//! does not reach. Otherwise all of it works on the host: host and shared memory is looked at in place where it is dense, everything
//! else block by block through the copy engine.
//!
//! | file | job |
//! |---|---|
//! | `source.rs` | an operand, block by block |
//! | `sink.rs` | a new array, block by block |
//! | `by_kernels.rs` | comparisons and reductions by kernels |
//! | `elementwise.rs` | one result for each element, by host code |
//! | `compare.rs` | equal, less and the like |
//! | `relation.rs` | what they mean for two numbers, exactly |
//! | `classify.rs` | isnan, isfinite, isinf, signbit |
//! | `conjugate.rs` | conj |
//! | `logical.rs` | and, or, xor, not |
//! | `close.rs` | isclose, allclose, array_equal |
//! | `reduce.rs` | one result for all elements along some axes |
//! | `sum.rs` | sums |
//! | `extremes.rs` | min and max |
//! | `truth.rs` | all, any, count_nonzero |

mod by_kernels;
mod classify;
mod close;
mod compare;
mod conjugate;
mod elementwise;
mod extremes;
mod logical;
mod reduce;
mod relation;
mod sink;
mod source;
mod sum;
mod truth;

pub(crate) use by_kernels::truth;
pub use close::Tolerance;
pub use logical::is_bitwise_of_integers;
