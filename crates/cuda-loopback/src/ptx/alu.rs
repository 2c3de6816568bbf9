//! Arithmetic on registers: a function for each operation and type.

use std::cmp::Ordering;

use super::types::{Float, Half, Type, Value};

/// Computes a result from up to four operands.
pub(super) type Alu = fn(u64, u64, u64, u64) -> u64;

/// A function for a type: the operands are of the Rust type `T`, and so is the result, or of another type that is a [`Value`].
macro_rules! typed {
    (($a:ident $(, $b:ident $(, $c:ident)?)?), $ty:ty, $body:expr) => {{
        #[allow(dead_code, reason = "not each body names the type")]
        type T = $ty;
        let run: Alu = |_a, _b, _c, _| {
            let $a = T::of(_a);
            $(let $b = T::of(_b);
            $(let $c = T::of(_c);)?)?
            Value::bits($body)
        };
        run
    }};
}

/// The function of a type among all integers, bits counting as unsigned.
macro_rules! integers {
    ($type:expr, $arguments:tt => $body:expr) => {
        match $type {
            Type::U16 | Type::B16 => typed!($arguments, u16, $body),
            Type::U32 | Type::B32 => typed!($arguments, u32, $body),
            Type::U64 | Type::B64 => typed!($arguments, u64, $body),
            Type::S16 => typed!($arguments, i16, $body),
            Type::S32 => typed!($arguments, i32, $body),
            Type::S64 => typed!($arguments, i64, $body),
            _ => return None,
        }
    };
}

/// The function of a type among all floating-point numbers.
macro_rules! floats {
    ($type:expr, $arguments:tt => $body:expr) => {
        match $type {
            Type::F16 => typed!($arguments, Half, $body),
            Type::F32 => typed!($arguments, f32, $body),
            Type::F64 => typed!($arguments, f64, $body),
            _ => return None,
        }
    };
}

/// The function of a type among untyped bits and predicates.
macro_rules! bits {
    ($type:expr, $arguments:tt => $body:expr) => {
        match $type {
            Type::Pred => typed!($arguments, bool, $body),
            Type::B16 => typed!($arguments, u16, $body),
            Type::B32 => typed!($arguments, u32, $body),
            Type::B64 => typed!($arguments, u64, $body),
            _ => return None,
        }
    };
}

/// The function of an instruction, and the number of its operands. `mode` is what its name has between the operation and the type,
/// without what does not change the result.
pub(super) fn find(operation: &str, mode: &str, ty: Type) -> Option<(Alu, usize)> {
    let found = if ty.is_float() { float(operation, mode, ty) } else { None };
    found.or_else(|| integer(operation, mode, ty)).or_else(|| bitwise(operation, mode, ty))
}

fn integer(operation: &str, mode: &str, ty: Type) -> Option<(Alu, usize)> {
    Some(match (operation, mode) {
        ("add", "") => (integers!(ty, (a, b) => a.wrapping_add(b)), 2),
        ("sub", "") => (integers!(ty, (a, b) => a.wrapping_sub(b)), 2),
        ("add", "sat") if ty == Type::S32 => (typed!((a, b), i32, a.saturating_add(b)), 2),
        ("sub", "sat") if ty == Type::S32 => (typed!((a, b), i32, a.saturating_sub(b)), 2),
        ("mul", "lo") => (integers!(ty, (a, b) => a.wrapping_mul(b)), 2),
        ("mul", "hi") => (integers!(ty, (a, b) => a.high(b)), 2),
        ("mul", "wide") => (wide(ty)?, 2),
        ("mad", "lo") => (integers!(ty, (a, b, c) => a.wrapping_mul(b).wrapping_add(c)), 3),
        ("mad", "hi") => (integers!(ty, (a, b, c) => a.high(b).wrapping_add(c)), 3),
        ("mad", "wide") => (wide_sum(ty)?, 3),
        // A division by 0 has no defined result; these are those of the hardware.
        ("div", "") => (integers!(ty, (a, b) => a.checked_div(b).unwrap_or(if b == 0 { !0 } else { a })), 2),
        ("rem", "") => (integers!(ty, (a, b) => a.checked_rem(b).unwrap_or(if b == 0 { a } else { 0 })), 2),
        ("min", "") => (integers!(ty, (a, b) => a.min(b)), 2),
        ("max", "") => (integers!(ty, (a, b) => a.max(b)), 2),
        ("neg", "") if ty.is_signed() => (integers!(ty, (a) => (0 as T).wrapping_sub(a)), 1),
        ("abs", "") => match ty {
            Type::S16 => (typed!((a), i16, a.wrapping_abs()), 1),
            Type::S32 => (typed!((a), i32, a.wrapping_abs()), 1),
            Type::S64 => (typed!((a), i64, a.wrapping_abs()), 1),
            _ => return None,
        },
        ("shr", "") => (shift_right(ty)?, 2),
        ("bfe", "") => (bit_field(ty)?, 3),
        ("bfind", "") => (integers!(ty, (a) => highest(a.bits(), T::MIN != 0, T::BITS)), 1),
        ("bfind", "shiftamt") => (
            integers!(ty, (a) => match highest(a.bits(), T::MIN != 0, T::BITS) {
                u32::MAX => u32::MAX,
                position => T::BITS - 1 - position,
            }),
            1,
        ),
        _ => return None,
    })
}

fn float(operation: &str, mode: &str, ty: Type) -> Option<(Alu, usize)> {
    let is_exact = ty == Type::F32 || ty == Type::F64;
    Some(match (operation, mode) {
        ("add", "") => (floats!(ty, (a, b) => rounded(a, b, |a, b| a + b)), 2),
        ("sub", "") => (floats!(ty, (a, b) => rounded(a, b, |a, b| a - b)), 2),
        ("mul", "") => (floats!(ty, (a, b) => rounded(a, b, |a, b| a * b)), 2),
        ("div", "") if is_exact => (floats!(ty, (a, b) => rounded(a, b, |a, b| a / b)), 2),
        ("fma" | "mad", "") => match ty {
            Type::F16 => (typed!((a, b, c), Half, Half(a.0.mul_add(b.0, c.0))), 3),
            Type::F32 => (typed!((a, b, c), f32, a.mul_add(b, c)), 3),
            _ => (typed!((a, b, c), f64, a.mul_add(b, c)), 3),
        },
        ("min", "") => (floats!(ty, (a, b) => least(a, b)), 2),
        ("max", "") => {
            (floats!(ty, (a, b) => T::narrow(-least(T::narrow(-a.wide()), T::narrow(-b.wide())).wide())), 2)
        }
        ("sqrt", "") if is_exact => (floats!(ty, (a) => T::narrow(a.wide().sqrt())), 1),
        ("rcp", "") if is_exact => (floats!(ty, (a) => rounded(a, a, |a, _| 1.0 / a)), 1),
        ("rsqrt", "") if is_exact => (floats!(ty, (a) => T::narrow(1.0 / a.wide().sqrt())), 1),
        ("ex2", "") if is_exact => (floats!(ty, (a) => T::narrow(a.wide().exp2())), 1),
        ("lg2", "") if is_exact => (floats!(ty, (a) => T::narrow(a.wide().log2())), 1),
        ("sin", "") if is_exact => (floats!(ty, (a) => T::narrow(a.wide().sin())), 1),
        ("cos", "") if is_exact => (floats!(ty, (a) => T::narrow(a.wide().cos())), 1),
        // Only the sign changes.
        ("neg", "") => match ty {
            Type::F16 => (|a, _, _, _| a & 0xffff ^ 0x8000, 1),
            Type::F32 => (|a, _, _, _| a & 0xffff_ffff ^ 0x8000_0000, 1),
            _ => (|a, _, _, _| a ^ 1 << 63, 1),
        },
        ("abs", "") => match ty {
            Type::F16 => (|a, _, _, _| a & 0x7fff, 1),
            Type::F32 => (|a, _, _, _| a & 0x7fff_ffff, 1),
            _ => (|a, _, _, _| a & (u64::MAX >> 1), 1),
        },
        ("copysign", "") => match ty {
            Type::F32 => (|a, b, _, _| a & 0x8000_0000 | b & 0x7fff_ffff, 2),
            Type::F64 => (|a, b, _, _| a & 1 << 63 | b & (u64::MAX >> 1), 2),
            _ => return None,
        },
        _ => return None,
    })
}

fn bitwise(operation: &str, mode: &str, ty: Type) -> Option<(Alu, usize)> {
    Some(match (operation, mode) {
        ("and", "") => (bits!(ty, (a, b) => a & b), 2),
        ("or", "") => (bits!(ty, (a, b) => a | b), 2),
        ("xor", "") => (bits!(ty, (a, b) => a ^ b), 2),
        ("not", "") => (bits!(ty, (a) => !a), 1),
        ("cnot", "") if ty != Type::Pred => (integers!(ty, (a) => T::from(a == 0)), 1),
        ("shl", "") => match ty {
            Type::B16 => (|a, b, _, _| shift_left(a, b, 16), 2),
            Type::B32 => (|a, b, _, _| shift_left(a, b, 32), 2),
            Type::B64 => (|a, b, _, _| shift_left(a, b, 64), 2),
            _ => return None,
        },
        ("selp", "") => (|a, b, c, _| if c != 0 { a } else { b }, 3),
        ("popc", "") if ty == Type::B32 => (typed!((a), u32, a.count_ones()), 1),
        ("popc", "") if ty == Type::B64 => (typed!((a), u64, a.count_ones()), 1),
        ("clz", "") if ty == Type::B32 => (typed!((a), u32, a.leading_zeros()), 1),
        ("clz", "") if ty == Type::B64 => (typed!((a), u64, a.leading_zeros()), 1),
        ("brev", "") if ty == Type::B32 => (typed!((a), u32, a.reverse_bits()), 1),
        ("brev", "") if ty == Type::B64 => (typed!((a), u64, a.reverse_bits()), 1),
        ("bfi", "") if ty == Type::B32 => (|a, b, c, d| insert(a, b, c, d, 32), 4),
        ("bfi", "") if ty == Type::B64 => (|a, b, c, d| insert(a, b, c, d, 64), 4),
        ("shf", "l.wrap") if ty == Type::B32 => (|a, b, c, _| pair(a, b) << (c & 31) >> 32, 3),
        ("shf", "r.wrap") if ty == Type::B32 => (|a, b, c, _| pair(a, b) >> (c & 31), 3),
        ("shf", "l.clamp") if ty == Type::B32 => {
            (|a, b, c, _| pair(a, b) << (c & 0xffff_ffff).min(32) >> 32, 3)
        }
        ("shf", "r.clamp") if ty == Type::B32 => (|a, b, c, _| pair(a, b) >> (c & 0xffff_ffff).min(32), 3),
        ("prmt", "") if ty == Type::B32 => (permute, 3),
        ("lop3", "") if ty == Type::B32 => (table, 4),
        _ => return None,
    })
}

/// Integers with the upper half of a product.
trait Whole: Sized {
    fn high(self, other: Self) -> Self;
}

macro_rules! whole {
    ($($ty:ty, $wide:ty);+) => {$(
        impl Whole for $ty {
            fn high(self, other: Self) -> Self {
                ((self as $wide * other as $wide) >> Self::BITS) as Self
            }
        }
    )+};
}
whole!(u16, u32; u32, u64; u64, u128; i16, i32; i32, i64; i64, i128);

fn wide(ty: Type) -> Option<Alu> {
    Some(match ty {
        Type::U16 => typed!((a, b), u16, u32::from(a) * u32::from(b)),
        Type::S16 => typed!((a, b), i16, i32::from(a) * i32::from(b)),
        Type::U32 => typed!((a, b), u32, u64::from(a) * u64::from(b)),
        Type::S32 => typed!((a, b), i32, i64::from(a) * i64::from(b)),
        _ => return None,
    })
}

fn wide_sum(ty: Type) -> Option<Alu> {
    Some(match ty {
        Type::U16 => |a, b, c, _| (u32::from(a as u16) * u32::from(b as u16)).wrapping_add(c as u32).bits(),
        Type::S16 => |a, b, c, _| (i32::from(a as i16) * i32::from(b as i16)).wrapping_add(c as i32).bits(),
        Type::U32 => |a, b, c, _| (u64::from(a as u32) * u64::from(b as u32)).wrapping_add(c),
        Type::S32 => |a, b, c, _| (i64::from(a as i32) * i64::from(b as i32)).wrapping_add(c as i64) as u64,
        _ => return None,
    })
}

/// The numbers of a shift are unsigned and of 32 bits, whatever the type. Larger ones than the width count as the width.
fn shift_left(a: u64, by: u64, width: u32) -> u64 {
    let by = by as u32;
    if by >= width { 0 } else { (a << by) & (u64::MAX >> (64 - width)) }
}

fn shift_right(ty: Type) -> Option<Alu> {
    Some(match ty {
        Type::U16 | Type::B16 => |a, by, _, _| u64::from((a as u16).checked_shr(by as u32).unwrap_or(0)),
        Type::U32 | Type::B32 => |a, by, _, _| u64::from((a as u32).checked_shr(by as u32).unwrap_or(0)),
        Type::U64 | Type::B64 => |a, by, _, _| a.checked_shr(by as u32).unwrap_or(0),
        Type::S16 => |a, by, _, _| ((a as i16) >> (by as u32).min(15)).bits(),
        Type::S32 => |a, by, _, _| ((a as i32) >> (by as u32).min(31)).bits(),
        Type::S64 => |a, by, _, _| ((a as i64) >> (by as u32).min(63)).bits(),
        _ => return None,
    })
}

/// Rounds once: sums, products and quotients of two numbers of 32 bits are exact enough in 64 bits for that, and those of 64 bits are
/// rounded by the processor.
fn rounded<T: Float>(a: T, b: T, run: fn(f64, f64) -> f64) -> T {
    T::narrow(run(a.wide(), b.wide()))
}

/// A number counts as less than what is not a number, and -0 as less than 0.
fn least<T: Float>(a: T, b: T) -> T {
    let (x, y) = (a.wide(), b.wide());
    let is_a = if x == y { x.is_sign_negative() } else { x < y || y.is_nan() };
    if is_a { a } else { b }
}

/// `bfe`: a field of bits, extended by zeros or by its sign.
fn bit_field(ty: Type) -> Option<Alu> {
    Some(match ty {
        Type::U32 => |a, b, c, _| extract(a, b, c, 32, false),
        Type::U64 => |a, b, c, _| extract(a, b, c, 64, false),
        Type::S32 => |a, b, c, _| extract(a, b, c, 32, true),
        Type::S64 => |a, b, c, _| extract(a, b, c, 64, true),
        _ => return None,
    })
}

fn extract(a: u64, position: u64, len: u64, width: u32, is_signed: bool) -> u64 {
    let (position, len) = (position as u32 & 0xff, len as u32 & 0xff);
    let bit = |at: u32| a >> at.min(63) & u64::from(at < 64);
    // As the PTX manual has it: the bit that fills the upper part is the last one of the field, or of the register.
    let sign = if !is_signed || len == 0 { 0 } else { bit((position + len - 1).min(width - 1)) & 1 };
    (0..width).fold(0, |field, at| {
        let is_inside = at < len && position + at < width;
        field | (if is_inside { bit(position + at) & 1 } else { sign }) << at
    })
}

/// `bfi`: the lowest bits of `a` in place of a field of `b`.
fn insert(a: u64, b: u64, position: u64, len: u64, width: u32) -> u64 {
    let (position, len) = (position as u32 & 0xff, len as u32 & 0xff);
    let inside = position..(position + len).min(width);
    inside.fold(b, |b, at| b & !(1 << at) | (a >> (at - position) & 1) << at)
}

/// `bfind`: the position of the highest bit that differs from the sign.
fn highest(bits: u64, is_signed: bool, width: u32) -> u32 {
    let mask = u64::MAX >> (64 - width);
    let bits = if is_signed && bits >> (width - 1) & 1 == 1 { !bits & mask } else { bits & mask };
    63_u32.wrapping_sub(bits.leading_zeros())
}

/// Two registers as one.
fn pair(low: u64, high: u64) -> u64 {
    low & 0xffff_ffff | high << 32
}

/// `prmt`: four bytes out of eight, or copies of their signs.
fn permute(a: u64, b: u64, selector: u64, _: u64) -> u64 {
    (0..4).fold(0, |word, at| {
        let choice = selector >> (4 * at);
        let byte = pair(a, b) >> (8 * (choice & 7)) & 0xff;
        let byte = if choice & 8 == 0 { byte } else { (byte >> 7) * 0xff };
        word | byte << (8 * at)
    })
}

/// `lop3`: a table of eight bits, asked by one bit of each operand.
fn table(a: u64, b: u64, c: u64, table: u64) -> u64 {
    (0..32).fold(0, |word, at| {
        let row = (a >> at & 1) << 2 | (b >> at & 1) << 1 | c >> at & 1;
        word | (table >> row & 1) << at
    })
}

/// A comparison, which gives 0 or 1.
pub(super) fn compare(name: &str, ty: Type) -> Option<Alu> {
    if ty.is_float() {
        return Some(match name {
            "eq" => floats!(ty, (a, b) => a == b),
            "ne" => floats!(ty, (a, b) => a.partial_cmp(&b).is_some_and(Ordering::is_ne)),
            "lt" => floats!(ty, (a, b) => a < b),
            "le" => floats!(ty, (a, b) => a <= b),
            "gt" => floats!(ty, (a, b) => a > b),
            "ge" => floats!(ty, (a, b) => a >= b),
            "equ" => floats!(ty, (a, b) => a.partial_cmp(&b).is_none_or(Ordering::is_eq)),
            "neu" => floats!(ty, (a, b) => a != b),
            "ltu" => floats!(ty, (a, b) => a.partial_cmp(&b).is_none_or(Ordering::is_lt)),
            "leu" => floats!(ty, (a, b) => a.partial_cmp(&b).is_none_or(Ordering::is_le)),
            "gtu" => floats!(ty, (a, b) => a.partial_cmp(&b).is_none_or(Ordering::is_gt)),
            "geu" => floats!(ty, (a, b) => a.partial_cmp(&b).is_none_or(Ordering::is_ge)),
            "num" => floats!(ty, (a, b) => a.partial_cmp(&b).is_some()),
            "nan" => floats!(ty, (a, b) => a.partial_cmp(&b).is_none()),
            _ => return None,
        });
    }
    Some(match name {
        "eq" => integers!(ty, (a, b) => a == b),
        "ne" => integers!(ty, (a, b) => a != b),
        "lt" | "lo" => integers!(ty, (a, b) => a < b),
        "le" | "ls" => integers!(ty, (a, b) => a <= b),
        "gt" | "hi" => integers!(ty, (a, b) => a > b),
        "ge" | "hs" => integers!(ty, (a, b) => a >= b),
        _ => return None,
    })
}

/// What an atomic operation stores, from the old value and up to two operands.
pub(super) fn atomic(operation: &str, ty: Type) -> Option<(Alu, usize)> {
    Some(match operation {
        "exch" => (|_, b, _, _| b, 1),
        "cas" => match ty.len_bytes() {
            2 => (|a, b, c, _| if a as u16 == b as u16 { c } else { a }, 2),
            4 => (|a, b, c, _| if a as u32 == b as u32 { c } else { a }, 2),
            8 => (|a, b, c, _| if a == b { c } else { a }, 2),
            _ => return None,
        },
        // Up to the operand, then 0 again; down to 0, then the operand.
        "inc" if ty == Type::U32 => (typed!((a, b), u32, if a >= b { 0 } else { a + 1 }), 1),
        "dec" if ty == Type::U32 => (typed!((a, b), u32, if a == 0 || a > b { b } else { a - 1 }), 1),
        "add" | "min" | "max" | "and" | "or" | "xor" => (find(operation, "", ty)?.0, 1),
        _ => return None,
    })
}
