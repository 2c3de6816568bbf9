//! To and from the arrays of the crate `ndarray`

use ndarray::{ArrayBase, ArrayD, ArrayViewD, ArrayViewMutD, Axis, Data, Dimension, IxDyn, ShapeBuilder};

use super::guarded::{Borrowed, BorrowedMut, MemoryMut, MemoryRef};
use super::slices::{check_unshared, shared_elements};
use super::{ArrayView, ArrayViewMut};
use crate::array::UsmArray;
use crate::dtype::Element;
use crate::error::{Error, Result};
use crate::layout::{Layout, Order};
use usm_memory::usm_core::{Queue, UsmKind};

impl<T: Element> ArrayView<'_, T> {
    /// The elements as a view of the crate `ndarray`, without a copy, whatever the strides.
    ///
    /// It has references to elements, so no code may write to the memory as long as it lives. The guard of this view keeps out all
    /// writers that use buffers and arrays. It does not know other writers: other libraries and kernels that
    /// were given the address. Wait for them first, as for a [`ReadGuard::as_slice`](usm_memory::ReadGuard::as_slice).
    ///
    /// ```
    /// # use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 2], &[1.0_f32, 2.0, 3.0, 4.0])?;
    /// let view = array.view::<f32>()?;
    /// assert_eq!(view.as_ndarray().sum(), 10.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn as_ndarray(&self) -> ArrayViewD<'_, T> {
        let upward = Upward::new(self.layout());
        let start = self.as_ptr().wrapping_offset(upward.start);
        let start = if self.layout().is_empty() { std::ptr::dangling() } else { start };
        let shape = IxDyn(self.shape()).strides(IxDyn(&upward.strides));
        // SAFETY: by R1 and R2 there is a readable and aligned element (A2) at each index, which lie in one allocation; strides
        // are not negative, and those of axes with less than two indices are 1, so that none leads out of the address space (N1).
        // Without elements the pointer is aligned and all strides are 0. The guard, borrowed as long as the view lives, admits no
        // writer.
        let mut view = unsafe { ArrayViewD::from_shape_ptr(shape, start) };
        upward.flipped.into_iter().for_each(|axis| view.invert_axis(Axis(axis)));
        view
    }
}

impl<T: Element> ArrayViewMut<'_, T> {
    /// The elements as a view of the crate `ndarray` that can write, without a copy. The conditions of
    /// [`ArrayView::as_ndarray`] hold for readers, too.
    ///
    /// ```
    /// # use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 2], &[1.0_f32, 2.0, 3.0, 4.0])?;
    /// array.view_mut::<f32>()?.as_ndarray_mut()?.mapv_inplace(|x| 2.0 * x);
    /// assert_eq!(array.to_vec::<f32>()?, [2.0, 4.0, 6.0, 8.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::SharedElements`]: an element may be at two indices, and so have two references. `ndarray` requires that each stride
    ///   leads past all elements that axes with shorter strides reach.
    pub fn as_ndarray_mut(&mut self) -> Result<ArrayViewMutD<'_, T>> {
        if self.layout().is_empty() {
            let none = ArrayViewMutD::from_shape(IxDyn(self.shape()), &mut []);
            return none.map_err(|_| shared_elements(self.layout())); // never: nothing to share
        }
        let upward = Upward::new(self.layout());
        if !upward.is_nested(self.shape()) {
            return Err(shared_elements(self.layout()));
        }
        let start = self.place(upward.start);
        let shape = IxDyn(self.shape()).strides(IxDyn(&upward.strides));
        // SAFETY: by W1 and W2 there is a writable and aligned element (A2) at each index; the strides are as N1 says. No element is at
        // two indices. The result borrows this view, so no other code reads or writes the elements.
        let mut view = unsafe { ArrayViewMutD::from_shape_ptr(shape, start) };
        upward.flipped.into_iter().for_each(|axis| view.invert_axis(Axis(axis)));
        Ok(view)
    }
}

/// A view of `ndarray` with a fixed or a dynamic number of axes; [`as_ndarray`](ArrayView::as_ndarray) says what it needs.
///
/// ```
/// use usm_array::ndarray::{ArrayView2, Axis};
/// use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
///
/// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
/// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 2], &[1.0_f32, 2.0, 3.0, 4.0])?;
/// let view = array.view::<f32>()?;
/// let matrix = ArrayView2::try_from(&view)?;
/// assert_eq!(matrix.sum_axis(Axis(0)).to_vec(), [4.0, 6.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// - [`Error::AxisCount`]: another number of axes
impl<'a, T: Element, D: Dimension> TryFrom<&'a ArrayView<'_, T>> for ndarray::ArrayView<'a, T, D> {
    type Error = Error;

    fn try_from(view: &'a ArrayView<'_, T>) -> Result<Self> {
        view.as_ndarray().into_dimensionality().map_err(|_| axis_count::<D>(view.layout()))
    }
}

/// A view of `ndarray` that can write; [`as_ndarray_mut`](ArrayViewMut::as_ndarray_mut) says what it needs.
///
/// ```
/// use usm_array::ndarray::ArrayViewMut1;
/// use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
///
/// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
/// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[3], &[1_i32, 2, 3])?;
/// let mut view = array.view_mut::<i32>()?;
/// ArrayViewMut1::try_from(&mut view)?.swap(0, 2);
/// assert_eq!(view.to_vec()?, [3, 2, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// - [`Error::AxisCount`]: another number of axes
/// - [`Error::SharedElements`]: an element may be at two indices
impl<'a, T: Element, D: Dimension> TryFrom<&'a mut ArrayViewMut<'_, T>> for ndarray::ArrayViewMut<'a, T, D> {
    type Error = Error;

    fn try_from(view: &'a mut ArrayViewMut<'_, T>) -> Result<Self> {
        let wrong_count = axis_count::<D>(view.layout());
        view.as_ndarray_mut()?.into_dimensionality().map_err(|_| wrong_count)
    }
}

fn axis_count<D: Dimension>(layout: &Layout) -> Error {
    Error::AxisCount { found: layout.ndim(), expected: D::NDIM.unwrap_or(layout.ndim()) }
}

/// The elements of a view of `ndarray`, in ordinary memory, uncopied: to compare them, or to pass them where views of this crate go.
///
/// ```
/// use usm_array::ArrayView;
/// use usm_array::ndarray::{arr2, s};
///
/// let matrix = arr2(&[[1, 2, 3], [4, 5, 6]]);
/// let view = ArrayView::try_from(matrix.slice(s![.., ..;-2]))?;
/// assert_eq!(view.to_vec()?, [3, 1, 6, 4]);
/// # Ok::<(), usm_array::Error>(())
/// ```
///
/// # Errors
/// - [`Error::Layout`]: more than [`MAX_NDIM`](crate::MAX_NDIM) axes
impl<'a, T: Element, D: Dimension> TryFrom<ndarray::ArrayView<'a, T, D>> for ArrayView<'a, T> {
    type Error = Error;

    fn try_from(view: ndarray::ArrayView<'a, T, D>) -> Result<Self> {
        let layout = Layout::new(view.shape(), Some(view.strides()), 0, Order::C)?;
        // SAFETY: promise 1 of `Borrowed::new`: the view of `ndarray` has references for `'a` to the elements at the displacements of its strides, all of type `T`.
        let memory = unsafe { Borrowed::new(view.as_ptr().cast()) };
        Ok(Self::part(MemoryRef::Borrowed(memory), layout)) // R1 and R2, by these references
    }
}

/// The elements of a mutable view of `ndarray`, in ordinary memory, uncopied: to change them by the functions of this crate.
///
/// ```
/// use usm_array::ArrayViewMut;
/// use usm_array::ndarray::{arr2, s};
///
/// let mut matrix = arr2(&[[1, 2, 3], [4, 5, 6]]);
/// let mut view = ArrayViewMut::try_from(matrix.slice_mut(s![.., ..;-2]))?;
/// view.map_in_place(|x| 10 * x);
/// view[[0, 0]] = 0;
/// assert_eq!(matrix, arr2(&[[10, 2, 0], [40, 5, 60]]));
/// # Ok::<(), usm_array::Error>(())
/// ```
///
/// # Errors
/// - [`Error::Layout`]: more than [`MAX_NDIM`](crate::MAX_NDIM) axes
/// - [`Error::SharedElements`]: an element is, or may be, at two indices; only unsafe code makes such views
impl<'a, T: Element, D: Dimension> TryFrom<ndarray::ArrayViewMut<'a, T, D>> for ArrayViewMut<'a, T> {
    type Error = Error;

    fn try_from(mut view: ndarray::ArrayViewMut<'a, T, D>) -> Result<Self> {
        let layout = Layout::new(view.shape(), Some(view.strides()), 0, Order::C)?;
        check_unshared(&layout)?;
        // SAFETY: promise 1 of `BorrowedMut::new`: the view of `ndarray`, which ends here, has mutable references for `'a` to the elements at
        // the displacements of its strides, all of type `T`.
        let memory = unsafe { BorrowedMut::new(view.as_mut_ptr().cast()) };
        Ok(Self::over(MemoryMut::Borrowed(memory), layout)) // W1 and W2, by these references
    }
}

/// A layout with all strides positive.
struct Upward {
    /// Displacement of the lowest element
    start: isize,
    // Invariant N1: Not negative; 1 for an axis with one index, 0 for all if there are no elements. All others lead from the lowest
    //     element to elements of the layout.
    strides: Vec<usize>,
    /// The axes that were reversed
    flipped: Vec<usize>,
}

impl Upward {
    fn new(layout: &Layout) -> Self {
        let start = layout.extent_with_offset().map_or(0, |extent| extent.min);
        let axes = layout.shape().iter().zip(layout.strides());
        let stride = |(&size, &stride): (&usize, &isize)| match size {
            _ if layout.is_empty() => 0,
            1 => 1,
            _ => stride.unsigned_abs(),
        };
        let strides = axes.clone().map(stride).collect();
        let flipped =
            axes.enumerate().filter(|&(_, (&size, &stride))| size > 1 && stride < 0 && !layout.is_empty());
        Self { start, strides, flipped: flipped.map(|(axis, _)| axis).collect() }
    }

    /// Whether each stride leads past the elements of all axes with shorter ones, so that no element is at two indices.
    fn is_nested(&self, shape: &[usize]) -> bool {
        let mut axes: Vec<_> = self
            .strides
            .iter()
            .zip(shape)
            .map(|(&stride, &size)| (stride, size))
            .filter(|axis| axis.1 > 1)
            .collect();
        axes.sort_unstable();
        let mut reached = 0;
        axes.into_iter().all(|(stride, size)| {
            let leads_past = stride > reached;
            reached += stride * (size - 1); // displacements of elements, by N1
            leads_past
        })
    }
}

impl UsmArray {
    /// The elements, copied to an array of the crate `ndarray` in row-major order, whatever the kind of memory.
    ///
    /// ```
    /// # use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2, 2], &[1.0_f32, 2.0, 3.0, 4.0])?;
    /// assert_eq!(array.transpose().to_ndarray::<f32>()?, ndarray::arr2(&[[1.0, 3.0], [2.0, 4.0]]).into_dyn());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`UsmArray::to_vec`].
    pub fn to_ndarray<T: Element>(&self) -> Result<ArrayD<T>> {
        let elements = self.to_vec::<T>()?;
        ArrayD::from_shape_vec(IxDyn(self.shape()), elements).map_err(|_| Error::LengthMismatch {
            found: self.size(),
            expected: self.size(),
            unit: "elements",
            shape: self.shape().to_vec(),
        }) // never: as many elements as the shape has
    }

    /// A C-contiguous array with the elements of an array of the crate `ndarray`, copied. Without a copy it cannot be: the
    /// runtime has to allocate unified shared memory, and that of `ndarray` comes from elsewhere.
    ///
    /// ```
    /// # use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let matrix = ndarray::arr2(&[[1_u8, 2], [3, 4]]);
    /// let array = UsmArray::from_ndarray(&queue, UsmKind::Device, &matrix.t())?;
    /// assert_eq!(array.to_vec::<u8>()?, [1, 3, 2, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`UsmArray::from_slice`].
    pub fn from_ndarray<T: Element, S: Data<Elem = T>, D: Dimension>(
        queue: &Queue,
        kind: UsmKind,
        array: &ArrayBase<S, D>,
    ) -> Result<Self> {
        match array.as_slice() {
            Some(elements) => Self::from_slice(queue, kind, array.shape(), elements),
            None => {
                let elements: Vec<T> = array.iter().copied().collect();
                Self::from_slice(queue, kind, array.shape(), &elements)
            }
        }
    }
}
