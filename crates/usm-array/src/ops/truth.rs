//! all, any, count_nonzero

use std::marker::PhantomData;

use super::by_kernels::{self, Fold};
use super::reduce::{Reduced, Reduction, reduce, reduce_all};
use crate::array::UsmArray;
use crate::dtype::{Bool8, Dtype, Element, dispatch_computed};
use crate::error::Result;

/// # Truth
/// Elements of every dtype are true unless they are zero; NaN is true. The results have the queue and the kind of memory of the
/// array.
///
/// ```
/// use usm_array::{Bool8, UsmArray, usm_core::{Runtime, UsmKind}};
///
/// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
/// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2, 2], &[1.0_f32, 0.0, f32::NAN, 0.5])?;
/// assert_eq!(array.all(Some(&[1]), false)?.to_vec::<Bool8>()?, [false, true].map(Bool8::from));
/// assert_eq!(array.any(Some(&[-1]), false)?.to_vec::<Bool8>()?, [true, true].map(Bool8::from));
/// assert_eq!(array.count_nonzero(Some(&[0]), true)?.to_vec::<i64>()?, [2, 1]);
/// assert!(array.is_any()? && !array.is_all()?);
/// assert_eq!(array.count_nonzero_total()?, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl UsmArray {
    /// Whether all elements along the given axes are true, or all of the array. With `keepdims` the axes stay with size 1. Of no
    /// elements all are.
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): no such axis, or one twice
    /// - [`Error::OutOfHostMemory`](crate::Error::OutOfHostMemory): no host memory for a block
    /// - [`Error::Memory`](crate::Error::Memory): the allocation failed, memory is borrowed for writing, or the runtime failed
    pub fn all(&self, axes: Option<&[isize]>, keepdims: bool) -> Result<Self> {
        let reduced = Reduced::new(self, axes, keepdims)?;
        if let Some(result) = by_kernels::reduce(self, &reduced, Fold::All, Dtype::Bool)? {
            return Ok(result);
        }
        dispatch_computed!(self.dtype(), T => reduce::<All<T>>(self, &reduced))
    }

    /// Whether any element along the given axes is true, or any of the array. With `keepdims` the axes stay with size 1. Of no
    /// elements none is.
    ///
    /// # Errors
    /// As [`UsmArray::all`].
    pub fn any(&self, axes: Option<&[isize]>, keepdims: bool) -> Result<Self> {
        let reduced = Reduced::new(self, axes, keepdims)?;
        if let Some(result) = by_kernels::reduce(self, &reduced, Fold::Any, Dtype::Bool)? {
            return Ok(result);
        }
        dispatch_computed!(self.dtype(), T => reduce::<Any<T>>(self, &reduced))
    }

    /// How many elements along the given axes are true, as `int64`, or how many of the array. With `keepdims` the axes stay with
    /// size 1.
    ///
    /// # Errors
    /// As [`UsmArray::all`].
    pub fn count_nonzero(&self, axes: Option<&[isize]>, keepdims: bool) -> Result<Self> {
        let reduced = Reduced::new(self, axes, keepdims)?;
        if let Some(result) = by_kernels::reduce(self, &reduced, Fold::Count, Dtype::I64)? {
            return Ok(result);
        }
        dispatch_computed!(self.dtype(), T => reduce::<Count<T>>(self, &reduced))
    }

    /// Whether all elements are true; stops at the first block with one that is not.
    ///
    /// # Errors
    /// As [`UsmArray::all`].
    pub fn is_all(&self) -> Result<bool> {
        if let Some(result) = by_kernels::reduce_all(self, Fold::All, Dtype::Bool)? {
            return Ok(result[0] != 0);
        }
        Ok(dispatch_computed!(self.dtype(), T => reduce_all::<All<T>>(self))?.to_bool())
    }

    /// Whether any element is true, see [`is_all`](Self::is_all); stops at the first block with one that is.
    ///
    /// # Errors
    /// As [`UsmArray::all`].
    pub fn is_any(&self) -> Result<bool> {
        if let Some(result) = by_kernels::reduce_all(self, Fold::Any, Dtype::Bool)? {
            return Ok(result[0] != 0);
        }
        Ok(dispatch_computed!(self.dtype(), T => reduce_all::<Any<T>>(self))?.to_bool())
    }

    /// How many elements are true.
    ///
    /// # Errors
    /// As [`UsmArray::all`].
    pub fn count_nonzero_total(&self) -> Result<usize> {
        if let Some(count) = by_kernels::reduce_all(self, Fold::Count, Dtype::I64)?
            && let Ok(count) = count.try_into()
        {
            return Ok(usize::try_from(i64::from_ne_bytes(count)).unwrap_or(0)); // at most the size
        }
        let count = dispatch_computed!(self.dtype(), T => reduce_all::<Count<T>>(self))?;
        Ok(usize::try_from(count).unwrap_or(0)) // at most the size
    }
}

/// Everything but zero.
fn is_true<T: Element + Default>(element: T) -> bool {
    element != T::default()
}

/// Elements that are looked at before asking whether that is enough.
const RUN: usize = 256;

/// Whether all elements are true, or whether any is: `ALL` until an element is not.
struct Quantified<T, const ALL: bool>(bool, PhantomData<T>);

type All<T> = Quantified<T, true>;
type Any<T> = Quantified<T, false>;

impl<T: Element + Default, const ALL: bool> Reduction for Quantified<T, ALL> {
    type Item = T;
    type Output = Bool8;

    fn start() -> Self {
        Self(ALL, PhantomData)
    }

    fn fold(&mut self, elements: &[T]) {
        let has_other =
            |run: &[T]| run.iter().fold(false, |other, &element| other | (is_true(element) != ALL));
        if self.0 == ALL && elements.chunks(RUN).any(has_other) {
            self.0 = !ALL;
        }
    }

    fn finish(self) -> Bool8 {
        self.0.into()
    }

    fn is_decided(&self) -> bool {
        self.0 != ALL
    }
}

struct Count<T>(i64, PhantomData<T>);

impl<T: Element + Default> Reduction for Count<T> {
    type Item = T;
    type Output = i64;

    fn start() -> Self {
        Self(0, PhantomData)
    }

    fn fold(&mut self, elements: &[T]) {
        // Bytes in a row count in a byte, so that more of them are counted at a time.
        for run in elements.chunks(255) {
            let count = run.iter().fold(0_u8, |count, &element| count + u8::from(is_true(element)));
            self.0 += i64::from(count);
        }
    }

    fn finish(self) -> i64 {
        self.0
    }
}
