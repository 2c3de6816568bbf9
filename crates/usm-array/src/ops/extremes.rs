//! min and max

use super::reduce::{Reduced, Reduction, reduce};
use crate::array::UsmArray;
use crate::copy::CopyMode;
use crate::dtype::{Dtype, Element};
use crate::error::{Error, Result};
use crate::scalar::Scalar;

/// # Extremes
/// A NaN among the elements is the result. Which of two zeros is the result is not specified. The result has the dtype, the
/// queue and the kind of memory of the array.
impl UsmArray {
    /// The least elements along the given axes, or of all of them. With `keepdims` the axes stay with size 1.
    ///
    /// ```
    /// # use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2, 2], &[3.0, f64::NAN, 1.0, 2.0])?;
    /// let least = array.min(Some(&[1]), false)?.to_vec::<f64>()?;
    /// assert!(least[0].is_nan() && least[1] == 1.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::DtypeNotAllowed`]: complex numbers have no order
    /// - [`Error::NothingToReduce`]: an axis to reduce has no elements
    /// - [`Error::Layout`]: no such axis, or one twice
    /// - [`Error::OutOfHostMemory`]: no host memory for a block
    /// - [`Error::Memory`]: the allocation failed, memory is borrowed for writing, or the runtime failed
    pub fn min(&self, axes: Option<&[isize]>, keepdims: bool) -> Result<Self> {
        extremes::<false>(self, "min", axes, keepdims)
    }

    /// The greatest elements along the given axes, or of all of them. With `keepdims` the axes stay with size 1.
    ///
    /// ```
    /// # use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 2], &[3_u8, 0, 1, 2])?;
    /// assert_eq!(array.max(Some(&[1]), false)?.to_vec::<u8>()?, [3, 2]);
    /// assert_eq!(array.max(None, true)?.shape(), [1, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`UsmArray::min`].
    pub fn max(&self, axes: Option<&[isize]>, keepdims: bool) -> Result<Self> {
        extremes::<true>(self, "max", axes, keepdims)
    }

    /// The least of all elements.
    ///
    /// ```
    /// # use usm_array::{Scalar, UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[3], &[3_i8, -5, 1])?;
    /// assert_eq!((array.min_total()?, array.max_total()?), (Scalar::Int(-5), Scalar::Int(3)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`UsmArray::min`].
    pub fn min_total(&self) -> Result<Scalar> {
        self.min(None, false)?.item()
    }

    /// The greatest of all elements, see [`min_total`](Self::min_total).
    ///
    /// # Errors
    /// As [`UsmArray::min`].
    pub fn max_total(&self) -> Result<Scalar> {
        self.max(None, false)?.item()
    }
}

fn extremes<const GREATEST: bool>(
    array: &UsmArray,
    operation: &'static str,
    axes: Option<&[isize]>,
    keepdims: bool,
) -> Result<UsmArray> {
    let reduced = Reduced::new(array, axes, keepdims)?;
    reduced.check_not_empty(array, operation)?;
    let found = array.dtype();
    let extremes = match found {
        Dtype::I8 => reduce::<Extreme<i8, GREATEST>>(array, &reduced),
        Dtype::I16 => reduce::<Extreme<i16, GREATEST>>(array, &reduced),
        Dtype::I32 => reduce::<Extreme<i32, GREATEST>>(array, &reduced),
        Dtype::I64 => reduce::<Extreme<i64, GREATEST>>(array, &reduced),
        // Dtypes that processors do not order become larger ones that have all their values.
        Dtype::Bool | Dtype::U8 => reduce::<Extreme<u8, GREATEST>>(array, &reduced),
        Dtype::U16 => reduce::<Extreme<u16, GREATEST>>(array, &reduced),
        Dtype::U32 => reduce::<Extreme<u32, GREATEST>>(array, &reduced),
        Dtype::U64 => reduce::<Extreme<u64, GREATEST>>(array, &reduced),
        Dtype::F16 | Dtype::F32 => reduce::<Extreme<f32, GREATEST>>(array, &reduced),
        Dtype::F64 => reduce::<Extreme<f64, GREATEST>>(array, &reduced),
        Dtype::C64 | Dtype::C128 => {
            let allowed = "real numbers and booleans";
            Err(Error::DtypeNotAllowed { operation, found, allowed })
        }
    }?;
    extremes.astype(found, CopyMode::IfNeeded)
}

/// An element with an order, in which NaN is beyond both ends.
trait Ordered: Element {
    const LEAST: Self;
    const GREATEST: Self;

    fn least(self, other: Self) -> Self;

    fn greatest(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($ty:ty),*) => {$(
        impl Ordered for $ty {
            const LEAST: Self = Self::MIN;
            const GREATEST: Self = Self::MAX;

            fn least(self, other: Self) -> Self {
                self.min(other)
            }

            fn greatest(self, other: Self) -> Self {
                self.max(other)
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! reals {
    ($($ty:ty),*) => {$(
        impl Ordered for $ty {
            const LEAST: Self = Self::NEG_INFINITY;
            const GREATEST: Self = Self::INFINITY;

            // A NaN in `self` stays, since nothing is less.
            fn least(self, other: Self) -> Self {
                if (other < self) | other.is_nan() { other } else { self }
            }

            fn greatest(self, other: Self) -> Self {
                if (other > self) | other.is_nan() { other } else { self }
            }
        }
    )*};
}

reals!(f32, f64);

/// The greatest element so far, or the least one.
struct Extreme<T, const GREATEST: bool>(T);

impl<T: Ordered, const GREATEST: bool> Extreme<T, GREATEST> {
    fn of(a: T, b: T) -> T {
        if GREATEST { a.greatest(b) } else { a.least(b) }
    }
}

/// Elements that processors compare at a time.
const LANES: usize = 32;

impl<T: Ordered, const GREATEST: bool> Reduction for Extreme<T, GREATEST> {
    type Item = T;
    type Output = T;

    fn start() -> Self {
        Self(if GREATEST { T::LEAST } else { T::GREATEST })
    }

    fn fold(&mut self, elements: &[T]) {
        let (runs, rest) = elements.as_chunks::<LANES>();
        if !runs.is_empty() {
            let mut lanes = [self.0; LANES];
            for run in runs {
                for (lane, &element) in lanes.iter_mut().zip(run) {
                    *lane = Self::of(*lane, element);
                }
            }
            self.0 = lanes.into_iter().fold(self.0, Self::of);
        }
        self.0 = rest.iter().copied().fold(self.0, Self::of);
    }

    fn finish(self) -> T {
        self.0
    }
}
