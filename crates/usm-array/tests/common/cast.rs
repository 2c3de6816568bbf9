//! Slow casts of single elements, by the rules that `astype` documents

use std::sync::LazyLock;

use usm_array::half::{bf16, f16};
use usm_array::{Dtype, Scalar};

/// The nearest of all binary16 numbers, ties to even bits. Infinity is where the next number would be.
fn nearest_half(value: f64) -> f16 {
    static NUMBERS: LazyLock<Vec<(f64, u16)>> = LazyLock::new(|| {
        let number = |bits: u16| if bits == 0x7c00 { 65536.0 } else { f16::from_bits(bits).to_f64() };
        (0..=0x7c00).map(|bits| (number(bits), bits)).collect()
    });
    if value.is_nan() {
        return f16::NAN;
    }
    let size = value.abs().min(65536.0);
    let above = NUMBERS.partition_point(|&(number, _)| number < size);
    let near = NUMBERS[above.saturating_sub(1)..=above].iter();
    let far = |number: f64| (number - size).abs();
    let (_, bits) =
        near.min_by(|a, b| far(a.0).total_cmp(&far(b.0)).then((a.1 & 1).cmp(&(b.1 & 1)))).unwrap();
    f16::from_bits(bits | if value.is_sign_negative() { 0x8000 } else { 0 })
}

/// The nearest of all numbers of a narrow dtype, ties to even bits. Beyond the largest one are the infinity and the NaN of the format.
fn nearest_narrow(value: f64, dtype: Dtype) -> Vec<u8> {
    let (infinity, nan, has_negative_zero): (u16, u16, bool) = match dtype {
        Dtype::BF16 => (0x7f80, 0x7fc0, true),
        Dtype::F8E4M3Fn => (0x7f, 0x7f, true),
        Dtype::F8E5M2 => (0x7c, 0x7e, true),
        _ => (0x80, 0x80, false),
    };
    let bytes = |bits: u16| bits.to_le_bytes()[..dtype.itemsize_bytes()].to_vec();
    let sign = if value.is_sign_negative() { 1 << (8 * dtype.itemsize_bytes() - 1) } else { 0 };
    if value.is_nan() {
        return bytes(nan | sign);
    }
    let number = |bits: u16| match Scalar::from_bytes(dtype, &bytes(bits)) {
        Some(Scalar::Float(number)) => number,
        other => panic!("{other:?} is no number of {dtype}"),
    };
    // The largest one that is not larger; the bits of a format are in the order of its numbers.
    let end = infinity.min(nan);
    let (mut low, mut high) = (0, end);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if number(middle) <= value.abs() { low = middle } else { high = middle }
    }
    // Where the number after the largest one would be, for the formats have even steps there.
    let next = if high < end { number(high) } else { 2.0 * number(low) - number(low - 1) };
    let (below, above) = (value.abs() - number(low), next - value.abs());
    let bits = if below < above || (below == above && low % 2 == 0) { low } else { high };
    let bits = if bits == end { infinity } else { bits };
    bytes(if bits == 0 && !has_negative_zero { 0 } else { bits | sign })
}

/// The bytes of a value in a dtype whose kind it has, rounded as a store of that type does.
pub(crate) fn bytes_of(value: Scalar, dtype: Dtype) -> Vec<u8> {
    match (dtype, value) {
        (Dtype::Bool, Scalar::Bool(value)) => vec![u8::from(value)],
        (Dtype::F16, Scalar::Float(value)) => nearest_half(value).to_ne_bytes().to_vec(),
        (Dtype::F32, Scalar::Float(value)) => (value as f32).to_ne_bytes().to_vec(),
        (Dtype::F64, Scalar::Float(value)) => value.to_ne_bytes().to_vec(),
        // By way of binary32.
        (dtype, Scalar::Float(value)) if dtype.is_narrow() => nearest_narrow(f64::from(value as f32), dtype),
        (Dtype::C64, Scalar::Complex(value)) => {
            [value.re as f32, value.im as f32].map(f32::to_ne_bytes).concat()
        }
        (Dtype::C128, Scalar::Complex(value)) => [value.re, value.im].map(f64::to_ne_bytes).concat(),
        // Two's complement: the lowest bytes.
        (_, Scalar::Int(value)) if cfg!(target_endian = "little") => {
            value.to_ne_bytes()[..dtype.itemsize_bytes()].to_vec()
        }
        (dtype, value) => panic!("{value} is no {dtype}"),
    }
}

/// The value as one of the kind that a dtype holds, by the rules that `astype` documents.
pub(crate) fn convert(value: Scalar, dtype: Dtype) -> Scalar {
    let real = match value {
        Scalar::Complex(value) => Scalar::Float(value.re),
        other => other,
    };
    let float = match real {
        Scalar::Bool(value) => f64::from(u8::from(value)),
        // Rounded once: not to binary64 first.
        Scalar::Int(value) if matches!(dtype, Dtype::F32 | Dtype::C64) || dtype.is_narrow() => {
            f64::from(value as f32)
        }
        Scalar::Int(value) => value as f64,
        Scalar::Float(value) => value,
        other => panic!("{other} is no number"),
    };
    match dtype.kind() {
        'b' => Scalar::Bool(match value {
            Scalar::Bool(value) => value,
            Scalar::Int(value) => value != 0,
            Scalar::Float(value) => value != 0.0,
            Scalar::Complex(value) => value.re != 0.0 || value.im != 0.0,
            other => panic!("{other} is no number"),
        }),
        _ if dtype.is_narrow() => Scalar::Float(float),
        'f' => Scalar::Float(float),
        'c' => match value {
            Scalar::Complex(_) => value,
            _ => Scalar::Complex(usm_array::num_complex::Complex64::new(float, 0.0)),
        },
        kind => Scalar::Int(match real {
            Scalar::Bool(value) => value.into(),
            Scalar::Int(value) => value,
            _ => {
                let bits = dtype.itemsize_bytes() * 8;
                let (low, high) = match kind {
                    'i' => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
                    _ => (0, (1_i128 << bits) - 1),
                };
                (float as i128).clamp(low, high)
            }
        }),
    }
}

pub(crate) fn same(found: &[u8], expected: &[u8], dtype: Dtype) -> bool {
    // Any NaN is as good as another.
    let is_nan = |bytes: &[u8]| match dtype {
        Dtype::F16 => f16::from_ne_bytes(bytes.try_into().unwrap()).is_nan(),
        Dtype::F32 | Dtype::C64 => f32::from_ne_bytes(bytes.try_into().unwrap()).is_nan(),
        Dtype::F64 | Dtype::C128 => f64::from_ne_bytes(bytes.try_into().unwrap()).is_nan(),
        Dtype::BF16 => bf16::from_ne_bytes(bytes.try_into().unwrap()).is_nan(),
        _ => false,
    };
    let part = if dtype.kind() == 'c' { found.len() / 2 } else { found.len() };
    let mut parts = found.chunks(part).zip(expected.chunks(part));
    parts.all(|(found, expected)| found == expected || is_nan(found) && is_nan(expected))
}
