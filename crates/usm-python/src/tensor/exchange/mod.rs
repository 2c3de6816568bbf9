//! Arrays from any object that has elements, and NumPy arrays from ours.
//!
//! | file | job |
//! |---|---|
//! | `object.rs` | `asarray`: which kind of object it is, and what is asked of the result |
//! | `source.rs` | what an object that is no sequence consists of |
//! | `host.rs` | elements in the buffer of an object |
//! | `nested.rs` | sequences of numbers, arrays and sequences |
//! | `numpy.rs` | `asnumpy`, `to_numpy`, `from_numpy` |
//! | `wanted.rs` | where the result shall be, of which dtype and in which order |

mod host;
mod nested;
mod numpy;
mod object;
mod source;
mod wanted;

pub(crate) use numpy::{asnumpy, from_numpy, to_numpy};
pub(crate) use object::asarray;
pub(super) use object::on_host;
