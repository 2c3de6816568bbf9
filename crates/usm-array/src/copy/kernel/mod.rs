//! Strided copies of memory that host code cannot touch, by kernels
//!
//! The kernels are OpenCL C in `kernels/` of this crate, compiled by `cargo xtask spirv` to the SPIR-V modules beside it; the
//! README there says what each is for and what was measured. They move elements as bits; a cast between dtypes goes through the
//! host.
//!
//! | file | job |
//! |---|---|
//! | `variant.rs` | which kernels there are |
//! | `nest.rs` | from loops to a kernel and its numbers; only arithmetic |
//! | `cache.rs` | built kernels, for each context and device |

mod cache;
mod nest;
mod variant;

#[cfg(test)]
mod tests;

pub(crate) use cache::StridedKernels;
pub(crate) use nest::LINE_BYTES;

use usm_memory::usm_core::{Event, KernelArgument, NdRange, Queue, Result};

use super::plan::Loop;
use cache::Place;
use nest::{Job, Nest, Reason, Sharing};
use variant::Family;

/// The most work-items that share a block.
const MAX_LANES: usize = 64;

/// What became of a copy.
#[derive(Debug)]
#[must_use]
pub(crate) enum Launch {
    /// It runs, or waits for what it depends on.
    Submitted(Event),
    /// Nothing was submitted, since no kernel can do this here; another way can. With the reason.
    #[cfg_attr(not(test), allow(dead_code, reason = "the planner asks for no reason, tests do"))]
    Unsupported(&'static str),
}

impl StridedKernels {
    /// Copies elements of 1, 2, 4, 8 or 16 bytes along up to eight loops, after the dependencies.
    ///
    /// `dst` and `src` are the elements where all loops start; strides are in elements, of any sign. [`Launch::Unsupported`] where
    /// no kernel can be built (the host backend, a device without an online compiler), for other sizes, more loops, and addresses
    /// that are not aligned to the element size or 8 bytes, whichever is less.
    ///
    /// # Safety
    /// Until the event has ended:
    /// 1. The elements at all combinations of steps from `dst` are USM that the device of the queue may write, or any memory of the
    ///    process where it has `usm_system_allocations`, each for one combination, and used by nobody else.
    /// 2. The elements at all combinations of steps from `src` are such memory that it may read, none of them one of `dst`, written by
    ///    nobody. The bytes between the elements of one loop are such memory, too, except that others may write them.
    ///
    /// # Errors
    /// Those of [`Queue::submit_kernel`] that the runtime reports.
    pub(crate) unsafe fn copy_strided(
        &self,
        queue: &Queue,
        dst: *mut u8,
        src: *const u8,
        loops: &[Loop],
        item_bytes: usize,
        dependencies: &[Event],
    ) -> Result<Launch> {
        // SAFETY: the caller's promises.
        unsafe { self.copy(queue, dst, src, loops, item_bytes, Job::Copy, dependencies) }
    }

    /// As [`copy_strided`](Self::copy_strided), for a piece of a copy whose results no cache holds.
    ///
    /// # Safety
    /// As there.
    ///
    /// # Errors
    /// As there.
    pub(crate) unsafe fn copy_piece(
        &self,
        queue: &Queue,
        dst: *mut u8,
        src: *const u8,
        loops: &[Loop],
        item_bytes: usize,
    ) -> Result<Launch> {
        // SAFETY: the caller's promises.
        unsafe { self.copy(queue, dst, src, loops, item_bytes, Job::CopyPiece, &[]) }
    }

    /// Whether a kernel can be had for [`copy_strided`](Self::copy_strided) to `dst`, or for [`copy_piece`](Self::copy_piece), from aligned
    /// memory; it is built then.
    pub(crate) fn takes_copy(
        &self,
        queue: &Queue,
        dst: *mut u8,
        loops: &[Loop],
        item_bytes: usize,
        is_piece: bool,
    ) -> bool {
        let place = self.place(queue);
        let job = if is_piece { Job::CopyPiece } else { Job::Copy };
        // All elements are aligned alike: they are whole elements apart.
        is_aligned(dst.addr(), item_bytes)
            && nest(&place, loops, item_bytes, job, place.sharing())
                .is_ok_and(|nest| place.kernel(nest.variant).is_ok())
    }

    /// # Safety
    /// Those of [`copy_strided`](Self::copy_strided).
    #[expect(clippy::too_many_arguments, reason = "one more than its two callers")]
    unsafe fn copy(
        &self,
        queue: &Queue,
        dst: *mut u8,
        src: *const u8,
        loops: &[Loop],
        item_bytes: usize,
        job: Job,
        dependencies: &[Event],
    ) -> Result<Launch> {
        let place = self.place(queue);
        let nest = match nest(&place, loops, item_bytes, job, place.sharing()) {
            Ok(nest) => nest,
            Err(reason) => return Ok(Launch::Unsupported(reason)),
        };
        // SAFETY: promises 1 and 2; the nest visits the same pairs (N1).
        unsafe { launch(&place, queue, &nest, dst, Source::Elements(src), dependencies) }
    }

    /// Whether a large copy between dense memory is faster by a kernel than by the queue: where stores past the caches are worth
    /// more than what the runtime's own copy knows of the device.
    pub(crate) fn outdo_queue_copies(&self, queue: &Queue) -> bool {
        self.place(queue).sharing() == Sharing::Items
    }

    /// Sets elements of 1, 2, 4, 8 or 16 bytes along up to eight loops to one value, after the dependencies. The loops' source
    /// strides mean nothing; otherwise as [`StridedKernels::copy_strided`].
    ///
    /// # Safety
    /// Promise 1 of [`StridedKernels::copy_strided`].
    ///
    /// # Errors
    /// As there.
    pub(crate) unsafe fn fill_strided(
        &self,
        queue: &Queue,
        dst: *mut u8,
        loops: &[Loop],
        element: &[u8],
        dependencies: &[Event],
    ) -> Result<Launch> {
        let place = self.place(queue);
        let nest = match nest(&place, loops, element.len(), Job::Fill, place.sharing()) {
            Ok(nest) => nest,
            Err(reason) => return Ok(Launch::Unsupported(reason)),
        };
        let mut value = [0; 16];
        value[..element.len()].copy_from_slice(element); // at most 16, or there is no nest
        // SAFETY: promise 1; the nest visits the same elements (N1).
        unsafe { launch(&place, queue, &nest, dst, Source::Value(value), dependencies) }
    }
}

/// Where elements come from.
#[derive(Clone, Copy)]
enum Source {
    Elements(*const u8),
    /// One element, then zeros.
    Value([u8; 16]),
}

fn nest(
    place: &Place,
    loops: &[Loop],
    item_bytes: usize,
    job: Job,
    sharing: Sharing,
) -> Result<Nest, Reason> {
    let without_sources = |axis: &Loop| Loop { src: if job == Job::Fill { 0 } else { axis.src }, ..*axis };
    let loops: Vec<Loop> = loops.iter().map(without_sources).collect();
    Nest::new(&loops, item_bytes, job, sharing, place.compute_units())
}

/// Whether kernels reach an element at an address.
const fn is_aligned(address: usize, item_bytes: usize) -> bool {
    let align_bytes = if item_bytes < 8 { item_bytes } else { 8 };
    address.is_multiple_of(align_bytes)
}

/// # Safety
/// Those of [`StridedKernels::copy_strided`], for the pairs of the nest.
unsafe fn launch(
    place: &Place,
    queue: &Queue,
    nest: &Nest,
    dst: *mut u8,
    source: Source,
    dependencies: &[Event],
) -> Result<Launch> {
    let item_bytes = nest.variant.item_bytes;
    let moved = |start: isize| start.checked_mul(item_bytes.cast_signed());
    let (Some(dst_start), Some(src_start)) = (moved(nest.dst_start), moved(nest.src_start)) else {
        return Ok(Launch::Unsupported("displacements that no address has"));
    };
    let dst = dst.wrapping_offset(dst_start);
    let mut arguments: Vec<KernelArgument> = vec![dst.into()];
    let mut aligned = is_aligned(dst.addr(), item_bytes);
    match source {
        Source::Elements(src) => {
            let src = src.wrapping_offset(src_start);
            aligned &= is_aligned(src.addr(), item_bytes);
            arguments.push(src.into());
        }
        Source::Value(bytes) => {
            let halves = bytes.as_chunks::<8>().0;
            arguments.extend(halves.iter().map(|half| KernelArgument::from(u64::from_ne_bytes(*half))));
        }
    }
    if !aligned {
        return Ok(Launch::Unsupported("elements that are not aligned"));
    }
    let Some(numbers) = numbers(nest) else {
        return Ok(Launch::Unsupported("numbers beyond 63 bits"));
    };
    arguments.extend(numbers);
    let kernel = match place.kernel(nest.variant) {
        Ok(kernel) => kernel,
        Err(reason) => return Ok(Launch::Unsupported(reason)),
    };
    let lanes = match nest.variant.family {
        Family::Lanes | Family::FillLanes => MAX_LANES.min(kernel.info().work_group_size),
        _ => 1,
    };
    let Some(items) = nest.groups.checked_mul(lanes) else {
        return Ok(Launch::Unsupported("numbers beyond 63 bits"));
    };
    // SAFETY: promise 1 of it: two pointers, or one and two halves of a value, then `long`s, as in `kernels/walk.h`; 2: the
    // kernel visits the pairs of the nest (N1, N2), which are the caller's promises; 3: each element is written once.
    let event = unsafe { queue.submit_kernel(kernel, &arguments, NdRange::new(items, lanes), dependencies) }?;
    Ok(Launch::Submitted(event))
}

/// The arguments behind the pointers, in the order of `kernels/walk.h`.
fn numbers(nest: &Nest) -> Option<Vec<KernelArgument>> {
    let counts = [nest.blocks, nest.per_group, nest.block_cols, nest.block_rows];
    let mut numbers = counts.iter().map(|&count| i64::try_from(count).ok()).collect::<Option<Vec<_>>>()?;
    for axis in nest.loops {
        numbers.extend([
            i64::try_from(axis.count).ok()?,
            i64::try_from(axis.dst).ok()?,
            i64::try_from(axis.src).ok()?,
        ]);
    }
    Some(numbers.into_iter().map(KernelArgument::from).collect())
}
