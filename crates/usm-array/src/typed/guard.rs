//! The elements of a C-contiguous array as a slice, under a borrow guard

use std::ops::{Deref, DerefMut};

use super::TypedArray;
use crate::dtype::Element;
use crate::error::{Error, Result};
use crate::view::{ArrayView, ArrayViewMut};

/// The elements of an array, borrowed for reading: a slice in row-major order.
#[derive(Debug)]
pub struct SliceReadGuard<'a, T> {
    /// C-contiguous
    view: ArrayView<'a, T>,
}

impl<T: Element> Deref for SliceReadGuard<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.view.as_slice().unwrap_or_default()
    }
}

/// The elements of an array, borrowed for reading and writing: a slice in row-major order.
#[derive(Debug)]
pub struct SliceWriteGuard<'a, T> {
    /// C-contiguous
    view: ArrayViewMut<'a, T>,
}

impl<T: Element> Deref for SliceWriteGuard<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.view.as_slice().unwrap_or_default()
    }
}

impl<T: Element> DerefMut for SliceWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.view.as_slice_mut().unwrap_or_default()
    }
}

impl<T: Element> TypedArray<T> {
    /// The elements as a slice in row-major order, as long as the guard lives. Arrays that are not C-contiguous have
    /// [`view`](Self::view)s.
    ///
    /// ```
    /// # use usm_array::{TypedArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = TypedArray::from_slice(&queue, UsmKind::Shared, &[2, 2], &[1_i32, 2, 3, 4])?;
    /// let elements = array.read()?;
    /// assert_eq!(elements[1..3], [2, 3]);
    /// assert!(array.write().is_err(), "borrowed for reading");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::NotContiguous`]: the elements do not follow each other in row-major order
    /// - the errors of [`UsmArray::view`](crate::UsmArray::view)
    pub fn read(&self) -> Result<SliceReadGuard<'_, T>> {
        self.check_contiguous()?;
        Ok(SliceReadGuard { view: self.view()? })
    }

    /// As [`read`](Self::read), for reading and writing.
    ///
    /// ```
    /// # use usm_array::{TypedArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = TypedArray::from_slice(&queue, UsmKind::Shared, &[2, 2], &[4_i32, 3, 2, 1])?;
    /// array.write()?.sort_unstable();
    /// assert_eq!(array.to_vec()?, [1, 2, 3, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::NotContiguous`]: the elements do not follow each other in row-major order
    /// - the errors of [`UsmArray::view_mut`](crate::UsmArray::view_mut)
    pub fn write(&self) -> Result<SliceWriteGuard<'_, T>> {
        self.check_contiguous()?;
        Ok(SliceWriteGuard { view: self.view_mut()? })
    }

    fn check_contiguous(&self) -> Result<()> {
        if self.is_c_contiguous() {
            return Ok(());
        }
        Err(Error::NotContiguous { shape: self.shape().to_vec(), strides: self.strides().to_vec() })
    }
}
