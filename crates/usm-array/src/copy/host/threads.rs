//! Parts of a large copy on several threads

use usm_memory::usm_core::bulk::{MIN_PART_BYTES, parts_for, share, threads_for};

use super::tiles;
use crate::copy::cast::Cast;
use crate::copy::plan::{CopyPlan, Loop, Tiles};

/// The loop that parts are cut along: the outermost one, or where blocks are transposed one that keeps them whole.
pub(super) fn axis_to_cut(plan: &CopyPlan, cast: Cast) -> usize {
    let itemsize = cast.src.itemsize_bytes();
    let Some(tiles) = Tiles::new(plan, itemsize, tiles::side(itemsize)) else {
        return 0;
    };
    let size = |group: &[Loop]| group.iter().map(|axis| axis.count).product::<usize>();
    let larger = if size(&tiles.across) >= size(&tiles.along) { &tiles.across } else { &tiles.along };
    let around = if tiles.outer.is_empty() { &larger[..1] } else { &tiles.outer[..] };
    // Blocks may be walked the other way round.
    let same = |a: &Loop, b: &Loop| a.dst.abs() == b.dst.abs() && a.src.abs() == b.src.abs();
    plan.loops.iter().position(|axis| around.iter().any(|around| same(around, axis))).unwrap_or(0)
}

/// The parts to copy a plan in, which is one of `whole_size` elements or a piece of it.
pub(super) fn parts(plan: CopyPlan, cast: Cast, whole_size: usize) -> Vec<CopyPlan> {
    let itemsize = cast.src.itemsize_bytes().max(cast.dst.itemsize_bytes());
    match parts_for(whole_size * itemsize) {
        1 => vec![plan],
        parts => plan.parts(parts, MIN_PART_BYTES / itemsize, &|plan| axis_to_cut(plan, cast)),
    }
}

/// Both ends of a copy.
///
/// Invariant CE1: each use of the pointers promises that nobody else touches the memory of its part.
#[derive(Clone, Copy)]
struct Ends(*mut u8, *const u8);

// SAFETY: CE1.
unsafe impl Send for Ends {}
// SAFETY: CE1.
unsafe impl Sync for Ends {}

impl Ends {
    fn pointers(self) -> (*mut u8, *const u8) {
        (self.0, self.1)
    }
}

/// Calls `copy` with each part of a copy of so many bytes and both pointers, on several threads if there are several parts.
pub(super) fn for_each(
    parts: Vec<CopyPlan>,
    bytes: usize,
    dst: *mut u8,
    src: *const u8,
    copy: impl Fn(&CopyPlan, *mut u8, *const u8) + Send + Sync + 'static,
) {
    if let [part] = &parts[..] {
        return copy(part, dst, src);
    }
    let ends = Ends(dst, src);
    share(parts.len(), threads_for(bytes), move |number| {
        let (dst, src) = ends.pointers();
        copy(&parts[number], dst, src);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{Layout, Order};

    /// A copy of so many bytes, in more parts than there are threads.
    fn copied(len: usize) -> bool {
        let layout = Layout::contiguous(&[len], Order::C).unwrap();
        let plan = CopyPlan::new(&layout, &layout).unwrap();
        let parts = plan.parts(16, 1, &|_| 0);
        let source: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
        let mut target = vec![0_u8; len];
        for_each(parts, 1 << 30, target.as_mut_ptr(), source.as_ptr(), |part, dst, src| {
            let from = src.wrapping_offset(part.src_start);
            // SAFETY: the parts are dense runs of both vectors, none twice.
            unsafe { dst.wrapping_offset(part.dst_start).copy_from_nonoverlapping(from, part.size()) };
        });
        target == source
    }

    #[test]
    fn all_parts_are_done_in_the_end() {
        assert!((1..200).all(|len| copied(len * 97)));
    }
}
