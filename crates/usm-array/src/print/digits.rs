//! Decimal digits of floating-point numbers: the shortest ones that tell a number from the adjacent ones, or as many as wanted
//!
//! Rust finds both, but of two shortest texts that are equally near it does not take the even one, as NumPy does, and it does not
//! write binary16.

use half::f16;

use crate::dtype::half_from_f64;

/// A floating-point type that is written.
pub(super) trait Real: Copy + Into<f64> {
    /// Decimal digits that every number of the type keeps, as `finfo(...).precision`.
    const PRECISION: i32;

    /// The same number.
    fn exact(self) -> f64 {
        self.into()
    }

    /// The number of this type nearest to another, as binary64.
    fn nearest(value: f64) -> f64;

    /// The shortest digits of a finite number without its sign, as `1.25e-3`.
    fn shortest(self) -> String;
}

macro_rules! of_rust {
    ($($real:ty, $precision:literal, $nearest:expr;)*) => {$(
        impl Real for $real {
            const PRECISION: i32 = $precision;

            fn nearest(value: f64) -> f64 {
                $nearest(value)
            }

            fn shortest(self) -> String {
                even_one_of_two(self, format!("{:e}", self.abs()))
            }
        }
    )*};
}

of_rust! {
    f64, 15, |value| value;
    f32, 6, |value| f64::from(value as Self);
}

impl Real for f16 {
    const PRECISION: i32 = 3;

    fn nearest(value: f64) -> f64 {
        half_from_f64(value).into()
    }

    fn shortest(self) -> String {
        let value = self.exact().abs();
        let is_good = |text: &String| text.parse().is_ok_and(|parsed| Self::nearest(parsed) == value);
        // Five digits are enough for binary16. Below a power of two the nearest text may be another number's.
        let texts =
            (0..5).flat_map(|digits| [format!("{value:.digits$e}"), text_on_other_side(value, digits)]);
        without_zeros(&texts.into_iter().find(is_good).unwrap_or_else(|| format!("{value:e}")))
    }
}

/// The text with that number of digits on the other side of a number than the nearest one.
fn text_on_other_side(value: f64, digits: usize) -> String {
    let nearest = format!("{value:.digits$e}");
    let exponent = nearest.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let step = 10_f64.powi(exponent - digits as i32); // at most four digits
    let parsed = nearest.parse().unwrap_or(value);
    format!("{:.digits$e}", if parsed < value { parsed + step } else { parsed - step })
}

/// The digits of `shortest`, or as many others that are as good, nearest to the number or even.
fn even_one_of_two<R: Real>(value: R, shortest: String) -> String {
    let value = value.exact().abs();
    // Digits and their point, which a single one does not have.
    let digits = shortest.split_once('e').map_or(0, |(digits, _)| digits.len().saturating_sub(2));
    let rounded = format!("{value:.digits$e}");
    match rounded.parse().is_ok_and(|parsed| R::nearest(parsed) == value) {
        true => rounded,
        false => shortest,
    }
}

/// `1.50e3` as `1.5e3`.
fn without_zeros(text: &str) -> String {
    match text.split_once('e') {
        Some((digits, exponent)) if digits.contains('.') => {
            format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text.to_owned(),
    }
}

/// How many digits after the point are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct DecimalPlaces {
    /// At most so many; `None` is as many as there are.
    pub(super) most: Option<usize>,
    /// At least that many.
    pub(super) least: usize,
    /// The shortest digits where these limits allow it; otherwise exactly `most`.
    pub(super) unique: bool,
}

impl DecimalPlaces {
    /// How many digits are written of a number whose shortest ones are `shortest`; `None` is the shortest ones.
    fn wanted(self, shortest: usize) -> Option<usize> {
        match self.most {
            Some(most) if !self.unique || shortest > most => Some(most),
            _ if shortest < self.least => Some(self.least),
            _ => None,
        }
    }
}

/// A finite number as text without sign: before the point, after it without zeros at the end unless `least` wants them, exponent.
pub(super) struct Parts {
    pub(super) whole: String,
    pub(super) fraction: String,
    pub(super) exponent: Option<i32>,
}

/// The digits of the shortest text, without a point, and the exponent of the first one.
fn shortest_digits<R: Real>(value: R) -> (String, i32) {
    let text = value.shortest();
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (digits.replace('.', ""), exponent.parse().unwrap_or(0))
}

/// Without an exponent.
pub(super) fn positional<R: Real>(value: R, places: DecimalPlaces) -> Parts {
    let (digits, exponent) = shortest_digits(value);
    let count = digits.len() as i32; // at most 17
    let after_point = usize::try_from(count - 1 - exponent).unwrap_or(0);
    let (whole, fraction) = match places.wanted(if digits == "0" { 0 } else { after_point }) {
        Some(wanted) => split(&format!("{:.wanted$}", value.exact().abs())),
        None if exponent < 0 => {
            let zeros = usize::try_from(-exponent - 1).unwrap_or(0);
            match digits == "0" {
                true => ("0".to_owned(), String::new()),
                false => ("0".to_owned(), "0".repeat(zeros) + &digits),
            }
        }
        None => {
            let before_point = usize::try_from(exponent + 1).unwrap_or(1);
            let (whole, fraction) = digits.split_at(before_point.min(digits.len()));
            (format!("{whole:0<before_point$}"), fraction.to_owned())
        }
    };
    trimmed(whole, fraction, None, places)
}

/// With an exponent.
pub(super) fn scientific<R: Real>(value: R, places: DecimalPlaces) -> Parts {
    let (digits, exponent) = shortest_digits(value);
    let text = match places.wanted(digits.len() - 1) {
        Some(wanted) => format!("{:.wanted$e}", value.exact().abs()),
        None => format!("{}.{}e{exponent}", &digits[..1], &digits[1..]),
    };
    let (number, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (whole, fraction) = split(number);
    trimmed(whole, fraction, exponent.parse().ok(), places)
}

fn split(text: &str) -> (String, String) {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    (whole.to_owned(), fraction.to_owned())
}

fn trimmed(whole: String, fraction: String, exponent: Option<i32>, places: DecimalPlaces) -> Parts {
    let kept = fraction.trim_end_matches('0').len();
    let kept = if places.unique { kept.max(places.least.min(fraction.len())) } else { fraction.len() };
    Parts { whole, fraction: fraction[..kept].to_owned(), exponent }
}
