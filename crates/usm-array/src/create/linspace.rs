//! Evenly spaced numbers between two ends

use super::CreateOptions;
use super::arange::real;
use super::by_kernels;
use super::generate::{generate_floating, generate_integers};
use super::line::Line;
use crate::array::UsmArray;
use crate::copy::CopyMode;
use crate::dtype::{Class, WeakScalar};
use crate::error::{CreateError, Error, Result};
use crate::scalar::Scalar;

impl CreateOptions<'_> {
    /// `num` numbers at equal distances from `start` to `stop`, which is exactly the last one with `endpoint`, and would be the next
    /// one without: by default real numbers, or complex ones if one of the ends is.
    ///
    /// They are computed in `f64` as NumPy does and rounded to the dtype. Integers are rounded down, from the exact values if both
    /// ends are integers.
    ///
    /// ```
    /// use usm_array::{CreateOptions, Scalar, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let new = CreateOptions::new(&queue, UsmKind::Shared);
    /// let (start, stop) = (Scalar::Int(0), Scalar::Float(1.0));
    /// assert_eq!(new.linspace(start, stop, 5, true)?.to_vec::<f64>()?, [0.0, 0.25, 0.5, 0.75, 1.0]);
    /// assert_eq!(new.linspace(start, stop, 2, false)?.to_vec::<f64>()?, [0.0, 0.5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`CreateError::NotNumeric`]: the dtype is boolean
    /// - [`CreateError::NotReal`]: a complex end of real numbers
    /// - [`Error::ScalarRange`]: an end that an integer dtype does not hold
    /// - the errors of [`CreateOptions::zeros`]
    pub fn linspace(&self, start: Scalar, stop: Scalar, num: usize, endpoint: bool) -> Result<UsmArray> {
        let dtype = self.dtype_or(start.kind().max(stop.kind()).max(WeakScalar::Float));
        let steps = if endpoint { num.saturating_sub(1) } else { num };
        let has_end = endpoint && num > 1;
        if dtype.class() == Class::Bool {
            return Err(CreateError::NotNumeric { found: dtype }.into());
        }
        if dtype.is_narrow() {
            let computed = self.dtype(dtype.computed());
            return computed.linspace(start, stop, num, endpoint)?.astype(dtype, CopyMode::IfNeeded);
        }
        if dtype.class() == Class::Complex {
            let (start, stop) = (start.to_complex(), stop.to_complex());
            let re = Line::new(start.re, stop.re, steps, has_end);
            let im = Line::new(start.im, stop.im, steps, has_end);
            let array = self.vector(num, dtype)?;
            if !by_kernels::points(&array, re, im)? {
                generate_floating(&array, move |i| re.at(i), move |i| im.at(i))?;
            }
            return Ok(array);
        }
        let (first, whole_first) = real("start", start)?;
        let (last, whole_last) = real("stop", stop)?;
        let line = Line::new(first, last, steps, has_end);
        if dtype.class() == Class::Real {
            let array = self.vector(num, dtype)?;
            if !by_kernels::points(&array, line, line)? {
                generate_floating(&array, move |i| line.at(i), |_| 0.0)?;
            }
            return Ok(array);
        }
        if let Some((first, last)) = whole_first.zip(whole_last) {
            start.to_bytes(dtype)?;
            stop.to_bytes(dtype)?;
            let array = self.vector(num, dtype)?;
            let (quotient, remainder) = divided(first, last, steps);
            if !by_kernels::integers(&array, first as u64, quotient, remainder, steps.max(1) as u64)? {
                generate_integers(&array, exact(first, last, steps))?;
            }
            return Ok(array);
        }
        for (end, found) in [(first, start), (last, stop)] {
            floor(end)
                .and_then(|end| Scalar::Int(end).to_bytes(dtype).ok())
                .ok_or(Error::ScalarRange { found, dtype })?;
        }
        let array = self.vector(num, dtype)?;
        // Between the ends, which are small enough.
        if by_kernels::points(&array, line, line)? {
            return Ok(array);
        }
        generate_integers(&array, |i| floor(line.at(i as f64)).unwrap_or_default() as u64)?;
        Ok(array)
    }
}

/// The distance of the ends, divided by the steps and rounded down, and what is left over.
fn divided(start: i128, stop: i128, steps: usize) -> (u64, u64) {
    let steps = steps.max(1) as i128;
    let distance = stop - start; // both are elements of at most 64 bits
    (distance.div_euclid(steps) as u64, distance.rem_euclid(steps) as u64)
}

/// The largest integers that are not above the points of a line, one after the other: `start + floor(i * (stop - start) / steps)`.
fn exact(start: i128, stop: i128, steps: usize) -> impl FnMut(usize) -> u64 {
    let (quotient, remainder) = divided(start, stop, steps);
    let steps = steps.max(1) as u64;
    let (mut next, mut above) = (start as u64, 0);
    move |_| {
        let value = next;
        next = next.wrapping_add(quotient);
        above += remainder; // both are below `steps`, which is at most `isize::MAX`
        if above >= steps {
            above -= steps;
            next = next.wrapping_add(1);
        }
        value
    }
}

fn floor(value: f64) -> Option<i128> {
    (value.abs() < 2_f64.powi(100)).then_some(value.floor() as i128)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_between_the_farthest_ends() {
        let mut values = exact(i64::MIN.into(), i64::MAX.into(), 2);
        assert_eq!([0, 1, 2].map(|i| values(i) as i64), [i64::MIN, -1, i64::MAX]);
        let mut values = exact(u64::MAX.into(), 0, 3);
        assert_eq!([0, 1, 2, 3].map(&mut values), [u64::MAX, u64::MAX / 3 * 2, u64::MAX / 3, 0]);
    }
}
