//! Elements of one type to elements of another, with the meaning of NumPy's `astype(casting="unsafe")`
//!
//! Integers wrap around, as in NumPy. Where NumPy leaves a result to the processor (real numbers that do not fit into the
//! integer, and NaN) it is the same everywhere here: the nearest integer there is, and 0 for NaN. Everything but zero is true,
//! NaN too. Of complex numbers the real part is taken.

mod convert;

use convert::Convert;
use half::f16;
use num_complex::{Complex32, Complex64};
use usm_memory::usm_core::bulk::has_avx2;

use crate::dtype::{Bool8, Dtype, Element};

/// Casts so many elements that lie side by side.
///
/// # Safety
/// 1. From the first address so many elements of the source's dtype are readable, at any alignment.
/// 2. From the second address so many elements of the target's dtype are writable, at any alignment.
/// 3. The two ranges have no byte in common.
pub(super) type CastRun = unsafe fn(*const u8, *mut u8, usize);

/// How elements get from one type to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cast {
    pub(super) src: Dtype,
    pub(super) dst: Dtype,
    // C1. Casts from `src` to `dst`. `None` where bytes are copied as they are: between equal dtypes.
    run: Option<CastRun>,
}

impl Cast {
    pub(super) fn new(src: Dtype, dst: Dtype) -> Self {
        Self { src, dst, run: if src == dst { None } else { Some(cast_run(src, dst)) } }
    }

    pub(super) fn run(self) -> Option<CastRun> {
        self.run
    }
}

/// # Safety
/// Those of [`CastRun`], with `S` and `D` as element types.
#[inline(always)]
unsafe fn run<S: Convert<D>, D: Element>(src: *const u8, dst: *mut u8, count: usize) {
    let (src, dst) = (src.cast::<S>(), dst.cast::<D>());
    for i in 0..count {
        // SAFETY: one of the elements.
        let from = unsafe { src.add(i) };
        // SAFETY: condition 1; every pattern of bytes is an `S` (`Element`, 2).
        let element = unsafe { from.read_unaligned() };
        // SAFETY: one of the elements.
        let to = unsafe { dst.add(i) };
        // SAFETY: condition 2.
        unsafe { to.write_unaligned(element.convert()) };
    }
}

/// The same loop for wider registers.
///
/// # Safety
/// Those of [`run`], and the processor has AVX2.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
unsafe fn avx2_run<S: Convert<D>, D: Element>(src: *const u8, dst: *mut u8, count: usize) {
    // SAFETY: the caller's promises.
    unsafe { run::<S, D>(src, dst, count) };
}

fn fastest<S: Convert<D>, D: Element>() -> CastRun {
    if has_avx2() { avx2_run::<S, D> } else { run::<S, D> }
}

fn cast_run(src: Dtype, dst: Dtype) -> CastRun {
    match src {
        Dtype::Bool => from::<Bool8>(dst),
        Dtype::I8 => from::<i8>(dst),
        Dtype::I16 => from::<i16>(dst),
        Dtype::I32 => from::<i32>(dst),
        Dtype::I64 => from::<i64>(dst),
        Dtype::U8 => from::<u8>(dst),
        Dtype::U16 => from::<u16>(dst),
        Dtype::U32 => from::<u32>(dst),
        Dtype::U64 => from::<u64>(dst),
        Dtype::F16 => from::<f16>(dst),
        Dtype::F32 => from::<f32>(dst),
        Dtype::F64 => from::<f64>(dst),
        Dtype::C64 => from::<Complex32>(dst),
        Dtype::C128 => from::<Complex64>(dst),
    }
}

/// A type that converts to every element type.
trait ToAll:
    Convert<Bool8>
    + Convert<i8>
    + Convert<i16>
    + Convert<i32>
    + Convert<i64>
    + Convert<u8>
    + Convert<u16>
    + Convert<u32>
    + Convert<u64>
    + Convert<f16>
    + Convert<f32>
    + Convert<f64>
    + Convert<Complex32>
    + Convert<Complex64>
{
}

macro_rules! to_all {
    ($($ty:ty),*) => {$( impl ToAll for $ty {} )*};
}

to_all!(Bool8, i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64, Complex32, Complex64);

fn from<S: ToAll>(dst: Dtype) -> CastRun {
    match dst {
        Dtype::Bool => fastest::<S, Bool8>(),
        Dtype::I8 => fastest::<S, i8>(),
        Dtype::I16 => fastest::<S, i16>(),
        Dtype::I32 => fastest::<S, i32>(),
        Dtype::I64 => fastest::<S, i64>(),
        Dtype::U8 => fastest::<S, u8>(),
        Dtype::U16 => fastest::<S, u16>(),
        Dtype::U32 => fastest::<S, u32>(),
        Dtype::U64 => fastest::<S, u64>(),
        Dtype::F16 => fastest::<S, f16>(),
        Dtype::F32 => fastest::<S, f32>(),
        Dtype::F64 => fastest::<S, f64>(),
        Dtype::C64 => fastest::<S, Complex32>(),
        Dtype::C128 => fastest::<S, Complex64>(),
    }
}
