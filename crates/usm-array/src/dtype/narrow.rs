//! The narrow floating-point numbers: bfloat16 and those of 8 bits
//!
//! | dtype | source of the format |
//! |---|---|
//! | `bfloat16` | the upper half of an IEEE 754 binary32 |
//! | `float8_e4m3fn`, `float8_e5m2` | [OCP 8-bit floating point, revision 1.0](https://www.opencompute.org/documents/ocp-8-bit-floating-point-specification-ofp8-revision-1-0-2023-12-01-pdf-1) |
//! | `float8_e4m3fnuz`, `float8_e5m2fnuz` | [8-bit numerical formats for deep neural networks](https://arxiv.org/abs/2206.02915) |
//!
//! The names and the bits of NaN are those of [ml_dtypes](https://github.com/jax-ml/ml_dtypes). A number becomes narrow by way of binary32, as there: it is
//! rounded to the nearest one, to the even one of two. A number beyond the largest one becomes infinite, or NaN in formats without
//! infinities. There is no `float8_e8m0fnu`: it has neither a zero nor a sign, so fills, masks and sums would need rules of their own.

use std::cmp::Ordering;
use std::fmt;

use half::bf16;

use super::Dtype;

/// What the largest bits of a format of 8 bits mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    /// Infinities and NaN, as in IEEE 754.
    Ieee,
    /// No infinities; all bits but the sign are set in a NaN.
    Finite,
    /// No infinities and no negative zero, whose bits are the only NaN.
    UnsignedZero,
}

/// A format of 8 bits: sign, exponent, fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// Bits of the fraction
    pub(crate) fraction: u32,
    /// The exponent of 1
    pub(crate) bias: u32,
    pub(crate) special: Special,
}

const SIGN: u32 = 0x80;

impl Format {
    pub(crate) const E4M3FN: Self = Self { fraction: 3, bias: 7, special: Special::Finite };
    pub(crate) const E4M3FNUZ: Self = Self { fraction: 3, bias: 8, special: Special::UnsignedZero };
    pub(crate) const E5M2: Self = Self { fraction: 2, bias: 15, special: Special::Ieee };
    pub(crate) const E5M2FNUZ: Self = Self { fraction: 2, bias: 16, special: Special::UnsignedZero };

    /// The bits of the largest number.
    pub(crate) const fn largest(self) -> u32 {
        match self.special {
            Special::Ieee => (0x7f >> self.fraction << self.fraction) - 1,
            Special::Finite => 0x7e,
            Special::UnsignedZero => 0x7f,
        }
    }

    /// The bits of what is beyond the largest number, and of NaN, without the sign.
    const fn beyond_and_nan(self) -> (u32, u32) {
        match self.special {
            Special::Ieee => (self.largest() + 1, 0x7f ^ (1 << (self.fraction - 2))),
            Special::Finite => (0x7f, 0x7f),
            Special::UnsignedZero => (SIGN, SIGN),
        }
    }

    /// Two to a power between those of the smallest and the largest normal binary32.
    const fn power(exponent: i32) -> f32 {
        f32::from_bits(((exponent + 127) as u32) << 23)
    }

    /// The number that 1 in the lowest bit stands for.
    const fn unit(self) -> f32 {
        Self::power(1 - (self.bias + self.fraction) as i32)
    }

    /// The number with these bits.
    #[inline(always)]
    pub(crate) const fn decode(self, bits: u8) -> f32 {
        let bits = bits as u32;
        let (sign, rest) = ((bits & SIGN) << 24, bits & 0x7f);
        // A subnormal number is a whole number of units.
        let small = (rest as f32 * self.unit()).to_bits();
        let normal = (rest << (23 - self.fraction)) + ((127 - self.bias) << 23);
        let number = if rest >> self.fraction == 0 { small } else { normal };
        let is_nan = match self.special {
            Special::Ieee => rest > self.largest() + 1,
            Special::Finite => rest == 0x7f,
            Special::UnsignedZero => bits == SIGN,
        };
        let is_infinite = matches!(self.special, Special::Ieee) && rest == self.largest() + 1;
        f32::from_bits(
            sign | if is_nan {
                0x7fc0_0000
            } else if is_infinite {
                0x7f80_0000
            } else {
                number
            },
        )
    }

    /// The bits of the number nearest to another.
    #[inline(always)]
    pub(crate) const fn encode(self, number: f32) -> u8 {
        let bits = number.to_bits();
        let (sign, rest) = (bits >> 24 & SIGN, bits & 0x7fff_ffff);
        let drop = 23 - self.fraction;
        // The sum has as many bits below the point as the format has.
        let shift = self.unit() * Self::power(23);
        let small = (f32::from_bits(rest) + shift).to_bits().wrapping_sub(shift.to_bits());
        let rebased = rest.wrapping_sub((127 - self.bias) << 23);
        let normal = rebased.wrapping_add((1 << (drop - 1)) - 1 + (rebased >> drop & 1)) >> drop;
        let nearest = if rest < (128 - self.bias) << 23 { small } else { normal };
        let (beyond, nan) = self.beyond_and_nan();
        let result = if rest > 0x7f80_0000 {
            nan
        } else if nearest > self.largest() {
            beyond
        } else {
            nearest
        };
        let has_sign = !matches!(self.special, Special::UnsignedZero) || (result != 0 && result != SIGN);
        (result | if has_sign { sign } else { 0 }) as u8
    }
}

impl Dtype {
    /// The format of a dtype of 8 bits.
    pub(crate) const fn format(self) -> Option<Format> {
        match self {
            Self::F8E4M3Fn => Some(Format::E4M3FN),
            Self::F8E4M3Fnuz => Some(Format::E4M3FNUZ),
            Self::F8E5M2 => Some(Format::E5M2),
            Self::F8E5M2Fnuz => Some(Format::E5M2FNUZ),
            Self::Bool | Self::I8 | Self::I16 | Self::I32 | Self::I64 => None,
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => None,
            Self::F16 | Self::F32 | Self::F64 | Self::C64 | Self::C128 | Self::BF16 => None,
        }
    }
}

/// The bfloat16 nearest to a number. `bf16::from_f32` keeps bits of a NaN; this gives the NaN of ml_dtypes.
#[inline(always)]
pub(crate) fn bfloat_from_f32(number: f32) -> bf16 {
    let bits = number.to_bits();
    let nearest = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    let nan = bits >> 16 & 0x8000 | 0x7fc0;
    bf16::from_bits(if number.is_nan() { nan } else { nearest } as u16)
}

macro_rules! floats {
    ($($(#[$doc:meta])* $name:ident: $format:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Default)]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
            /// Takes the bits as they are in memory.
            #[must_use]
            pub const fn from_bits(bits: u8) -> Self {
                Self(bits)
            }

            /// The bits as they are in memory.
            #[must_use]
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// The nearest number, the even one of two.
            #[must_use]
            #[inline(always)]
            pub const fn from_f32(number: f32) -> Self {
                Self(Format::$format.encode(number))
            }

            /// The same number.
            #[must_use]
            #[inline(always)]
            pub const fn to_f32(self) -> f32 {
                Format::$format.decode(self.0)
            }
        }

        impl From<$name> for f32 {
            fn from(number: $name) -> Self {
                number.to_f32()
            }
        }

        impl From<$name> for f64 {
            fn from(number: $name) -> Self {
                number.to_f32().into()
            }
        }

        // As numbers: zeros are equal, and NaN is equal to nothing.
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.to_f32() == other.to_f32()
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.to_f32(), f)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.to_f32(), f)
            }
        }
    )*};
}

floats! {
    /// A number of 8 bits: 4 of the exponent, 3 of the fraction, up to 448. No infinities.
    ///
    /// ```
    /// use usm_array::F8E4M3Fn;
    ///
    /// assert_eq!(F8E4M3Fn::from_f32(0.3).to_f32(), 0.3125);
    /// assert!(F8E4M3Fn::from_f32(465.0).to_f32().is_nan());
    /// assert_eq!(F8E4M3Fn::from_bits(0x7e).to_f32(), 448.0);
    /// ```
    F8E4M3Fn: E4M3FN;
    /// A number of 8 bits: 4 of the exponent, 3 of the fraction, up to 240. No infinities, no negative zero.
    F8E4M3Fnuz: E4M3FNUZ;
    /// A number of 8 bits: 5 of the exponent, 2 of the fraction, up to 57344. It has infinities.
    F8E5M2: E5M2;
    /// A number of 8 bits: 5 of the exponent, 2 of the fraction, up to 57344. No infinities, no negative zero.
    F8E5M2Fnuz: E5M2FNUZ;
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMATS: [Format; 4] = [Format::E4M3FN, Format::E4M3FNUZ, Format::E5M2, Format::E5M2FNUZ];

    /// The number of some bits by the definition of the formats, without the arithmetic of the library.
    fn defined(format: Format, bits: u8) -> f64 {
        let (exponent_bits, ones) = (7 - format.fraction, 0x7f_u8);
        let sign = if bits & 0x80 == 0 { 1.0 } else { -1.0 };
        let exponent = i32::from(bits & ones) >> format.fraction;
        let fraction = f64::from(bits & ((1 << format.fraction) - 1)) / f64::from(1 << format.fraction);
        let is_last = exponent == (1 << exponent_bits) - 1;
        match format.special {
            Special::Ieee if is_last && fraction == 0.0 => return sign * f64::INFINITY,
            Special::Ieee if is_last => return f64::NAN,
            Special::Finite if bits & ones == ones => return f64::NAN,
            Special::UnsignedZero if bits == 0x80 => return f64::NAN,
            _ => {}
        }
        let bias = format.bias as i32;
        let magnitude = match exponent {
            0 => fraction * 2_f64.powi(1 - bias),
            _ => (1.0 + fraction) * 2_f64.powi(exponent - bias),
        };
        sign * magnitude
    }

    /// The finite numbers that are not negative, by their bits.
    fn finite(format: Format) -> Vec<f64> {
        (0..=0x7f).map(|bits| defined(format, bits)).take_while(|value| value.is_finite()).collect()
    }

    /// The bits of the nearest number, found among all of them.
    fn nearest(format: Format, finite: &[f64], number: f32) -> u8 {
        let is_unsigned = format.special == Special::UnsignedZero;
        let sign = if number.is_sign_negative() { 0x80 } else { 0 };
        let nan = match format.special {
            Special::Ieee => sign | 0x7e,
            Special::Finite => sign | 0x7f,
            Special::UnsignedZero => 0x80,
        };
        if number.is_nan() {
            return nan;
        }
        let magnitude = f64::from(number.abs());
        let last = finite.len() - 1;
        let (largest, below) = (finite[last], finite[last - 1]);
        // Half a step beyond the largest number is where rounding would reach the next one; its bits would be even or odd.
        let step = largest - below;
        let is_beyond =
            magnitude > largest + step / 2.0 || (magnitude == largest + step / 2.0 && last % 2 == 1);
        if is_beyond {
            return if format.special == Special::Ieee { sign | 0x7c } else { nan };
        }
        let distance = |bits: usize| (finite[bits] - magnitude).abs();
        let by_distance = |&a: &usize, &b: &usize| distance(a).total_cmp(&distance(b));
        let best = (0..=last).min_by(|a, b| by_distance(a, b).then((a % 2).cmp(&(b % 2))));
        match best.unwrap() {
            0 if is_unsigned => 0,
            bits => sign | bits as u8,
        }
    }

    /// Numbers of binary32 around every place where the result changes, and many others.
    fn numbers(values: impl Iterator<Item = f64>) -> Vec<f32> {
        let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let mut numbers = Vec::new();
        let ends = values.windows(2).flat_map(|pair| [pair[0], (pair[0] + pair[1]) / 2.0]);
        let largest = values[values.len() - 1];
        let step = largest - values[values.len() - 2];
        for value in ends.chain([largest, largest + step / 2.0, -largest - step / 2.0, largest + step]) {
            let near = value as f32;
            numbers.extend([near.next_down(), near, near.next_up()]);
        }
        numbers.extend([0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, f32::MIN_POSITIVE]);
        numbers.extend(
            [0x7fc0_0000, 0xffc0_0000, 0x7f80_0001, 0xff80_0001, 0xffff_ffff, 1, 0x8000_0001]
                .map(f32::from_bits),
        );
        numbers.extend((0..=u32::from(u16::MAX)).map(|upper| f32::from_bits(upper << 16 | 0x8000)));
        numbers.extend((0..60_000_u32).map(|i| f32::from_bits(i.wrapping_mul(0x9e37_79b9))));
        numbers
    }

    #[test]
    fn every_byte_is_the_number_of_its_format() {
        for format in FORMATS {
            for bits in 0..=u8::MAX {
                let (found, expected) = (format.decode(bits), defined(format, bits));
                assert!(found.is_nan() == expected.is_nan(), "{format:?} {bits:#x}");
                assert!(
                    found.is_nan() || f64::from(found).to_bits() == expected.to_bits(),
                    "{format:?} {bits:#x}"
                );
                assert_eq!(found.is_sign_negative(), bits & 0x80 != 0, "{format:?} {bits:#x}");
                if !found.is_nan() {
                    assert_eq!(format.encode(found), bits, "{format:?}");
                }
            }
        }
    }

    #[test]
    fn numbers_become_the_nearest_ones() {
        for format in FORMATS {
            let finite = finite(format);
            for number in numbers((0..=u8::MAX).map(|bits| defined(format, bits))) {
                let (found, expected) = (format.encode(number), nearest(format, &finite, number));
                assert_eq!(found, expected, "{format:?} {number:e} {:#x}", number.to_bits());
            }
        }
    }

    #[test]
    fn bfloats_are_the_nearest_ones() {
        let value = |upper: u16| f32::from_bits(u32::from(upper) << 16);
        let all = (0..=u16::MAX).map(|upper| f64::from(value(upper)));
        for number in numbers(all) {
            let found = bfloat_from_f32(number);
            if number.is_nan() {
                let sign = u16::from(number.is_sign_negative()) << 15;
                assert_eq!(found.to_bits(), sign | 0x7fc0);
                continue;
            }
            // The next ones on both sides, in 64 bits; beyond the largest one there is another with the same step.
            let below = (number.to_bits() >> 16) as u16;
            let next = |upper: u16| match value(upper) {
                value if value.is_infinite() => 2_f64.powi(128).copysign(value.into()),
                value => value.into(),
            };
            let number = f64::from(number);
            let expected = if number.is_infinite() {
                below
            } else {
                let (low, high) = ((number - next(below)).abs(), (next(below + 1) - number).abs());
                if low < high || (low == high && below.is_multiple_of(2)) { below } else { below + 1 }
            };
            assert_eq!(found.to_bits(), expected, "{number:e}");
        }
    }

    #[test]
    fn comparisons_are_those_of_numbers() {
        assert_eq!(F8E5M2::from_bits(0), F8E5M2::from_bits(0x80));
        assert_ne!(F8E4M3Fnuz::from_bits(0x80), F8E4M3Fnuz::from_bits(0x80));
        assert!(F8E4M3Fn::from_f32(-2.0) < F8E4M3Fn::from_f32(1.5));
        assert_eq!(format!("{:?} {}", F8E5M2Fnuz::from_f32(0.1), F8E4M3Fn::default()), "0.09375 0");
    }
}
