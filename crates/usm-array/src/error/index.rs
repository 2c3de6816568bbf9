//! Why an index is refused

use thiserror::Error;
use usm_derive::ErrorDebug;

use crate::dtype::Dtype;
use crate::layout::{LayoutError, allowed_indices};

/// An index that does not fit its array. The operation has read and written no element.
#[derive(Clone, PartialEq, Eq, Error, ErrorDebug)]
#[non_exhaustive]
pub enum IndexError {
    /// An integer of an index array outside its axis.
    #[error(
        "index {index} at position {position:?} of the index array is out of bounds for {} of size {size}, allowed are {}",
        axis_name(*axis),
        allowed_indices(*size)
    )]
    OutOfBounds {
        /// The axis, counted from 0; `None` where all elements in row-major order count as one axis
        axis: Option<usize>,
        /// The integer as given
        index: i128,
        /// Where it is in the index array
        position: Vec<usize>,
        /// The size of the axis
        size: usize,
    },
    /// A mask of another size than the axis it is for, and not of size 0.
    #[error(
        "mask has size {found} where axis {axis} of the array has size {size}, allowed are the same size and 0"
    )]
    MaskSize {
        /// The axis of the array, counted from 0
        axis: usize,
        /// Size of the mask there
        found: usize,
        /// Size of the axis
        size: usize,
    },
    /// An index array with elements other than integers and booleans.
    #[error("index array has elements of {found}, allowed are integers and booleans")]
    NotAnIndex {
        /// Its dtype
        found: Dtype,
    },
    /// Index arrays that do not broadcast to one shape.
    #[error("index arrays: {source}")]
    ArrayShapes {
        /// Their shapes
        source: LayoutError,
    },
    /// Something else where only integers are an index.
    #[error("indices: found {found}, allowed are integers and arrays of them")]
    NotIntegers {
        /// A description of the items
        found: &'static str,
    },
    /// No axis where an array has several.
    #[error("axis: found None, allowed is one of {ndim} axes")]
    NoAxis {
        /// Number of axes
        ndim: usize,
    },
    /// Values of the host whose number differs from their shape's.
    #[error("index array has {found} values for shape {shape:?}, allowed are {}", values_of(shape))]
    ValuesLength {
        /// Number of values
        found: usize,
        /// The shape
        shape: Vec<usize>,
    },
    /// Index arrays with another number of axes than the array.
    #[error("indices: found {found} axes, allowed are {expected}, those of the array")]
    IndicesNdim {
        /// Axes of the index array
        found: usize,
        /// Axes that it must have
        expected: usize,
    },
    /// A condition that is not for the elements of the array.
    #[error("condition: found {found} elements, allowed are {size}, as many as the array has")]
    ConditionSize {
        /// Elements of the condition
        found: usize,
        /// Elements of the array
        size: usize,
    },
    /// No values for the selected elements.
    #[error("values: found none for {picked} elements, allowed are one and more")]
    NoValues {
        /// Number of elements that were picked
        picked: usize,
    },
}

fn axis_name(axis: Option<usize>) -> String {
    axis.map_or_else(|| "the flat array".to_owned(), |axis| format!("axis {axis}"))
}

/// The shape is the caller's, and need not be one that memory can hold.
fn values_of(shape: &[usize]) -> String {
    let count = shape.iter().try_fold(1_usize, |count, &size| count.checked_mul(size));
    count.map_or_else(|| "shapes that memory can hold".to_owned(), |count| count.to_string())
}
