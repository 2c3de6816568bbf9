//! Parts of a large copy on several threads

use std::sync::atomic::{AtomicUsize, Ordering};

use super::tiles;
use crate::copy::cast::Cast;
use crate::copy::plan::{CopyPlan, Loop, Tiles};

/// Below so many bytes waking a thread costs more than it saves.
const PARALLEL_BYTES: usize = 4 << 20;

/// Parts are taken one after the other, several for each thread: threads are not equally fast.
const PARTS_PER_THREAD: usize = 8;

/// The most threads of one copy; 0 is no limit.
static LIMIT: AtomicUsize = AtomicUsize::new(0);

/// Limits the threads that one copy uses, the calling one included. 0 stands for as many as rayon has, which is the default.
///
/// Copies of less than some megabytes use one thread anyway.
///
/// ```
/// usm_array::set_num_threads(1);
/// assert_eq!(usm_array::num_threads(), 1);
/// usm_array::set_num_threads(0);
/// ```
pub fn set_num_threads(limit: usize) {
    LIMIT.store(limit, Ordering::Relaxed);
}

/// The most threads that one copy uses, the calling one included: the limit, and at most as many as rayon has.
#[must_use]
pub fn num_threads() -> usize {
    match LIMIT.load(Ordering::Relaxed) {
        1 => 1, // without waking rayon
        0 => rayon::current_num_threads(),
        limit => limit.min(rayon::current_num_threads()),
    }
}

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
    let threads = if whole_size * itemsize >= PARALLEL_BYTES { num_threads() } else { 1 };
    if threads < 2 {
        return vec![plan];
    }
    let min_size = PARALLEL_BYTES / PARTS_PER_THREAD / itemsize;
    plan.parts(threads * PARTS_PER_THREAD, min_size, &|plan| axis_to_cut(plan, cast))
}

/// Both ends of a copy.
#[derive(Clone, Copy)]
struct Ends(*mut u8, *const u8);

// SAFETY: only pointers; who follows them promises for each part that nobody else touches its memory.
unsafe impl Send for Ends {}
// SAFETY: as above.
unsafe impl Sync for Ends {}

impl Ends {
    fn pointers(self) -> (*mut u8, *const u8) {
        (self.0, self.1)
    }
}

/// Calls `copy` with each part and both pointers, on several threads if there are several parts.
pub(super) fn for_each(
    parts: &[CopyPlan],
    dst: *mut u8,
    src: *const u8,
    copy: impl Fn(&CopyPlan, *mut u8, *const u8) + Sync,
) {
    if let [part] = parts {
        return copy(part, dst, src);
    }
    let ends = Ends(dst, src);
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (dst, src) = ends.pointers();
            copy(part, dst, src);
        }
    };
    let helpers = num_threads().min(parts.len()).saturating_sub(1);
    rayon::in_place_scope(|scope| {
        for _ in 0..helpers {
            scope.spawn(|_| work());
        }
        work();
    });
}
