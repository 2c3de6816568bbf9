//! Carrying out a plan in memory that host code can touch
//!
//! Elements are moved as words of their size, without alignment, through raw pointers only: source and target may be external
//! memory.
//!
//! | file | job |
//! |---|---|
//! | `threads.rs` | parts of a large copy on several threads |
//! | `nest.rs` | plans that go row by row |
//! | `row.rs` | what words are, and the kernels of their rows |
//! | `tiles.rs` | plans that transpose, block by block |
//! | `micro.rs` | one block of words, transposed |
//! | `narrow.rs` | a few planes to many short rows and back |
//! | `store.rs` | dense words to their places in the target: cast, streamed, spread |
//! | `ordered.rs` | overlapping copies, element after element |

mod micro;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod narrow;
mod nest;
mod ordered;
mod row;
mod store;
mod threads;
mod tiles;

pub(super) use ordered::execute_in_order;
use row::Word;

use usm_memory::usm_core::bulk::{self, Machine, stream};

use super::cast::Cast;
use super::plan::{CopyPlan, Tiles};

/// Below so many elements blocks do not pay.
const MIN_TILED_SIZE: usize = 64;

/// Carries out a plan.
///
/// # Safety
/// For every pair of displacements of the plan, in elements of the dtypes of `cast`:
/// 1. An element is writable at the first one from `dst`.
/// 2. An element is readable at the second one from `src`.
/// 3. No element that is written has a byte in common with one that is read.
/// 4. Nobody else touches the target or writes the source meanwhile.
pub(super) unsafe fn execute(plan: CopyPlan, cast: Cast, dst: *mut u8, src: *const u8) {
    let size = plan.size();
    let bytes = size * cast.dst.itemsize_bytes();
    if plan.is_one_run() && cast.run().is_none() {
        let itemsize = cast.dst.itemsize_bytes().cast_signed();
        let (to, from) =
            (dst.wrapping_offset(plan.dst_start * itemsize), src.wrapping_offset(plan.src_start * itemsize));
        // SAFETY: the caller's promises 1 to 4, for elements that lie side by side in both.
        return unsafe { bulk::copy(to, from, bytes) };
    }
    let stream = bytes >= Machine::this().copy_stream_bytes();
    // SAFETY: the caller's promises 1 to 4.
    unsafe { execute_piece(plan, cast, size, stream, dst, src) };
}

/// Carries out a plan that is a piece of one with `whole_size` elements: threads pay for small pieces, too, where they are still
/// awake from the piece before. `stream` says whether stores go past the caches.
///
/// # Safety
/// Those of [`execute`].
pub(super) unsafe fn execute_piece(
    plan: CopyPlan,
    cast: Cast,
    whole_size: usize,
    stream: bool,
    dst: *mut u8,
    src: *const u8,
) {
    let parts = threads::parts(plan, cast, whole_size);
    let bytes = whole_size * cast.dst.itemsize_bytes();
    // SAFETY: parts are made of the pairs of the plan (P1), for which 1 to 4 hold, and have no byte of the target in common.
    threads::for_each(parts, bytes, dst, src, move |part, dst, src| unsafe {
        execute_part(part, cast, stream, dst, src)
    });
}

/// # Safety
/// Those of [`execute`].
unsafe fn execute_part(plan: &CopyPlan, cast: Cast, stream: bool, dst: *mut u8, src: *const u8) {
    let run: unsafe fn(&CopyPlan, Cast, bool, *mut u8, *const u8) = match cast.src.itemsize_bytes() {
        1 => execute_words::<u8>,
        2 => execute_words::<u16>,
        4 => execute_words::<u32>,
        8 => execute_words::<u64>,
        _ => execute_words::<u128>,
    };
    // SAFETY: the caller's promises 1 to 4; the words are as large as the elements of the source.
    unsafe { run(plan, cast, stream, dst, src) };
}

/// # Safety
/// Those of [`execute`], with elements of the source as large as `W`.
unsafe fn execute_words<W: Word>(plan: &CopyPlan, cast: Cast, stream: bool, dst: *mut u8, src: *const u8) {
    let tiles = if plan.loops.len() >= 2 && plan.size() >= MIN_TILED_SIZE {
        Tiles::new(plan, size_of::<W>(), tiles::side(size_of::<W>()))
    } else {
        None
    };
    match tiles {
        // SAFETY: the pairs of the tiles are those of the plan (T1).
        Some(tiles) => unsafe { execute_tiles::<W>(&tiles, cast, stream, dst, src.cast()) },
        // SAFETY: the caller's promises 1 to 4.
        None => unsafe { nest::execute::<W>(plan, cast, stream, dst, src.cast()) },
    }
    if stream {
        stream::fence();
    }
}

/// # Safety
/// Those of [`tiles::execute`].
unsafe fn execute_tiles<W: Word>(tiles: &Tiles, cast: Cast, stream: bool, dst: *mut u8, src: *const W) {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    if let Some(narrow) = narrow::Narrow::of::<W>(tiles) {
        // SAFETY: the caller's promises 1 to 4.
        return unsafe { narrow.execute(tiles, cast, stream, dst, src) };
    }
    // SAFETY: the caller's promises 1 to 4.
    unsafe { tiles::execute(tiles, cast, stream, dst, src) };
}

#[cfg(test)]
mod tests;
