//! The shown elements, copied to the host

use super::PrintOptions;
use crate::array::UsmArray;
use crate::copy::CopyMode;
use crate::dtype::Element;
use crate::error::Result;
use crate::layout::{Layout, Order};

/// Whether an axis of `n` elements of an array is shown with a gap.
pub(super) fn is_cut(array: &UsmArray, options: &PrintOptions, n: usize) -> bool {
    array.size() > options.threshold && n > options.edgeitems.saturating_mul(2)
}

/// The shown elements in row-major order, of an array that has elements; narrow ones as `float32`.
pub(super) fn shown_elements<T: Element>(array: &UsmArray, options: &PrintOptions) -> Result<Vec<T>> {
    let (mut shape, mut strides) = (Vec::new(), Vec::new());
    let mut offset = array.offset();
    for (&n, &stride) in array.shape().iter().zip(array.strides()) {
        // Steps within the axis, so that no product overflows (L3).
        match options.edgeitems {
            _ if !is_cut(array, options, n) => {
                shape.push(n);
                strides.push(stride);
            }
            0 => offset += stride * (n - 1).cast_signed(), // NumPy shows the last element then
            edge => {
                // Both ends are one axis of two, and the elements of an end another.
                shape.extend([2, edge]);
                strides.extend([stride * (n - edge).cast_signed(), stride]);
            }
        }
    }
    let layout = Layout::new(&shape, Some(&strides), offset, Order::C)?;
    let shown = UsmArray::from_parts(array.buffer().clone(), array.dtype(), layout, 0)?;
    shown.astype(T::DTYPE, CopyMode::IfNeeded)?.to_vec()
}
