//! Why a layout, a slice or a view of one is impossible

use thiserror::Error;
use usm_derive::ErrorDebug;

use super::{Extent, MAX_NDIM};

/// A layout that would not be valid, or an index outside of one.
#[derive(Clone, PartialEq, Eq, Error, ErrorDebug)]
#[non_exhaustive]
pub enum LayoutError {
    /// More axes than [`MAX_NDIM`].
    #[error("shape: found {found} axes, allowed are at most {MAX_NDIM}")]
    TooManyAxes {
        /// Requested number of axes
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
    /// An index that cannot be negative, outside its axis.
    #[error(
        "index {index} is out of bounds for axis {axis} of size {size}, allowed are {}",
        allowed_from_start(*size)
    )]
    UnsignedIndexOutOfBounds {
        /// The axis, counted from 0
        axis: usize,
        /// The index as given
        index: usize,
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
    /// An axis that is not there.
    #[error("{argument}: axis {axis} is out of bounds for {ndim} axes, allowed are {}", allowed_indices(*ndim))]
    AxisOutOfBounds {
        /// Name of the argument
        argument: &'static str,
        /// The axis as given
        axis: isize,
        /// Number of axes
        ndim: usize,
    },
    /// An axis named twice.
    #[error("{argument}: found axes {axes:?}, which name axis {axis} more than once, allowed is once")]
    RepeatedAxis {
        /// Name of the argument
        argument: &'static str,
        /// The axes as given
        axes: Vec<isize>,
        /// The axis, counted from 0
        axis: usize,
    },
    /// A list with the wrong number of axes or sizes.
    #[error("{argument}: found {found} entries, allowed are {expected}, one for each axis")]
    AxesLength {
        /// Name of the argument
        argument: &'static str,
        /// Length of the list
        found: usize,
        /// The length it must have
        expected: usize,
    },
    /// Fewer axes than an operation works on.
    #[error("shape: found {ndim} axes, allowed are {needed} and more")]
    TooFewAxes {
        /// Number of axes
        ndim: usize,
        /// The least number of axes
        needed: usize,
    },
    /// An axis to remove that has not exactly one place.
    #[error("axis: axis {axis} has size {size}, allowed is removing axes of size 1")]
    NotUnitAxis {
        /// The axis, counted from 0
        axis: usize,
        /// Its size
        size: usize,
    },
    /// A size below zero.
    #[error("{argument}[{axis}]: found {size}, allowed are sizes of 0 and more, and one -1")]
    NegativeSize {
        /// Name of the argument
        argument: &'static str,
        /// Place in the shape, counted from 0
        axis: usize,
        /// The size as given
        size: isize,
    },
    /// More than one size that should follow from the others.
    #[error("shape: found {shape:?}, allowed is at most one -1")]
    RepeatedUnknownSize {
        /// The shape as given
        shape: Vec<isize>,
    },
    /// A shape for another number of elements.
    #[error(
        "shape: found {shape:?}, allowed are shapes of {size} elements, in which the others determine a -1"
    )]
    ReshapeSize {
        /// Number of elements
        size: usize,
        /// The shape as given
        shape: Vec<isize>,
    },
    /// A shape that only a copy of the elements can have.
    #[error(
        "shape: found {to:?} for shape {shape:?} with strides {strides:?}, which no strides can say; allowed is \
         reshaping a copy"
    )]
    NeedsCopy {
        /// The shape
        shape: Vec<usize>,
        /// The strides, in elements
        strides: Vec<isize>,
        /// The requested shape, as given
        to: Vec<isize>,
    },
    /// A window larger than its axis.
    #[error(
        "window_shape: found a window of {window} along axis {axis} of size {size}, allowed are 0 to {size}"
    )]
    WindowTooLarge {
        /// The axis, counted from 0
        axis: usize,
        /// Size of the window
        window: usize,
        /// Size of the axis, or its rest after earlier windows
        size: usize,
    },
    /// Strides that leave the elements they are meant for.
    #[error(
        "shape {shape:?} with strides {strides:?} and offset {offset} reaches from element {min} to {max} around \
         index zero, allowed are {}",
        allowed_elements(*span)
    )]
    OutsideSpan {
        /// The requested shape
        shape: Vec<usize>,
        /// The requested strides, in elements
        strides: Vec<isize>,
        /// The requested offset, in elements from index zero
        offset: isize,
        /// Lowest element that would be reached, counted from index zero
        min: isize,
        /// Highest element that would be reached, counted from index zero
        max: isize,
        /// The elements there are, counted from index zero
        span: Option<Extent>,
    },
    /// A single element to be taken for some of another size.
    #[error("dtype: {from_bytes} to {to_bytes} bytes an element without axes, allowed is the same size")]
    NoLastAxis {
        /// Bytes of an element
        from_bytes: usize,
        /// Requested bytes of an element
        to_bytes: usize,
    },
    /// Elements to be taken for some of another size that do not follow each other.
    #[error(
        "dtype: {from_bytes} to {to_bytes} bytes an element with stride {stride} of axis {axis}, allowed is a last axis \
         without gaps, whose stride is 1"
    )]
    LastAxisNotContiguous {
        /// The last axis, counted from 0
        axis: usize,
        /// Its stride, in elements
        stride: isize,
        /// Bytes of an element
        from_bytes: usize,
        /// Requested bytes of an element
        to_bytes: usize,
    },
    /// Elements to be taken for larger ones that are not whole numbers of them.
    #[error(
        "dtype: {from_bytes} to {to_bytes} bytes an element with {what} {found} of axis {axis}, allowed are multiples \
         of {}",
        to_bytes / from_bytes
    )]
    NotWholeElements {
        /// The number that is no multiple: size or stride
        what: &'static str,
        /// The axis, counted from 0
        axis: usize,
        /// The size or stride, in elements
        found: isize,
        /// Bytes of an element
        from_bytes: usize,
        /// Requested bytes of an element
        to_bytes: usize,
    },
    /// Shapes that do not broadcast to a common one.
    #[error(
        "shape {shape:?} of argument {argument} does not broadcast with {others:?}, the shape of those before, in axis \
         {axis}; allowed is the same size or a size of 1"
    )]
    ShapesDiffer {
        /// The argument, counted from 0
        argument: usize,
        /// Its shape
        shape: Vec<usize>,
        /// The common shape of the others as far as they agree
        others: Vec<usize>,
        /// The axis, counted from the last, which is -1
        axis: isize,
    },
    /// A shape that does not broadcast to another.
    #[error(
        "shape {from:?} does not broadcast to {to:?}, allowed is, counted from the last axis, \
         the same size or a size of 1"
    )]
    NotBroadcastable {
        /// The shape of the source
        from: Vec<usize>,
        /// The requested shape
        to: Vec<usize>,
    },
}

/// For messages: the indices of an axis.
pub(crate) fn allowed_indices(size: usize) -> String {
    match size {
        0 => "none".to_owned(),
        _ => format!("-{size} to {}", size - 1),
    }
}

fn allowed_from_start(size: usize) -> String {
    size.checked_sub(1).map_or_else(|| "none".to_owned(), |last| format!("0 to {last}"))
}

fn allowed_elements(span: Option<Extent>) -> String {
    span.map_or_else(|| "none".to_owned(), |span| format!("elements {} to {}", span.min, span.max))
}
