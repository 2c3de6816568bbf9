//! Typed access of host code to the elements of an array, under a run-time borrow guard
//!
//! | file | job |
//! |---|---|
//! | `read.rs` | reading elements |
//! | `write.rs` | reading and writing elements |
//! | `slices.rs` | elements as slices of Rust, and references to them |
//! | `iter.rs`, `pointers.rs` | iteration in row-major order; the arithmetic of it |
//! | `parallel.rs` | the same on several threads |
//! | `parts.rs` | parts of a view: slices, places along an axis, lanes, windows |
//! | `compare.rs` | equal and nearly equal views |
//! | `nd.rs` | to and from `ndarray`, with the feature of that name |
//! | `element.rs` | one element by its index, at a dtype known at run time |
//! | `guarded.rs` | guards over memory that host code can touch |
//! | `scalar.rs` | the bytes of a value whose type is known at run time only |
//! | `bytes.rs` | elements as bytes and back |

mod bytes;
mod compare;
mod element;
mod guarded;
mod iter;
#[cfg(feature = "ndarray")]
mod nd;
mod parallel;
mod parts;
mod pointers;
mod read;
mod scalar;
mod slices;
mod write;

pub(crate) use bytes::{
    bytes_of, bytes_of_mut, elements_of, elements_of_mut, with_capacity, zeroed_array, zeroed_vec,
};
pub(crate) use guarded::{HostRead, HostWrite, Reading, Writing};
pub use iter::{ElementIndex, IndexedIter, Iter, IterMut};
pub use parallel::ParIter;
pub use parts::SubViews;
pub use read::ArrayView;
pub(crate) use slices::check_unshared;
pub use write::ArrayViewMut;

use crate::array::UsmArray;
use crate::dtype::Element;
use crate::error::{Error, Result};

fn check_dtype<T: Element>(array: &UsmArray) -> Result<()> {
    if T::DTYPE == array.dtype() {
        Ok(())
    } else {
        Err(Error::DtypeMismatch { found: array.dtype(), expected: T::DTYPE })
    }
}
