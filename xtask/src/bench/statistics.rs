//! Medians, quartiles, and ratios of samples that belong together.

use serde::{Deserialize, Serialize};

/// What is told of samples: the median, and the quartiles around it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Summary {
    pub(super) low: f64,
    pub(super) median: f64,
    pub(super) high: f64,
}

impl Summary {
    /// `None` without samples, or when one is no number.
    pub(super) fn of(samples: &[f64]) -> Option<Self> {
        if samples.is_empty() || samples.iter().any(|sample| !sample.is_finite()) {
            return None;
        }
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let [low, median, high] = [0.25, 0.5, 0.75].map(|share| quantile(&sorted, share));
        Some(Self { low, median, high })
    }

    /// Of the ratios pair by pair: what disturbed a round disturbed both.
    pub(super) fn of_ratios(above: &[f64], below: &[f64]) -> Option<Self> {
        let ratios: Vec<f64> = above.iter().zip(below).map(|(above, below)| above / below).collect();
        Self::of(&ratios)
    }

    pub(super) fn scaled(self, factor: f64) -> Self {
        Self { low: self.low * factor, median: self.median * factor, high: self.high * factor }
    }

    /// True if the middle halves of the samples have nothing in common.
    pub(super) fn is_apart_from(&self, other: &Self) -> bool {
        self.low > other.high || self.high < other.low
    }
}

/// Between the two nearest samples, in proportion.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    sorted[below] + (sorted[above] - sorted[below]) * place.fract()
}

/// A number with three digits and the unit that suits it.
pub(super) fn readable(value: f64, unit: &str) -> String {
    let steps: &[(f64, &str)] = match unit {
        "ns" => &[(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")],
        "B" => &[(1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB"), (1.0, "B")],
        other => return format!("{} {other}", digits(value)),
    };
    let fits = steps.iter().find(|(size, _)| value.abs() >= *size).or(steps.last());
    fits.map_or_else(|| digits(value), |(size, name)| format!("{} {name}", digits(value / size)))
}

/// Three digits, and all of those before the point.
pub(super) fn digits(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_samples() {
        let summary = Summary::of(&[4.0, 1.0, 3.0, 2.0, 5.0]).unwrap();
        assert_eq!(summary, Summary { low: 2.0, median: 3.0, high: 4.0 });
        assert_eq!(Summary::of(&[1.0, 2.0]).unwrap().median, 1.5);
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(Summary::of(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn ratios_are_taken_pair_by_pair() {
        // The middle round was disturbed, for both.
        let ratios = Summary::of_ratios(&[2.0, 200.0, 2.0], &[1.0, 100.0, 1.0]).unwrap();
        assert_eq!(ratios, Summary { low: 2.0, median: 2.0, high: 2.0 });
    }

    #[test]
    fn summaries_are_apart_when_their_halves_are() {
        let one = Summary { low: 1.0, median: 2.0, high: 3.0 };
        assert!(!one.is_apart_from(&Summary { low: 2.5, median: 3.0, high: 4.0 }));
        assert!(one.is_apart_from(&Summary { low: 3.5, median: 3.6, high: 4.0 }));
        assert!(one.is_apart_from(&Summary { low: 0.1, median: 0.2, high: 0.3 }));
    }

    #[test]
    fn numbers_have_the_unit_that_suits_them() {
        assert_eq!(readable(43.21, "ns"), "43.2 ns");
        assert_eq!(readable(1_250.0, "ns"), "1.25 µs");
        assert_eq!(readable(0.4, "ns"), "0.40 ns");
        assert_eq!(readable(20_971_520.0, "B"), "20.0 MiB");
        assert_eq!(readable(1.1, "×"), "1.10 ×");
    }
}
