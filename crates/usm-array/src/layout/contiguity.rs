//! C and F contiguity as NumPy defines them

use super::Layout;

impl Layout {
    /// True when the elements follow each other without gaps in row-major order. The stride of an
    /// axis of size 1 does not matter, and an empty layout is contiguous.
    #[must_use]
    pub fn is_c_contiguous(&self) -> bool {
        self.is_empty() || steps_through(self.axes().rev())
    }

    /// True when the elements follow each other without gaps in column-major order. The stride of
    /// an axis of size 1 does not matter, and an empty layout is contiguous.
    #[must_use]
    pub fn is_f_contiguous(&self) -> bool {
        self.is_empty() || steps_through(self.axes())
    }

    /// True when the elements follow each other without gaps in row-major or in column-major order: NumPy's `forc`.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        self.is_c_contiguous() || self.is_f_contiguous()
    }

    /// True when the elements follow each other without gaps in column-major, but not in row-major order: NumPy's `fnc`.
    #[must_use]
    pub fn is_f_contiguous_only(&self) -> bool {
        self.is_f_contiguous() && !self.is_c_contiguous()
    }

    /// True when the elements follow each other without gaps, each once, in some order of the axes, which may go down. An empty
    /// layout has no such run.
    #[must_use]
    pub fn is_dense(&self) -> bool {
        let mut run = 1_usize;
        // The length grows with each axis, so no axis is found twice.
        (0..self.axes().filter(|&(n, _)| n != 1).count()).all(|_| {
            let next = self.axes().find(|&(n, stride)| n > 1 && stride.unsigned_abs() == run);
            next.inspect(|&(n, _)| run *= n).is_some() // cannot overflow by L2
        })
    }

    /// Size and stride of each axis.
    pub(crate) fn axes(&self) -> impl DoubleEndedIterator<Item = (usize, isize)> + ExactSizeIterator + Clone {
        let strides = self.strides.iter().copied();
        self.shape.iter().copied().zip(strides)
    }
}

/// True when each stride is the product of the sizes before it.
fn steps_through(axes: impl Iterator<Item = (usize, isize)>) -> bool {
    let mut expected = 1_usize;
    for (n, stride) in axes.filter(|&(n, _)| n != 1) {
        if stride != expected.cast_signed() {
            return false;
        }
        expected *= n; // cannot overflow by L2
    }
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Order;
    use super::super::brute_force::{displacements, small_layouts};
    use super::*;

    #[test]
    fn unit_and_empty_axes_are_relaxed() {
        let layout = |shape: &[usize], strides: &[isize]| {
            Layout::new(shape, Some(strides), 0, Order::C).expect("small")
        };
        assert!(layout(&[1, 3], &[77, 1]).is_c_contiguous());
        assert!(layout(&[1, 3], &[77, 1]).is_f_contiguous());
        assert!(layout(&[0, 3], &[5, 5]).is_c_contiguous());
        assert!(layout(&[0, 3], &[5, 5]).is_f_contiguous());
        assert!(layout(&[], &[]).is_c_contiguous());
        assert!(!layout(&[2, 3], &[-3, 1]).is_c_contiguous());
        assert!(!layout(&[3], &[2]).is_c_contiguous());
        assert!(layout(&[2, 3], &[1, 2]).is_f_contiguous());
        assert!(!layout(&[2, 3], &[1, 2]).is_c_contiguous());
    }

    proptest! {
        /// Contiguous means: the elements in that order are at 0, 1, 2, …
        #[test]
        fn contiguity_equals_brute_force(layout in small_layouts()) {
            let counts_up = |layout: &Layout| {
                let zero = layout.offset() as i128;
                displacements(layout).iter().zip(zero..).all(|(&place, i)| place == i)
            };
            prop_assert_eq!(layout.is_c_contiguous(), counts_up(&layout));
            prop_assert_eq!(layout.is_f_contiguous(), counts_up(&layout.transpose()));
            let both = (counts_up(&layout), counts_up(&layout.transpose()));
            prop_assert_eq!(layout.is_contiguous(), both.0 || both.1);
            prop_assert_eq!(layout.is_f_contiguous_only(), both == (false, true));
            let mut places = displacements(&layout);
            places.sort_unstable();
            let each_once = places.windows(2).all(|pair| pair[1] == pair[0] + 1);
            prop_assert_eq!(layout.is_dense(), each_once && !layout.is_empty());
        }

        #[test]
        fn what_is_made_contiguous_is(shape in prop::collection::vec(0_usize..5, 0..5)) {
            prop_assert!(Layout::contiguous(&shape, Order::C).expect("small").is_c_contiguous());
            prop_assert!(Layout::contiguous(&shape, Order::F).expect("small").is_f_contiguous());
        }
    }
}
