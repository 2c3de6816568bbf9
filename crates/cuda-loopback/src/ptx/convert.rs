//! `cvt`: conversions between all types.

use super::float::{F16, F32, F64, Format, Rounding, decode, encode, encode_integer};
use super::types::Type;

/// A conversion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Convert {
    pub(super) to: Type,
    pub(super) from: Type,
    pub(super) rounding: Rounding,
    /// Whether the result is a whole number.
    pub(super) is_integral: bool,
    /// Whether a result is clamped: of an integer to the range of its type, of a number to 0 and 1.
    pub(super) is_saturated: bool,
}

fn format(ty: Type) -> Option<Format> {
    match ty {
        Type::F16 => Some(F16),
        Type::F32 => Some(F32),
        Type::F64 => Some(F64),
        _ => None,
    }
}

/// Least and greatest value of an integer type.
fn range(ty: Type) -> (i128, i128) {
    let bits = 8 * ty.len_bytes() as u32;
    if ty.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

fn round(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    }
}

impl Convert {
    pub(super) fn run(self, bits: u64) -> u64 {
        let Self { to, from, rounding, is_integral, is_saturated } = self;
        match (format(from), format(to)) {
            (Some(source), Some(target)) => {
                let value = decode(bits, source);
                let value = if is_integral { round(value, rounding) } else { value };
                let value = match is_saturated {
                    true if value.is_nan() => 0.0,
                    true => value.clamp(0.0, 1.0),
                    false => value,
                };
                encode(value, target, rounding)
            }
            (Some(source), None) => {
                let (least, most) = range(to);
                let value = decode(bits, source);
                // As the PTX manual defines it.
                if value.is_nan() {
                    let is_zero = from != Type::F64 && to.len_bytes() < 8;
                    return if is_zero { 0 } else { 1 << (8 * to.len_bytes() - 1) };
                }
                // The cast saturates.
                (round(value, rounding) as i128).clamp(least, most) as u64
            }
            (None, target) => {
                let bits = from.extend(bits);
                let value = if from.is_signed() { i128::from(bits.cast_signed()) } else { i128::from(bits) };
                match target {
                    Some(target) => encode_integer(value, target, rounding),
                    None if is_saturated => {
                        let (least, most) = range(to);
                        value.clamp(least, most) as u64
                    }
                    None => to.extend(value as u64),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Convert;
    use crate::ptx::float::Rounding;
    use crate::ptx::types::Type;

    fn convert(to: Type, from: Type, rounding: Rounding, bits: u64) -> u64 {
        Convert { to, from, rounding, is_integral: false, is_saturated: false }.run(bits)
    }

    #[test]
    fn numbers_become_integers_as_rust_casts_them() {
        let values = [
            0.0,
            -0.5,
            1.5,
            2.5,
            -2.5,
            127.9,
            128.0,
            255.5,
            -129.0,
            40_000.0,
            3e9,
            -3e9,
            1e19,
            2e19,
            -1e19,
            f32::NAN,
            f32::INFINITY,
        ];
        for value in values {
            let bits = u64::from(value.to_bits());
            let to = |ty| convert(ty, Type::F32, Rounding::Zero, bits);
            assert_eq!(to(Type::S8) as i8, value as i8, "{value}");
            assert_eq!(to(Type::U8) as u8, value as u8, "{value}");
            assert_eq!(to(Type::S16) as i16, value as i16, "{value}");
            assert_eq!(to(Type::U32) as u32, value as u32, "{value}");
            let is_nan = value.is_nan();
            assert_eq!(to(Type::S64).cast_signed(), if is_nan { i64::MIN } else { value as i64 }, "{value}");
            assert_eq!(to(Type::U64), if is_nan { 1 << 63 } else { value as u64 }, "{value}");
            let nearest = convert(Type::S32, Type::F32, Rounding::Nearest, bits) as i32;
            assert_eq!(nearest, value.round_ties_even() as i32, "{value}");
            let down = convert(Type::S32, Type::F32, Rounding::Down, bits) as i32;
            assert_eq!(down, value.floor() as i32, "{value}");
            assert_eq!(convert(Type::F64, Type::F32, Rounding::Nearest, bits), {
                if value.is_nan() { 0x7ff8 << 48 } else { f64::from(value).to_bits() }
            });
        }
    }

    #[test]
    fn integers_are_extended_cut_or_clamped() {
        assert_eq!(convert(Type::S64, Type::S8, Rounding::Nearest, 0x1ff), u64::MAX);
        assert_eq!(convert(Type::U64, Type::U8, Rounding::Nearest, 0x1ff), 255);
        assert_eq!(convert(Type::U16, Type::S32, Rounding::Nearest, 0xffff_fffe), 0xfffe);
        assert_eq!(
            convert(Type::F32, Type::S32, Rounding::Nearest, (-7_i32) as u64),
            u64::from((-7_f32).to_bits())
        );
        assert_eq!(convert(Type::F64, Type::U64, Rounding::Nearest, u64::MAX), (u64::MAX as f64).to_bits());
        let clamped = |to, from, bits| {
            Convert { to, from, rounding: Rounding::Nearest, is_integral: false, is_saturated: true }
                .run(bits)
        };
        assert_eq!(clamped(Type::S8, Type::S32, 300), 127);
        assert_eq!(clamped(Type::S8, Type::S32, (-300_i64) as u64) as i8, -128);
        assert_eq!(clamped(Type::U8, Type::S32, (-1_i64) as u64), 0);
        assert_eq!(clamped(Type::F32, Type::F32, u64::from(2_f32.to_bits())), u64::from(1_f32.to_bits()));
        let whole = Convert {
            to: Type::F32,
            from: Type::F32,
            rounding: Rounding::Nearest,
            is_integral: true,
            is_saturated: false,
        };
        assert_eq!(whole.run(u64::from(2.5_f32.to_bits())), u64::from(2_f32.to_bits()));
    }
}
