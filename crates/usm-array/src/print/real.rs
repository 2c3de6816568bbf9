//! Real numbers of one width each

use std::borrow::Cow;

use super::digits::{DecimalPlaces, Parts, Real, positional, scientific};
use super::{FloatMode, PrintOptions, Sign};

/// How all numbers of an array are written.
pub(super) struct RealFormat {
    places: DecimalPlaces,
    has_exponent: bool,
    /// Columns before the point, with the sign
    before_point: usize,
    /// Columns after the point; with an exponent, that included
    after_point: usize,
    /// Digits of the exponent
    exponent_digits: usize,
    sign: Sign,
    nan: Cow<'static, str>,
    inf: Cow<'static, str>,
}

impl RealFormat {
    /// The format in which all of `values` have the same width.
    pub(super) fn new<R: Real>(
        values: impl Iterator<Item = R> + Clone,
        options: &PrintOptions,
        sign: Sign,
    ) -> Self {
        let finite = values.clone().filter(|value| value.exact().is_finite());
        let precision = (options.floatmode != FloatMode::Unique).then_some(options.precision);
        let is_fixed = options.floatmode == FloatMode::Fixed;
        let mut format = Self {
            places: DecimalPlaces { most: precision, least: 0, unique: !is_fixed },
            has_exponent: needs_exponent(finite.clone(), options),
            before_point: 0,
            after_point: 0,
            exponent_digits: 0,
            sign,
            nan: options.nanstr.clone(),
            inf: options.infstr.clone(),
        };
        let mut any = false;
        let mut any_negative = false;
        for value in finite {
            let parts = format.parts(value);
            let is_negative = value.exact().is_sign_negative();
            let signs = usize::from(is_negative || sign == Sign::Plus);
            format.before_point = format.before_point.max(parts.whole.len() + signs);
            format.after_point = format.after_point.max(parts.fraction.len());
            let exponent =
                parts.exponent.map_or(0, |exponent| exponent.unsigned_abs().to_string().len().max(2));
            format.exponent_digits = format.exponent_digits.max(exponent);
            (any, any_negative) = (true, any_negative || is_negative);
        }
        if any && (format.has_exponent || is_fixed || options.floatmode == FloatMode::MaxPrecEqual) {
            format.places.most = Some(format.after_point);
            format.places.least = format.after_point;
        }
        if format.has_exponent {
            format.after_point += 2 + format.exponent_digits; // e and its sign
        }
        if sign == Sign::Space && !any_negative {
            format.before_point += 1;
        }
        format.widen_for_words(values);
        format
    }

    /// Widens the numbers for `nan` and infinities among the values.
    fn widen_for_words<R: Real>(&mut self, values: impl Iterator<Item = R> + Clone) {
        let mut others = values.filter(|value| !value.exact().is_finite()).peekable();
        if others.peek().is_none() {
            return;
        }
        let has_sign = self.sign != Sign::Minus || others.any(|value| value.exact() == f64::NEG_INFINITY);
        let after = self.after_point + 1;
        let nan = self.nan.chars().count().saturating_sub(after);
        let inf = (self.inf.chars().count() + usize::from(has_sign)).saturating_sub(after);
        self.before_point = self.before_point.max(nan).max(inf);
    }

    fn parts<R: Real>(&self, value: R) -> Parts {
        match self.has_exponent {
            true => scientific(value, self.places),
            false => positional(value, self.places),
        }
    }

    /// A number with the width of all.
    pub(super) fn word<R: Real>(&self, value: R) -> String {
        let exact = value.exact();
        let plus = if self.sign == Sign::Plus { "+" } else { "" };
        if !exact.is_finite() {
            let word = match exact {
                _ if exact.is_nan() => format!("{plus}{}", self.nan),
                f64::NEG_INFINITY => format!("-{}", self.inf),
                _ => format!("{plus}{}", self.inf),
            };
            return format!("{word:>width$}", width = self.before_point + 1 + self.after_point);
        }
        let parts = self.parts(value);
        let sign = if exact.is_sign_negative() { "-" } else { plus };
        let whole = format!("{sign}{}", parts.whole);
        let mut fraction = parts.fraction;
        if let Some(exponent) = parts.exponent {
            let sign = if exponent < 0 { '-' } else { '+' };
            let digits = self.exponent_digits;
            fraction.push_str(&format!("e{sign}{:0>digits$}", exponent.unsigned_abs()));
        }
        format!("{whole:>before$}.{fraction:<after$}", before = self.before_point, after = self.after_point)
    }
}

/// Whether numbers are so large, small or different that NumPy writes exponents.
fn needs_exponent<R: Real>(finite: impl Iterator<Item = R>, options: &PrintOptions) -> bool {
    let magnitudes = finite.map(|value| value.exact().abs()).filter(|&magnitude| magnitude != 0.0);
    let (min, max) = magnitudes
        .fold((f64::INFINITY, 0.0_f64), |(min, max), magnitude| (min.min(magnitude), max.max(magnitude)));
    if max == 0.0 {
        return false;
    }
    // NumPy calculates in the type of the elements.
    let is_small = min < R::nearest(0.0001) || R::nearest(max / min) > 1000.0;
    max >= 10_f64.powi(R::PRECISION.min(8)) || (!options.suppress && is_small)
}
