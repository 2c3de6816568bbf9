//! Why a layout, a slice or a view of one is impossible

use thiserror::Error;

use super::MAX_NDIM;

/// A layout that would not be valid, or an index outside of one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// More axes than [`MAX_NDIM`].
    #[error("found {found} axes, allowed are at most {MAX_NDIM}")]
    TooManyAxes {
        /// Number of axes asked for
        found: usize,
    },
    /// The product of the shape does not fit.
    #[error("shape {shape:?} has more than {} elements, which no memory can hold", isize::MAX)]
    TooManyElements {
        /// The shape
        shape: Vec<usize>,
    },
    /// Strides and shape differ in length.
    #[error("found {found} strides for {ndim} axes, allowed is one stride for each axis")]
    StridesLength {
        /// Length of the shape
        ndim: usize,
        /// Length of the strides
        found: usize,
    },
    /// The strides reach further than an `isize` counts.
    #[error("strides {strides:?} with shape {shape:?} reach over more than {} elements", isize::MAX)]
    ExtentOverflow {
        /// The shape
        shape: Vec<usize>,
        /// The strides, in elements
        strides: Vec<isize>,
    },
    /// The offset moves the elements to where an `isize` does not count.
    #[error(
        "offset {offset} with elements from {min} to {max} around it leaves the range of {} bits",
        isize::BITS
    )]
    OffsetOverflow {
        /// The offset, in elements
        offset: isize,
        /// Lowest displacement relative to the offset, in elements
        min: isize,
        /// Highest displacement relative to the offset, in elements
        max: isize,
    },
    /// An integer index outside its axis.
    #[error(
        "index {index} is out of bounds for axis {axis} of size {size}, allowed are {}",
        allowed_indices(*size)
    )]
    IndexOutOfBounds {
        /// The axis, counted from 0
        axis: usize,
        /// The index as given
        index: isize,
        /// The size of the axis
        size: usize,
    },
    /// A multi-index with the wrong number of indices.
    #[error("found {found} indices for {ndim} axes, allowed is one index for each axis")]
    IndexLength {
        /// Number of axes
        ndim: usize,
        /// Number of indices
        found: usize,
    },
    /// A slice with step 0.
    #[error("slice step of axis {axis} is 0, allowed is every other step")]
    ZeroStep {
        /// The axis, counted from 0
        axis: usize,
    },
    /// More integers and slices than axes.
    #[error("found {found} indices and slices for {ndim} axes, allowed are at most {ndim}")]
    TooManyIndices {
        /// Number of axes
        ndim: usize,
        /// Number of items that consume an axis
        found: usize,
    },
    /// More than one ellipsis.
    #[error("found {found} ellipses in one index, allowed is at most 1")]
    RepeatedEllipsis {
        /// Number of ellipses
        found: usize,
    },
    /// Axes to permute that do not name each axis once.
    #[error("found axes {axes:?}, allowed is each of the {ndim} axes exactly once, from 0")]
    NotAPermutation {
        /// The axes as given
        axes: Vec<usize>,
        /// Number of axes
        ndim: usize,
    },
    /// A shape that does not broadcast to another.
    #[error(
        "shape {from:?} does not broadcast to {to:?}, allowed is, counted from the last axis, \
         the same size or a size of 1"
    )]
    NotBroadcastable {
        /// The shape of the source
        from: Vec<usize>,
        /// The shape asked for
        to: Vec<usize>,
    },
}

fn allowed_indices(size: usize) -> String {
    match size {
        0 => "none".to_owned(),
        _ => format!("-{size} to {}", size - 1),
    }
}
