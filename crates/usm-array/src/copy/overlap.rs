//! Arrays that have bytes in common
//!
//! Two arrays of equal strides are one pattern, shifted: walked in the direction of the shift, no element is written before it
//! is read. Otherwise the elements that lie where the target is go through a temporary, and the others do not.

use usm_memory::{Error as MemoryError, WriteAccess};

use super::cast::Cast;
use super::host::{execute, execute_in_order};
use super::place::{addresses, overlap};
use super::plan::{CopyPlan, Side};
use crate::array::UsmArray;
use crate::error::Result;
use crate::view::zeroed_vec;

/// The most parts that are told apart: those through a temporary, and those directly.
const PARTS: usize = 32;

/// The memory of two arrays under one access.
struct Both {
    // Invariant B1: Covers the addresses of the elements of both arrays, which host code may touch.
    access: WriteAccess,
    dst_bytes: usize,
    src_bytes: usize,
}

impl Both {
    /// `None` if one access cannot cover both, or if somebody holds a view between them.
    fn lock(target: &UsmArray, source: &UsmArray) -> Result<Option<Self>> {
        if !target.is_host_reachable() || !source.is_host_reachable() {
            return Ok(None);
        }
        let (dst, src) = (addresses(target), addresses(source));
        let (start, end) = (dst.start.min(src.start), dst.end.max(src.end));
        let buffer = target.buffer();
        let base = buffer.address();
        if start < base || end > base + buffer.len_bytes() {
            return Ok(None);
        }
        match buffer.write_access(start - base..end - base) {
            Ok(access) => {
                Ok(Some(Self { access, dst_bytes: dst.start - start, src_bytes: src.start - start }))
            }
            Err(MemoryError::BorrowConflict { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Where the lowest elements of the target and the source are.
    fn pointers(&self) -> (*mut u8, *const u8) {
        let start = self.access.as_mut_ptr();
        (start.wrapping_add(self.dst_bytes), start.wrapping_add(self.src_bytes).cast_const())
    }
}

/// Copies elements by a plan that counts from the lowest elements of both arrays. False when nothing was done, since one access cannot
/// cover both.
pub(super) fn assign(target: &UsmArray, source: &UsmArray, plan: &CopyPlan, cast: Cast) -> Result<bool> {
    let Some(both) = Both::lock(target, source)? else { return Ok(false) };
    let (dst, src) = both.pointers();
    if cast.run().is_none() && plan.has_equal_strides() && plan.is_ascending() {
        let itemsize = cast.dst.itemsize_bytes().cast_signed();
        let to = dst.addr().wrapping_add_signed(plan.dst_start * itemsize);
        let from = src.addr().wrapping_add_signed(plan.src_start * itemsize);
        let plan = if to <= from { plan.clone() } else { plan.clone().reversed() };
        // SAFETY: by P1 the plan visits elements of the two arrays, counted from the lowest ones, where the pointers lead (B1).
        unsafe { execute_in_order(&plan, cast.dst.itemsize_bytes(), dst, src) };
        return Ok(true);
    }
    let itemsize = cast.src.itemsize_bytes().cast_signed();
    let written = addresses(target);
    let is_written = |part: &CopyPlan| {
        let span = part.span(Side::Source);
        let start = src.addr().wrapping_add_signed(span.start * itemsize);
        overlap(&written, &(start..src.addr().wrapping_add_signed(span.end * itemsize)))
    };
    let (shared, apart): (Vec<_>, Vec<_>) =
        plan.clone().parts(PARTS, 1, &|_| 0).into_iter().partition(is_written);
    let mut packed = Vec::with_capacity(shared.len());
    for part in &shared {
        let (pack, unpack) = part.through_packed(Side::Target);
        let mut elements = zeroed_vec::<u8>(pack.size() * cast.src.itemsize_bytes())?;
        // SAFETY: elements of the source (P1, B1), into memory of our own that holds them.
        unsafe { execute(pack, Cast::new(cast.src, cast.src), elements.as_mut_ptr(), src) };
        packed.push((unpack, elements));
    }
    for part in apart {
        // SAFETY: elements of both arrays (P1, B1); those of the source are not where any of the target are.
        unsafe { execute(part, cast, dst, src) };
    }
    for (unpack, elements) in packed {
        // SAFETY: elements of the target (P1, B1), from memory of our own.
        unsafe { execute(unpack, cast, dst, elements.as_ptr()) };
    }
    Ok(true)
}

/// A copy of the source in memory that only devices reach, as is that of both arrays. `None` for other arrays, and without such memory.
pub(super) fn copied(target: &UsmArray, source: &UsmArray) -> Option<UsmArray> {
    let is_apart = !target.is_host_reachable() && !source.is_host_reachable();
    is_apart.then(|| source.copy().ok()).flatten()
}
