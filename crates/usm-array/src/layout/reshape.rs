//! The strides of another shape, where there are any
//!
//! `array/views/reshape.rs` makes views of these layouts, `manipulate/reshape_copy.rs` copies where there is none.

use super::{Axes, Layout, LayoutError, Order};

impl Layout {
    /// The same elements in the given order with another shape; `None` if no strides can say where they are, so that only a
    /// copy has that shape. One size may be -1, it follows from the others.
    ///
    /// A view exists exactly if there are strides for it. Axes of size 1 are free, repeated axes (stride 0) can be split, and
    /// merged with other repeated ones; a layout without elements has every shape without elements.
    ///
    /// ```
    /// use usm_array::{Layout, Order};
    ///
    /// let layout = Layout::contiguous(&[4, 6], Order::C)?;
    /// let view = layout.reshape_view(&[2, 2, -1], Order::C)?;
    /// assert_eq!(view, Some(Layout::contiguous(&[2, 2, 6], Order::C)?));
    /// assert_eq!(layout.transpose().reshape_view(&[-1], Order::C)?, None);
    /// # Ok::<(), usm_array::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// - [`LayoutError::NegativeSize`]: a size below -1
    /// - [`LayoutError::RepeatedUnknownSize`]: more than one size of -1
    /// - [`LayoutError::ReshapeSize`]: another number of elements, or none that makes -1 a size
    /// - [`LayoutError::TooManyAxes`]: too many axes
    pub fn reshape_view(&self, shape: &[isize], order: Order) -> Result<Option<Self>, LayoutError> {
        let shape = self.resolve_shape(shape)?;
        if self.is_empty() {
            let mut view = Self::contiguous(&shape, order)?;
            view.offset = self.offset;
            view.settle()?;
            return Ok(Some(view));
        }
        // From the axis that varies fastest to the one that varies slowest.
        let fastest_first = |k: usize, ndim: usize| if order == Order::C { ndim - 1 - k } else { k };
        let mut runs = AxisRuns::of((0..self.ndim()).map(|k| {
            let axis = fastest_first(k, self.ndim());
            (self.shape[axis], self.strides[axis])
        }));
        let mut strides: Axes<isize> = shape.iter().map(|_| 0).collect();
        for k in 0..shape.len() {
            let axis = fastest_first(k, shape.len());
            match runs.take(shape[axis]) {
                Some(stride) => strides[axis] = stride,
                None => return Ok(None),
            }
        }
        // The same displacements with fewer or more axes: L3 holds.
        Self::checked(shape, strides, self.offset).map(Some)
    }

    /// The shape with the number of elements that this layout has, in which -1 is replaced.
    ///
    /// # Errors
    /// The errors of [`Layout::reshape_view`] but the last one.
    pub(crate) fn resolve_shape(&self, shape: &[isize]) -> Result<Axes<usize>, LayoutError> {
        let refused = || LayoutError::ReshapeSize { size: self.size(), shape: shape.to_vec() };
        let mut known = Some(1_usize);
        let mut unknown = None;
        let mut sizes = Axes::new();
        for (axis, &size) in shape.iter().enumerate() {
            match usize::try_from(size) {
                Ok(size) => known = known.and_then(|known| known.checked_mul(size)),
                Err(_) if size != -1 => {
                    return Err(LayoutError::NegativeSize { argument: "shape", axis, size });
                }
                Err(_) if unknown.is_some() => {
                    return Err(LayoutError::RepeatedUnknownSize { shape: shape.to_vec() });
                }
                Err(_) => unknown = Some(axis),
            }
            sizes.push(size.unsigned_abs());
        }
        // A product with a zero may overflow on its way there.
        let known = if sizes.contains(&0) { 0 } else { known.ok_or_else(refused)? };
        match unknown {
            Some(axis) if known != 0 && self.size().is_multiple_of(known) => {
                sizes[axis] = self.size() / known
            }
            None if known == self.size() => {}
            _ => return Err(refused()),
        }
        Ok(sizes)
    }
}

/// The axes that are left to be given out, from the one that varies fastest, as runs of equal steps that are as long as
/// possible: an axis belongs to the run before it if it goes on where that one ends.
struct AxisRuns {
    counts: Axes<usize>,
    strides: Axes<isize>,
    next: usize,
}

impl AxisRuns {
    fn of(axes: impl Iterator<Item = (usize, isize)>) -> Self {
        let mut runs = Self { counts: Axes::new(), strides: Axes::new(), next: 0 };
        for (count, stride) in axes.filter(|&(count, _)| count != 1) {
            match (runs.counts.last_mut(), runs.strides.last()) {
                (Some(run), Some(step)) if step.checked_mul(run.cast_signed()) == Some(stride) => {
                    *run *= count
                }
                _ => {
                    runs.counts.push(count);
                    runs.strides.push(stride);
                }
            }
        }
        runs
    }

    /// The stride of an axis of the given size that comes next, if it lies within one run.
    ///
    /// A size that does not divide the run would end inside a step of the next axis, which only one longer run allows.
    fn take(&mut self, size: usize) -> Option<isize> {
        if size == 1 {
            return Some(self.strides.get(self.next).or(self.strides.last()).copied().unwrap_or(1));
        }
        let (count, stride) = (self.counts.get_mut(self.next)?, self.strides.get_mut(self.next)?);
        if !count.is_multiple_of(size) {
            return None;
        }
        let taken = *stride;
        *count /= size;
        if *count == 1 {
            self.next += 1;
        } else {
            *stride *= size.cast_signed(); // a step within the run, by L3
        }
        Some(taken)
    }
}

#[cfg(test)]
mod tests;
