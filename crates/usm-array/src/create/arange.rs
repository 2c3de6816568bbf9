//! Numbers from a start to before a stop, by steps

use super::CreateOptions;
use super::by_kernels;
use super::generate::{generate_floating, generate_steps, generate_whole};
use super::line::Line;
use crate::array::UsmArray;
use crate::copy::CopyMode;
use crate::dtype::{Class, Dtype};
use crate::error::{CreateError, Result};
use crate::scalar::{Scalar, nearest_f64};

impl CreateOptions<'_> {
    /// The numbers `start + i * step` from `start` to before `stop`: by default integers if all three are, else real numbers.
    ///
    /// Of integers there are exactly as many as there should be. With a real number among the three there are
    /// `ceil((stop - start) / step)`, computed in `f64` as NumPy does, and element `i` is `start + i * step` in `f64`, rounded to the
    /// dtype (NumPy adds multiples of the rounded `(start + step) - start` instead). In a range of integers the stop may be any
    /// real number.
    ///
    /// ```
    /// use usm_array::{CreateOptions, Dtype, Scalar, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let new = CreateOptions::new(&queue, UsmKind::Device);
    /// let down = new.arange(Scalar::Int(5), Scalar::Int(0), Scalar::Int(-2))?;
    /// assert_eq!(down.to_vec::<i64>()?, [5, 3, 1]);
    /// let halves = new.dtype(Dtype::F32).arange(Scalar::Int(0), Scalar::Float(1.1), Scalar::Float(0.5))?;
    /// assert_eq!(halves.to_vec::<f32>()?, [0.0, 0.5, 1.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`CreateError::ZeroStep`]: the step is 0
    /// - [`CreateError::NoLength`], [`CreateError::TooLong`]: a NaN, or more numbers than memory can have
    /// - [`CreateError::NotReal`], [`CreateError::NotWhole`]: a complex number; a fraction as start or step of integers
    /// - [`CreateError::NotNumeric`]: the dtype is boolean
    /// - [`Error::ScalarRange`](crate::Error::ScalarRange): an integer that the dtype does not hold
    /// - the errors of [`CreateOptions::zeros`]
    pub fn arange(&self, start: Scalar, stop: Scalar, step: Scalar) -> Result<UsmArray> {
        let highest = start.kind().max(stop.kind()).max(step.kind());
        let dtype = self.dtype_or(highest.max(crate::dtype::WeakScalar::Int));
        let range = ArangeArguments { start, stop, step };
        match dtype.class() {
            Class::Bool => Err(CreateError::NotNumeric { found: dtype }.into()),
            Class::Signed | Class::Unsigned => self.integers(&range, dtype),
            Class::Real | Class::Complex => self.reals(&range, dtype),
            Class::Narrow => self.reals(&range, dtype.computed())?.astype(dtype, CopyMode::IfNeeded),
        }
    }

    fn integers(&self, range: &ArangeArguments, dtype: Dtype) -> Result<UsmArray> {
        let step = whole("step", range.step, dtype)?;
        let start = whole("start", range.start, dtype)?;
        // Whole numbers before a fraction are the ones before the next whole number.
        let stop = match range.stop {
            Scalar::Float(stop) => whole_float(if step > 0 { stop.ceil() } else { stop.floor() }),
            stop => real("stop", stop)?.1,
        };
        let len = match stop {
            Some(stop) => range.len_of_integers(start, stop, step)?,
            None => range.len_of_reals()?, // a NaN or far away: no length, none or too many
        };
        if len > 0 {
            let last = (len as i128 - 1).checked_mul(step).and_then(|reach| start.checked_add(reach));
            for number in [Some(start), last] {
                Scalar::Int(number.ok_or_else(|| range.too_long())?).to_bytes(dtype)?;
            }
        }
        let array = self.vector(len, dtype)?;
        // All numbers fit the dtype, so their lowest bytes are right whatever the sums above them are.
        let (start, step) = (start as u64, step as u64);
        if !by_kernels::integers(&array, start, step, 0, 1)? {
            generate_steps(&array, start, step)?;
        }
        Ok(array)
    }

    fn reals(&self, range: &ArangeArguments, dtype: Dtype) -> Result<UsmArray> {
        let (start, whole_start) = real("start", range.start)?;
        let (_, whole_stop) = real("stop", range.stop)?;
        let (step, whole_step) = real("step", range.step)?;
        let len = match (whole_start, whole_stop, whole_step) {
            (Some(start), Some(stop), Some(step)) => range.len_of_integers(start, stop, step)?,
            _ => range.len_of_reals()?,
        };
        let array = self.vector(len, dtype)?;
        let step = if step.is_finite() { step } else { 0.0 }; // then there is one number at most
        let (re, im) = (Line::by_steps(start, step), Line::by_steps(0.0, 0.0));
        if by_kernels::points(&array, re, im)? {
            return Ok(array);
        }
        match whole_start.zip(whole_step).and_then(|(first, step)| small(first, step, len)) {
            Some((first, step)) if dtype == Dtype::F32 => generate_whole(&array, first, step)?,
            _ => generate_floating(&array, move |i| start + i * step, |_| 0.0)?,
        }
        Ok(array)
    }
}

/// Start and step, if so many numbers from the start on have 32 bits, as both have.
fn small(first: i128, step: i128, len: usize) -> Option<(i32, i32)> {
    let last = (len as i128).checked_sub(1)?.checked_mul(step)?.checked_add(first)?;
    i32::try_from(last).ok()?;
    Some((first.try_into().ok()?, step.try_into().ok()?))
}

/// The arguments as given.
struct ArangeArguments {
    start: Scalar,
    stop: Scalar,
    step: Scalar,
}

impl ArangeArguments {
    fn len_of_integers(&self, start: i128, stop: i128, step: i128) -> Result<usize> {
        if step == 0 {
            return Err(CreateError::ZeroStep { step: self.step }.into());
        }
        if (stop > start) != (step > 0) || stop == start {
            return Ok(0);
        }
        let len = (stop.abs_diff(start) - 1) / step.unsigned_abs() + 1;
        isize::try_from(len).map(isize::cast_unsigned).map_err(|_| self.too_long().into())
    }

    fn len_of_reals(&self) -> Result<usize> {
        let (start, stop, step) =
            (real("start", self.start)?.0, real("stop", self.stop)?.0, real("step", self.step)?.0);
        if step == 0.0 {
            return Err(CreateError::ZeroStep { step: self.step }.into());
        }
        let distance = stop - start;
        let len = distance / step;
        if len.is_nan() {
            return Err(CreateError::NoLength { start: self.start, stop: self.stop, step: self.step }.into());
        }
        // A quotient that rounds to 0 still counts as one element.
        let len = if len == 0.0 && distance != 0.0 && len.is_sign_positive() { 1.0 } else { len.ceil() };
        if len >= isize::MAX as f64 {
            return Err(self.too_long().into());
        }
        Ok(len.max(0.0) as usize)
    }

    const fn too_long(&self) -> CreateError {
        CreateError::TooLong { start: self.start, stop: self.stop, step: self.step }
    }
}

/// A number as `f64`, and as it is if it was given as an integer.
pub(super) fn real(
    argument: &'static str,
    found: Scalar,
) -> std::result::Result<(f64, Option<i128>), CreateError> {
    match found {
        Scalar::Bool(value) => Ok((f64::from(u8::from(value)), Some(value.into()))),
        Scalar::Int(value) => Ok((nearest_f64(value), Some(value))),
        Scalar::Float(value) => Ok((value, None)),
        Scalar::Complex(_) => Err(CreateError::NotReal { argument, found }),
    }
}

/// A whole number, also one given as `f64`.
fn whole(argument: &'static str, found: Scalar, dtype: Dtype) -> std::result::Result<i128, CreateError> {
    let (value, given) = real(argument, found)?;
    given.or_else(|| whole_float(value)).ok_or(CreateError::NotWhole { argument, found, dtype })
}

/// Far below the limits of `i128`, so that no sum overflows.
fn whole_float(value: f64) -> Option<i128> {
    (value.fract() == 0.0 && value.abs() < 2_f64.powi(100)).then_some(value as i128)
}
