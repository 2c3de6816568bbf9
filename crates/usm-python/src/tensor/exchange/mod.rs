//! Arrays from any object that has elements, and NumPy arrays from ours.
//!
//! | file | job |
//! |---|---|
//! | `object.rs` | `asarray`: the array that was asked for, of any object |
//! | `source.rs` | which kind of object it is, with one look at each attribute of a protocol |
//! | `host.rs` | elements in the buffer of an object |
//! | `nested.rs` | sequences of numbers, arrays and sequences |
//! | `numbers.rs` | numbers of lists and tuples, of one type or of several |
//! | `numpy.rs` | `asnumpy`, `to_numpy`, `from_numpy` |
//! | `wanted.rs` | where the result shall be, of which dtype and in which order |

mod host;
mod nested;
mod numbers;
mod numpy;
mod object;
mod source;
mod wanted;

pub(crate) use numpy::{asnumpy, from_numpy, to_numpy};
pub(super) use numpy::{bits_of, narrow_view};
pub(crate) use object::asarray;
pub(super) use object::{array_from, on_host};
pub(super) use source::{Source, has_own_operators, is_numpy};
pub(super) use wanted::Wanted;
