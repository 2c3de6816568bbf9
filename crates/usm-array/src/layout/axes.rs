//! Per-axis numbers, kept inline for the ranks that occur in practice

use std::fmt;
use std::ops::{Deref, DerefMut};

/// Up to this many axes need no heap allocation.
const INLINE_AXES: usize = 6;

/// One number per axis: a vector without allocation for up to six axes.
///
/// ```
/// use usm_array::Axes;
///
/// let shape: Axes<usize> = [4, 3].into_iter().rev().collect();
/// assert_eq!((shape.len(), &shape[..]), (2, &[3, 4][..]));
/// ```
// Views are made of clones, so a clone has to be fast: it copies all inline numbers, used or not.
#[expect(
    clippy::box_collection,
    reason = "three words fewer to copy with each array, for those of many axes one more to follow"
)]
pub struct Axes<T> {
    /// All numbers where there are more than `INLINE_AXES`.
    heap: Option<Box<Vec<T>>>,
    /// How many of `inline` count otherwise.
    len: usize,
    inline: [T; INLINE_AXES],
}

impl<T: Copy + Default> Axes<T> {
    /// No axes.
    #[must_use]
    pub fn new() -> Self {
        Self { heap: None, len: 0, inline: [T::default(); INLINE_AXES] }
    }

    /// One more axis behind the others.
    #[inline]
    pub fn push(&mut self, value: T) {
        match self.inline.get_mut(self.len) {
            Some(free) if self.heap.is_none() => {
                *free = value;
                self.len += 1;
            }
            _ => self.on_heap(|numbers| numbers.push(value)),
        }
    }

    /// Inserts `count` zeros before all other numbers.
    #[inline]
    pub(crate) fn prepend_default(&mut self, count: usize) {
        if count > 0 {
            let len = self.len();
            (0..count).for_each(|_| self.push(T::default()));
            (0..len).rev().for_each(|place| self.swap(place, place + count));
        }
    }

    /// Sets the length. The caller has to set the numbers: they may be old ones.
    #[inline]
    pub(crate) fn set_len(&mut self, len: usize) {
        if len <= INLINE_AXES {
            self.heap = None;
            self.len = len;
        } else {
            self.on_heap(|numbers| numbers.resize(len, T::default()));
        }
    }

    /// All numbers but the first one.
    #[inline(always)] // as `clone`
    pub(crate) fn without_first(&self) -> Self {
        let heap = match &self.heap {
            None => None,
            Some(numbers) => Self::heap_of(&numbers[1..]),
        };
        let [_, b, c, d, e, f] = self.inline;
        Self { heap, len: self.len.saturating_sub(1), inline: [b, c, d, e, f, T::default()] }
    }

    /// Puts the last number first.
    #[inline]
    pub(crate) fn reverse(&mut self) {
        match (&self.heap, self.len) {
            (None, 2) => self.inline.swap(0, 1), // nearly always, and many times as short
            _ => self[..].reverse(),
        }
    }

    /// Forgets all numbers but the first ones.
    #[inline]
    pub(crate) fn truncate(&mut self, len: usize) {
        match self.heap {
            None => self.len = self.len.min(len),
            Some(_) => self.on_heap(|numbers| numbers.truncate(len)),
        }
    }

    // Apart, so that the usual case is short enough to be inlined.
    #[cold]
    fn on_heap(&mut self, change: impl FnOnce(&mut Vec<T>)) {
        let mut numbers = self.heap.take().unwrap_or_else(|| Box::new(self.to_vec()));
        change(&mut numbers);
        *self = if numbers.len() > INLINE_AXES {
            Self { heap: Some(numbers), ..Self::new() }
        } else {
            Self::from(&numbers[..])
        };
    }
}

impl<T> Deref for Axes<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.heap {
            None => &self.inline[..self.len.min(INLINE_AXES)],
            Some(heap) => heap,
        }
    }
}

impl<T> DerefMut for Axes<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.heap {
            None => &mut self.inline[..self.len.min(INLINE_AXES)],
            Some(heap) => heap,
        }
    }
}

impl<T: Copy + Default> Default for Axes<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Copy + Default> FromIterator<T> for Axes<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut axes = Self::new();
        axes.extend(values);
        axes
    }
}

impl<T: Copy + Default> Extend<T> for Axes<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        values.into_iter().for_each(|value| self.push(value));
    }
}

impl<T: Copy + Default> From<&[T]> for Axes<T> {
    fn from(values: &[T]) -> Self {
        if values.len() > INLINE_AXES {
            return Self { heap: Some(Box::new(values.to_vec())), ..Self::new() };
        }
        let mut axes = Self { len: values.len(), ..Self::new() };
        for (place, &value) in axes.inline.iter_mut().zip(values) {
            *place = value;
        }
        axes
    }
}

impl<T: Copy> Clone for Axes<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        let heap = match &self.heap {
            None => None,
            Some(numbers) => Self::heap_of(numbers),
        };
        Self { heap, len: self.len, inline: self.inline }
    }
}

impl<T: Copy> Axes<T> {
    // Separate parts instead of a whole value, so that the inline numbers are copied once.
    #[cold]
    #[expect(clippy::box_collection, reason = "that of the field")]
    fn heap_of(numbers: &[T]) -> Option<Box<Vec<T>>> {
        Some(Box::new(numbers.to_vec()))
    }
}

// Where the numbers are kept is not part of their value.
impl<T: PartialEq> PartialEq for Axes<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Axes<T> {}

impl<T: fmt::Debug> fmt::Debug for Axes<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_axes_keeps_its_order() {
        for count in 0..=2 * INLINE_AXES + 1 {
            let values: Vec<usize> = (0..count).collect();
            let axes = Axes::from(&values[..]);
            assert_eq!(&*axes, &values[..]);
            assert_eq!(axes.heap.is_some(), count > INLINE_AXES);
        }
    }

    #[test]
    fn axes_come_first_and_go_last() {
        for count in 0..=INLINE_AXES + 2 {
            let values: Vec<usize> = (1..=count).collect();
            for added in 0..=INLINE_AXES + 2 {
                let mut axes = Axes::from(&values[..]);
                axes.prepend_default(added);
                assert_eq!(axes[added..], values);
                assert_eq!(axes.len(), added + count);
                for len in 0..=axes.len() + 1 {
                    let mut fewer = axes.clone();
                    fewer.truncate(len);
                    assert_eq!(fewer[..], axes[..len.min(axes.len())]);
                    assert_eq!(fewer.heap.is_some(), fewer.len() > INLINE_AXES);
                }
            }
        }
    }

    #[test]
    fn equality_ignores_the_storage() {
        let on_heap = Axes { heap: Some(Box::new(vec![1, 2])), ..Axes::new() };
        assert_eq!(Axes::from(&[1, 2][..]), on_heap);
    }
}
