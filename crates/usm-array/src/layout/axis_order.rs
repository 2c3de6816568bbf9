//! Transpose and permute: the same elements with the axes in another order

use super::{Layout, LayoutError};

impl Layout {
    /// The axes in reverse order.
    #[must_use]
    pub fn transpose(&self) -> Self {
        // L1 to L3 do not depend on the order of the axes.
        Self {
            shape: self.shape.iter().rev().copied().collect(),
            strides: self.strides.iter().rev().copied().collect(),
            offset: self.offset,
        }
    }

    /// The axes in the given order: axis `k` of the result is axis `axes[k]` of this layout.
    ///
    /// # Errors
    /// - [`LayoutError::NotAPermutation`]: not each axis exactly once
    pub fn permute(&self, axes: &[usize]) -> Result<Self, LayoutError> {
        let mut seen = 0_u64; // one bit for each axis, enough by L1
        for &axis in axes.iter().filter(|&&axis| axis < self.ndim()) {
            seen |= 1 << axis;
        }
        // As many different axes in range as there are axes, and not one item more.
        if axes.len() != self.ndim() || seen.count_ones() as usize != self.ndim() {
            return Err(LayoutError::NotAPermutation { axes: axes.to_vec(), ndim: self.ndim() });
        }
        Ok(Self {
            shape: axes.iter().map(|&axis| self.shape[axis]).collect(),
            strides: axes.iter().map(|&axis| self.strides[axis]).collect(),
            offset: self.offset,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::brute_force::{indices, small_layouts};
    use super::super::{MAX_NDIM, Order};
    use super::*;

    #[test]
    fn what_is_no_permutation_is_refused() {
        let layout = Layout::contiguous(&[2, 3], Order::C).expect("small");
        for axes in [&[][..], &[0], &[0, 0], &[0, 2], &[0, 1, 1], &[0, 1, 2]] {
            assert!(matches!(layout.permute(axes), Err(LayoutError::NotAPermutation { ndim: 2, .. })));
        }
        let all: Vec<usize> = (0..MAX_NDIM).rev().collect();
        let wide = Layout::contiguous(&[1; MAX_NDIM], Order::C).expect("small");
        assert_eq!(wide.permute(&all), Ok(wide.transpose()));
    }

    proptest! {
        #[test]
        fn permuted_indices_reach_the_same_elements(
            (layout, axes) in small_layouts().prop_flat_map(|layout| {
                let axes: Vec<usize> = (0..layout.ndim()).collect();
                (Just(layout), Just(axes).prop_shuffle())
            }),
        ) {
            let permuted = layout.permute(&axes).expect("a permutation");
            for index in indices(layout.shape()) {
                let moved: Vec<usize> = axes.iter().map(|&axis| index[axis]).collect();
                prop_assert_eq!(permuted.offset_of(&moved), layout.offset_of(&index));
            }
            prop_assert_eq!(layout.transpose().transpose(), layout);
        }
    }
}
