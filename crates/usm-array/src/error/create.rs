//! Why an array cannot be made of these arguments

use thiserror::Error;
use usm_derive::ErrorDebug;

use crate::dtype::Dtype;
use crate::layout::MAX_NDIM;
use crate::scalar::Scalar;

/// Arguments of a creation function that do not describe an array.
#[derive(Clone, PartialEq, Error, ErrorDebug)]
#[non_exhaustive]
pub enum CreateError {
    /// A range that goes nowhere.
    #[error("step: found {step}, allowed is every other number")]
    ZeroStep {
        /// The step
        step: Scalar,
    },
    /// A range with a NaN.
    #[error("start {start}, stop {stop} and step {step} have no length, allowed are numbers other than NaN")]
    NoLength {
        /// First number
        start: Scalar,
        /// Where to stop
        stop: Scalar,
        /// Distance
        step: Scalar,
    },
    /// A range of more numbers than memory can have.
    #[error("start {start}, stop {stop} and step {step} give too many numbers, allowed are {}", isize::MAX)]
    TooLong {
        /// First number
        start: Scalar,
        /// Where to stop
        stop: Scalar,
        /// Distance
        step: Scalar,
    },
    /// A complex number where only real ones have an order.
    #[error("{argument}: found {found}, allowed are real numbers")]
    NotReal {
        /// Name of the argument
        argument: &'static str,
        /// The number
        found: Scalar,
    },
    /// A fraction in a range of integers.
    #[error("{argument}: found {found}, allowed for {dtype} are whole numbers")]
    NotWhole {
        /// Name of the argument
        argument: &'static str,
        /// The number
        found: Scalar,
        /// Element type
        dtype: Dtype,
    },
    /// A range of booleans.
    #[error("dtype: found {found}, allowed are integer and floating-point dtypes")]
    NotNumeric {
        /// The dtype
        found: Dtype,
    },
    /// Nested lists of unequal lengths.
    #[error(
        "nested{}: found {found} entries, allowed are {expected} as in the first list of this depth",
        brackets(index)
    )]
    Ragged {
        /// Where the list is, an index for each depth above it
        index: Vec<usize>,
        /// Its length
        found: usize,
        /// The length of the others
        expected: usize,
    },
    /// An item of a sequence of another shape than the first item.
    #[error("{name}: found shape {found:?}, allowed is {expected:?} as of the first item")]
    ItemShape {
        /// Name of the item
        name: String,
        /// Its shape
        found: Vec<usize>,
        /// The shape of the first item
        expected: Vec<usize>,
    },
    /// More sequences in each other than an array has axes.
    #[error("{name}: found more than {MAX_NDIM} sequences in each other")]
    TooDeep {
        /// Name of the outermost one
        name: String,
    },
    /// No host memory for the items of sequences.
    #[error("{name}: no host memory for more than {len} of its items")]
    TooManyItems {
        /// Name of the outermost sequence
        name: String,
        /// So many are there
        len: usize,
    },
    /// A view in the place of memory, without a word on where the new array begins.
    #[error(
        "buffer: found a view that begins {offset} elements of {dtype} behind the start of its memory, and no offset; \
         allowed are an explicit offset, such as offset={offset} for where the view begins, and memory such as \
         buffer=x.usm_data, which begins at 0"
    )]
    ViewOffset {
        /// Elements from the address that the view publishes to its element with index zero
        offset: isize,
        /// Element type of the view
        dtype: Dtype,
    },
    /// Coordinates that are not in a row.
    #[error("arrays[{argument}]: found {ndim} axes, allowed are arrays of at most one axis")]
    NotVector {
        /// Place in the list, counted from 0
        argument: usize,
        /// Number of axes
        ndim: usize,
    },
}

fn brackets(index: &[usize]) -> String {
    index.iter().map(|i| format!("[{i}]")).collect()
}
