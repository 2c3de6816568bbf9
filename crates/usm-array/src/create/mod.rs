//! New arrays: of one value, of a range of numbers, of parts of a matrix, from values of the host
//!
//! The semantics come from the Python array API standard 2025.12, and from NumPy where it is silent, with one exception: a number that
//! the element type does not hold is an error and never wraps around.
//!
//! | file | job |
//! |---|---|
//! | `options.rs` | queue, kind, dtype and order of a new array; one value for all elements |
//! | `like.rs` | the same, after the model of another array |
//! | `typed.rs` | shortcuts whose dtype is a Rust type: one value, slices, iterators, functions |
//! | `nested/` | vectors of vectors; nested sequences of other languages and formats |
//! | `numbers.rs` | numbers whose types are known at run time only |
//! | `arange.rs` | numbers from a start to before a stop, by steps |
//! | `linspace.rs`, `line.rs` | evenly spaced numbers between two ends; their arithmetic |
//! | `eye.rs` | ones on a diagonal |
//! | `triangle.rs` | the lower or upper triangles of matrices |
//! | `meshgrid.rs` | coordinates of the points of a grid |
//! | `by_kernels.rs` | new elements by kernels |
//! | `generate.rs` | elements computed by their number, for any kind of memory |

mod arange;
mod by_kernels;
mod eye;
mod generate;
mod like;
mod line;
mod linspace;
mod meshgrid;
mod nested;
mod numbers;
mod options;
mod triangle;
mod typed;

pub use like::LikeOptions;
pub use meshgrid::Indexing;
pub use nested::{
    HostElements, Nested, NestedElements, NestedItem, NoHostElements, NumberList, ReadNested, ReadNumbers,
};
pub use numbers::Numbers;
pub use options::CreateOptions;
