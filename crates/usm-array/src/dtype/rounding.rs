//! Numbers of 64 bits as numbers of 16 bits

use half::f16;

/// Rounds once, to the nearest, ties to even. (`f16::from_f64` drops the lower half of the bits before it rounds.)
pub(crate) fn half_from_f64(value: f64) -> f16 {
    let nearest = value as f32;
    if f64::from(nearest) == value || value.is_nan() {
        return f16::from_f32(nearest);
    }
    // Cut off instead, and the last bit set since something was: too far right to be seen in a binary16, but enough to break a tie.
    let too_far = f64::from(nearest).abs() > value.abs();
    f16::from_f32(f32::from_bits((nearest.to_bits() - u32::from(too_far)) | 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_rounded_once() {
        // Just above, at and just below the middle between 1 and the next one; the lowest bit decides.
        let tie = 1.0 + 2_f64.powi(-11);
        for (value, expected) in [
            (tie, 1.0),
            (tie + f64::EPSILON, 1.0 + 2_f32.powi(-10)),
            (tie - f64::EPSILON, 1.0),
            (1.0 + 3.0 * 2_f64.powi(-11) - f64::EPSILON, 1.0 + 2_f32.powi(-10)),
            (-tie - f64::EPSILON, -1.0 - 2_f32.powi(-10)),
            (1e300, f32::INFINITY),
            (-1e300, f32::NEG_INFINITY),
            (1e-300, 0.0),
            (65519.999, 65504.0),
            (65520.0, f32::INFINITY),
            (2_f64.powi(-25) * (1.0 + f64::EPSILON), 2_f32.powi(-24)),
            (2_f64.powi(-25), 0.0),
        ] {
            assert_eq!(half_from_f64(value).to_f32(), expected, "{value}");
        }
        assert!(half_from_f64(f64::NAN).is_nan());
    }
}
