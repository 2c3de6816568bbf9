//! Parts of a view: slices, places along an axis, lanes, windows. No unsafe code

use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ops::Range;

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

use super::guarded::MemoryRef;
use super::{ArrayView, ArrayViewMut};
use crate::dtype::Element;
use crate::error::Result;
use crate::layout::{Layout, SliceItem, SliceItems, normalise_axis};

impl<T: Element> ArrayView<'_, T> {
    /// Some of the elements, with the meaning of Python's `view[items]`.
    ///
    /// ```
    /// # use usm_array::{SliceItem, UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 3], &[1_u8, 2, 3, 4, 5, 6])?;
    /// let view = array.view::<u8>()?;
    /// assert_eq!(view.slice((.., SliceItem::every(-2)))?.to_vec()?, [3, 1, 6, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): see [`Layout::slice`]
    pub fn slice(&self, items: impl SliceItems) -> Result<ArrayView<'_, T>> {
        Ok(ArrayView::part(self.memory(), self.layout().slice(items)?))
    }

    /// The elements at one place along an axis, which goes away. Negative numbers count from the end.
    ///
    /// ```
    /// # use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 3], &[1_u8, 2, 3, 4, 5, 6])?;
    /// assert_eq!(array.view::<u8>()?.index_axis(1, -1)?.to_vec()?, [3, 6]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): no such axis, or no such place
    pub fn index_axis(&self, axis: isize, index: isize) -> Result<ArrayView<'_, T>> {
        Ok(ArrayView::part(self.memory(), at_axis(self.layout(), axis, index)?))
    }

    /// The axes in reverse order.
    ///
    /// ```
    /// # use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 2], &[1_u8, 2, 3, 4])?;
    /// assert_eq!(array.view::<u8>()?.transpose().to_vec()?, [1, 3, 2, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn transpose(&self) -> ArrayView<'_, T> {
        ArrayView::part(self.memory(), self.layout().transpose())
    }

    /// The views at the places along an axis, from the first to the last.
    ///
    /// ```
    /// # use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 3], &[1_u8, 2, 3, 4, 5, 6])?;
    /// let view = array.view::<u8>()?;
    /// let columns: Vec<u8> = view.axis_iter(1)?.map(|column| column.iter().sum()).collect();
    /// assert_eq!(columns, [5, 7, 9]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): no such axis
    pub fn axis_iter(&self, axis: isize) -> Result<SubViews<'_, T>> {
        Ok(SubViews::new(self.memory(), to_front(self.layout(), axis)?, 1))
    }

    /// As [`axis_iter`](Self::axis_iter), on several threads.
    ///
    /// ```
    /// # use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    /// use rayon::iter::ParallelIterator;
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 3], &[1_u8, 2, 3, 4, 5, 6])?;
    /// let view = array.view::<u8>()?;
    /// let rows: Vec<u8> = view.par_axis_iter(0)?.map(|row| row.iter().sum()).collect();
    /// assert_eq!(rows, [6, 15]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): no such axis
    pub fn par_axis_iter(
        &self,
        axis: isize,
    ) -> Result<impl IndexedParallelIterator<Item = ArrayView<'_, T>>> {
        let rows = self.axis_iter(axis)?;
        Ok(rows.numbers.clone().into_par_iter().map(move |number| rows.at(number)))
    }

    /// The one-dimensional views along an axis, in row-major order of the others.
    ///
    /// ```
    /// # use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 1, 2], &[1_u8, 2, 3, 4])?;
    /// let view = array.view::<u8>()?;
    /// let lanes = view.lanes(0)?.map(|lane| lane.to_vec()).collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(lanes, [[1, 3], [2, 4]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): no such axis
    pub fn lanes(&self, axis: isize) -> Result<SubViews<'_, T>> {
        let axis = normalise_axis("axis", axis, self.layout().ndim())?.cast_signed();
        let lanes = self.layout().moveaxis(&[axis], &[-1])?;
        let outer_ndim = lanes.ndim() - 1; // there is the axis
        Ok(SubViews::new(self.memory(), lanes, outer_ndim))
    }

    /// The views of all windows of a shape, in row-major order of their places.
    ///
    /// ```
    /// # use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[4], &[1_u8, 2, 4, 8])?;
    /// let view = array.view::<u8>()?;
    /// let sums: Vec<u8> = view.windows(&[2])?.map(|window| window.iter().sum()).collect();
    /// assert_eq!(sums, [3, 6, 12]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): see [`Layout::sliding_window_view`]
    pub fn windows(&self, shape: &[usize]) -> Result<SubViews<'_, T>> {
        let windows = self.layout().sliding_window_view(shape, None)?;
        Ok(SubViews::new(self.memory(), windows, self.layout().ndim()))
    }
}

impl<T: Element> ArrayViewMut<'_, T> {
    /// Some of the elements, to be changed, with the meaning of Python's `view[items]`.
    ///
    /// ```
    /// # use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 2], &[1_u8, 2, 3, 4])?;
    /// let mut view = array.view_mut::<u8>()?;
    /// view.slice_mut((0,))?.map_in_place(|x| 10 * x);
    /// assert_eq!(view.to_vec()?, [10, 20, 3, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): see [`Layout::slice`]
    pub fn slice_mut(&mut self, items: impl SliceItems) -> Result<ArrayViewMut<'_, T>> {
        let layout = self.layout().slice(items)?;
        Ok(self.part(layout))
    }

    /// The elements at one place along an axis, to be changed. Negative numbers count from the end.
    ///
    /// ```
    /// # use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 2], &[1_u8, 2, 3, 4])?;
    /// let mut view = array.view_mut::<u8>()?;
    /// view.index_axis_mut(-1, 0)?.set(&[1], 30)?;
    /// assert_eq!(view.to_vec()?, [1, 2, 30, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): no such axis, or no such place
    pub fn index_axis_mut(&mut self, axis: isize, index: isize) -> Result<ArrayViewMut<'_, T>> {
        let layout = at_axis(self.layout(), axis, index)?;
        Ok(self.part(layout))
    }

    /// The axes in reverse order, with elements to be changed.
    ///
    /// ```
    /// # use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 2], &[1_u8, 2, 3, 4])?;
    /// let mut view = array.view_mut::<u8>()?;
    /// view.transpose_mut().set(&[0, 1], 30)?;
    /// assert_eq!(view.to_vec()?, [1, 2, 30, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn transpose_mut(&mut self) -> ArrayViewMut<'_, T> {
        let layout = self.layout().transpose();
        self.part(layout)
    }

    /// Calls a function with each place along an axis, from the first to the last, and the elements there.
    ///
    /// One view exists at a time, so that elements with several indices are no problem.
    ///
    /// ```
    /// # use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 2], &[1_u8, 2, 3, 4])?;
    /// let mut view = array.view_mut::<u8>()?;
    /// view.for_each_axis_mut(1, |column, mut elements| elements.map_in_place(|x| x + 10 * column as u8))?;
    /// assert_eq!(view.to_vec()?, [1, 12, 3, 14]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): no such axis
    pub fn for_each_axis_mut(
        &mut self,
        axis: isize,
        mut function: impl FnMut(usize, ArrayViewMut<'_, T>),
    ) -> Result<()> {
        let layout = to_front(self.layout(), axis)?;
        for number in 0..layout.outer_size(1) {
            function(number, self.part(layout.inner(1, number)));
        }
        Ok(())
    }
}

/// The layout with an axis as the first one.
fn to_front(layout: &Layout, axis: isize) -> Result<Layout> {
    let axis = normalise_axis("axis", axis, layout.ndim())?;
    Ok(layout.moveaxis(&[axis.cast_signed()], &[0])?)
}

fn at_axis(layout: &Layout, axis: isize, index: isize) -> Result<Layout> {
    Ok(to_front(layout, axis)?.slice(&[SliceItem::Index(index)])?)
}

/// Iterator over parts of a view that have one shape, made by [`ArrayView::axis_iter`], [`ArrayView::lanes`] and
/// [`ArrayView::windows`].
#[derive(Clone, Debug)]
pub struct SubViews<'a, T> {
    memory: MemoryRef<'a>,
    /// The axes that the parts differ in, then the axes of each part
    layout: Layout,
    outer_ndim: usize,
    numbers: Range<usize>,
    _elements: PhantomData<T>,
}

impl<'a, T: Element> SubViews<'a, T> {
    fn new(memory: MemoryRef<'a>, layout: Layout, outer_ndim: usize) -> Self {
        let numbers = 0..layout.outer_size(outer_ndim);
        Self { memory, layout, outer_ndim, numbers, _elements: PhantomData }
    }

    fn at(&self, number: usize) -> ArrayView<'a, T> {
        ArrayView::part(self.memory, self.layout.inner(self.outer_ndim, number))
    }
}

impl<'a, T: Element> Iterator for SubViews<'a, T> {
    type Item = ArrayView<'a, T>;

    fn next(&mut self) -> Option<ArrayView<'a, T>> {
        self.numbers.next().map(|number| self.at(number))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.numbers.size_hint()
    }
}

impl<T: Element> DoubleEndedIterator for SubViews<'_, T> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.numbers.next_back().map(|number| self.at(number))
    }
}

impl<T: Element> ExactSizeIterator for SubViews<'_, T> {}
impl<T: Element> FusedIterator for SubViews<'_, T> {}
