//! The layouts that belong to each index of the first axes

use super::{Axes, Layout};

impl Layout {
    /// Number of indices that the first axes have together.
    pub(crate) fn outer_size(&self, outer_ndim: usize) -> usize {
        self.shape.iter().take(outer_ndim).product() // by L2, in which zeros count as 1
    }

    /// The displacement of the element with a number in row-major order. The number is below that of the elements.
    pub(crate) fn offset_of_number(&self, number: usize) -> isize {
        self.outer_offset(self.ndim(), number)
    }

    /// The displacement of the first element at the index of the first axes with a number in row-major order.
    pub(super) fn outer_offset(&self, outer_ndim: usize, number: usize) -> isize {
        let (mut offset, mut rest) = (self.offset, number);
        for (size, stride) in self.axes().take(outer_ndim).rev() {
            offset += stride * (rest % size).cast_signed(); // of an element, by L3
            rest /= size;
        }
        offset
    }

    /// The last axes at the index of the first axes with a number in row-major order. The number is below that of the indices.
    pub(crate) fn inner(&self, outer_ndim: usize, number: usize) -> Self {
        let outer = outer_ndim.min(self.ndim());
        // L1 to L3 hold for fewer axes at an element. Without elements the offset is unchanged.
        Self {
            shape: Axes::from(&self.shape[outer..]),
            strides: Axes::from(&self.strides[outer..]),
            offset: if self.is_empty() { self.offset } else { self.outer_offset(outer, number) },
        }
    }
}

/// The index with a number in row-major order. An axis of size 0 gets index 0.
///
/// ```
/// use usm_array::unravel;
///
/// assert_eq!(&unravel(5, &[2, 3])[..], [1, 2]);
/// ```
#[must_use]
pub fn unravel(number: usize, shape: &[usize]) -> Axes<usize> {
    let mut index = Axes::from(shape);
    let mut rest = number;
    for size in index.iter_mut().rev() {
        (*size, rest) = (rest % (*size).max(1), rest / (*size).max(1));
    }
    index
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::brute_force::{displacements, small_layouts};

    proptest! {
        #[test]
        fn inner_layouts_in_a_row_are_the_layout(layout in small_layouts(), outer_ndim in 0_usize..4) {
            let outer_ndim = outer_ndim.min(layout.ndim());
            let inner: Vec<_> = (0..layout.outer_size(outer_ndim))
                .flat_map(|number| displacements(&layout.inner(outer_ndim, number)))
                .collect();
            prop_assert_eq!(inner, displacements(&layout));
        }
    }
}
