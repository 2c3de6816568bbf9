//! Points that have the same distance from each other

/// The points of a line.
#[derive(Clone, Copy)]
pub(super) struct Line {
    pub(super) start: f64,
    pub(super) stop: f64,
    /// Number of steps from the start to the stop
    pub(super) steps: f64,
    /// Distance of two points; `None` if their distance has no `f64`, or is too small for it
    pub(super) step: Option<f64>,
    /// Number of the point that is the stop, whatever the step makes of it; none is NaN
    pub(super) end: f64,
}

impl Line {
    /// The points `start + i * step`.
    pub(super) const fn by_steps(start: f64, step: f64) -> Self {
        Self { start, stop: start, steps: 1.0, step: Some(step), end: f64::NAN }
    }

    pub(super) fn new(start: f64, stop: f64, steps: usize, has_end: bool) -> Self {
        let step = (stop - start) / steps.max(1) as f64;
        let step = (step.is_finite() && (step != 0.0 || stop == start)).then_some(step);
        let end = if has_end { steps as f64 } else { f64::NAN };
        Self { start, stop, steps: steps.max(1) as f64, step, end }
    }

    /// The point of that number. Without a branch for each, where there is a step.
    #[inline]
    pub(super) fn at(&self, i: f64) -> f64 {
        let point = match self.step {
            Some(step) => i * step + self.start,
            None => self.part(i),
        };
        if i == self.end { self.stop } else { point }
    }

    fn part(&self, i: f64) -> f64 {
        let part = i / self.steps;
        if part == 0.0 {
            return self.start;
        }
        match self.stop - self.start {
            distance if distance.is_finite() => part * distance + self.start,
            _ => self.start * (1.0 - part) + self.stop * part,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Line;

    #[test]
    fn lines_too_long_or_too_short_for_a_step() {
        let longest = Line::new(f64::MIN, f64::MAX, 2, true);
        assert_eq!([0.0, 1.0, 2.0].map(|i| longest.at(i)), [f64::MIN, 0.0, f64::MAX]);
        let shortest = Line::new(0.0, 5e-324, 4, true);
        assert_eq!([0.0, 1.0, 3.0, 4.0].map(|i| shortest.at(i)), [0.0, 0.0, 5e-324, 5e-324]);
        assert_eq!(Line::new(1.0, f64::INFINITY, 2, true).at(0.0), 1.0);
        assert!(f64::is_nan(Line::new(f64::NAN, 0.0, 2, true).at(1.0)));
    }
}
