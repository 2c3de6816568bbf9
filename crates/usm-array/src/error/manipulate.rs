//! Errors of joining, repeating and rolling arrays

use thiserror::Error;
use usm_derive::ErrorDebug;
use usm_memory::usm_core::Queue;

use crate::dtype::Dtype;

/// Arguments of a manipulation that do not go together.
#[derive(Clone, PartialEq, Eq, Error, ErrorDebug)]
#[non_exhaustive]
pub enum ManipulateError {
    /// No arrays to join.
    #[error("arrays: found none, allowed are one and more")]
    NoArrays,
    /// Arrays whose computation cannot follow the data.
    #[error(
        "{name} is on another queue ({found}) than {first} ({expected}); `on_queue` or `copy_to` moves an array"
    )]
    QueuesDiffer {
        /// Name of the array
        name: String,
        /// Name of the first array
        first: String,
        /// Device and order of the array's queue
        found: String,
        /// Device and order of the first array's queue
        expected: String,
    },
    /// A read-only array for a result.
    #[error("out: found a read-only array, allowed are writable ones")]
    OutReadOnly,
    /// An array of another shape or dtype for a result.
    #[error("out: found shape {found:?} of {found_dtype}, allowed is shape {expected:?} of {expected_dtype}")]
    OutDiffers {
        /// Shape of the array
        found: Vec<usize>,
        /// Element type of the array
        found_dtype: Dtype,
        /// Shape of the result
        expected: Vec<usize>,
        /// Element type of the result
        expected_dtype: Dtype,
    },
    /// Arrays to join with unequal numbers of axes.
    #[error("arrays[{place}]: found {found} axes, allowed are {expected}, as arrays[0] has")]
    NdimDiffers {
        /// Place in the list, counted from 0
        place: usize,
        /// Its number of axes
        found: usize,
        /// The number of axes of the first array
        expected: usize,
    },
    /// Arrays to join with unequal sizes of an axis.
    #[error("arrays[{place}]: found size {found} of axis {axis}, allowed is {expected}, as arrays[0] has")]
    SizeDiffers {
        /// Place in the list, counted from 0
        place: usize,
        /// The axis, counted from 0
        axis: usize,
        /// Its size
        found: usize,
        /// The size in the first array
        expected: usize,
    },
    /// A number of counts that fits no axis.
    #[error("repeats: found {found} counts, allowed are {size}, one for each place along the axis, or 1")]
    CountsLength {
        /// Number of counts
        found: usize,
        /// Size of the axis
        size: usize,
    },
    /// Counts that are no row of numbers.
    #[error(
        "repeats: found an array of {dtype} with {ndim} axes, allowed are integers with at most one axis"
    )]
    NotCounts {
        /// Element type
        dtype: Dtype,
        /// Number of axes
        ndim: usize,
    },
    /// A count below zero.
    #[error("repeats[{place}]: found {count}, allowed are 0 and more")]
    NegativeCount {
        /// Place in the array, counted from 0
        place: usize,
        /// The count
        count: i64,
    },
    /// Shifts and axes that do not pair up.
    #[error("shift: found {shifts} shifts for {axes} axes, allowed are {axes}, or 1 of one of them")]
    ShiftsLength {
        /// Number of shifts
        shifts: usize,
        /// Number of axes
        axes: usize,
    },
}

impl ManipulateError {
    /// The error for the queue of an array that does not compute with that of the first one.
    pub(crate) fn queues_differ((name, found): (&str, &Queue), (first, expected): (&str, &Queue)) -> Self {
        let [found, expected] = [found, expected].map(ToString::to_string);
        Self::QueuesDiffer { name: name.to_owned(), first: first.to_owned(), found, expected }
    }
}
