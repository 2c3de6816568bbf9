//! Sliding windows: every window of some size as axes of their own

use super::normalise::normalise_axis;
use super::{Axes, Layout, LayoutError};

impl Layout {
    /// All windows of the given shape: an axis that a window runs along gets the number of places the window has there, and new
    /// axes at the end hold the elements of each window. Without axes the window has a size for each axis, otherwise for each of
    /// the given ones; an axis given twice is run along twice.
    ///
    /// Windows overlap, so one element is at many indices.
    ///
    /// ```
    /// use usm_array::{Layout, Order};
    ///
    /// let windows = Layout::contiguous(&[6], Order::C)?.sliding_window_view(&[3], None)?;
    /// assert_eq!((windows.shape(), windows.strides()), (&[4, 3][..], &[1, 1][..]));
    /// # Ok::<(), usm_array::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// - [`LayoutError::AxesLength`]: not one size of the window for each axis
    /// - [`LayoutError::AxisOutOfBounds`]: no such axis
    /// - [`LayoutError::WindowTooLarge`]: the window does not fit
    /// - [`LayoutError::TooManyAxes`], [`LayoutError::TooManyElements`]: the windows have too many axes or elements
    pub fn sliding_window_view(
        &self,
        window_shape: &[usize],
        axes: Option<&[isize]>,
    ) -> Result<Self, LayoutError> {
        let expected = axes.map_or(self.ndim(), <[isize]>::len);
        if window_shape.len() != expected {
            let found = window_shape.len();
            return Err(LayoutError::AxesLength { argument: "window_shape", found, expected });
        }
        let mut shape: Axes<usize> = self.shape.clone();
        let mut strides = self.strides.clone();
        for (k, &window) in window_shape.iter().enumerate() {
            let axis = axes.map_or(Ok(k), |axes| normalise_axis("axis", axes[k], self.ndim()))?;
            let size = shape[axis];
            let last = size.checked_sub(window).ok_or(LayoutError::WindowTooLarge { axis, window, size })?;
            shape[axis] = last + 1;
            shape.push(window);
            strides.push(self.strides[axis]);
        }
        // Windows without elements begin one step behind the last one.
        let mut view = Self { shape, strides, offset: self.offset };
        view.settle()?;
        Ok(view)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Order;
    use super::super::brute_force::{assert_maps, small_layouts};
    use super::*;

    #[test]
    fn windows_are_those_of_numpy() {
        // Written down from numpy.lib.stride_tricks.sliding_window_view(numpy.empty((3, 4)), window, axis).shape.
        let layout = Layout::contiguous(&[3, 4], Order::C).expect("small");
        for (window, axes, shape) in [
            (&[2, 2][..], None, &[2, 3, 2, 2][..]),
            (&[3], Some(&[1_isize][..]), &[3, 2, 3]),
            (&[2], Some(&[-1]), &[3, 3, 2]),
            (&[2, 3], Some(&[1, 1]), &[3, 1, 2, 3]),
            (&[3, 4], None, &[1, 1, 3, 4]),
            (&[], Some(&[]), &[3, 4]),
            (&[0], Some(&[0]), &[4, 4, 0]),
        ] {
            let windows = layout.sliding_window_view(window, axes).expect("fits");
            assert_eq!(windows.shape(), shape, "{window:?} {axes:?}");
        }
    }

    #[test]
    fn windows_that_do_not_fit_are_refused() {
        let layout = Layout::contiguous(&[3, 4], Order::C).expect("small");
        let refused = |window, axes, error| assert_eq!(layout.sliding_window_view(window, axes), Err(error));
        let length = |found, expected| LayoutError::AxesLength { argument: "window_shape", found, expected };
        refused(&[2], None, length(1, 2));
        refused(&[2, 2], Some(&[0][..]), length(2, 1));
        refused(&[4, 1], None, LayoutError::WindowTooLarge { axis: 0, window: 4, size: 3 });
        // The second window runs along the rest of the axis after the first one.
        refused(&[3, 3], Some(&[1, 1]), LayoutError::WindowTooLarge { axis: 1, window: 3, size: 2 });
        refused(&[1], Some(&[2]), LayoutError::AxisOutOfBounds { argument: "axis", axis: 2, ndim: 2 });
    }

    proptest! {
        #[test]
        fn windows_hold_the_elements_behind_their_place(
            (layout, axes, windows) in small_layouts().prop_flat_map(|layout| {
                let axes: Vec<isize> = (0..layout.ndim().cast_signed()).collect();
                let count = axes.len();
                let windows = layout.shape().iter().map(|&n| 0..=n).collect::<Vec<_>>();
                (Just(layout), prop::sample::subsequence(axes, 0..=count).prop_shuffle(), windows)
            }),
        ) {
            let window: Vec<usize> = axes.iter().map(|&axis| windows[axis.cast_unsigned()]).collect();
            let view = layout.sliding_window_view(&window, Some(&axes)).expect("fits");
            let back = |index: &[usize]| {
                let mut source = index[..layout.ndim()].to_vec();
                for (&axis, &i) in axes.iter().zip(&index[layout.ndim()..]) {
                    source[axis.cast_unsigned()] += i;
                }
                source
            };
            assert_maps(&view, &layout, back)?;
        }
    }
}
