//! Iteration over the elements of a view on several threads. No unsafe code

use std::ops::Range;

use rayon::iter::plumbing::{Consumer, Producer, ProducerCallback, UnindexedConsumer, bridge};
use rayon::iter::{IndexedParallelIterator, ParallelIterator};

use super::{ArrayView, Iter};
use crate::dtype::Element;

impl<T: Element> ArrayView<'_, T> {
    /// The elements in row-major order, on the threads of rayon. Worth it from some microseconds of work for each thread; see
    /// also [`par_axis_iter`](Self::par_axis_iter).
    ///
    /// ```
    /// # use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    /// use rayon::iter::{IndexedParallelIterator, ParallelIterator};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 2], &[1_u8, 2, 3, 4])?;
    /// let view = array.view::<u8>()?;
    /// assert_eq!(view.par_iter().map(u32::from).sum::<u32>(), 10);
    /// assert_eq!(view.par_iter().position_any(|x| x == 3), Some(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn par_iter(&self) -> ParIter<'_, T> {
        ParIter { view: self, numbers: 0..self.layout().size() }
    }
}

/// Parallel iterator over the elements of a view in row-major order, made by [`ArrayView::par_iter`].
#[derive(Debug)]
pub struct ParIter<'a, T> {
    view: &'a ArrayView<'a, T>,
    numbers: Range<usize>,
}

impl<T: Element> ParallelIterator for ParIter<'_, T> {
    type Item = T;

    fn drive_unindexed<C: UnindexedConsumer<T>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.numbers.len())
    }
}

impl<T: Element> IndexedParallelIterator for ParIter<'_, T> {
    fn len(&self) -> usize {
        self.numbers.len()
    }

    fn drive<C: Consumer<T>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn with_producer<C: ProducerCallback<T>>(self, callback: C) -> C::Output {
        callback.callback(self)
    }
}

impl<'a, T: Element> Producer for ParIter<'a, T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.view.iter_in(self.numbers)
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let middle = self.numbers.start + index;
        let part = |numbers| Self { view: self.view, numbers };
        (part(self.numbers.start..middle), part(middle..self.numbers.end))
    }
}
