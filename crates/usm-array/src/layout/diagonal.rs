//! The diagonals of matrices

use super::normalise::normalise_axes;
use super::{Layout, LayoutError};

impl Layout {
    /// The diagonals of the matrices of two axes, as the last axis behind the others. With an offset the diagonal so many
    /// elements to the right of the main one, or to the left when it is negative; it may be empty.
    ///
    /// ```
    /// use usm_array::{Layout, Order};
    ///
    /// let matrix = Layout::contiguous(&[3, 4], Order::C)?;
    /// assert_eq!(matrix.diagonal(1, 0, 1)?.offsets().collect::<Vec<_>>(), [1, 6, 11]);
    /// # Ok::<(), usm_array::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// - [`LayoutError::AxisOutOfBounds`], [`LayoutError::RepeatedAxis`]: not two different axes
    pub fn diagonal(&self, offset: isize, axis1: isize, axis2: isize) -> Result<Self, LayoutError> {
        let [rows, columns] = normalise_axes("axis1, axis2", &[axis1, axis2], self.ndim())?[..] else {
            return Err(LayoutError::TooFewAxes { ndim: self.ndim(), needed: 2 });
        };
        let start = offset.unsigned_abs();
        let (skipped, other) = if offset < 0 { (rows, columns) } else { (columns, rows) };
        let length = self.shape[skipped].saturating_sub(start).min(self.shape[other]);

        let Self { mut shape, mut strides, .. } = self.without(&[rows, columns]);
        shape.push(length);
        // With two elements a distance within L3; with fewer it is not used.
        strides.push(self.strides[rows].checked_add(self.strides[columns]).unwrap_or(0));
        let moves = length > 0 && !self.is_empty();
        let first = if moves { self.strides[skipped] * start.cast_signed() } else { 0 }; // to an element
        Self::checked(shape, strides, self.offset + first)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Order;
    use super::super::brute_force::{assert_maps, small_layouts};
    use super::*;

    #[test]
    fn diagonals_are_those_of_numpy() {
        // Written down from numpy.arange(12).reshape(3, 4).diagonal(offset).
        let layout = Layout::contiguous(&[3, 4], Order::C).expect("small");
        for (offset, elements) in [
            (0, &[0, 5, 10][..]),
            (1, &[1, 6, 11]),
            (3, &[3]),
            (4, &[]),
            (-1, &[4, 9]),
            (-3, &[]),
            (isize::MIN, &[]),
            (isize::MAX, &[]),
        ] {
            let diagonal = layout.diagonal(offset, 0, 1).expect("a matrix");
            assert_eq!(diagonal.offsets().collect::<Vec<_>>(), elements, "{offset}");
        }
        let empty = layout.diagonal(9, 0, 1).expect("a matrix");
        assert_eq!((empty.shape(), empty.offset()), (&[0][..], 0));
        assert!(matches!(layout.diagonal(0, 0, -2), Err(LayoutError::RepeatedAxis { axis: 0, .. })));
        assert!(matches!(layout.diagonal(0, 0, 2), Err(LayoutError::AxisOutOfBounds { axis: 2, .. })));
    }

    proptest! {
        #[test]
        fn both_indices_go_along_the_diagonal(
            (layout, axes) in small_layouts().prop_flat_map(|layout| {
                // Two axes more, so that there are two at least.
                let layout = layout.expand_dims(&[0, -1]).expect("small");
                let axes: Vec<usize> = (0..layout.ndim()).collect();
                (Just(layout), prop::sample::subsequence(axes, 2).prop_shuffle())
            }),
            offset in -6_isize..7,
        ) {
            let (rows, columns) = (axes[0], axes[1]);
            let diagonal = layout.diagonal(offset, rows.cast_signed(), columns.cast_signed()).expect("axes");
            let (down, right) = ((-offset).max(0).unsigned_abs(), offset.max(0).unsigned_abs());
            let fits = |i: &usize| i + down < layout.shape()[rows] && i + right < layout.shape()[columns];
            prop_assert_eq!(diagonal.shape().last().copied(), Some((0..9).take_while(fits).count()));
            let back = |index: &[usize]| {
                let (along, others) = index.split_last().expect("an axis");
                let mut others = others.iter();
                (0..layout.ndim())
                    .map(|axis| match axis {
                        _ if axis == rows => along + down,
                        _ if axis == columns => along + right,
                        _ => *others.next().expect("one for each axis"),
                    })
                    .collect()
            };
            assert_maps(&diagonal, &layout, back)?;
        }
    }
}
