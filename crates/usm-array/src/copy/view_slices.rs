//! Typed views to and from slices of Rust

use super::cast::Cast;
use super::host;
use super::plan::CopyPlan;
use crate::dtype::Element;
use crate::error::{Error, Result};
use crate::layout::{Layout, Order};
use crate::view::{ArrayView, ArrayViewMut, check_unshared, zeroed_vec};

impl<T: Element> ArrayView<'_, T> {
    /// The elements in row-major order.
    ///
    /// # Errors
    /// [`OutOfHostMemory`](Error::OutOfHostMemory): no memory for the elements; a broadcast view may have more than any memory
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut elements = zeroed_vec(self.layout().size())?;
        self.copy_to_slice(&mut elements)?;
        Ok(elements)
    }

    /// Copies the elements in row-major order to a slice.
    ///
    /// ```
    /// # use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 2], &[1_u8, 2, 3, 4])?;
    /// let mut elements = [0; 4];
    /// array.view::<u8>()?.transpose().copy_to_slice(&mut elements)?;
    /// assert_eq!(elements, [1, 3, 2, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::LengthMismatch`]: a slice of another length
    pub fn copy_to_slice(&self, elements: &mut [T]) -> Result<()> {
        check_len(self.layout(), elements.len())?;
        if elements.len() <= FEW {
            elements.iter_mut().zip(self.iter()).for_each(|(to, from)| *to = from);
            return Ok(());
        }
        let dense = Layout::contiguous(self.shape(), Order::C)?;
        if let Some(plan) = CopyPlan::new(&dense, self.layout()) {
            let (cast, target) = (Cast::new(T::DTYPE, T::DTYPE), elements.as_mut_ptr().cast());
            // SAFETY: 1. By P1 these are the elements of the slice, as many as the layout has. 2. By P1, R1 and R2. 3. and 4. The slice is
            // borrowed for this call alone, and the guard, held as long as the view lives, admits no writer.
            unsafe { host::execute(plan, cast, target, self.as_ptr().cast()) };
        }
        Ok(())
    }
}

impl<T: Element> ArrayViewMut<'_, T> {
    /// The elements in row-major order.
    ///
    /// # Errors
    /// [`OutOfHostMemory`](Error::OutOfHostMemory): no memory for the elements; a broadcast view may have more than any memory
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.as_view().to_vec()
    }

    /// Copies the elements in row-major order to a slice, as [`ArrayView::copy_to_slice`].
    ///
    /// # Errors
    /// - [`Error::LengthMismatch`]: a slice of another length
    pub fn copy_to_slice(&self, elements: &mut [T]) -> Result<()> {
        self.as_view().copy_to_slice(elements)
    }

    /// Changes the elements, in row-major order, to the elements of a slice. Of an element with several indices, the last one counts.
    ///
    /// ```
    /// # use usm_array::{Dtype, UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::zeros(&queue, UsmKind::Shared, &[2, 2], Dtype::U8)?;
    /// array.view_mut::<u8>()?.copy_from_slice(&[1, 2, 3, 4])?;
    /// assert_eq!(array.transpose().to_vec::<u8>()?, [1, 3, 2, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::LengthMismatch`]: a slice of another length
    pub fn copy_from_slice(&mut self, elements: &[T]) -> Result<()> {
        check_len(self.layout(), elements.len())?;
        // A plan visits elements in any order, and on several threads.
        if elements.len() <= FEW || check_unshared(self.layout()).is_err() {
            let mut elements = elements.iter();
            self.map_in_place(|old| elements.next().copied().unwrap_or(old)); // there are as many
            return Ok(());
        }
        let dense = Layout::contiguous(self.shape(), Order::C)?;
        if let Some(plan) = CopyPlan::new(self.layout(), &dense) {
            let (cast, source) = (Cast::new(T::DTYPE, T::DTYPE), elements.as_ptr().cast());
            // SAFETY: 1. By P1, W1 and W2, and no element is at two indices. 2. By P1 these are the elements of the slice, as many as the
            // layout has. 3. and 4. The guard admits nobody else, and this view and the slice are borrowed.
            unsafe { host::execute(plan, cast, self.as_mut_ptr().cast(), source) };
        }
        Ok(())
    }
}

/// Up to so many elements are copied one by one, which takes less time than a plan.
const FEW: usize = 128;

pub(super) fn check_len(layout: &Layout, found: usize) -> Result<()> {
    match layout.size() {
        expected if expected == found => Ok(()),
        expected => {
            Err(Error::LengthMismatch { found, expected, unit: "elements", shape: layout.shape().to_vec() })
        }
    }
}
