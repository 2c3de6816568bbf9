//! The constructor that makes and checks every layout

// Numbers of others: arithmetic is checked, wraps or saturates by its name.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use super::{Axes, Layout, LayoutError, MAX_NDIM, Order};

impl Layout {
    /// A layout without gaps at offset 0.
    ///
    /// # Errors
    /// - [`LayoutError::TooManyAxes`]: more than [`MAX_NDIM`](super::MAX_NDIM)
    /// - [`LayoutError::TooManyElements`]: the product of the shape exceeds `isize::MAX`
    pub fn contiguous(shape: &[usize], order: Order) -> Result<Self, LayoutError> {
        Self::new(shape, None, 0, order)
    }

    /// A layout with the given strides and offset, in elements. Without strides it has no gaps,
    /// in the given order; with strides the order is not used.
    ///
    /// # Errors
    /// - [`LayoutError::TooManyAxes`]: more than [`MAX_NDIM`](super::MAX_NDIM)
    /// - [`LayoutError::TooManyElements`]: the product of the shape exceeds `isize::MAX`
    /// - [`LayoutError::StridesLength`]: not one stride for each axis
    /// - [`LayoutError::ExtentOverflow`]: the strides reach over more than `isize::MAX` elements
    /// - [`LayoutError::OffsetOverflow`]: offset plus reach does not fit into `isize`
    pub fn new(
        shape: &[usize],
        strides: Option<&[isize]>,
        offset: isize,
        order: Order,
    ) -> Result<Self, LayoutError> {
        let mut made = Self::no_axes();
        match strides {
            Some(strides) => made.set_strided(shape, strides, offset)?,
            None => made.set_dense(shape, offset, order).map(drop)?,
        }
        Ok(made)
    }

    /// Without axes, at offset 0.
    pub(crate) fn no_axes() -> Self {
        Self { shape: Axes::new(), strides: Axes::new(), offset: 0 }
    }

    /// Sets this value to the layout of [`new`](Self::new) with strides. After an error the value is invalid.
    pub(crate) fn set_strided(
        &mut self,
        shape: &[usize],
        strides: &[isize],
        offset: isize,
    ) -> Result<(), LayoutError> {
        *self = Self { shape: Axes::from(shape), strides: Axes::from(strides), offset };
        self.check()
    }

    /// Becomes the layout that [`new`](Self::new) gives without strides, as [`set_strided`](Self::set_strided) does. Tells how many
    /// elements it reaches over from `offset` on: its size, or more where that is 0.
    pub(crate) fn set_dense(
        &mut self,
        shape: &[usize],
        offset: isize,
        order: Order,
    ) -> Result<usize, LayoutError> {
        let ndim = shape.len();
        if ndim > MAX_NDIM {
            return Err(LayoutError::TooManyAxes { found: ndim });
        }
        self.offset = offset;
        self.shape.set_len(ndim);
        self.strides.set_len(ndim);
        // Slices of known length, so that the compiler omits the bound checks below.
        let (sizes, strides) = (&mut self.shape[..ndim], &mut self.strides[..ndim]);
        let mut step = 1_usize;
        for k in 0..ndim {
            let axis = if order == Order::C { ndim.wrapping_sub(k).wrapping_sub(1) } else { k };
            let size = shape[axis];
            sizes[axis] = size;
            strides[axis] = step.cast_signed();
            step = checked_product(step, size)
                .ok_or_else(|| LayoutError::TooManyElements { shape: shape.to_vec() })?;
        }
        // Without gaps the reach is one less than the size, and L3 follows from L2.
        if offset != 0 {
            self.check_reach()?;
        }
        Ok(step)
    }

    /// A layout whose offset is chosen so that its lowest element is the first of the memory:
    /// what an array over new memory gets.
    ///
    /// ```
    /// use usm_array::{Layout, Order};
    ///
    /// let layout = Layout::with_automatic_offset(&[2, 2], Some(&[2, -1]), Order::C)?;
    /// assert_eq!(layout.offset(), 1);
    /// assert_eq!(layout.required_len(), 4);
    /// # Ok::<(), usm_array::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Layout::new`].
    pub fn with_automatic_offset(
        shape: &[usize],
        strides: Option<&[isize]>,
        order: Order,
    ) -> Result<Self, LayoutError> {
        let layout = Self::new(shape, strides, 0, order);
        if strides.is_none() {
            return layout; // without gaps the lowest element is the first one
        }
        let layout = layout?;
        match layout.extent() {
            Some(extent) if extent.min != 0 => layout.with_offset(0_isize.saturating_sub(extent.min)),
            _ => Ok(layout),
        }
    }

    /// The number of elements that the memory must have for a layout without gaps at offset 0, at least 1: what
    /// [`required_len`](Self::required_len) would be of it.
    pub(crate) fn contiguous_len(shape: &[usize]) -> Result<usize, LayoutError> {
        check_size(shape)?;
        Ok(shape.iter().product::<usize>().max(1)) // fits by L2
    }

    /// The same shape and strides at another offset, in elements.
    ///
    /// # Errors
    /// - [`LayoutError::OffsetOverflow`]: offset plus reach does not fit into `isize`
    pub fn with_offset(&self, offset: isize) -> Result<Self, LayoutError> {
        Self::checked(self.shape.clone(), self.strides.clone(), offset)
    }

    /// Checks L1 to L3, and returns the one that fails.
    pub(super) fn checked(
        shape: Axes<usize>,
        strides: Axes<isize>,
        offset: isize,
    ) -> Result<Self, LayoutError> {
        let made = Self { shape, strides, offset };
        made.check()?;
        Ok(made)
    }

    /// Makes L3 hold for a view without elements, whose strides mean nothing: they become 0 where they reach too far. Else as `check`.
    pub(super) fn settle(&mut self) -> Result<(), LayoutError> {
        match self.check() {
            Err(LayoutError::ExtentOverflow { .. } | LayoutError::OffsetOverflow { .. })
                if self.is_empty() =>
            {
                self.strides.fill(0);
                self.check()
            }
            checked => checked,
        }
    }

    /// Whether L1 to L3 hold.
    pub(super) fn check(&self) -> Result<(), LayoutError> {
        check_size(&self.shape)?; // L2 and half of L1
        self.check_reach()
    }

    /// Whether L3 and the rest of L1 hold.
    fn check_reach(&self) -> Result<(), LayoutError> {
        let Self { shape, strides, offset } = self;
        if shape.len() != strides.len() {
            return Err(LayoutError::StridesLength { ndim: shape.len(), found: strides.len() });
        }
        let Some((min, max)) = checked_reach(shape, strides) else {
            return Err(LayoutError::ExtentOverflow { shape: shape.to_vec(), strides: strides.to_vec() });
        };
        // `offset + max + 1` is the required length, so it has to fit as well.
        let end = offset.checked_add(max).and_then(|last| last.checked_add(1));
        if offset.checked_add(min).is_none() || end.is_none() {
            return Err(LayoutError::OffsetOverflow { offset: *offset, min, max });
        }
        Ok(())
    }
}

/// L2 and the bound on the number of axes of L1.
pub(super) fn check_size(shape: &[usize]) -> Result<(), LayoutError> {
    if shape.len() > MAX_NDIM {
        return Err(LayoutError::TooManyAxes { found: shape.len() });
    }
    let product = shape.iter().try_fold(1_usize, |product, &size| checked_product(product, size));
    product.map(|_| ()).ok_or_else(|| LayoutError::TooManyElements { shape: shape.to_vec() })
}

/// The product of L2 with one more size. Zeros count as one: contiguous strides of an empty array are products of the other sizes.
fn checked_product(product: usize, size: usize) -> Option<usize> {
    product.checked_mul(size.max(1)).filter(|&product| isize::try_from(product).is_ok())
}

/// `lo` and `hi` of L3, if they and their distance plus one fit.
fn checked_reach(shape: &[usize], strides: &[isize]) -> Option<(isize, isize)> {
    let mut min = 0_isize;
    let mut max = 0_isize;
    for (&n, &stride) in shape.iter().zip(strides) {
        let steps = isize::try_from(n.saturating_sub(1)).ok()?;
        let reach = stride.checked_mul(steps)?;
        if reach < 0 {
            min = min.checked_add(reach)?;
        } else {
            max = max.checked_add(reach)?;
        }
    }
    max.checked_sub(min)?.checked_add(1)?;
    Some((min, max))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::brute_force::{displacements, wide_layouts};
    use super::*;

    #[test]
    fn strides_follow_from_the_order() {
        let strides = |shape, order| Layout::contiguous(shape, order).expect("small").strides().to_vec();
        assert_eq!(strides(&[2, 3, 4], Order::C), [12, 4, 1]);
        assert_eq!(strides(&[2, 3, 4], Order::F), [1, 2, 6]);
        assert_eq!(strides(&[], Order::C), [0_isize; 0]);
        assert_eq!(strides(&[2, 0, 3], Order::C), [3, 3, 1]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let max = isize::MAX.cast_unsigned();
        assert!(Layout::contiguous(&[max], Order::C).is_ok());
        assert!(matches!(
            Layout::contiguous(&[1 << 31, 1 << 31, 2], Order::C),
            Err(LayoutError::TooManyElements { .. })
        ));
        // A zero does not excuse the others.
        assert!(matches!(
            Layout::contiguous(&[0, max, 2], Order::C),
            Err(LayoutError::TooManyElements { .. })
        ));
        assert!(matches!(
            Layout::contiguous(&[1; 65], Order::C),
            Err(LayoutError::TooManyAxes { found: 65 })
        ));
        assert!(Layout::contiguous(&[1; 64], Order::C).is_ok());
        assert!(matches!(
            Layout::new(&[2, 2], Some(&[1]), 0, Order::C),
            Err(LayoutError::StridesLength { ndim: 2, found: 1 })
        ));
        assert!(matches!(
            Layout::new(&[3], Some(&[isize::MAX]), 0, Order::C),
            Err(LayoutError::ExtentOverflow { .. })
        ));
        assert!(matches!(
            Layout::new(&[2], Some(&[1]), isize::MAX, Order::C),
            Err(LayoutError::OffsetOverflow { min: 0, max: 1, .. })
        ));
        assert!(matches!(
            Layout::new(&[2], Some(&[-1]), isize::MIN, Order::C),
            Err(LayoutError::OffsetOverflow { min: -1, max: 0, .. })
        ));
    }

    proptest! {
        /// With numbers of any size, a layout exists exactly if its numbers fit.
        #[test]
        fn exists_exactly_if_it_fits((shape, strides, offset) in wide_layouts()) {
            let reach: Vec<i128> = shape.iter().zip(&strides)
                .map(|(&n, &s)| (n.max(1) as i128 - 1) * s as i128)
                .collect();
            let sum = |sign: i128| {
                let signed = reach.iter().filter(|r| r.signum() == sign);
                signed.fold(0_i128, |sum, &r| sum.saturating_add(r))
            };
            let (lo, hi) = (sum(-1), sum(1));
            let size = shape.iter().fold(1_i128, |size, &n| size.saturating_mul(n.max(1) as i128));
            let fits = |x: i128| isize::try_from(x).is_ok();
            let expected = fits(size) && fits(lo) && fits(hi)
                && fits(hi.saturating_sub(lo).saturating_add(1))
                && fits((offset as i128).saturating_add(lo))
                && fits((offset as i128).saturating_add(hi).saturating_add(1));
            let made = Layout::new(&shape, Some(&strides), offset, Order::C);
            prop_assert_eq!(made.is_ok(), expected, "{:?}", made);
        }

        #[test]
        fn contiguous_layouts_visit_every_place_once(shape in prop::collection::vec(0_usize..5, 0..5)) {
            let c = Layout::contiguous(&shape, Order::C).expect("small");
            let expected: Vec<i128> = (0..c.size() as i128).collect();
            prop_assert_eq!(displacements(&c), &expected[..]);
            let f = Layout::contiguous(&shape, Order::F).expect("small");
            let mut places = displacements(&f);
            places.sort();
            prop_assert_eq!(places, expected);
        }
    }
}
