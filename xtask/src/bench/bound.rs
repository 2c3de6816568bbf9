//! Bounds as they are written in goals.toml.

use serde::Deserialize;

use super::statistics::digits;

/// "0.25 µs", "1.15 × limit", "20 ms over the interpreter", "1.15 ×".
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Bound {
    /// As it is written.
    pub(super) text: String,
    /// In nanoseconds, bytes, or as a factor.
    pub(super) value: f64,
    pub(super) is_time: bool,
    pub(super) against: Against,
}

/// What a bound is measured from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Against {
    Nothing,
    /// The bound is a factor of what this contender needs.
    Times(String),
    /// The bound comes on top of what this contender needs.
    Over(String),
}

impl TryFrom<String> for Bound {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not like \"0.25 µs\", \"1.15 × limit\" or \"20 ms over C\"");
        let mut words = text.splitn(3, ' ');
        let number: f64 = words.next().and_then(|word| word.parse().ok()).ok_or_else(wrong)?;
        let unit = words.next().ok_or_else(wrong)?;
        let rest = words.next();
        let size = match unit {
            "ns" | "B" | "×" => 1.0,
            "µs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "KiB" => 1024.0,
            "MiB" => 1_048_576.0,
            _ => return Err(wrong()),
        };
        let against = match (unit, rest) {
            (_, None) => Against::Nothing,
            ("×", Some(name)) => Against::Times(name.to_owned()),
            (_, Some(rest)) => Against::Over(rest.strip_prefix("over ").ok_or_else(wrong)?.to_owned()),
        };
        let is_time = unit.ends_with('s') && against == Against::Nothing;
        Ok(Self { value: number * size, is_time, against, text })
    }
}

impl Bound {
    /// The bound where Python takes `pace` times as long; only times grow.
    pub(super) fn at_pace(&self, pace: f64) -> Self {
        if !self.is_time || pace <= 1.0 {
            return self.clone();
        }
        Self { value: self.value * pace, text: format!("{} × {}", self.text, digits(pace)), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(text: &str) -> Result<Bound, String> {
        Bound::try_from(text.to_owned())
    }

    #[test]
    fn bounds_are_read_as_they_are_written() {
        let times = bound("1.15 × usm in Rust").unwrap();
        assert_eq!((times.value, times.against), (1.15, Against::Times("usm in Rust".to_owned())));
        let over = bound("20 ms over the interpreter").unwrap();
        assert_eq!((over.value, over.against), (2e7, Against::Over("the interpreter".to_owned())));
        assert_eq!(bound("0.25 µs").unwrap().value, 250.0);
        let slower = bound("0.25 µs").unwrap().at_pace(2.0);
        assert_eq!((slower.value, slower.text.as_str()), (500.0, "0.25 µs × 2.00"));
        for other in ["20 ms over the interpreter", "20 MiB", "1.15 × limit"] {
            assert_eq!(bound(other).unwrap().at_pace(2.0), bound(other).unwrap());
        }
        assert_eq!(bound("20 MiB").unwrap().value, 20.0 * 1024.0 * 1024.0);
        assert_eq!(bound("1.15 ×").unwrap().against, Against::Nothing);
    }

    #[test]
    fn other_bounds_are_refused() {
        for text in ["", "fast", "1.15", "3 parsecs", "20 ms under C"] {
            assert!(bound(text).is_err(), "{text}");
        }
    }
}
