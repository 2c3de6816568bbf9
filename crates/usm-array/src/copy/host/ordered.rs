//! Overlapping copies, element after element in the order of the plan

use super::row::Word;
use crate::copy::plan::{CopyPlan, for_each_step};

/// Carries out a plan of equal dtypes in its own order, one thread, each row before the next.
///
/// # Safety
/// For every pair of displacements of the plan, in elements of so many bytes:
/// 1. The element is writable at the first one from `dst`.
/// 2. The element is readable at the second one from `src`.
/// 3. Nobody else touches the target or writes the source meanwhile.
pub(crate) unsafe fn execute_in_order(plan: &CopyPlan, itemsize_bytes: usize, dst: *mut u8, src: *const u8) {
    let run: unsafe fn(&CopyPlan, *mut u8, *const u8) = match itemsize_bytes {
        1 => words::<u8>,
        2 => words::<u16>,
        4 => words::<u32>,
        8 => words::<u64>,
        _ => words::<u128>,
    };
    // SAFETY: the caller's promises 1 to 3; the words are as large as the elements.
    unsafe { run(plan, dst, src) };
}

/// # Safety
/// Those of [`execute_in_order`] for elements as large as `W`.
unsafe fn words<W: Word>(plan: &CopyPlan, dst: *mut u8, src: *const u8) {
    let dst = dst.cast::<W>().wrapping_offset(plan.dst_start);
    let src = src.cast::<W>().wrapping_offset(plan.src_start);
    let row = plan.row();
    let outer = plan.loops.len().saturating_sub(1);
    for_each_step(&plan.loops[..outer], |to, from| {
        let (mut to, mut from) = (dst.wrapping_offset(to), src.wrapping_offset(from));
        if row.dst == 1 && row.src == 1 {
            let len_bytes = row.count * size_of::<W>();
            // SAFETY: the elements of the row lie side by side, by promises 1 and 2. `copy` allows overlap; bytes have no alignment.
            unsafe { std::ptr::copy(from.cast::<u8>(), to.cast::<u8>(), len_bytes) };
            return;
        }
        for _ in 0..row.count {
            // SAFETY: promise 2.
            let word = unsafe { from.read_unaligned() };
            // SAFETY: promise 1.
            unsafe { to.write_unaligned(word) };
            to = to.wrapping_offset(row.dst);
            from = from.wrapping_offset(row.src);
        }
    });
}
