//! Axes in the other direction, and rotations by quarters

use super::normalise::normalise_axes;
use super::{Axes, Layout, LayoutError};

impl Layout {
    /// The elements in reverse order along the given axes, or along all of them.
    ///
    /// # Errors
    /// - [`LayoutError::AxisOutOfBounds`], [`LayoutError::RepeatedAxis`]: no such axis, or one twice
    pub fn flip(&self, axes: Option<&[isize]>) -> Result<Self, LayoutError> {
        let axes = match axes {
            Some(axes) => normalise_axes("axis", axes, self.ndim())?,
            None => (0..self.ndim()).collect(),
        };
        Ok(self.flipped(&axes))
    }

    /// Rotated by `k` quarters, from the first towards the second of two axes; a negative `k` rotates back.
    ///
    /// ```
    /// use usm_array::{Layout, Order};
    ///
    /// let matrix = Layout::contiguous(&[2, 2], Order::C)?;
    /// assert_eq!(matrix.flip(Some(&[0]))?.offsets().collect::<Vec<_>>(), [2, 3, 0, 1]);
    /// assert_eq!(matrix.rot90(1, [0, 1])?.offsets().collect::<Vec<_>>(), [1, 3, 0, 2]);
    /// # Ok::<(), usm_array::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// - [`LayoutError::AxisOutOfBounds`], [`LayoutError::RepeatedAxis`]: no such axis, or one twice
    pub fn rot90(&self, k: isize, axes: [isize; 2]) -> Result<Self, LayoutError> {
        let both = normalise_axes("axes", &axes, self.ndim())?;
        match k.rem_euclid(4) {
            0 => Ok(self.clone()),
            1 => self.flipped(&both[1..]).swapaxes(axes[0], axes[1]),
            2 => Ok(self.flipped(&both)),
            _ => self.flipped(&both[..1]).swapaxes(axes[0], axes[1]),
        }
    }

    /// The reverse along axes that exist and are not repeated.
    fn flipped(&self, axes: &[usize]) -> Self {
        if self.is_empty() {
            // Without elements the offset stays, and reversed strides might break L3.
            return self.clone();
        }
        let mut strides: Axes<isize> = self.strides.clone();
        let mut offset = self.offset;
        for &axis in axes {
            // To the last element, a distance within L3, from where the same elements are reached.
            offset += strides[axis] * (self.shape[axis] - 1).cast_signed();
            // Only the stride of an axis with one element may have no opposite, and does not matter.
            strides[axis] = strides[axis].checked_neg().unwrap_or(0);
        }
        Self { shape: self.shape.clone(), strides, offset }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Order;
    use super::super::brute_force::{assert_maps, small_layouts};
    use super::*;

    #[test]
    fn rotations_are_those_of_numpy() {
        // Written down from NumPy: numpy.rot90(numpy.arange(6).reshape(2, 3), k).
        let layout = Layout::contiguous(&[2, 3], Order::C).expect("small");
        for (k, shape, elements) in [
            (0, [2, 3], [0, 1, 2, 3, 4, 5]),
            (1, [3, 2], [2, 5, 1, 4, 0, 3]),
            (2, [2, 3], [5, 4, 3, 2, 1, 0]),
            (-1, [3, 2], [3, 0, 4, 1, 5, 2]),
        ] {
            let rotated = layout.rot90(k, [0, 1]).expect("a matrix");
            assert_eq!(rotated.shape(), shape, "{k}");
            assert_eq!(rotated.offsets().collect::<Vec<_>>(), elements, "{k}");
            assert_eq!(layout.rot90(k + 4, [0, 1]).expect("a matrix"), rotated);
        }
        assert!(matches!(layout.rot90(1, [0, -2]), Err(LayoutError::RepeatedAxis { argument: "axes", .. })));
        assert!(matches!(layout.rot90(1, [0, 2]), Err(LayoutError::AxisOutOfBounds { axis: 2, .. })));
    }

    #[test]
    fn a_stride_without_an_opposite_is_not_used() {
        let layout = Layout::new(&[1], Some(&[isize::MIN]), 0, Order::C).expect("one element");
        assert_eq!(layout.flip(None).expect("valid").offsets().collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn an_empty_layout_does_not_move() {
        let layout = Layout::new(&[0, 9], Some(&[1, -7]), isize::MAX - 1, Order::C).expect("fits");
        assert_eq!(layout.flip(None).expect("valid").offset(), isize::MAX - 1);
    }

    proptest! {
        #[test]
        fn flipped_indices_count_from_the_end(
            (layout, axes) in small_layouts().prop_flat_map(|layout| {
                let axes: Vec<isize> = (0..layout.ndim().cast_signed()).collect();
                let count = axes.len();
                (Just(layout), prop::sample::subsequence(axes, 0..=count))
            }),
            k in -5_isize..6,
        ) {
            let flipped = layout.flip(Some(&axes)).expect("axes");
            let back = |index: &[usize]| {
                let rotate = |(axis, &i): (usize, &usize)| {
                    if axes.contains(&axis.cast_signed()) { layout.shape()[axis] - 1 - i } else { i }
                };
                index.iter().enumerate().map(rotate).collect()
            };
            assert_maps(&flipped, &layout, back)?;
            prop_assert_eq!(flipped.flip(Some(&axes)), Ok(layout.clone()));
            if let [first, .., last] = axes[..] {
                let rotated = (0..k.rem_euclid(4)).try_fold(layout.clone(), |l, _| l.rot90(1, [first, last]));
                prop_assert_eq!(layout.rot90(k, [first, last]), rotated);
            }
        }
    }
}
