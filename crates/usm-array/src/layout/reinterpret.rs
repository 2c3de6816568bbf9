//! The same bytes as elements of another size

use super::{Axes, Layout, LayoutError};

impl Layout {
    /// The layout of the real or imaginary parts, in elements of half the size. Parts of complex numbers are two apart.
    ///
    /// # Errors
    /// - [`LayoutError::ExtentOverflow`], [`LayoutError::OffsetOverflow`]: twice the numbers do not fit; in memory they do
    pub(crate) fn part(&self, is_imaginary: bool) -> Result<Self, LayoutError> {
        let overflow = || LayoutError::OffsetOverflow { offset: self.offset, min: 0, max: 0 };
        let offset = self.offset.checked_mul(2).and_then(|offset| offset.checked_add(is_imaginary.into()));
        self.scaled(2, offset.ok_or_else(overflow)?)
    }

    /// The layout of the same bytes in elements of another size, with NumPy's rules: only the last axis changes its size. The
    /// second number is how many bytes further on the memory has to start for the offset to be a whole number of elements.
    ///
    /// # Errors
    /// - [`LayoutError::NoLastAxis`]: no axes and another item size
    /// - [`LayoutError::LastAxisNotContiguous`]: elements along the last axis do not follow each other
    /// - [`LayoutError::NotWholeElements`]: the last axis, or a stride, is not a whole number of larger elements
    /// - the errors of [`Layout::new`] for numbers that do not fit
    pub(crate) fn reinterpret(
        &self,
        from_bytes: usize,
        to_bytes: usize,
    ) -> Result<(Self, usize), LayoutError> {
        if from_bytes == to_bytes {
            return Ok((self.clone(), 0));
        }
        let Some(last) = self.ndim().checked_sub(1) else {
            return Err(LayoutError::NoLastAxis { from_bytes, to_bytes });
        };
        let (size, stride) = (self.shape[last], self.strides[last]);
        if size > 1 && stride != 1 {
            return Err(LayoutError::LastAxisNotContiguous { axis: last, stride, from_bytes, to_bytes });
        }
        let mut shape = self.shape.clone();
        if to_bytes < from_bytes {
            let ratio = from_bytes / to_bytes; // item sizes are powers of two
            let offset = self.offset.checked_mul(ratio.cast_signed());
            let too_far = LayoutError::OffsetOverflow { offset: self.offset, min: 0, max: 0 };
            shape[last] = size
                .checked_mul(ratio)
                .ok_or_else(|| LayoutError::TooManyElements { shape: self.shape.to_vec() })?;
            let mut scaled = self.scaled(ratio.cast_signed(), offset.ok_or(too_far)?)?;
            scaled.strides[last] = 1;
            return Ok((Self::checked(shape, scaled.strides, scaled.offset)?, 0));
        }
        let ratio = to_bytes / from_bytes;
        let not_whole =
            |what, axis, found| LayoutError::NotWholeElements { what, axis, found, from_bytes, to_bytes };
        if !size.is_multiple_of(ratio) {
            return Err(not_whole("size", last, size.cast_signed()));
        }
        shape[last] = size / ratio;
        let mut strides: Axes<isize> = self.strides.clone();
        strides[last] = 1;
        for (axis, stride) in strides.iter_mut().enumerate().take(last) {
            // The stride of an axis of size 0 or 1 does not matter.
            if self.shape[axis] > 1 && *stride % ratio.cast_signed() != 0 {
                return Err(not_whole("stride", axis, *stride));
            }
            *stride /= ratio.cast_signed();
        }
        let lead = if self.is_empty() { 0 } else { self.offset.rem_euclid(ratio.cast_signed()) };
        let layout = Self::checked(shape, strides, self.offset.div_euclid(ratio.cast_signed()))?;
        Ok((layout, lead.unsigned_abs() * from_bytes))
    }

    /// Strides in new elements. `ratio` of them are one old element.
    fn scaled(&self, ratio: isize, offset: isize) -> Result<Self, LayoutError> {
        let overflow =
            || LayoutError::ExtentOverflow { shape: self.shape.to_vec(), strides: self.strides.to_vec() };
        let mut strides = self.strides.clone();
        for (&size, stride) in self.shape.iter().zip(strides.iter_mut()) {
            // The stride of an axis of size 0 or 1 does not matter.
            let scaled = if size > 1 { stride.checked_mul(ratio) } else { Some(0) };
            *stride = scaled.ok_or_else(overflow)?;
        }
        Self::checked(self.shape.clone(), strides, offset)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Order;
    use super::super::brute_force::{displacements, small_layouts};
    use super::*;

    fn layout(shape: &[usize], strides: &[isize], offset: isize) -> Layout {
        Layout::new(shape, Some(strides), offset, Order::C).expect("small")
    }

    #[test]
    fn numpy_s_rules() {
        let matrix = layout(&[2, 4], &[4, 1], 0);
        assert_eq!(matrix.reinterpret(4, 8), Ok((layout(&[2, 2], &[2, 1], 0), 0)));
        assert_eq!(matrix.reinterpret(4, 2), Ok((layout(&[2, 8], &[8, 1], 0), 0)));
        assert_eq!(matrix.reinterpret(4, 4), Ok((matrix.clone(), 0)));
        let not_whole = |what, axis, found| {
            Err(LayoutError::NotWholeElements { what, axis, found, from_bytes: 4, to_bytes: 8 })
        };
        assert_eq!(layout(&[2, 3], &[4, 1], 0).reinterpret(4, 8), not_whole("size", 1, 3));
        assert_eq!(layout(&[2, 2], &[3, 1], 0).reinterpret(4, 8), not_whole("stride", 0, 3));
        assert_eq!(
            matrix.transpose().reinterpret(4, 8),
            Err(LayoutError::LastAxisNotContiguous { axis: 1, stride: 4, from_bytes: 4, to_bytes: 8 })
        );
        let scalar = layout(&[], &[], 3);
        assert_eq!(scalar.reinterpret(8, 4), Err(LayoutError::NoLastAxis { from_bytes: 8, to_bytes: 4 }));
        assert_eq!(scalar.reinterpret(8, 8), Ok((scalar.clone(), 0)));
        // An odd offset needs memory that starts one element later.
        assert_eq!(layout(&[2], &[1], 5).reinterpret(4, 8), Ok((layout(&[1], &[1], 2), 4)));
    }

    /// The bytes of the elements in row-major order.
    fn bytes(layout: &Layout, itemsize: usize, start: usize) -> Vec<i128> {
        let size = itemsize as i128;
        let first = displacements(layout).into_iter().map(|place| place * size + start as i128);
        first.flat_map(|first| first..first + size).collect()
    }

    proptest! {
        #[test]
        fn the_bytes_stay_the_same(
            layout in small_layouts(), rows in prop::option::of(1_usize..9), from in 0_u32..5, to in 0_u32..5,
        ) {
            // Mostly with a dense last axis, else nearly all are refused.
            let layout = match rows {
                Some(size) => {
                    let shape = [layout.shape(), &[size]].concat();
                    let strides = [layout.strides(), &[1]].concat();
                    Layout::new(&shape, Some(&strides), layout.offset(), Order::C).expect("small")
                }
                None => layout,
            };
            let (from, to) = (1_usize << from, 1_usize << to);
            let axes: Vec<_> = layout.shape().iter().copied().zip(layout.strides().iter().copied()).collect();
            let ratio = (to / from).max(1);
            let fits = axes.split_last().is_some_and(|(&(size, stride), others)| {
                let whole = |&(n, stride): &(usize, isize)| n <= 1 || stride.unsigned_abs().is_multiple_of(ratio);
                (size <= 1 || stride == 1) && size.is_multiple_of(ratio) && others.iter().all(whole)
            });
            let found = layout.reinterpret(from, to);
            prop_assert_eq!(found.is_ok(), from == to || fits, "{:?}", found);
            if let Ok((view, lead)) = found {
                prop_assert_eq!(bytes(&view, to, lead), bytes(&layout, from, 0));
                prop_assert_eq!(view.ndim(), layout.ndim());
                prop_assert!(lead < to);
            }
        }

        #[test]
        fn parts_are_every_other_number(layout in small_layouts()) {
            for (is_imaginary, first) in [(false, 0), (true, 1)] {
                let part = layout.part(is_imaginary).expect("small");
                let expected: Vec<i128> = displacements(&layout).iter().map(|place| 2 * place + first).collect();
                prop_assert_eq!(displacements(&part), expected);
                prop_assert_eq!(part.shape(), layout.shape());
            }
        }
    }
}
