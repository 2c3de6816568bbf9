//! Numbers of 16, 32 and 64 bits, rounded as an instruction says.

/// How an inexact result is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    /// To the nearest number, a tie to the even one.
    Nearest,
    Zero,
    Down,
    Up,
}

/// A binary format of IEEE 754.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    /// Bits of the fraction.
    fraction: u32,
    /// The exponent of the smallest normal number.
    min_exponent: i32,
    nan: u64,
}

pub(super) const F16: Format = Format { fraction: 10, min_exponent: -14, nan: 0x7fff };
pub(super) const F32: Format = Format { fraction: 23, min_exponent: -126, nan: 0x7fff_ffff };
pub(super) const F64: Format = Format { fraction: 52, min_exponent: -1022, nan: 0x7ff8_0000_0000_0000 };

impl Format {
    fn exponent_bits(self) -> u64 {
        // From 0 for subnormal numbers to the one of infinity.
        (2 - 2 * i64::from(self.min_exponent) + 1).cast_unsigned()
    }

    fn infinity(self) -> u64 {
        self.exponent_bits() << self.fraction
    }

    fn sign(self) -> u64 {
        (self.infinity() << 1) & !self.infinity() & !((1 << self.fraction) - 1)
    }
}

/// The number of some bits.
pub(super) fn decode(bits: u64, format: Format) -> f64 {
    if format.fraction == F64.fraction {
        return f64::from_bits(bits);
    }
    let is_negative = bits & format.sign() != 0;
    let magnitude = bits & (format.sign() - 1);
    let fraction = magnitude & ((1 << format.fraction) - 1);
    let exponent = (magnitude >> format.fraction) as i32;
    let value = if magnitude > format.infinity() {
        f64::NAN
    } else if magnitude == format.infinity() {
        f64::INFINITY
    } else {
        let (significand, exponent) = match exponent {
            0 => (fraction, format.min_exponent),
            _ => (fraction | 1 << format.fraction, exponent - 1 + format.min_exponent),
        };
        // Exact: at most 24 bits, and exponents within those of 64 bits.
        significand as f64 * 2_f64.powi(exponent - format.fraction as i32)
    };
    if is_negative { -value } else { value }
}

/// The bits of a number.
pub(super) fn encode(value: f64, format: Format, rounding: Rounding) -> u64 {
    if value.is_nan() {
        return format.nan;
    }
    let bits = value.abs().to_bits();
    if value.is_infinite() || bits == 0 {
        let magnitude = if bits == 0 { 0 } else { format.infinity() };
        return magnitude | if value.is_sign_negative() { format.sign() } else { 0 };
    }
    let exponent = (bits >> F64.fraction) as i32;
    let fraction = bits & ((1 << F64.fraction) - 1);
    let (significand, exponent) = match exponent {
        0 => (fraction, F64.min_exponent),
        _ => (fraction | 1 << F64.fraction, exponent - 1 + F64.min_exponent),
    };
    encode_parts(value.is_sign_negative(), significand, exponent - F64.fraction as i32, format, rounding)
}

/// The bits of an integer.
pub(super) fn encode_integer(value: i128, format: Format, rounding: Rounding) -> u64 {
    match u64::try_from(value.unsigned_abs()) {
        Ok(0) | Err(_) => 0,
        Ok(significand) => encode_parts(value < 0, significand, 0, format, rounding),
    }
}

/// The bits of `significand · 2^exponent`, which is not 0.
fn encode_parts(
    is_negative: bool,
    significand: u64,
    exponent: i32,
    format: Format,
    rounding: Rounding,
) -> u64 {
    let sign = if is_negative { format.sign() } else { 0 };
    let top = 63 - significand.leading_zeros() as i32 + exponent;
    // The exponent of the last bit that the result has.
    let last = top.max(format.min_exponent) - format.fraction as i32;
    let drop = last - exponent;
    let (kept, is_inexact, is_above_half, is_half) = if drop <= 0 {
        (significand << -drop.max(-63), false, false, false)
    } else if drop > 64 {
        (0, true, false, false)
    } else {
        let wide = u128::from(significand);
        let (kept, rest, half) = (wide >> drop, wide & ((1 << drop) - 1), 1_u128 << (drop - 1));
        (kept as u64, rest != 0, rest > half, rest == half)
    };
    let is_up = match rounding {
        Rounding::Nearest => is_above_half || is_half && kept & 1 == 1,
        Rounding::Zero => false,
        Rounding::Down => is_inexact && is_negative,
        Rounding::Up => is_inexact && !is_negative,
    };
    // A carry out of the fraction moves on to the exponent, as it must.
    let biased = (top.max(format.min_exponent) - format.min_exponent) as u64;
    let magnitude = (biased << format.fraction) + kept + u64::from(is_up);
    if magnitude < format.infinity() {
        return sign | magnitude;
    }
    let is_infinite = match rounding {
        Rounding::Nearest => true,
        Rounding::Zero => false,
        Rounding::Down => is_negative,
        Rounding::Up => !is_negative,
    };
    sign | if is_infinite { format.infinity() } else { format.infinity() - 1 }
}

#[cfg(test)]
mod tests {
    use super::{F16, F32, F64, Rounding, decode, encode, encode_integer};

    fn samples() -> impl Iterator<Item = u64> {
        let edges = [
            0,
            1,
            2,
            0x8000_0000_0000_0000,
            f64::MAX.to_bits(),
            f64::INFINITY.to_bits(),
            5e-324_f64.to_bits(),
        ];
        let near = [
            65504.0, 65519.99, 65520.0, 1e-8, 5.96e-8, 2.98e-8, 2.99e-8, 6.1e-5, 1.0, -1.5, 3.4e38, 3.5e38,
            1e-45, 7e-46, 1e-40,
        ];
        let mut state = 1_u64;
        let random = (0..2000).map(move |index: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Exponents around those of the narrow formats.
            let exponent = 1023 - 160 + (state >> 20) % 320;
            (state & !(0x7ff << 52))
                | exponent << 52
                | if index.is_multiple_of(3) { 0 } else { state & 0xfff }
        });
        edges.into_iter().chain(near.map(f64::to_bits)).chain(random)
    }

    #[test]
    fn numbers_of_32_bits_are_those_of_the_processor() {
        for bits in samples() {
            let value = f64::from_bits(bits);
            assert_eq!(
                encode(value, F32, Rounding::Nearest),
                u64::from((value as f32).to_bits()),
                "{value:e}"
            );
            assert_eq!(encode(value, F64, Rounding::Up), bits);
        }
        for bits in (0..u32::MAX).step_by(65_521) {
            let value = f32::from_bits(bits);
            let decoded = decode(bits.into(), F32);
            assert!(decoded == f64::from(value) || decoded.is_nan() && value.is_nan(), "{value:e}");
        }
    }

    #[test]
    fn all_numbers_of_16_bits_come_back() {
        for bits in 0..=0xffff_u64 {
            let value = decode(bits, F16);
            assert_eq!(encode(value, F16, Rounding::Nearest), if value.is_nan() { 0x7fff } else { bits });
        }
        assert_eq!(
            (decode(0x3c00, F16), decode(0xfbff, F16), decode(1, F16)),
            (1.0, -65504.0, 2_f64.powi(-24))
        );
    }

    #[test]
    fn rounding_goes_where_it_should() {
        for bits in samples() {
            let value = f64::from_bits(bits);
            for format in [F16, F32] {
                let to = |rounding| decode(encode(value, format, rounding), format);
                let (down, up, zero, nearest) =
                    (to(Rounding::Down), to(Rounding::Up), to(Rounding::Zero), to(Rounding::Nearest));
                assert!(down <= value && value <= up, "{value:e}");
                assert_eq!(zero, if value < 0.0 { up } else { down });
                assert!(nearest == down || nearest == up);
                if down.is_finite() && up.is_finite() && down != up {
                    assert!(
                        (nearest - value).abs() <= (down - value).abs().min((up - value).abs()),
                        "{value:e}"
                    );
                }
            }
        }
        assert_eq!(encode(65519.99, F16, Rounding::Nearest), 0x7bff);
        assert_eq!(encode(65520.0, F16, Rounding::Nearest), 0x7c00);
        assert_eq!(encode(-1e9, F16, Rounding::Zero), 0xfbff);
    }

    #[test]
    fn integers_are_rounded_once() {
        for value in [
            0_i64,
            1,
            -1,
            7,
            16_777_217,
            16_777_219,
            -16_777_217,
            i64::MAX,
            i64::MIN,
            (1 << 53) + 1,
            2049,
            65_519,
        ] {
            assert_eq!(
                encode_integer(value.into(), F32, Rounding::Nearest),
                u64::from((value as f32).to_bits())
            );
            assert_eq!(encode_integer(value.into(), F64, Rounding::Nearest), (value as f64).to_bits());
        }
        assert_eq!(
            encode_integer(u64::MAX.into(), F32, Rounding::Nearest),
            u64::from((u64::MAX as f32).to_bits())
        );
        assert_eq!(
            encode_integer(u64::MAX.into(), F32, Rounding::Zero),
            u64::from(1.844_674_3e19_f32.to_bits())
        );
        assert_eq!(encode_integer(2049, F16, Rounding::Nearest), 0x6800);
        assert_eq!(encode_integer(70_000, F16, Rounding::Nearest), 0x7c00);
    }
}
