//! The lowest and the highest element of a layout, and the memory it needs

use super::Layout;

/// The lowest and the highest element displacement of a layout with elements, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// Lowest displacement, in elements
    pub min: isize,
    /// Highest displacement, in elements
    pub max: isize,
}

impl Extent {
    /// Number of elements from the lowest to the highest one, gaps included; at least 1.
    ///
    /// Never overflows for the extent of a layout.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "an extent has at least one element")]
    pub const fn len(self) -> usize {
        self.max.abs_diff(self.min) + 1
    }
}

impl Layout {
    /// The displacements the elements span, relative to the element with index zero; `None` when
    /// there are no elements.
    ///
    /// ```
    /// use usm_array::{Extent, Layout, Order};
    ///
    /// let layout = Layout::new(&[2, 2], Some(&[2, -1]), 5, Order::C)?;
    /// assert_eq!(layout.extent(), Some(Extent { min: -1, max: 2 }));
    /// assert_eq!(layout.extent_with_offset(), Some(Extent { min: 4, max: 7 }));
    /// # Ok::<(), usm_array::LayoutError>(())
    /// ```
    #[must_use]
    pub fn extent(&self) -> Option<Extent> {
        let mut extent = Extent { min: 0, max: 0 };
        for (&n, &stride) in self.shape.iter().zip(&*self.strides) {
            // Neither product nor sums overflow, by L3.
            let reach = stride * n.checked_sub(1)?.cast_signed();
            if reach < 0 {
                extent.min += reach;
            } else {
                extent.max += reach;
            }
        }
        Some(extent)
    }

    /// The displacements the elements span, relative to the start of the memory; `None` when
    /// there are no elements.
    #[must_use]
    pub fn extent_with_offset(&self) -> Option<Extent> {
        // The sums do not overflow, by L3.
        self.extent().map(|extent| Extent { min: self.offset + extent.min, max: self.offset + extent.max })
    }

    /// Number of elements the memory must have to hold every element, at least 1, so that an
    /// empty array has an address too.
    ///
    /// Elements below the start of the memory are not counted: no length covers them.
    ///
    /// ```
    /// use usm_array::{Layout, Order};
    ///
    /// let layout = Layout::new(&[2, 3], Some(&[6, 1]), 0, Order::C)?;
    /// assert_eq!(layout.required_len(), 9);
    /// # Ok::<(), usm_array::LayoutError>(())
    /// ```
    #[must_use]
    pub fn required_len(&self) -> usize {
        self.extent_with_offset()
            .and_then(|extent| usize::try_from(extent.max + 1).ok()) // in range by L3
            .unwrap_or(0)
            .max(1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Order;
    use super::super::brute_force::{displacements, small_layouts};
    use super::*;

    #[test]
    fn automatic_offsets_of_the_container_specification() {
        for (shape, strides, offset, len) in [
            (&[2, 2][..], &[2, -1][..], 1, 4),
            (&[2, 3], &[6, 1], 0, 9),
            (&[4, 2], &[-5, -2], 17, 18),
            (&[5], &[0], 0, 1),
            (&[0, 4], &[4, 1], 0, 1),
            (&[], &[], 0, 1),
        ] {
            let layout = Layout::with_automatic_offset(shape, Some(strides), Order::C)
                .expect("small layouts are valid");
            assert_eq!(layout.offset(), offset, "{shape:?} {strides:?}");
            assert_eq!(layout.required_len(), len, "{shape:?} {strides:?}");
        }
    }

    #[test]
    fn the_largest_reach_does_not_overflow() {
        let layout = Layout::new(&[2], Some(&[isize::MAX - 1]), 0, Order::C).expect("fits");
        assert_eq!(layout.required_len(), isize::MAX.cast_unsigned());
        let low = Layout::new(&[2], Some(&[1 - isize::MAX]), 0, Order::C).expect("fits");
        assert_eq!(low.extent().expect("not empty").len(), isize::MAX.cast_unsigned());
        assert_eq!(low.required_len(), 1);
    }

    proptest! {

        #[test]
        fn extents_equal_brute_force(layout in small_layouts()) {
            let places = displacements(&layout);
            let bounds = places.iter().min().zip(places.iter().max());
            let found = layout.extent_with_offset().map(|e| (e.min as i128, e.max as i128));
            prop_assert_eq!(found, bounds.map(|(&min, &max)| (min, max)));
            prop_assert_eq!(layout.size(), places.len());
            prop_assert_eq!(layout.is_empty(), places.is_empty());
            let needed = places.iter().max().map_or(1, |&max| (max + 1).max(1));
            prop_assert_eq!(layout.required_len() as i128, needed);
            if let Some(extent) = layout.extent() {
                prop_assert_eq!(extent.min + layout.offset(), found.map_or(0, |f| f.0 as isize));
            }
        }

        #[test]
        fn an_automatic_offset_puts_the_lowest_element_first(layout in small_layouts()) {
            let auto = Layout::with_automatic_offset(layout.shape(), Some(layout.strides()), Order::C)
                .expect("small");
            prop_assert_eq!(displacements(&auto).into_iter().min().unwrap_or(0), 0);
        }
    }
}
