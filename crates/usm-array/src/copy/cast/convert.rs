//! One value of one element type as a value of another

use half::{bf16, f16};
use num_complex::Complex;

use crate::dtype::{
    Bool8, Element, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, bfloat_from_f32, half_from_f64,
};

/// The cast from one element type to another.
pub(super) trait Convert<D>: Element {
    fn convert(self) -> D;
}

macro_rules! convert {
    ($src:ty => $dst:ty, |$value:ident| $result:expr) => {
        impl Convert<$dst> for $src {
            #[inline(always)]
            fn convert(self) -> $dst {
                let $value = self;
                $result
            }
        }
    };
}

// `as` between numbers: integers wrap around, floating-point numbers saturate and NaN is 0.
macro_rules! between_numbers {
    ([$($src:ty),*] => $dst:tt) => { $( between_numbers!($src => $dst); )* };
    ($src:ty => [$($dst:ty),*]) => { $( convert!($src => $dst, |value| value as $dst); )* };
}

between_numbers!([i8, i16, i32, i64, u8, u16, u32, u64, f32, f64] => [i8, i16, i32, i64, u8, u16, u32, u64, f32, f64]);

macro_rules! number {
    ($($ty:ty, $zero:expr);*) => {$(
        convert!($ty => Bool8, |value| Bool8::from(value != $zero));
        convert!(Bool8 => $ty, |value| u8::from(value.to_bool()) as $ty);
        convert!($ty => Complex<f32>, |value| Complex::new(value as f32, 0.0));
        convert!($ty => Complex<f64>, |value| Complex::new(value as f64, 0.0));
        convert!(Complex<f32> => $ty, |value| value.re as $ty);
        convert!(Complex<f64> => $ty, |value| value.re as $ty);
        convert!(f16 => $ty, |value| value.to_f32() as $ty);
    )*};
}

number!(i8, 0; i16, 0; i32, 0; i64, 0; u8, 0; u16, 0; u32, 0; u64, 0; f32, 0.0; f64, 0.0);

// Integers that do not fit into binary32 are beyond binary16, so nothing is rounded twice.
macro_rules! to_half {
    ($($ty:ty),*) => {$( convert!($ty => f16, |value| f16::from_f32(value as f32)); )*};
}

to_half!(i8, i16, i32, i64, u8, u16, u32, u64, f32);

convert!(f64 => f16, |value| half_from_f64(value));
convert!(f16 => f16, |value| value);
convert!(f16 => Bool8, |value| Bool8::from(value.to_f32() != 0.0));
convert!(f16 => Complex<f32>, |value| Complex::new(value.to_f32(), 0.0));
convert!(f16 => Complex<f64>, |value| Complex::new(value.to_f64(), 0.0));
convert!(Bool8 => f16, |value| if value.to_bool() { f16::ONE } else { f16::ZERO });
convert!(Bool8 => Bool8, |value| Bool8::from(value.to_bool()));
convert!(Bool8 => Complex<f32>, |value| Complex::new(value.convert(), 0.0));
convert!(Bool8 => Complex<f64>, |value| Complex::new(value.convert(), 0.0));
convert!(Complex<f32> => f16, |value| f16::from_f32(value.re));
convert!(Complex<f64> => f16, |value| half_from_f64(value.re));
convert!(Complex<f32> => Bool8, |value| Bool8::from(value.re != 0.0 || value.im != 0.0));
convert!(Complex<f64> => Bool8, |value| Bool8::from(value.re != 0.0 || value.im != 0.0));
convert!(Complex<f32> => Complex<f32>, |value| value);
convert!(Complex<f32> => Complex<f64>, |value| Complex::new(value.re.into(), value.im.into()));
convert!(Complex<f64> => Complex<f32>, |value| Complex::new(value.re as f32, value.im as f32));
convert!(Complex<f64> => Complex<f64>, |value| value);

// Other casts of narrow numbers go by way of binary32, in two steps.
macro_rules! narrow {
    ($($ty:ty),*) => {$(
        convert!($ty => f32, |value| value.to_f32());
        convert!(f32 => $ty, |value| <$ty>::from_f32(value));
    )*};
}

narrow!(F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz);

convert!(bf16 => f32, |value| f32::from_bits(u32::from(value.to_bits()) << 16));
convert!(f32 => bf16, |value| bfloat_from_f32(value));
convert!(bf16 => f16, |value| {
    let nan = f16::from_bits((value.to_bits() & 0x8000) | 0x7e00);
    if value.is_nan() { nan } else { f16::from_f32(value.to_f32()) }
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_beyond_an_integer_become_the_nearest_one() {
        let to_u8 = |value: f64| -> u8 { value.convert() };
        assert_eq!([f64::NAN, -1.0, 256.5, 255.9, f64::NEG_INFINITY].map(to_u8), [0, 0, 255, 255, 0]);
        let wrapped: u8 = (-1_i64).convert();
        assert_eq!(wrapped, 255);
    }
}
