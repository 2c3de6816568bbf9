//! Transpose and its relatives: the same elements with the axes in another order

use std::cmp::Reverse;

use super::normalise::{normalise_axes, normalise_axis};
use super::{Axes, Layout, LayoutError};

impl Layout {
    /// The axes in reverse order.
    #[must_use]
    pub fn transpose(&self) -> Self {
        let mut transposed = self.clone();
        transposed.reverse_axes();
        transposed
    }

    pub(crate) fn reverse_axes(&mut self) {
        // L1 to L3 do not depend on the order of the axes.
        self.shape.reverse();
        self.strides.reverse();
    }

    /// The axes in the given order: axis `k` of the result is axis `axes[k]` of this layout. Negative axes count from the last.
    ///
    /// # Errors
    /// - [`LayoutError::AxesLength`]: not as many axes as the layout has
    /// - [`LayoutError::AxisOutOfBounds`], [`LayoutError::RepeatedAxis`]: not each axis exactly once
    pub fn permute(&self, axes: &[isize]) -> Result<Self, LayoutError> {
        if axes.len() != self.ndim() {
            return Err(LayoutError::AxesLength {
                argument: "axes",
                found: axes.len(),
                expected: self.ndim(),
            });
        }
        Ok(self.in_order(&normalise_axes("axes", axes, self.ndim())?))
    }

    /// The axes from the longest to the shortest stride, those of one stride in their order: as [`permute`](Self::permute) takes them. In
    /// this order a layout without gaps is C-contiguous.
    ///
    /// ```
    /// use usm_array::{Layout, Order};
    ///
    /// let layout = Layout::contiguous(&[2, 3, 4], Order::F)?;
    /// let axes = layout.memory_order();
    /// assert_eq!(&axes[..], [2, 1, 0]);
    /// let ordered = layout.permute(&axes)?;
    /// assert!(ordered.is_c_contiguous());
    /// assert_eq!(ordered.moveaxis(&[0, 1, 2], &axes)?, layout);
    /// # Ok::<(), usm_array::LayoutError>(())
    /// ```
    #[must_use]
    pub fn memory_order(&self) -> Axes<isize> {
        let mut axes: Axes<isize> = (0..self.ndim().cast_signed()).collect();
        axes.sort_by_key(|&axis| Reverse(self.strides[axis.cast_unsigned()].unsigned_abs()));
        axes
    }

    /// The last two axes exchanged: a stack of matrices, each transposed.
    ///
    /// # Errors
    /// - [`LayoutError::TooFewAxes`]: fewer than two axes
    pub fn matrix_transpose(&self) -> Result<Self, LayoutError> {
        if self.ndim() < 2 {
            return Err(LayoutError::TooFewAxes { ndim: self.ndim(), needed: 2 });
        }
        self.swapaxes(-2, -1)
    }

    /// Two axes exchanged.
    ///
    /// # Errors
    /// - [`LayoutError::AxisOutOfBounds`]: no such axis
    pub fn swapaxes(&self, axis1: isize, axis2: isize) -> Result<Self, LayoutError> {
        let axis1 = normalise_axis("axis1", axis1, self.ndim())?;
        let axis2 = normalise_axis("axis2", axis2, self.ndim())?;
        let mut swapped = self.clone();
        swapped.shape.swap(axis1, axis2);
        swapped.strides.swap(axis1, axis2);
        Ok(swapped)
    }

    /// Axis `source[k]` at place `destination[k]`, the others in their order in the places that are left.
    ///
    /// ```
    /// use usm_array::{Layout, Order};
    ///
    /// let layout = Layout::contiguous(&[2, 3, 4], Order::C)?;
    /// assert_eq!(layout.moveaxis(&[0], &[-1])?.shape(), [3, 4, 2]);
    /// # Ok::<(), usm_array::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// - [`LayoutError::AxesLength`]: source and destination differ in length
    /// - [`LayoutError::AxisOutOfBounds`], [`LayoutError::RepeatedAxis`]: no such axis, or one twice
    pub fn moveaxis(&self, source: &[isize], destination: &[isize]) -> Result<Self, LayoutError> {
        let sources = normalise_axes("source", source, self.ndim())?;
        let places = normalise_axes("destination", destination, self.ndim())?;
        if sources.len() != places.len() {
            let (found, expected) = (places.len(), sources.len());
            return Err(LayoutError::AxesLength { argument: "destination", found, expected });
        }
        let mut others = (0..self.ndim()).filter(|axis| !sources.contains(axis));
        let order: Axes<usize> = (0..self.ndim())
            .filter_map(|place| match places.iter().position(|&moved_to| moved_to == place) {
                Some(k) => Some(sources[k]),
                None => others.next(), // as many as there are other places
            })
            .collect();
        Ok(self.in_order(&order))
    }

    /// The axes but the given ones.
    pub(super) fn without(&self, removed: &[usize]) -> Self {
        self.in_order(&(0..self.ndim()).filter(|axis| !removed.contains(axis)).collect::<Axes<_>>())
    }

    /// The given axes in the given order, none of them twice, at index zero of the others.
    pub(super) fn in_order(&self, order: &[usize]) -> Self {
        // L1 to L3 do not depend on the order of the axes, and hold for fewer of them.
        Self {
            shape: order.iter().map(|&axis| self.shape[axis]).collect(),
            strides: order.iter().map(|&axis| self.strides[axis]).collect(),
            offset: self.offset,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::brute_force::{assert_maps, small_layouts};
    use super::super::{MAX_NDIM, Order};
    use super::*;

    #[test]
    fn what_is_no_permutation_is_refused() {
        let layout = Layout::contiguous(&[2, 3], Order::C).expect("small");
        for axes in [&[][..], &[0], &[0, 1, 1], &[0, 1, 2]] {
            let refused = LayoutError::AxesLength { argument: "axes", found: axes.len(), expected: 2 };
            assert_eq!(layout.permute(axes), Err(refused));
        }
        assert!(matches!(layout.permute(&[0, -2]), Err(LayoutError::RepeatedAxis { axis: 0, .. })));
        assert!(matches!(
            layout.permute(&[0, 2]),
            Err(LayoutError::AxisOutOfBounds { axis: 2, ndim: 2, .. })
        ));
        let all: Vec<isize> = (0..MAX_NDIM.cast_signed()).rev().collect();
        let wide = Layout::contiguous(&[1; MAX_NDIM], Order::C).expect("small");
        assert_eq!(wide.permute(&all), Ok(wide.transpose()));
    }

    #[test]
    fn moved_axes_go_where_numpy_moves_them() {
        // Written down from NumPy: numpy.moveaxis(numpy.empty((2, 3, 4, 5)), source, destination).shape.
        let layout = Layout::contiguous(&[2, 3, 4, 5], Order::C).expect("small");
        for (source, destination, shape) in [
            (&[0][..], &[-1][..], [3, 4, 5, 2]),
            (&[-1], &[0], [5, 2, 3, 4]),
            (&[0, 1], &[-1, -2], [4, 5, 3, 2]),
            (&[0, 3], &[2, 0], [5, 3, 2, 4]),
            (&[], &[], [2, 3, 4, 5]),
        ] {
            let moved = layout.moveaxis(source, destination).expect("valid");
            assert_eq!(moved.shape(), shape, "{source:?} to {destination:?}");
        }
        let refused = LayoutError::AxesLength { argument: "destination", found: 2, expected: 1 };
        assert_eq!(layout.moveaxis(&[0], &[0, 1]), Err(refused));
        assert!(matches!(
            layout.moveaxis(&[0, 0], &[0, 1]),
            Err(LayoutError::RepeatedAxis { argument: "source", axis: 0, .. })
        ));
        assert!(matches!(
            layout.moveaxis(&[0], &[4]),
            Err(LayoutError::AxisOutOfBounds { argument: "destination", axis: 4, ndim: 4 })
        ));
    }

    #[test]
    fn a_matrix_needs_two_axes() {
        let layout = Layout::contiguous(&[2, 3, 4], Order::C).expect("small");
        assert_eq!(layout.matrix_transpose().expect("a stack").shape(), [2, 4, 3]);
        let vector = Layout::contiguous(&[2], Order::C).expect("small");
        assert_eq!(vector.matrix_transpose(), Err(LayoutError::TooFewAxes { ndim: 1, needed: 2 }));
    }

    proptest! {
        #[test]
        fn permuted_indices_reach_the_same_elements(
            (layout, axes, negative) in small_layouts().prop_flat_map(|layout| {
                let axes: Vec<usize> = (0..layout.ndim()).collect();
                let negative = prop::collection::vec(any::<bool>(), layout.ndim());
                (Just(layout), Just(axes).prop_shuffle(), negative)
            }),
        ) {
            let ndim = layout.ndim().cast_signed();
            let given: Vec<isize> = axes.iter().zip(negative)
                .map(|(&axis, negative)| axis.cast_signed() - if negative { ndim } else { 0 })
                .collect();
            let permuted = layout.permute(&given).expect("a permutation");
            let back = |index: &[usize]| {
                let mut source = vec![0; index.len()];
                axes.iter().zip(index).for_each(|(&axis, &i)| source[axis] = i);
                source
            };
            assert_maps(&permuted, &layout, back)?;
            // Moving axis k to place axes[k] undoes the permutation.
            let every: Vec<isize> = (0..ndim).collect();
            prop_assert_eq!(permuted.moveaxis(&every, &given), Ok(layout.clone()));
            prop_assert_eq!(layout.transpose().transpose(), layout.clone());
            if let [first, .., last] = given[..] {
                let swapped = layout.swapaxes(first, last).expect("axes");
                let back = |index: &[usize]| {
                    let mut index = index.to_vec();
                    index.swap(axes[0], axes[axes.len() - 1]);
                    index
                };
                assert_maps(&swapped, &layout, back)?;
            }
        }
    }
}
