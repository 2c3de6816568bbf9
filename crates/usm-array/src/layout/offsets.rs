//! From indices to displacements: one, or all of them in row-major order

use std::iter::FusedIterator;
use std::ops::Range;

use super::inner::unravel;
use super::{Axes, Layout, LayoutError};

impl Layout {
    /// Displacement of the element with the given index from the start of the memory, in
    /// elements. Indices are not negative here: index from the end with [`Layout::slice`].
    ///
    /// # Errors
    /// - [`LayoutError::IndexLength`]: not one index for each axis
    /// - [`LayoutError::UnsignedIndexOutOfBounds`]: an index is not below the size of its axis
    #[inline]
    pub fn offset_of(&self, index: &[usize]) -> Result<isize, LayoutError> {
        self.known_offset_of(index).ok_or_else(|| self.refusal_of(index))
    }

    /// As [`offset_of`](Self::offset_of), without the reason of a refusal: a loop of few instructions where the compiler knows the length.
    #[inline(always)]
    pub(crate) fn known_offset_of(&self, index: &[usize]) -> Option<isize> {
        let (shape, strides) = (self.shape(), self.strides());
        if index.len() != shape.len() || index.len() != strides.len() {
            return None;
        }
        let mut offset = self.offset;
        for axis in 0..index.len() {
            if index[axis] >= shape[axis] {
                return None;
            }
            // By L3 neither the product nor any partial sum leaves `isize`.
            offset += strides[axis] * index[axis].cast_signed();
        }
        Some(offset)
    }

    /// Why there is no element with an index.
    #[cold]
    #[inline(never)]
    pub(crate) fn refusal_of(&self, index: &[usize]) -> LayoutError {
        let mut axes = index.iter().zip(self.shape()).enumerate();
        let outside = axes.find(|(_, (index, size))| index >= size);
        match outside.filter(|_| index.len() == self.ndim()) {
            Some((axis, (&index, &size))) => LayoutError::UnsignedIndexOutOfBounds { axis, index, size },
            None => LayoutError::IndexLength { ndim: self.ndim(), found: index.len() },
        }
    }

    /// Displacements of all elements from the start of the memory, in row-major order.
    #[must_use]
    pub fn offsets(&self) -> Offsets<'_> {
        self.offsets_in(0..self.size())
    }

    /// Displacements of the elements with the given numbers, counted in row-major order; as many as there are.
    pub(crate) fn offsets_in(&self, numbers: Range<usize>) -> Offsets<'_> {
        let end = numbers.end.min(self.size());
        let start = numbers.start.min(end);
        let first = if start == end { 0 } else { start };
        let next = if first == 0 { self.offset } else { self.offset_of_number(first) };
        let index = unravel(first, &self.shape);
        Offsets { layout: self, index, next, end, remaining: end - start }
    }
}

/// Iterator over the displacements of all elements in row-major order, made by
/// [`Layout::offsets`].
#[derive(Clone, Debug)]
pub struct Offsets<'a> {
    layout: &'a Layout,
    // Index of the next element, whose displacement is `next`.
    index: Axes<usize>,
    next: isize,
    // Number of the element behind the last one.
    end: usize,
    remaining: usize,
}

impl Offsets<'_> {
    /// The index of the element that is next, if there is one.
    pub(crate) fn index(&self) -> &[usize] {
        &self.index
    }
}

impl Iterator for Offsets<'_> {
    type Item = isize;

    fn next(&mut self) -> Option<isize> {
        self.remaining = self.remaining.checked_sub(1)?;
        let current = self.next;
        // Each sum is the displacement of an element, so none overflows, by L3.
        for axis in (0..self.index.len()).rev() {
            let stride = self.layout.strides[axis];
            if self.index[axis] + 1 < self.layout.shape[axis] {
                self.index[axis] += 1;
                self.next += stride;
                break;
            }
            self.next -= stride * self.index[axis].cast_signed();
            self.index[axis] = 0;
        }
        Some(current)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining, Some(self.remaining))
    }
}

/// From the last element: each one costs a division for each axis.
impl DoubleEndedIterator for Offsets<'_> {
    fn next_back(&mut self) -> Option<isize> {
        self.remaining = self.remaining.checked_sub(1)?;
        self.end -= 1;
        Some(self.layout.offset_of_number(self.end))
    }
}

impl ExactSizeIterator for Offsets<'_> {}
impl FusedIterator for Offsets<'_> {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Order;
    use super::super::brute_force::{displacements, indices, small_layouts};
    use super::*;

    #[test]
    fn an_index_outside_is_refused() {
        let layout = Layout::contiguous(&[2, 3], Order::C).expect("small");
        assert_eq!(
            layout.offset_of(&[1, 3]),
            Err(LayoutError::UnsignedIndexOutOfBounds { axis: 1, index: 3, size: 3 })
        );
        assert_eq!(layout.offset_of(&[1]), Err(LayoutError::IndexLength { ndim: 2, found: 1 }));
        let error = layout.offset_of(&[usize::MAX, 0]).expect_err("two rows");
        let found = usize::MAX;
        let expected = format!("index {found} is out of bounds for axis 0 of size 2, allowed are 0 to 1");
        assert_eq!(error.to_string(), expected);
        let empty =
            Layout::contiguous(&[0], Order::C).expect("small").offset_of(&[0]).expect_err("no element");
        assert_eq!(empty.to_string(), "index 0 is out of bounds for axis 0 of size 0, allowed are none");
    }

    proptest! {
        #[test]
        fn offsets_equal_brute_force(
            layout in small_layouts(),
            first in 0_usize..40,
            last in 0_usize..80,
            ends in prop::collection::vec(any::<bool>(), 0..30),
        ) {
            let expected = displacements(&layout);
            let iterator = layout.offsets();
            prop_assert_eq!(iterator.len(), expected.len());
            prop_assert_eq!(iterator.map(|o| o as i128).collect::<Vec<_>>(), &expected[..]);
            let mut both = layout.offsets_in(first..last);
            let numbers = first.min(last).min(expected.len())..last.min(expected.len());
            let mut part = expected[numbers].iter();
            for from_back in ends {
                let found = if from_back { both.next_back() } else { both.next() };
                let place = if from_back { part.next_back() } else { part.next() };
                prop_assert_eq!(found.map(|o| o as i128), place.copied());
            }
            for (index, place) in indices(layout.shape()).iter().zip(expected) {
                prop_assert_eq!(layout.offset_of(index), Ok(place as isize));
            }
        }
    }
}
