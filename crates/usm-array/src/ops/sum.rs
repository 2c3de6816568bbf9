//! Sums

use half::f16;
use num_complex::Complex;

use super::by_kernels::{self, Fold};
use super::reduce::{Reduced, Reduction, reduce, reduce_all};
use crate::array::UsmArray;
use crate::copy::CopyMode;
use crate::dtype::{Bool8, Class, Dtype, Element, dispatch_computed, half_from_f64};
use crate::error::{Error, Result};
use crate::kernel_engine::is_for_kernels;
use crate::scalar::Scalar;
use crate::view::bytes_of;

/// # Sums
/// Integers are summed in 64 bits and wrap around. Real and complex numbers are summed in `float64` and `complex128`, pairwise
/// within blocks of at most 2¹⁸ elements and with the rounding errors added up from block to block, or by kernels with those of all
/// additions: the error of a sum is at most
/// 40·u·Σ|x|, with u = 2⁻⁵³, plus that of rounding it to the dtype of the result. It does not grow with the number of elements
/// (as long as there are fewer than 2⁵⁰ of them). Sums of narrow dtypes are rounded to `float32`, and then to the dtype.
impl UsmArray {
    /// The sums of the elements along the given axes, or of all of them. With `keepdims` the axes stay with size 1.
    ///
    /// Without a dtype, real and complex numbers keep theirs; booleans and signed integers give `int64`, unsigned ones `uint64`.
    /// With one the elements are cast to it first, as by [`astype`](Self::astype). The sum of nothing is 0. The result has the
    /// queue and the kind of memory of this array.
    ///
    /// ```
    /// # use usm_array::{Dtype, UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2, 2], &[200_u8, 100, 1, 2])?;
    /// assert_eq!(array.sum(Some(&[0]), false, None)?.to_vec::<u64>()?, [201, 102]);
    /// let rows = array.sum(Some(&[-1]), true, Some(Dtype::F32))?;
    /// assert_eq!((rows.shape(), rows.to_vec::<f32>()?), (&[2, 1][..], vec![300.0, 3.0]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Layout`]: no such axis, or one twice
    /// - [`Error::DtypeNotAllowed`]: booleans are no sums
    /// - [`Error::OutOfHostMemory`]: no host memory for a block
    /// - [`Error::Memory`]: the allocation failed, memory is borrowed for writing, or the runtime failed
    pub fn sum(&self, axes: Option<&[isize]>, keepdims: bool, dtype: Option<Dtype>) -> Result<Self> {
        let reduced = Reduced::new(self, axes, keepdims)?;
        let dtype = dtype.unwrap_or_else(|| default(self.dtype()));
        if dtype == Dtype::Bool {
            let allowed = "numbers";
            return Err(Error::DtypeNotAllowed { operation: "sum", found: dtype, allowed });
        }
        let is_whole = |dtype: Dtype| dtype == Dtype::Bool || dtype.class().is_whole();
        // Integers that wrap around in 64 bits wrap around in fewer in the same way.
        let item = if is_whole(self.dtype()) && is_whole(dtype) { self.dtype() } else { dtype };
        if item.is_narrow() {
            // The elements are rounded to it first, as of other dtypes, and the sum in the end.
            let elements =
                self.astype(item, CopyMode::IfNeeded)?.astype(item.computed(), CopyMode::IfNeeded)?;
            return elements.sum(axes, keepdims, None)?.astype(dtype, CopyMode::IfNeeded);
        }
        if is_for_kernels(self) {
            let elements = self.astype(item, CopyMode::IfNeeded)?;
            if let Some(sums) = by_kernels::reduce(&elements, &reduced, Fold::Sum, default(item))? {
                return sums.astype(dtype, CopyMode::IfNeeded);
            }
        }
        // Real numbers that become integers do that one by one, and not all as 64 bits.
        let sums = dispatch_computed!(item, T => reduce::<Sum<T>>(self, &reduced))?;
        sums.astype(dtype, CopyMode::IfNeeded)
    }

    /// The sum of all elements, in the dtype that [`sum`](Self::sum) gives them.
    ///
    /// ```
    /// # use usm_array::{Scalar, UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[3], &[0.5_f32, 0.25, -1.0])?;
    /// assert_eq!(array.sum_total()?, Scalar::Float(-0.25));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`UsmArray::sum`].
    pub fn sum_total(&self) -> Result<Scalar> {
        fn total<T: Summand>(array: &UsmArray) -> Result<Option<Scalar>> {
            let total = reduce_all::<Sum<T>>(array)?;
            Ok(Scalar::from_bytes(T::Total::DTYPE, bytes_of(&[total])))
        }
        let dtype = default(self.dtype());
        if dtype.is_narrow() {
            return self.sum(None, false, None)?.item();
        }
        let sum = match by_kernels::reduce_all(self, Fold::Sum, dtype)? {
            Some(sum) => Scalar::from_bytes(dtype, &sum),
            None => dispatch_computed!(self.dtype(), T => total::<T>(self))?,
        };
        Ok(sum.unwrap_or(Scalar::Int(0))) // as many bytes as an element has
    }
}

/// The dtype of sums, as the array API has it.
fn default(dtype: Dtype) -> Dtype {
    match dtype.class() {
        Class::Bool | Class::Signed => Dtype::I64,
        Class::Unsigned => Dtype::U64,
        Class::Real | Class::Complex | Class::Narrow => dtype,
    }
}

/// A number that sums are made in.
trait Wide: Copy {
    const ZERO: Self;

    fn plus(self, other: Self) -> Self;

    /// What `sum`, of this and another number, lost by rounding.
    fn lost(self, _other: Self, _sum: Self) -> Self {
        Self::ZERO
    }

    /// With what was lost, unless the sum is not finite.
    fn corrected(self, _lost: Self) -> Self {
        self
    }
}

macro_rules! integers {
    ($($wide:ty),*) => {$(
        impl Wide for $wide {
            const ZERO: Self = 0;

            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
        }
    )*};
}

integers!(i64, u64);

impl Wide for f64 {
    const ZERO: Self = 0.0;

    fn plus(self, other: Self) -> Self {
        self + other
    }

    // Knuth, The Art of Computer Programming, volume 2, 4.2.2: exact unless something overflows.
    fn lost(self, other: Self, sum: Self) -> Self {
        let added = sum - self;
        (self - (sum - added)) + (other - added)
    }

    fn corrected(self, lost: Self) -> Self {
        if self.is_finite() { self + lost } else { self }
    }
}

impl Wide for Complex<f64> {
    const ZERO: Self = Self::new(0.0, 0.0);

    fn plus(self, other: Self) -> Self {
        self + other
    }

    fn lost(self, other: Self, sum: Self) -> Self {
        Self::new(self.re.lost(other.re, sum.re), self.im.lost(other.im, sum.im))
    }

    fn corrected(self, lost: Self) -> Self {
        Self::new(self.re.corrected(lost.re), self.im.corrected(lost.im))
    }
}

/// An element that can be summed.
trait Summand: Element {
    type Wide: Wide;
    type Total: Element;

    fn widen(self) -> Self::Wide;

    fn total(sum: Self::Wide) -> Self::Total;
}

macro_rules! summands {
    ($($element:ty => $wide:ty => $total:ty: $widen:expr, $narrow:expr;)*) => {$(
        impl Summand for $element {
            type Wide = $wide;
            type Total = $total;

            fn widen(self) -> $wide {
                let widen: fn(Self) -> $wide = $widen;
                widen(self)
            }

            fn total(sum: $wide) -> $total {
                let narrow: fn($wide) -> $total = $narrow;
                narrow(sum)
            }
        }
    )*};
}

summands! {
    Bool8 => i64 => i64: |x| x.to_bool().into(), |sum| sum;
    i8 => i64 => i64: Into::into, |sum| sum;
    i16 => i64 => i64: Into::into, |sum| sum;
    i32 => i64 => i64: Into::into, |sum| sum;
    i64 => i64 => i64: |x| x, |sum| sum;
    u8 => u64 => u64: Into::into, |sum| sum;
    u16 => u64 => u64: Into::into, |sum| sum;
    u32 => u64 => u64: Into::into, |sum| sum;
    u64 => u64 => u64: |x| x, |sum| sum;
    f16 => f64 => f16: Into::into, half_from_f64;
    f32 => f64 => f32: Into::into, |sum| sum as f32;
    f64 => f64 => f64: |x| x, |sum| sum;
    Complex<f32> => Complex<f64> => Complex<f32>:
        |z| Complex::new(z.re.into(), z.im.into()), |sum| Complex::new(sum.re as f32, sum.im as f32);
    Complex<f64> => Complex<f64> => Complex<f64>: |z| z, |sum| sum;
}

/// Sums of the blocks so far, and what they lost.
struct Sum<T: Summand> {
    sum: T::Wide,
    lost: T::Wide,
}

impl<T: Summand> Reduction for Sum<T> {
    type Item = T;
    type Output = T::Total;

    fn start() -> Self {
        Self { sum: T::Wide::ZERO, lost: T::Wide::ZERO }
    }

    fn fold(&mut self, elements: &[T]) {
        let part = pairwise(elements);
        let sum = self.sum.plus(part);
        self.lost = self.lost.plus(self.sum.lost(part, sum));
        self.sum = sum;
    }

    fn finish(self) -> T::Total {
        T::total(self.sum.corrected(self.lost))
    }
}

/// Sums that processors make at a time.
const LANES: usize = 8;

/// Shorter sums are not halved: 16 additions one after the other in each lane, one of the rest, three of the lanes.
const RUN: usize = 16 * LANES;

fn pairwise<T: Summand>(elements: &[T]) -> T::Wide {
    if elements.len() > RUN {
        let (left, right) = elements.split_at((elements.len() / 2).next_multiple_of(LANES));
        return pairwise(left).plus(pairwise(right));
    }
    let mut lanes = [T::Wide::ZERO; LANES];
    let (runs, rest) = elements.as_chunks::<LANES>();
    for run in runs {
        for (lane, element) in lanes.iter_mut().zip(run) {
            *lane = lane.plus(element.widen());
        }
    }
    for (lane, element) in lanes.iter_mut().zip(rest) {
        *lane = lane.plus(element.widen());
    }
    // Half of the lanes to the other half, so that compilers keep them in vectors.
    let mut count = LANES;
    while count > 1 {
        count /= 2;
        let (sums, others) = lanes.split_at_mut(count);
        for (sum, other) in sums.iter_mut().zip(others) {
            *sum = sum.plus(*other);
        }
    }
    lanes[0]
}
