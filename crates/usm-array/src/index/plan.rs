//! Where the elements of an index are: numbers only

use std::ops::Range;

use crate::layout::{Layout, LayoutError, Order};

/// The elements of an index, in row-major order of its result: loops over axes of the array, in the middle of which picked places
/// take the place of some axes.
#[derive(Debug)]
pub(super) struct Plan {
    // Invariant Q1: Every sum of a displacement of `outer`, one of `picked` and one of `inner` leads to an element of the array the plan is
    //     for, counted from its lowest one.
    pub(super) outer: Layout,
    pub(super) picked: Vec<isize>,
    pub(super) inner: Layout,
    // Invariant Q2: The shape of `outer`, one of as many elements as `picked`, and the shape of `inner`, one after the other.
    shape: Vec<usize>,
}

impl Plan {
    /// From sizes and strides of the axes before and behind the picked places. The displacements must be as Q1 says.
    pub(super) fn new(
        outer: (&[usize], &[isize]),
        picked_shape: &[usize],
        picked: Vec<isize>,
        inner: (&[usize], &[isize]),
    ) -> std::result::Result<Self, LayoutError> {
        let shape = [outer.0, picked_shape, inner.0].concat();
        Layout::contiguous(&shape, Order::C)?; // not too many axes or elements
        Ok(Self {
            outer: Layout::new(outer.0, Some(outer.1), 0, Order::C)?,
            picked,
            inner: Layout::new(inner.0, Some(inner.1), 0, Order::C)?,
            shape,
        })
    }

    /// Picked places without axes around them.
    pub(super) fn of_places(shape: &[usize], picked: Vec<isize>) -> std::result::Result<Self, LayoutError> {
        Self::new((&[], &[]), shape, picked, (&[], &[]))
    }

    /// The same loops around other places of the same number, for an array for which Q1 holds with them.
    pub(super) fn with_picked(&self, picked: Vec<isize>) -> Self {
        Self { outer: self.outer.clone(), picked, inner: self.inner.clone(), shape: self.shape.clone() }
    }

    /// Shape of the result.
    pub(super) fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// From the lowest to behind the highest element, counted from the lowest one of the array; `None` without elements.
    pub(super) fn span(&self) -> Option<Range<usize>> {
        let (outer, inner) = (self.outer.extent()?, self.inner.extent()?);
        let ends = |(low, high): (isize, isize), &picked| (low.min(picked), high.max(picked));
        let (low, high) = self.picked.iter().fold((isize::MAX, isize::MIN), ends);
        if low > high {
            return None;
        }
        // Elements of the array, by Q1: none is below the lowest.
        let min = outer.min + low + inner.min;
        let max = outer.max + high + inner.max;
        Some(min.cast_unsigned()..max.cast_unsigned() + 1)
    }

    /// A layout of the result's shape, cut into the loops of the plan: before, at and behind the picked places.
    pub(super) fn cut(&self, values: &Layout) -> std::result::Result<[Layout; 3], LayoutError> {
        let (outer, inner) = (self.outer.ndim(), self.shape.len() - self.inner.ndim());
        let part = |axes: Range<usize>| {
            Layout::new(&values.shape()[axes.clone()], Some(&values.strides()[axes]), 0, Order::C)
        };
        Ok([part(0..outer)?, part(outer..inner)?, part(inner..self.shape.len())?])
    }
}
