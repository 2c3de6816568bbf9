//! Basic indexing: integers, slices, ellipsis and new axis with Python's meaning
//!
//! Reference: <https://docs.python.org/3/reference/datamodel.html> (`slice.indices`) and
//! <https://numpy.org/doc/stable/user/basics.indexing.html#basic-indexing>.

use super::{Axes, Layout, LayoutError, MAX_NDIM};

/// One item between the brackets of an index expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SliceItem {
    /// `i`: one element, the axis goes away; negative counts from the end.
    Index(isize),
    /// `start:stop:step`: every `step`-th element from `start` to before `stop`; negative bounds
    /// count from the end, bounds outside are moved to the ends, a negative step goes backwards.
    Slice {
        /// First element; `None` is the end at which the step begins
        start: Option<isize>,
        /// Where to stop, itself not included; `None` is behind the end
        stop: Option<isize>,
        /// Distance of the elements taken; not 0
        step: isize,
    },
    /// `...`: as many full slices as it takes to reach the last axis; at most once.
    Ellipsis,
    /// `None` in Python: a new axis of size 1.
    NewAxis,
}

impl SliceItem {
    /// `:`, the whole axis.
    pub const FULL: Self = Self::Slice { start: None, stop: None, step: 1 };

    /// `start:stop`, of places along an axis, which fit by L2.
    pub(crate) const fn between(start: usize, stop: usize) -> Self {
        Self::Slice { start: Some(start.cast_signed()), stop: Some(stop.cast_signed()), step: 1 }
    }
}

impl Layout {
    /// A view of some of the elements, with the meaning of Python's `array[items]`. Axes without
    /// an item are taken whole.
    ///
    /// # Errors
    /// - [`LayoutError::IndexOutOfBounds`]: an integer outside its axis
    /// - [`LayoutError::ZeroStep`]: a slice with step 0
    /// - [`LayoutError::TooManyIndices`]: more integers and slices than axes
    /// - [`LayoutError::RepeatedEllipsis`]: more than one ellipsis
    /// - [`LayoutError::TooManyAxes`]: too many new axes
    pub fn slice(&self, items: &[SliceItem]) -> Result<Self, LayoutError> {
        let (mut consumed, mut ellipses) = (0, 0);
        for item in items {
            match item {
                SliceItem::Index(_) | SliceItem::Slice { .. } => consumed += 1,
                SliceItem::Ellipsis => ellipses += 1,
                SliceItem::NewAxis => {}
            }
        }
        if ellipses > 1 {
            return Err(LayoutError::RepeatedEllipsis { found: ellipses });
        }
        let Some(unnamed) = self.ndim().checked_sub(consumed) else {
            return Err(LayoutError::TooManyIndices { ndim: self.ndim(), found: consumed });
        };

        let mut view = Builder::new(self);
        for &item in items {
            match item {
                SliceItem::Index(index) => view.index(index)?,
                SliceItem::Slice { start, stop, step } => view.range(start, stop, step)?,
                SliceItem::Ellipsis => view.whole(unnamed),
                SliceItem::NewAxis => view.new_axis(),
            }
        }
        if ellipses == 0 {
            view.whole(unnamed);
        }
        view.finish()
    }
}

/// The view as far as it has been built, and the next axis of the source.
struct Builder<'a> {
    source_shape: &'a [usize],
    source_strides: &'a [isize],
    /// Without elements there is nothing to move to; the offset could leave the memory.
    moves: bool,
    axis: usize,
    shape: Axes<usize>,
    strides: Axes<isize>,
    offset: isize,
}

impl<'a> Builder<'a> {
    fn new(source: &'a Layout) -> Self {
        Self {
            source_shape: &source.shape,
            source_strides: &source.strides,
            moves: !source.is_empty(),
            axis: 0,
            shape: Axes::new(),
            strides: Axes::new(),
            offset: source.offset,
        }
    }

    fn finish(self) -> Result<Layout, LayoutError> {
        let Self { shape, strides, offset, .. } = self;
        if self.moves && shape.len() <= MAX_NDIM {
            // L1 was just asked. L2: no size became larger, new ones are 1. L3: index zero is an element of the source, or is
            // where one was before an axis became empty, and from there the strides reach elements of the source only.
            return Ok(Layout { shape, strides, offset });
        }
        Layout::checked(shape, strides, offset)
    }

    /// Moves the offset to an index of the current axis that is inside it.
    fn advance(&mut self, index: usize) {
        if self.moves {
            // The displacement of an element, which does not overflow, by L3.
            self.offset += self.source_strides[self.axis] * index.cast_signed();
        }
    }

    fn index(&mut self, index: isize) -> Result<(), LayoutError> {
        let size = self.source_shape[self.axis];
        let from_start = if index < 0 {
            size.checked_sub(index.unsigned_abs())
        } else {
            Some(index.unsigned_abs()).filter(|&i| i < size)
        };
        let from_start = from_start.ok_or(LayoutError::IndexOutOfBounds { axis: self.axis, index, size })?;
        self.advance(from_start);
        self.axis += 1;
        Ok(())
    }

    fn range(&mut self, start: Option<isize>, stop: Option<isize>, step: isize) -> Result<(), LayoutError> {
        if step == 0 {
            return Err(LayoutError::ZeroStep { axis: self.axis });
        }
        let stride = self.source_strides[self.axis];
        let (first, count) = adjust(self.source_shape[self.axis], start, stop, step);
        self.advance(first);
        self.shape.push(count);
        // With two or more elements the product is a distance inside the source. With fewer it
        // is never used and may be too large, then the stride of the source stands in.
        self.strides.push(stride.checked_mul(step).unwrap_or(stride));
        self.axis += 1;
        Ok(())
    }

    fn whole(&mut self, axes: usize) {
        for _ in 0..axes {
            self.shape.push(self.source_shape[self.axis]);
            self.strides.push(self.source_strides[self.axis]);
            self.axis += 1;
        }
    }

    fn new_axis(&mut self) {
        self.shape.push(1);
        self.strides.push(0);
    }
}

/// First index and number of indices of a slice of an axis. Without indices the first one is 0,
/// so that the offset stays inside.
fn adjust(size: usize, start: Option<isize>, stop: Option<isize>, step: isize) -> (usize, usize) {
    let n = size.cast_signed(); // sizes fit by L2
    // The places a bound can be moved to: before the first or after the last element is one
    // further than the elements themselves, on the side the step goes to.
    let (lowest, highest) = if step < 0 { (-1, n - 1) } else { (0, n) };
    let clamp = |bound: isize| {
        let from_start = if bound < 0 { bound + n } else { bound };
        from_start.clamp(lowest, highest)
    };
    let (default_start, default_stop) = if step < 0 { (highest, lowest) } else { (lowest, highest) };
    let start = start.map_or(default_start, clamp);
    let stop = stop.map_or(default_stop, clamp);

    let distance = if step < 0 { start - stop } else { stop - start };
    if distance <= 0 {
        return (0, 0);
    }
    let (distance, step) = (distance.unsigned_abs(), step.unsigned_abs());
    let count = if step == 1 { distance } else { (distance - 1) / step + 1 }; // a division costs as much as the rest
    (start.unsigned_abs(), count)
}

#[cfg(test)]
mod tests;
