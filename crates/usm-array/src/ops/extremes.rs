//! min and max

use super::by_kernels::{self, Fold};
use super::reduce::{Reduced, Reduction, reduce};
use super::relation::{by_order, no_order};
use crate::array::UsmArray;
use crate::copy::CopyMode;
use crate::dtype::Element;
use crate::error::Result;
use crate::scalar::Scalar;

/// # Extremes
/// A NaN among the elements is the result. Which of two zeros is the result is not specified. The result has the dtype, the
/// queue and the kind of memory of the array.
///
/// ```
/// use usm_array::{Scalar, UsmArray, usm_core::{Runtime, UsmKind}};
///
/// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
/// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2, 2], &[3.0, f64::NAN, 1.0, 2.0])?;
/// let least = array.min(Some(&[1]), false)?.to_vec::<f64>()?;
/// assert!(least[0].is_nan() && least[1] == 1.0);
///
/// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 2], &[3_i8, -5, 1, 2])?;
/// assert_eq!(array.max(Some(&[1]), false)?.to_vec::<i8>()?, [3, 2]);
/// assert_eq!(array.max(None, true)?.shape(), [1, 1]);
/// assert_eq!((array.min_total()?, array.max_total()?), (Scalar::Int(-5), Scalar::Int(3)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl UsmArray {
    /// The least elements along the given axes, or of all of them. With `keepdims` the axes stay with size 1.
    ///
    /// # Errors
    /// - [`Error::DtypeNotAllowed`](crate::Error::DtypeNotAllowed): complex numbers have no order
    /// - [`Error::NothingToReduce`](crate::Error::NothingToReduce): an axis to reduce has no elements
    /// - [`Error::Layout`](crate::Error::Layout): no such axis, or one twice
    /// - [`Error::OutOfHostMemory`](crate::Error::OutOfHostMemory): no host memory for a block
    /// - [`Error::Memory`](crate::Error::Memory): the allocation failed, memory is borrowed for writing, or the runtime failed
    pub fn min(&self, axes: Option<&[isize]>, keepdims: bool) -> Result<Self> {
        extremes::<false>(self, "min", axes, keepdims)
    }

    /// The greatest elements along the given axes, or of all of them. With `keepdims` the axes stay with size 1.
    ///
    /// # Errors
    /// As [`UsmArray::min`].
    pub fn max(&self, axes: Option<&[isize]>, keepdims: bool) -> Result<Self> {
        extremes::<true>(self, "max", axes, keepdims)
    }

    /// The least of all elements.
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
    let fold = if GREATEST { Fold::Greatest } else { Fold::Least };
    if let Some(extremes) = by_kernels::reduce(array, &reduced, fold, found)? {
        return extremes.astype(found, CopyMode::IfNeeded);
    }
    let extremes = by_order!(found, T => reduce::<Extreme<T, GREATEST>>(array, &reduced), _ => {
        Err(no_order(operation, found))
    })?;
    extremes.astype(found, CopyMode::IfNeeded)
}

/// An element with an order, in which NaN is beyond both ends.
trait Ordered: Element + PartialOrd {
    const LEAST: Self;
    const GREATEST: Self;
}

macro_rules! ordered {
    ($($ty:ty)*: $least:ident, $greatest:ident) => {$(
        impl Ordered for $ty {
            const LEAST: Self = Self::$least;
            const GREATEST: Self = Self::$greatest;
        }
    )*};
}

ordered!(i8 i16 i32 i64 u8 u16 u32 u64: MIN, MAX);
ordered!(f32 f64: NEG_INFINITY, INFINITY);

/// The greatest element so far, or the least one.
struct Extreme<T, const GREATEST: bool>(T);

impl<T: Ordered, const GREATEST: bool> Extreme<T, GREATEST> {
    fn of(a: T, b: T) -> T {
        let is_beyond = if GREATEST { b > a } else { b < a };
        // A NaN in `a` stays, since nothing is beyond it.
        if is_beyond | b.partial_cmp(&b).is_none() { b } else { a }
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
