//! Where the elements of an array are: shape, strides and offset, all counted in elements
//!
//! Only arithmetic on numbers: no pointer and no unsafe code. Numbers of others come in by `construct.rs`, where a lint forbids arithmetic
//! that could overflow. All other arithmetic is on numbers of layouts, and rests on L1 to L3. It has no checks of overflow in release
//! builds, which would make loops over elements take twice as long, and slices a twentieth longer. So `tests/bounds` compares the optimized
//! build with sums in 128 bits.
//!
//! | file | job |
//! |---|---|
//! | `axes.rs` | per-axis numbers, without allocation for up to six axes |
//! | `construct.rs` | the constructor that makes and checks every layout |
//! | `extent.rs` | lowest and highest element, required length |
//! | `contiguity.rs` | C and F contiguity as NumPy defines them |
//! | `normalise.rs` | negative axes, axes that are not there |
//! | `slice.rs` | integers, slices, ellipsis and new axis with Python's meaning |
//! | `axis_order.rs` | transpose, permute, moveaxis, swapaxes |
//! | `unit_axes.rs` | expand_dims and squeeze |
//! | `flip.rs` | flip and rot90 |
//! | `reshape.rs` | another shape, whenever strides can say it |
//! | `broadcast.rs` | broadcasting to a larger or a common shape |
//! | `packed.rs` | layouts without gaps for copies, in each order |
//! | `windows.rs` | sliding windows |
//! | `diagonal.rs` | diagonals |
//! | `pieces.rs` | unstack, as_strided |
//! | `product.rs` | the shape of the product of matrices and vectors |
//! | `inner.rs` | the layouts at each index of the first axes |
//! | `blocks.rs` | a shape cut into blocks |
//! | `reinterpret.rs` | the same bytes as elements of another size |
//! | `overlap/` | whether two layouts, or two indices of one, share an element |
//! | `error.rs` | why a layout, a slice or a view of one is impossible |
//! | `brute_force.rs` | slow enumeration, which the tests compare the arithmetic with |
//! | `offsets.rs` | from indices to displacements, one or all of them |
//! | `runs.rs` | all displacements in row-major order, as runs at one distance |
//! | `items.rs` | how Rust code writes index expressions, with the macro `s!` |

mod axes;
mod axis_order;
mod blocks;
mod broadcast;
mod construct;
mod contiguity;
mod diagonal;
mod error;
mod extent;
mod flip;
mod inner;
mod items;
mod normalise;
mod offsets;
mod overlap;
mod packed;
mod pieces;
mod product;
mod reinterpret;
mod reshape;
mod runs;
mod slice;
mod unit_axes;
mod windows;

pub use axes::Axes;
pub(crate) use blocks::blocks;
pub use broadcast::{broadcast_layouts, broadcast_shapes};
pub use error::LayoutError;
pub(crate) use error::allowed_indices;
pub use extent::Extent;
pub use inner::unravel;
pub use items::{SliceItems, SliceRange};
pub(crate) use normalise::{normalise_axes, normalise_axis};
pub use offsets::Offsets;
pub use overlap::{Overlap, StridedBytes};
pub use packed::CopyOrder;
pub use product::product_shape;
pub(crate) use runs::{Run, Runs};
pub use slice::SliceItem;

use crate::dtype::Dtype;

/// The most axes a layout has, as in NumPy 2.
pub const MAX_NDIM: usize = 64;

/// How strides that are not given follow from the shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// Row-major: the last index varies fastest.
    #[default]
    C,
    /// Column-major: the first index varies fastest.
    F,
}

usm_memory::usm_core::texts!(Order, "order": C = "C", F = "F");

/// Shape, strides and offset of an array, all counted in elements.
///
/// Element `(i[0], …, i[r-1])` is `offset + Σ strides[k]·i[k]` elements away from the start of
/// the memory. Only valid layouts exist: constructors and views check all arithmetic, so none of
/// the methods below can overflow.
///
/// ```
/// use usm_array::{Layout, Order, SliceItem};
///
/// let vector = Layout::contiguous(&[8], Order::C)?;
/// // The Python slice [7::-2].
/// let view = vector.slice(&[SliceItem::Slice { start: Some(7), stop: None, step: -2 }])?;
/// assert_eq!(view.shape(), [4]);
/// assert_eq!(view.strides(), [-2]);
/// assert_eq!(view.offset(), 7);
/// assert_eq!(view.offsets().collect::<Vec<_>>(), [7, 5, 3, 1]);
/// # Ok::<(), usm_array::LayoutError>(())
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Layout {
    // Invariant L1: `shape` and `strides` have the same length, at most `MAX_NDIM`.
    // Invariant L2: The product of `max(n, 1)` over the shape is at most `isize::MAX`.
    // Invariant L3: With `lo` the sum of the negative and `hi` the sum of the positive
    //     `(max(n, 1) - 1) * stride`: `lo`, `hi`, `hi - lo + 1`, `offset + lo` and `offset + hi`
    //     all fit into `isize`, and `offset + hi` is below `isize::MAX`.
    shape: Axes<usize>,
    strides: Axes<isize>,
    offset: isize,
}

impl Clone for Layout {
    #[inline(always)] // most of what a view costs
    fn clone(&self) -> Self {
        Self { shape: self.shape.clone(), strides: self.strides.clone(), offset: self.offset }
    }
}

impl Layout {
    /// Number of indices along each axis.
    #[must_use]
    #[inline]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Elements from one index to the next along each axis; may be zero or negative.
    #[must_use]
    #[inline]
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// Elements from the start of the memory to the element with index zero.
    #[must_use]
    pub const fn offset(&self) -> isize {
        self.offset
    }

    /// Number of axes.
    #[must_use]
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// Number of elements: the product of the shape, 1 without axes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.shape.iter().product() // cannot overflow by L2
    }

    /// Number of bytes of all elements side by side, or `None` if it exceeds `isize::MAX`.
    #[must_use]
    pub fn size_bytes(&self, dtype: Dtype) -> Option<usize> {
        let bytes = self.size().checked_mul(dtype.itemsize_bytes())?;
        isize::try_from(bytes).is_ok().then_some(bytes)
    }

    /// True when some axis has size 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.size() == 0 // a search is made for long slices
    }
}

#[cfg(test)]
pub(crate) mod brute_force;
