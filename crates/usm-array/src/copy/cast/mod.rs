//! Elements of one type to elements of another, with the meaning of NumPy's `astype(casting="unsafe")`
//!
//! Integers wrap around, as in NumPy. Where NumPy leaves a result to the processor (real numbers that do not fit into the
//! integer, and NaN) it is the same everywhere here: the nearest integer there is, and 0 for NaN. Everything but zero is true,
//! NaN too. Of complex numbers the real part is taken. Narrow numbers (bfloat16, those of 8 bits) are cast from and to binary32, and
//! with that as a step between from and to all others, as in ml_dtypes.

mod convert;

use convert::Convert;
use half::{bf16, f16};
use num_complex::{Complex32, Complex64};
use usm_memory::usm_core::bulk::has_avx2;

use crate::dtype::{Bool8, Dtype, Element, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, dispatch_computed};

/// Casts so many elements that lie side by side.
///
/// # Safety
/// 1. From the first address so many elements of the source's dtype are readable, at any alignment.
/// 2. From the second address so many elements of the target's dtype are writable, at any alignment.
/// 3. The two ranges have no byte in common.
type RunFn = unsafe fn(*const u8, *mut u8, usize);

/// The loops of a cast: one, or one to binary32 and one from there.
#[derive(Clone, Copy, Debug)]
pub(super) struct CastRun {
    // Invariant C1: Casts from the source's dtype to the target's, or to and from binary32.
    first: RunFn,
    second: Option<RunFn>,
    // Invariant C2: Bytes of an element of the source and of the target.
    src_bytes: usize,
    dst_bytes: usize,
}

/// Elements of a cast in two steps that are binary32 at a time.
const STEP_LEN: usize = 512;

impl CastRun {
    /// Casts so many elements that lie side by side.
    ///
    /// # Safety
    /// Those of [`RunFn`].
    pub(super) unsafe fn call(self, src: *const u8, dst: *mut u8, count: usize) {
        let Some(second) = self.second else {
            // SAFETY: the caller's promises 1 to 3, for the dtypes of the cast (C1).
            return unsafe { (self.first)(src, dst, count) };
        };
        let mut block = [0.0_f32; STEP_LEN];
        let block = block.as_mut_ptr().cast::<u8>();
        for start in (0..count).step_by(STEP_LEN) {
            let len = STEP_LEN.min(count - start);
            // SAFETY: elements of the source by promise 1 (C1, C2); the block holds so many results.
            unsafe { (self.first)(src.wrapping_add(start * self.src_bytes), block, len) };
            // SAFETY: the results that were just written; elements of the target by promise 2 (C1, C2).
            unsafe { second(block, dst.wrapping_add(start * self.dst_bytes), len) };
        }
    }
}

/// How elements get from one type to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cast {
    pub(super) src: Dtype,
    pub(super) dst: Dtype,
    /// `None` where bytes are copied as they are: between equal dtypes.
    run: Option<CastRun>,
}

impl Cast {
    pub(super) fn new(src: Dtype, dst: Dtype) -> Self {
        Self { src, dst, run: if src == dst { None } else { Some(CastRun::new(src, dst)) } }
    }

    pub(super) fn run(self) -> Option<CastRun> {
        self.run
    }
}

/// # Safety
/// Those of [`RunFn`], with `S` and `D` as element types.
#[inline(always)]
unsafe fn run<S: Convert<D>, D: Element>(src: *const u8, dst: *mut u8, count: usize) {
    let (src, dst) = (src.cast::<S>(), dst.cast::<D>());
    for i in 0..count {
        // SAFETY: one of the elements (promise 1).
        let from = unsafe { src.add(i) };
        // SAFETY: promise 1; every pattern of bytes is an `S` (promise 2 of `Element`).
        let element = unsafe { from.read_unaligned() };
        // SAFETY: one of the elements (promise 2).
        let to = unsafe { dst.add(i) };
        // SAFETY: promise 2.
        unsafe { to.write_unaligned(element.convert()) };
    }
}

/// The same loop for wider registers.
///
/// # Safety
/// Those of [`run`], and the processor has AVX2.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
unsafe fn avx2_run<S: Convert<D>, D: Element>(src: *const u8, dst: *mut u8, count: usize) {
    // SAFETY: the caller's promises 1 to 3.
    unsafe { run::<S, D>(src, dst, count) };
}

fn fastest<S: Convert<D>, D: Element>() -> RunFn {
    if has_avx2() { avx2_run::<S, D> } else { run::<S, D> }
}

impl CastRun {
    fn new(src: Dtype, dst: Dtype) -> Self {
        let (first, second) = match (runs(src), runs(dst)) {
            (None, None) => (between(src, dst), None),
            // Its NaN has the bits that ml_dtypes gives it, not those of one that was a binary32.
            _ if (src, dst) == (Dtype::BF16, Dtype::F16) => (fastest::<bf16, f16>(), None),
            (Some((widen, _)), None) if dst == Dtype::F32 => (widen, None),
            (None, Some((_, narrow))) if src == Dtype::F32 => (narrow, None),
            (Some((widen, _)), None) => (widen, Some(between(Dtype::F32, dst))),
            (None, Some((_, narrow))) => (between(src, Dtype::F32), Some(narrow)),
            (Some((widen, _)), Some((_, narrow))) => (widen, Some(narrow)),
        };
        Self { first, second, src_bytes: src.itemsize_bytes(), dst_bytes: dst.itemsize_bytes() }
    }
}

/// Of a narrow dtype the casts to binary32 and from there.
fn runs(dtype: Dtype) -> Option<(RunFn, RunFn)> {
    fn both<T: Convert<f32>>() -> (RunFn, RunFn)
    where
        f32: Convert<T>,
    {
        (fastest::<T, f32>(), fastest::<f32, T>())
    }
    match dtype {
        Dtype::BF16 => Some(both::<bf16>()),
        Dtype::F8E4M3Fn => Some(both::<F8E4M3Fn>()),
        Dtype::F8E4M3Fnuz => Some(both::<F8E4M3Fnuz>()),
        Dtype::F8E5M2 => Some(both::<F8E5M2>()),
        Dtype::F8E5M2Fnuz => Some(both::<F8E5M2Fnuz>()),
        Dtype::Bool | Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64 => None,
        Dtype::U8 | Dtype::U16 | Dtype::U32 | Dtype::U64 => None,
        Dtype::F16 | Dtype::F32 | Dtype::F64 | Dtype::C64 | Dtype::C128 => None,
    }
}

/// Between two dtypes that are not narrow.
fn between(src: Dtype, dst: Dtype) -> RunFn {
    fn from<S: ToAll>(dst: Dtype) -> RunFn {
        dispatch_computed!(dst, D => fastest::<S, D>())
    }
    dispatch_computed!(src, S => from::<S>(dst))
}

/// A type that converts to every element type that is not narrow.
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
