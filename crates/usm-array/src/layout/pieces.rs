//! Parts of a layout: the places along one axis, and any strides within its span

use super::normalise::normalise_axis;
use super::{Layout, LayoutError, Order};

impl Layout {
    /// The layouts of the places along one axis, from the first to the last; the axis itself goes away.
    ///
    /// # Errors
    /// - [`LayoutError::AxisOutOfBounds`]: no such axis
    pub fn unstack(&self, axis: isize) -> Result<impl ExactSizeIterator<Item = Self> + use<>, LayoutError> {
        let axis = normalise_axis("axis", axis, self.ndim())?;
        let first = self.without(&[axis]);
        // Without elements the offset stays.
        let stride = if self.is_empty() { 0 } else { self.strides[axis] };
        Ok((0..self.shape[axis]).map(move |i| Self {
            offset: first.offset + stride * i.cast_signed(), // of an element, by L3
            ..first.clone()
        }))
    }

    /// Any shape and strides within the elements from the lowest to the highest of this layout, gaps included. The offset counts
    /// from the element with index zero; without elements it has no meaning and is not used.
    ///
    /// ```
    /// use usm_array::{Layout, LayoutError, Order};
    ///
    /// let vector = Layout::contiguous(&[6], Order::C)?;
    /// assert_eq!(vector.as_strided(&[2, 3], &[1, 2], 0)?.offsets().max(), Some(5));
    /// assert!(matches!(vector.as_strided(&[2, 3], &[2, 2], 0), Err(LayoutError::OutsideSpan { max: 6, .. })));
    /// # Ok::<(), LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// - [`LayoutError::OutsideSpan`]: an element would lie below the lowest or above the highest one
    /// - the errors of [`Layout::new`]
    pub fn as_strided(&self, shape: &[usize], strides: &[isize], offset: isize) -> Result<Self, LayoutError> {
        let strided = Self::new(shape, Some(strides), 0, Order::C)?;
        let Some(own) = strided.extent() else {
            return strided.with_offset(self.offset);
        };
        let span = self.extent();
        let reach = own.min.checked_add(offset).zip(own.max.checked_add(offset));
        match (span, reach) {
            (Some(span), Some((min, max))) if span.min <= min && max <= span.max => {
                // Index zero is one of the elements, whose displacement does not overflow.
                strided.with_offset(self.offset + offset)
            }
            _ => Err(LayoutError::OutsideSpan {
                shape: shape.to_vec(),
                strides: strides.to_vec(),
                offset,
                min: own.min.saturating_add(offset),
                max: own.max.saturating_add(offset),
                span,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Extent;
    use super::super::brute_force::{assert_maps, displacements, small_layouts};
    use super::*;

    #[test]
    fn an_empty_layout_spans_nothing() {
        let empty = Layout::new(&[0], Some(&[1]), 5, Order::C).expect("small");
        let refused = LayoutError::OutsideSpan {
            shape: vec![1],
            strides: vec![1],
            offset: 0,
            min: 0,
            max: 0,
            span: None,
        };
        assert_eq!(empty.as_strided(&[1], &[1], 0), Err(refused));
        assert_eq!(empty.as_strided(&[0, 2], &[1, 1], isize::MAX).expect("empty").offset(), 5);
    }

    #[test]
    fn the_message_has_the_numbers() {
        let layout = Layout::new(&[4], Some(&[-1]), 3, Order::C).expect("small");
        let error = layout.as_strided(&[2], &[3], -1).expect_err("outside");
        assert_eq!(
            error.to_string(),
            "shape [2] with strides [3] and offset -1 reaches from element -1 to 2 around index zero, allowed are \
             elements -3 to 0"
        );
        assert!(layout.as_strided(&[2], &[-3], 0).is_ok());
        assert!(matches!(layout.as_strided(&[1], &[0], isize::MIN), Err(LayoutError::OutsideSpan { .. })));
        assert!(matches!(
            layout.as_strided(&[1], &[], 0),
            Err(LayoutError::StridesLength { ndim: 1, found: 0 })
        ));
        let span = Some(Extent { min: -3, max: 0 });
        assert!(matches!(error, LayoutError::OutsideSpan { span: found, .. } if found == span));
    }

    #[test]
    fn an_empty_layout_is_unstacked_in_place() {
        let layout = Layout::new(&[3, 0], Some(&[100, 1]), 5, Order::C).expect("small");
        let pieces: Vec<_> = layout.unstack(0).expect("an axis").collect();
        assert_eq!(pieces.len(), 3);
        assert!(pieces.iter().all(|piece| piece.shape() == [0] && piece.offset() == 5));
        assert!(layout.unstack(2).is_err());
    }

    proptest! {
        #[test]
        fn pieces_are_the_places_along_the_axis(
            (layout, axis) in small_layouts().prop_flat_map(|layout| {
                let layout = layout.expand_dims(&[-1]).expect("small");
                let axes = 0..layout.ndim();
                (Just(layout), axes)
            }),
        ) {
            let pieces: Vec<_> = layout.unstack(axis.cast_signed()).expect("an axis").collect();
            prop_assert_eq!(pieces.len(), layout.shape()[axis]);
            for (place, piece) in pieces.iter().enumerate() {
                let back = |index: &[usize]| [&index[..axis], &[place], &index[axis..]].concat();
                assert_maps(piece, &layout, back)?;
            }
        }

        #[test]
        fn strides_are_allowed_exactly_within_the_span(
            layout in small_layouts(), wanted in small_layouts(), offset in -30_isize..30,
        ) {
            let places = displacements(&layout);
            let reached = |offset: isize| {
                let moved = Layout::new(wanted.shape(), Some(wanted.strides()), offset, Order::C).expect("small");
                displacements(&moved)
            };
            let wanted_places = reached(layout.offset() + offset);
            let within = wanted_places.iter()
                .all(|place| places.iter().min() <= Some(place) && Some(place) <= places.iter().max());
            let found = layout.as_strided(wanted.shape(), wanted.strides(), offset);
            prop_assert_eq!(found.is_ok(), within);
            if let Ok(found) = found {
                prop_assert_eq!(displacements(&found), wanted_places);
            }
        }
    }
}
