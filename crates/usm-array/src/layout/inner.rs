//! The layouts that belong to each index of the first axes

use super::{Axes, Layout};

impl Layout {
    /// Number of indices that the first axes have together.
    pub(crate) fn outer_size(&self, outer_ndim: usize) -> usize {
        self.shape.iter().take(outer_ndim).product() // by L2, in which zeros count as 1
    }

    /// The index, along the first axes only, of the element with a number in row-major order. The number is below that of the elements.
    pub(crate) fn outer_index(&self, outer_ndim: usize, number: usize) -> Axes<usize> {
        let mut index: Axes<usize> = self.shape.iter().take(outer_ndim).map(|_| 0).collect();
        let mut rest = number;
        for axis in (0..index.len()).rev() {
            index[axis] = rest % self.shape[axis].max(1);
            rest /= self.shape[axis].max(1);
        }
        index
    }

    /// The last axes at the index of the first axes with a number in row-major order. The number is below that of the indices.
    pub(crate) fn inner(&self, outer_ndim: usize, number: usize) -> Self {
        let mut offset = self.offset;
        if !self.is_empty() {
            let index = self.outer_index(outer_ndim, number);
            for (&i, &stride) in index.iter().zip(&*self.strides) {
                offset += stride * i.cast_signed(); // of an element, by L3
            }
        }
        let last = |axes: usize| axes.min(self.ndim());
        // L1 to L3 hold for fewer axes at an element. Without elements the offset is unchanged.
        Self {
            shape: Axes::from(&self.shape[last(outer_ndim)..]),
            strides: Axes::from(&self.strides[last(outer_ndim)..]),
            offset,
        }
    }
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
