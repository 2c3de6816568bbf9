//! Per-axis numbers, kept inline for the ranks that occur in practice

use std::fmt;
use std::ops::{Deref, DerefMut};

use arrayvec::ArrayVec;

/// Up to this many axes need no heap allocation.
const INLINE_AXES: usize = 6;

/// One number per axis: a vector without allocation for up to six axes.
pub(crate) enum Axes<T> {
    Inline(ArrayVec<T, INLINE_AXES>),
    Heap(Vec<T>),
}

impl<T: Copy> Axes<T> {
    pub(crate) fn new() -> Self {
        Self::Inline(ArrayVec::new())
    }

    #[inline]
    pub(crate) fn push(&mut self, value: T) {
        match self {
            Self::Inline(inline) if !inline.is_full() => inline.push(value),
            _ => self.push_on_heap(value),
        }
    }

    // Apart, so that the usual case is short enough to be inlined.
    #[cold]
    fn push_on_heap(&mut self, value: T) {
        match self {
            Self::Inline(inline) => {
                let mut heap = Vec::with_capacity(2 * INLINE_AXES);
                heap.extend_from_slice(inline);
                heap.push(value);
                *self = Self::Heap(heap);
            }
            Self::Heap(heap) => heap.push(value),
        }
    }
}

impl<T> Deref for Axes<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Self::Inline(inline) => inline,
            Self::Heap(heap) => heap,
        }
    }
}

impl<T> DerefMut for Axes<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::Inline(inline) => inline,
            Self::Heap(heap) => heap,
        }
    }
}

impl<T: Copy> FromIterator<T> for Axes<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut axes = Self::new();
        values.into_iter().for_each(|value| axes.push(value));
        axes
    }
}

impl<T: Copy> From<&[T]> for Axes<T> {
    fn from(values: &[T]) -> Self {
        // Copied as a whole: most views begin with the axes of another layout.
        let mut inline = ArrayVec::new();
        match inline.try_extend_from_slice(values) {
            Ok(()) => Self::Inline(inline),
            Err(_) => Self::Heap(values.to_vec()),
        }
    }
}

impl<T: Copy> Clone for Axes<T> {
    fn clone(&self) -> Self {
        Self::from(&**self)
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
            assert_eq!(matches!(axes, Axes::Heap(_)), count > INLINE_AXES);
        }
    }

    #[test]
    fn equality_ignores_the_storage() {
        assert_eq!(Axes::from(&[1, 2][..]), Axes::Heap(vec![1, 2]));
    }
}
