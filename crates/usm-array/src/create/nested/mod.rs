//! Arrays of nested sequences
//!
//! | file | job |
//! |---|---|
//! | `typed.rs` | vectors of vectors, whose elements have one Rust type |
//! | `numbers.rs` | lists of nothing but numbers in another language or format |
//! | `mixed.rs` | sequences of numbers, arrays and sequences in another language or format |

mod mixed;
mod numbers;
mod typed;

pub use mixed::{HostElements, NestedElements, NestedItem, NoHostElements, ReadNested};
pub use numbers::{NumberList, ReadNumbers};
pub use typed::Nested;
pub(super) use typed::push;

use crate::error::{CreateError, Error};

/// Appends a value that a sequence of any length has. An error where the memory of the host ends.
fn append<T>(name: &str, values: &mut Vec<T>, value: T) -> Result<(), Error> {
    if values.try_reserve(1).is_err() {
        return Err(CreateError::TooManyItems { name: name.to_owned(), len: values.len() }.into());
    }
    values.push(value);
    Ok(())
}

/// The name of an item of a sequence, an index for each depth.
fn name_of(sequence: &str, index: &[usize]) -> String {
    index.iter().fold(sequence.to_owned(), |name, i| format!("{name}[{i}]"))
}
