//! Basic indexing: integers, slices, ellipsis and new axis with Python's meaning
//!
//! Reference: <https://docs.python.org/3/reference/datamodel.html> (`slice.indices`) and
//! <https://numpy.org/doc/stable/user/basics.indexing.html#basic-indexing>.

use super::{Layout, LayoutError, MAX_NDIM, SliceItems};

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
    pub fn slice(&self, items: impl SliceItems) -> Result<Self, LayoutError> {
        items.with_items(|items| {
            let mut view = self.clone();
            view.narrow(items)?;
            Ok(view)
        })
    }

    /// The offset of the view at an index of the first axis, the key that is used most.
    ///
    /// # Errors
    /// The errors of [`slice`](Self::slice).
    #[inline]
    pub(crate) fn offset_at(&self, index: isize) -> Result<isize, LayoutError> {
        let (Some(&size), Some(&stride)) = (self.shape.first(), self.strides.first()) else {
            return Err(LayoutError::TooManyIndices { ndim: 0, found: 1 });
        };
        let from_start =
            from_start(index, size).ok_or(LayoutError::IndexOutOfBounds { axis: 0, index, size })?;
        // The place of an element, by L3; without elements there is none to move to.
        Ok(if self.is_empty() { self.offset } else { self.offset + stride * from_start.cast_signed() })
    }

    /// The view at an index of the first axis, with its offset.
    #[inline(always)]
    pub(crate) fn without_first_axis(&self, offset: isize) -> Self {
        // L1 to L3 hold for fewer axes from an element on.
        Self { shape: self.shape.without_first(), strides: self.strides.without_first(), offset }
    }

    /// Sets this value to the view of [`slice`](Self::slice). After an error the value is invalid.
    pub(crate) fn narrow(&mut self, items: &[SliceItem]) -> Result<(), LayoutError> {
        let ndim = self.ndim();
        if *items == [SliceItem::Ellipsis, SliceItem::NewAxis] && ndim < MAX_NDIM {
            self.shape.push(1);
            self.strides.push(0);
            return Ok(());
        }
        self.follow(items).map_err(|error| refusal(items, ndim, error))
    }

    fn follow(&mut self, items: &[SliceItem]) -> Result<(), LayoutError> {
        let new = items.iter().filter(|&&item| item == SliceItem::NewAxis).count();
        if new > MAX_NDIM {
            return Err(LayoutError::TooManyAxes { found: new });
        }
        // Without elements the offset stays: a moved one could leave the memory.
        let moves = !self.is_empty();
        self.shape.prepend_default(new);
        self.strides.prepend_default(new);
        let (shape, strides) = (&mut *self.shape, &mut *self.strides);
        let mut view = View { shape, strides, offset: 0, place: 0, next: new, axis: 0, had_ellipsis: false };
        for (i, &item) in items.iter().enumerate() {
            match item {
                SliceItem::Index(index) => view.index(index)?,
                SliceItem::Slice { start, stop, step } => view.range(start, stop, step)?,
                SliceItem::Ellipsis => view.ellipsis(&items[i + 1..])?,
                SliceItem::NewAxis => view.new_axis(),
            }
        }
        view.keep(view.shape.len() - view.next);
        let (ndim, offset) = (view.place, view.offset);
        self.shape.truncate(ndim);
        self.strides.truncate(ndim);
        if moves && ndim <= MAX_NDIM {
            // L1 was just checked. L2: no size became larger, new ones are 1. L3: index zero is an element of the source, or is
            // where one was before an axis became empty, and from there the strides reach elements of the source only.
            self.offset += offset;
            return Ok(());
        }
        self.settle()
    }
}

impl SliceItem {
    /// Whether it takes an axis of the source.
    const fn takes_axis(self) -> bool {
        matches!(self, Self::Index(_) | Self::Slice { .. })
    }
}

/// The error of the items as a whole, or else the first error at one item, with its numbers.
#[cold]
fn refusal(items: &[SliceItem], ndim: usize, error: LayoutError) -> LayoutError {
    let count = |wanted: fn(SliceItem) -> bool| items.iter().filter(|&&item| wanted(item)).count();
    let (ellipses, found) = (count(|item| item == SliceItem::Ellipsis), count(SliceItem::takes_axis));
    if ellipses > 1 {
        return LayoutError::RepeatedEllipsis { found: ellipses };
    }
    if found > ndim {
        return LayoutError::TooManyIndices { ndim, found };
    }
    match error {
        LayoutError::TooManyAxes { .. } => {
            let indices = count(|item| matches!(item, SliceItem::Index(_)));
            LayoutError::TooManyAxes { found: ndim - indices + count(|item| item == SliceItem::NewAxis) }
        }
        other => other,
    }
}

/// The view as far as the items were looked at: its axes before `place` are done, and those of the source from `next` on are still as
/// they are there. Between them lies free capacity for the new axes.
struct View<'a> {
    shape: &'a mut [usize],
    strides: &'a mut [isize],
    /// Displacement from index zero of the source; meaningless for a source without elements.
    offset: isize,
    place: usize,
    next: usize,
    /// How many axes of the source the items have taken.
    axis: usize,
    had_ellipsis: bool,
}

impl View<'_> {
    /// Takes whole axes, as many as given.
    #[inline]
    fn keep(&mut self, count: usize) {
        if self.place < self.next {
            for _ in 0..count {
                self.keep_one(self.shape[self.next], self.strides[self.next]);
            }
        } else {
            (self.place, self.next, self.axis) = (self.place + count, self.next + count, self.axis + count);
        }
    }

    /// Takes an axis in this form.
    #[inline]
    fn keep_one(&mut self, size: usize, stride: isize) {
        self.shape[self.place] = size;
        self.strides[self.place] = stride;
        self.place += 1;
        self.next += 1;
        self.axis += 1;
    }

    /// Moves the offset to an index of the next axis that is inside it.
    #[inline]
    fn advance(&mut self, index: usize) {
        // The displacement of an element, if there are any, which then does not overflow, by L3.
        self.offset = self.offset.wrapping_add(self.strides[self.next].wrapping_mul(index.cast_signed()));
    }

    #[inline]
    fn index(&mut self, index: isize) -> Result<(), LayoutError> {
        let size = self.size()?;
        let from_start = from_start(index, size);
        let from_start = from_start.ok_or(LayoutError::IndexOutOfBounds { axis: self.axis, index, size })?;
        self.advance(from_start);
        self.next += 1;
        self.axis += 1;
        Ok(())
    }

    #[inline]
    fn range(&mut self, start: Option<isize>, stop: Option<isize>, step: isize) -> Result<(), LayoutError> {
        if step == 0 {
            return Err(LayoutError::ZeroStep { axis: self.axis });
        }
        let (first, count) = adjust(self.size()?, start, stop, step);
        self.advance(first);
        // With two or more elements the product is a distance inside the source. With fewer it
        // is never used and may be too large, then the stride of the source stands in.
        let stride = self.strides[self.next];
        self.keep_one(count, stride.checked_mul(step).unwrap_or(stride));
        Ok(())
    }

    /// Leaves as many axes whole as the items behind it do not take.
    fn ellipsis(&mut self, behind: &[SliceItem]) -> Result<(), LayoutError> {
        let taken = behind.iter().filter(|item| item.takes_axis()).count();
        let whole = (self.shape.len() - self.next).checked_sub(taken);
        let whole = whole.filter(|_| !self.had_ellipsis).ok_or_else(|| self.malformed())?;
        self.had_ellipsis = true;
        self.keep(whole);
        Ok(())
    }

    /// Uses a part of the free capacity.
    #[inline]
    fn new_axis(&mut self) {
        self.shape[self.place] = 1;
        self.strides[self.place] = 0;
        self.place += 1;
    }

    /// The size of the next axis.
    #[inline]
    fn size(&self) -> Result<usize, LayoutError> {
        self.shape.get(self.next).copied().ok_or_else(|| self.malformed())
    }

    /// Marks an error that [`refusal`] describes.
    #[cold]
    fn malformed(&self) -> LayoutError {
        LayoutError::TooManyIndices { ndim: self.axis, found: self.axis + 1 }
    }
}

/// The index counted from the start of an axis, if it is one of it.
#[inline]
fn from_start(index: isize, size: usize) -> Option<usize> {
    if index < 0 {
        size.checked_sub(index.unsigned_abs())
    } else {
        Some(index.unsigned_abs()).filter(|&i| i < size)
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
