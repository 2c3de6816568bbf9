//! The elements of every dtype as words of one width

use half::f16;
use num_complex::Complex;

use super::digits::Real;
use super::real::RealFormat;
use super::{PrintOptions, Sign, single};
use crate::dtype::Bool8;
use crate::error::{Error, Result};

/// Elements that are written.
pub(super) trait Printed: Copy {
    /// One word for each value. The word of an array without axes is not aligned.
    fn words(values: &[Self], is_single: bool, options: &PrintOptions) -> Result<Vec<String>>;

    /// A value alone.
    fn single(self) -> String;
}

/// One word for each value, if there is memory for them.
fn each<T: Copy>(values: &[T], word: impl Fn(T) -> String) -> Result<Vec<String>> {
    let mut words = Vec::new();
    words.try_reserve_exact(values.len()).map_err(|_| Error::OutOfHostMemory {
        len_bytes: values.len().saturating_mul(size_of::<String>()),
    })?;
    words.extend(values.iter().map(|&value| word(value)));
    Ok(words)
}

impl Printed for Bool8 {
    fn words(values: &[Self], is_single: bool, _: &PrintOptions) -> Result<Vec<String>> {
        let width = if is_single { 0 } else { 5 };
        each(values, |value| format!("{:>width$}", value.single()))
    }

    fn single(self) -> String {
        if self.to_bool() { "True" } else { "False" }.to_owned()
    }
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Printed for $type {
            fn words(values: &[Self], _: bool, options: &PrintOptions) -> Result<Vec<String>> {
                let (min, max) = values.iter().fold((Self::MAX, Self::MIN), |(min, max), &value| {
                    (min.min(value), max.max(value))
                });
                #[allow(unused_comparisons, reason = "the macro serves unsigned integers too")]
                let (min_is_negative, max_is_negative) = (min < 0, max < 0);
                let sign = match options.sign {
                    Sign::Space if min_is_negative => Sign::Minus,
                    sign => sign,
                };
                let has_sign = !max_is_negative && sign != Sign::Minus;
                let width = (max.to_string().len() + usize::from(has_sign)).max(min.to_string().len());
                each(values, |value| match sign {
                    Sign::Plus => format!("{value:>+width$}"),
                    _ => format!("{value:>width$}"),
                })
            }

            fn single(self) -> String {
                self.to_string()
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! reals {
    ($($type:ty)*) => {$(
        impl Printed for $type {
            fn words(values: &[Self], _: bool, options: &PrintOptions) -> Result<Vec<String>> {
                let format = RealFormat::new(values.iter().copied(), options, options.sign);
                each(values, |value| format.word(value))
            }

            fn single(self) -> String {
                single::real(self)
            }
        }
    )*};
}

reals!(f16 f32 f64);

impl<R: Real> Printed for Complex<R> {
    fn words(values: &[Self], _: bool, options: &PrintOptions) -> Result<Vec<String>> {
        let re = RealFormat::new(values.iter().map(|value| value.re), options, options.sign);
        let im = RealFormat::new(values.iter().map(|value| value.im), options, Sign::Plus);
        each(values, |value| {
            let imaginary = im.word(value.im);
            let digits = imaginary.trim_end();
            format!("{}{digits}j{}", re.word(value.re), &imaginary[digits.len()..])
        })
    }

    fn single(self) -> String {
        single::complex(self)
    }
}
