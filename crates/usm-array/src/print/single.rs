//! The element of an array without axes: all of its digits, as NumPy's scalars are written

use num_complex::Complex;

use super::digits::{DecimalPlaces, Real, positional, scientific};

const ALL: DecimalPlaces = DecimalPlaces { most: None, least: 0, unique: true };

/// A real number; without a fraction it ends with `.0`.
pub(super) fn real<R: Real>(value: R) -> String {
    text(value, ".0")
}

/// A complex number in parentheses, or only its imaginary part if the other is zero without a sign.
pub(super) fn complex<R: Real>(value: Complex<R>) -> String {
    let imaginary = text(value.im, "");
    if value.re.exact() == 0.0 && value.re.exact().is_sign_positive() {
        return format!("{imaginary}j");
    }
    let sign = if imaginary.starts_with('-') { "" } else { "+" };
    format!("({}{sign}{imaginary}j)", text(value.re, ""))
}

fn text<R: Real>(value: R, no_fraction: &str) -> String {
    let exact = value.exact();
    if exact.is_nan() {
        return "nan".to_owned();
    }
    let sign = if exact.is_sign_negative() { "-" } else { "" };
    if exact.is_infinite() {
        return format!("{sign}inf");
    }
    let limit = if R::PRECISION > 8 { 1e16 } else { 10_f64.powi(R::PRECISION) };
    let magnitude = exact.abs();
    if magnitude == 0.0 || (1e-4..limit).contains(&magnitude) {
        let parts = positional(value, ALL);
        return match parts.fraction.is_empty() {
            true => format!("{sign}{}{no_fraction}", parts.whole),
            false => format!("{sign}{}.{}", parts.whole, parts.fraction),
        };
    }
    let parts = scientific(value, ALL);
    let point = if parts.fraction.is_empty() { "" } else { "." };
    let exponent = parts.exponent.unwrap_or(0);
    let exponent_sign = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{}{point}{}e{exponent_sign}{:0>2}", parts.whole, parts.fraction, exponent.unsigned_abs())
}
