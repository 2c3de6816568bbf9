//! Carrying out a copy plan in memory that host code can touch
//!
//! Elements are moved as bytes without alignment,
//! through raw pointers only: source and target may be foreign memory, and even the same memory.

use super::plan::CopyPlan;
use crate::array::{UsmArray, check_bounds};
use crate::dtype::{Dtype, MAX_ITEMSIZE_BYTES};
use crate::error::Result;
use crate::layout::{Axes, Layout};
use crate::view::{HostRead, HostWrite};

/// Where elements come from.
#[derive(Debug)]
pub(super) enum Source<'a> {
    Bytes(&'a [u8]),
    Guarded(HostRead),
}

/// Where elements go.
#[derive(Debug)]
pub(super) enum Target<'a> {
    Bytes(&'a mut [u8]),
    Guarded(HostWrite),
}

impl Source<'_> {
    /// The memory of the elements of an array, from the lowest to the highest one.
    pub(super) fn lock(array: &UsmArray) -> Result<Self> {
        HostRead::lock(array).map(Self::Guarded)
    }

    /// Start and length of memory that is readable as long as this value lives.
    fn memory(&self) -> (*const u8, usize) {
        match self {
            Self::Bytes(bytes) => (bytes.as_ptr(), bytes.len()),
            Self::Guarded(guard) => (guard.as_ptr(), guard.len_bytes()),
        }
    }
}

impl Target<'_> {
    /// The memory of the elements of an array, from the lowest to the highest one.
    pub(super) fn lock(array: &UsmArray) -> Result<Self> {
        HostWrite::lock(array).map(Self::Guarded)
    }

    /// Start and length of memory that is writable as long as this value lives.
    fn memory(&mut self) -> (*mut u8, usize) {
        match self {
            Self::Bytes(bytes) => (bytes.as_mut_ptr(), bytes.len()),
            Self::Guarded(guard) => (guard.as_mut_ptr(), guard.len_bytes()),
        }
    }
}

/// Copies the elements of one layout to the elements of another one of the same shape, both
/// counted from the start of their memory.
///
/// If source and target overlap, which value an element ends up with is not specified.
pub(super) fn copy_elements(
    mut target: Target<'_>,
    target_layout: &Layout,
    source: &Source<'_>,
    source_layout: &Layout,
    dtype: Dtype,
) -> Result<()> {
    let (dst, dst_len_bytes) = target.memory();
    let (src, src_len_bytes) = source.memory();
    check_bounds(target_layout, dtype, dst_len_bytes)?;
    check_bounds(source_layout, dtype, src_len_bytes)?;
    let Some(plan) = CopyPlan::new(target_layout, source_layout) else {
        return Ok(());
    };
    let run: unsafe fn(&CopyPlan, *mut u8, *const u8) = match dtype.itemsize_bytes() {
        1 => run::<1>,
        2 => run::<2>,
        4 => run::<4>,
        8 => run::<8>,
        _ => run::<MAX_ITEMSIZE_BYTES>,
    };
    // SAFETY: by P1 the plan visits elements of the two layouts, which were just checked to lie inside the two
    // memories; both are accessible as `target` and `source` live. `run` is the one for the item size.
    unsafe { run(&plan, dst, src) };
    Ok(())
}

/// Carries out a plan for elements of `N` bytes.
///
/// # Safety
/// For every pair of displacements of the plan, in elements:
/// 1. `N` bytes are writable at that displacement from `dst`.
/// 2. `N` bytes are readable at that displacement from `src`.
unsafe fn run<const N: usize>(plan: &CopyPlan, dst: *mut u8, src: *const u8) {
    // Arrays of bytes have size N and no alignment, so pointers to them count in elements.
    let mut dst = dst.cast::<[u8; N]>().wrapping_offset(plan.dst_start);
    let mut src = src.cast::<[u8; N]>().wrapping_offset(plan.src_start);
    let mut index: Axes<usize> = plan.outer.iter().map(|_| 0).collect();
    loop {
        // SAFETY: the rows together are the pairs of the plan, so 1 and 2 hold for each row.
        unsafe { copy_row(plan, dst, src) };
        // The next row: the innermost of the outer loops that has a step left takes it, those
        // inside it start again.
        let mut axis = plan.outer.len();
        loop {
            let Some(outer) = axis.checked_sub(1) else {
                return;
            };
            axis = outer;
            let step = plan.outer[axis];
            if index[axis] + 1 < step.count {
                index[axis] += 1;
                dst = dst.wrapping_offset(step.dst);
                src = src.wrapping_offset(step.src);
                break;
            }
            let back = index[axis].cast_signed();
            dst = dst.wrapping_offset(-step.dst * back);
            src = src.wrapping_offset(-step.src * back);
            index[axis] = 0;
        }
    }
}

/// Copies the elements of one row.
///
/// # Safety
/// For every step of the row:
/// 1. `dst` is writable.
/// 2. `src` is readable.
unsafe fn copy_row<const N: usize>(plan: &CopyPlan, mut dst: *mut [u8; N], mut src: *const [u8; N]) {
    let row = plan.row;
    if plan.has_dense_rows() {
        // SAFETY: the elements lie side by side, and each is accessible by 1 and 2. `copy` allows
        // overlap.
        unsafe { std::ptr::copy(src, dst, row.count) };
        return;
    }
    for _ in 0..row.count {
        // SAFETY: condition 2; bytes have no alignment.
        let element = unsafe { src.read() };
        // SAFETY: condition 1; bytes have no alignment.
        unsafe { dst.write(element) };
        dst = dst.wrapping_offset(row.dst);
        src = src.wrapping_offset(row.src);
    }
}
