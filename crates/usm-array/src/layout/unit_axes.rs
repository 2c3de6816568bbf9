//! Axes of size 1: inserting and removing them

use super::normalise::normalise_axes;
use super::{Axes, Layout, LayoutError, MAX_NDIM};

impl Layout {
    /// New axes of size 1 at the given places of the result. Negative places count from the last axis of the result.
    ///
    /// # Errors
    /// - [`LayoutError::TooManyAxes`]: more than [`MAX_NDIM`] axes
    /// - [`LayoutError::AxisOutOfBounds`], [`LayoutError::RepeatedAxis`]: no such place, or one twice
    pub fn expand_dims(&self, axes: &[isize]) -> Result<Self, LayoutError> {
        let ndim = self.ndim() + axes.len();
        if ndim > MAX_NDIM {
            return Err(LayoutError::TooManyAxes { found: ndim });
        }
        let places = normalise_axes("axis", axes, ndim)?;
        let mut old = self.axes();
        // Axes of size 1 do not count in L2 and L3. The others fill the places that are left.
        let axes =
            (0..ndim).filter_map(|place| if places.contains(&place) { Some((1, 0)) } else { old.next() });
        let (shape, strides) = axes.unzip();
        Ok(Self { shape, strides, offset: self.offset })
    }

    /// Without the given axes of size 1, or without all of them.
    ///
    /// # Errors
    /// - [`LayoutError::NotUnitAxis`]: a given axis has another size
    /// - [`LayoutError::AxisOutOfBounds`], [`LayoutError::RepeatedAxis`]: no such axis, or one twice
    pub fn squeeze(&self, axes: Option<&[isize]>) -> Result<Self, LayoutError> {
        let removed: Axes<usize> = match axes {
            Some(axes) => normalise_axes("axis", axes, self.ndim())?,
            None => (0..self.ndim()).filter(|&axis| self.shape[axis] == 1).collect(),
        };
        if let Some(&axis) = removed.iter().find(|&&axis| self.shape[axis] != 1) {
            return Err(LayoutError::NotUnitAxis { axis, size: self.shape[axis] });
        }
        Ok(self.without(&removed))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Order;
    use super::super::brute_force::{assert_maps, small_layouts};
    use super::*;

    #[test]
    fn places_count_in_the_result() {
        let layout = Layout::contiguous(&[2, 3], Order::C).expect("small");
        for (axes, shape) in [
            (&[][..], &[2, 3][..]),
            (&[0], &[1, 2, 3]),
            (&[-1], &[2, 3, 1]),
            (&[0, -1], &[1, 2, 3, 1]),
            (&[3, 1], &[2, 1, 3, 1]),
        ] {
            assert_eq!(layout.expand_dims(axes).expect("valid").shape(), shape, "{axes:?}");
        }
        assert_eq!(
            layout.expand_dims(&[3]),
            Err(LayoutError::AxisOutOfBounds { argument: "axis", axis: 3, ndim: 3 })
        );
        assert!(matches!(layout.expand_dims(&[0, -4]), Err(LayoutError::RepeatedAxis { axis: 0, .. })));
        let wide = Layout::contiguous(&[1; MAX_NDIM], Order::C).expect("small");
        assert_eq!(wide.expand_dims(&[0]), Err(LayoutError::TooManyAxes { found: MAX_NDIM + 1 }));
    }

    #[test]
    fn there_may_be_as_many_axes_as_a_layout_has() {
        let axes: Vec<isize> = (0..MAX_NDIM.cast_signed()).collect();
        let layout = Layout::contiguous(&[3], Order::C).expect("small");
        let most = layout.expand_dims(&axes[1..]).expect("as many axes as there may be");
        assert_eq!((most.ndim(), most.size()), (MAX_NDIM, 3));
        assert_eq!(layout.expand_dims(&axes), Err(LayoutError::TooManyAxes { found: MAX_NDIM + 1 }));
    }

    #[test]
    fn only_unit_axes_are_squeezed() {
        let layout = Layout::contiguous(&[1, 3, 1], Order::C).expect("small");
        assert_eq!(layout.squeeze(None).expect("valid").shape(), [3]);
        assert_eq!(layout.squeeze(Some(&[])).expect("valid").shape(), [1, 3, 1]);
        assert_eq!(layout.squeeze(Some(&[-1])).expect("valid").shape(), [1, 3]);
        assert_eq!(layout.squeeze(Some(&[1])), Err(LayoutError::NotUnitAxis { axis: 1, size: 3 }));
        assert!(matches!(layout.squeeze(Some(&[0, 0])), Err(LayoutError::RepeatedAxis { .. })));
        assert!(matches!(layout.squeeze(Some(&[3])), Err(LayoutError::AxisOutOfBounds { axis: 3, .. })));
    }

    proptest! {
        #[test]
        fn unit_axes_come_and_go_without_moving_elements(
            (layout, places) in small_layouts().prop_flat_map(|layout| {
                let places: Vec<isize> = (0..layout.ndim().cast_signed() + 2).collect();
                let some = prop::sample::subsequence(places, 2).prop_shuffle();
                (Just(layout), some)
            }),
        ) {
            let expanded = layout.expand_dims(&places).expect("valid");
            let without = |index: &[usize]| {
                let kept = index.iter().enumerate().filter(|(axis, _)| !places.contains(&axis.cast_signed()));
                kept.map(|(_, &i)| i).collect()
            };
            assert_maps(&expanded, &layout, without)?;
            prop_assert_eq!(expanded.squeeze(Some(&places)), Ok(layout.clone()));
            let squeezed = expanded.squeeze(None).expect("valid");
            let sizes: Vec<usize> = layout.shape().iter().copied().filter(|&n| n != 1).collect();
            prop_assert_eq!(squeezed.shape(), &sizes[..]);
            prop_assert_eq!(squeezed.offsets().collect::<Vec<_>>(), layout.offsets().collect::<Vec<_>>());
        }
    }
}
