//! Carrying a plan out, by the executor that was chosen for it

use std::ptr;

use usm_memory::Error as MemoryError;
use usm_memory::usm_core::{Error as CoreError, Queue, UsmKind};

use super::cast::Cast;
use super::executor::{DenseRun, Executor};
use super::place::{Place, addresses, lock, lock_for_queue, overlap};
use super::plan::{CopyPlan, Side};
use super::submit::submit;
use super::{host, host_task, overlap as overlapping, staged};
use crate::array::UsmArray;
use crate::dtype::{Casting, Dtype};
use crate::error::{Error, Result};
use crate::view::zeroed_vec;

/// Copies elements from array to array, by a plan that counts from the lowest elements of both.
pub(super) fn assign(target: &UsmArray, source: &UsmArray, plan: CopyPlan, cast: Cast) -> Result<()> {
    // SAFETY: by P1 the plan visits elements of the two arrays; there is no host memory.
    unsafe { execute(plan, cast, Place::Array(target), Place::Array(source)) }
}

/// Copies elements from place to place. What a queue does between arrays that only devices reach is submitted; all else is complete when
/// this returns.
///
/// # Safety
/// For every pair of displacements of the plan, in elements of the dtypes of `cast`:
/// 1. The first one is an element of the target, counted from the lowest one; in host memory one that is writable, and that nobody
///    else touches meanwhile.
/// 2. The second one is an element of the source, counted from the lowest one; in host memory one that is readable, and that nobody
///    writes meanwhile. So are the bytes between the elements, except that others may write them.
/// 3. Host memory has no byte in common with the other side.
pub(super) unsafe fn execute(plan: CopyPlan, cast: Cast, to: Place<'_>, from: Place<'_>) -> Result<()> {
    let itemsize = cast.src.itemsize_bytes();
    match Executor::choose(&plan, cast, to, from)? {
        Executor::Host => {
            let (to, from) = lock(to, from)?;
            // SAFETY: elements of both sides, by 1 and 2, where the pointers lead (K1); they do not overlap.
            unsafe { host::execute(plan, cast, to.start, from.start) };
            Ok(())
        }
        Executor::Bytes(run) => {
            // SAFETY: the caller's promises 1 to 3.
            let copied = unsafe { copy_bytes(&plan, itemsize, run) };
            let (Err(Error::Memory(error)), Place::Array(target), Place::Array(source)) = (&copied, to, from)
            else {
                return copied;
            };
            if !error.is_out_of_memory() {
                copied
            } else if overlap(&addresses(target), &addresses(source)) {
                // SAFETY: the caller's promises 1 to 3.
                unsafe { through_host(&plan, cast, to, from) }
            } else {
                // SAFETY: the caller's promises 1 to 3.
                unsafe { in_pieces_through_host(plan, cast, to, from) }
            }
        }
        Executor::Overlapping(target, source) => {
            if overlapping::assign(target, source, &plan, cast)? {
                return Ok(());
            }
            // Without memory for a copy on the device, there may be some on the host.
            if let Some(copy) = overlapping::copied(target, source) {
                return target.assign_cast(&copy, Casting::Unsafe);
            }
            // SAFETY: the caller's promises 1 to 3.
            unsafe { through_host(&plan, cast, to, from) }
        }
        Executor::HostTask(queue) => {
            // SAFETY: promises 1 to 3 as for host code; the queue reaches both.
            let copy = |dst, src, after: &[_]| unsafe { host_task::copy(queue, plan, cast, dst, src, after) };
            // SAFETY: promise 1 of `submit`: elements of both sides (K1), after the events. 2. The queue reaches them.
            unsafe { submit(queue, to, from, copy) }
        }
        Executor::Kernel(queue, launches) => {
            let copy = |dst: *mut u8, src: *const u8, after: &[_]| {
                // The launches have the addresses.
                let _exposed = [dst.expose_provenance(), src.expose_provenance()];
                // SAFETY: promise 1 of `submit`: elements of the target (K1), none of them visited twice, as the choice has seen. 1 and 2: the queue reaches them,
                // and nobody else uses them until the event is complete.
                unsafe { launches.submit(queue, after) }
            };
            // SAFETY: promise 1 of `submit`: elements of both sides (K1), after the events. 2. As the choice has seen.
            unsafe { submit(queue, to, from, copy) }
        }
        Executor::ThroughFloats(queue, target, source) => {
            if through_floats(queue, &plan, cast, target, source)? {
                return Ok(());
            }
            // SAFETY: the caller's promises 1 to 3.
            unsafe { in_pieces_through_host(plan, cast, to, from) }
        }
        Executor::Packed(queue, pieces, staging) => {
            let (is_read, (to, from)) = (from.device().is_some(), lock_for_queue(to, from)?);
            let copy = if is_read { staged::read_packed } else { staged::write_packed };
            // SAFETY: K1, as for kernels; what lies on the other side host code reaches.
            unsafe { copy(queue, pieces, staging, cast, to.start, from.start) }
        }
        Executor::Spans(queue, pieces) => {
            let (is_read, (to, from)) = (from.device().is_some(), lock_for_queue(to, from)?);
            let copy = if is_read { staged::read_spans } else { staged::write_spans };
            // SAFETY: as for host code, and by K1 the bytes between the elements of device memory are as free.
            unsafe { copy(queue, pieces, cast, to.start, from.start) }
        }
        Executor::BetweenDevices(target, source) => {
            if between_devices(&plan, cast, target, source)? {
                return Ok(());
            }
            // SAFETY: the caller's promises 1 to 3.
            unsafe { in_pieces_through_host(plan, cast, to, from) }
        }
        // SAFETY: the caller's promises 1 to 3.
        Executor::ThroughHost => unsafe { in_pieces_through_host(plan, cast, to, from) },
    }
}

/// Copies one dense run of bytes, which may overlap those of the other side.
///
/// # Safety
/// Those of [`execute`] but the last.
unsafe fn copy_bytes(plan: &CopyPlan, itemsize: usize, run: DenseRun<'_>) -> Result<()> {
    let len_bytes = plan.size() * itemsize;
    let skipped = |first: isize| first * itemsize.cast_signed(); // the place of an element, by P2
    match run {
        DenseRun::Between(target, source) => {
            let from = source.buffer().sub_buffer(source.byte_range().start, len_bytes)?;
            Ok(target.buffer().sub_buffer(target.byte_range().start, len_bytes)?.submit_copy_from(&from)?)
        }
        DenseRun::ToHost(dst, source) => {
            let start = dst.wrapping_offset(skipped(plan.dst_start));
            let bytes = ptr::slice_from_raw_parts_mut(start, len_bytes);
            // SAFETY: 1 and 2 by promise 1: the run has nothing but elements.
            Ok(unsafe { source.buffer().copy_to_host_memory(bytes, source.byte_range().start) }?)
        }
        DenseRun::FromHost(target, src) => {
            let start = src.wrapping_offset(skipped(plan.src_start));
            let bytes = ptr::slice_from_raw_parts(start, len_bytes);
            let offset_bytes = target.byte_range().start;
            // SAFETY: 1 and 2 by promise 2: the run has nothing but elements.
            Ok(unsafe { target.buffer().submit_copy_from_host_memory(bytes, offset_bytes) }?)
        }
    }
}

/// Packs all elements of the source on its device, unless they are dense, and unpacks them on that of the target. False when nothing was
/// done, since there is no memory for that.
fn between_devices(plan: &CopyPlan, cast: Cast, target: &UsmArray, source: &UsmArray) -> Result<bool> {
    let (pack, unpack) = plan.through_packed(Side::Source);
    let empty = |queue| UsmArray::empty(queue, UsmKind::Device, &[pack.size()], cast.src);
    let Ok(moved) = empty(target.queue()) else { return Ok(false) };
    let from = if pack.is_one_run() {
        source.buffer().sub_buffer(source.byte_range().start, moved.size_bytes())?
    } else {
        let Ok(packed) = empty(source.queue()) else { return Ok(false) };
        assign(&packed, source, pack, Cast::new(cast.src, cast.src))?;
        packed.buffer().clone()
    };
    match moved.buffer().submit_copy_from(&from) {
        // It may need host USM, which not every device has.
        Err(MemoryError::Core(CoreError::KindNotSupported { .. })) => return Ok(false),
        Err(error) if error.is_out_of_memory() => return Ok(false),
        moved => moved?,
    }
    assign(target, &moved, unpack, cast)?;
    Ok(true)
}

/// Casts all elements to `float32` in memory of the device, and from there to the dtype of the target. False when nothing was done, since
/// there is no memory for that.
fn through_floats(
    queue: &Queue,
    plan: &CopyPlan,
    cast: Cast,
    target: &UsmArray,
    source: &UsmArray,
) -> Result<bool> {
    let (pack, unpack) = plan.through_packed(Side::Target);
    let Ok(floats) = UsmArray::empty(queue, UsmKind::Device, &[pack.size()], Dtype::F32) else {
        return Ok(false);
    };
    assign(&floats, source, pack, Cast::new(cast.src, Dtype::F32))?;
    assign(target, &floats, unpack, Cast::new(Dtype::F32, cast.dst))?;
    Ok(true)
}

/// Copies elements to host memory, and from there to the target, piece by piece.
///
/// # Safety
/// Those of [`execute`].
unsafe fn in_pieces_through_host(plan: CopyPlan, cast: Cast, to: Place<'_>, from: Place<'_>) -> Result<()> {
    let pieces = plan.pieces_through_host(cast.src.itemsize_bytes());
    let (to, from) = lock_for_queue(to, from)?;
    // SAFETY: the caller's promises 1 to 3: the pieces have the pairs of the plan.
    pieces.iter().try_for_each(|piece| unsafe { through_host(piece, cast, to.place(), from.place()) })
}

/// Copies all elements of the source to host memory, and from there to the target.
///
/// # Safety
/// Those of [`execute`]; the sides may overlap.
unsafe fn through_host(plan: &CopyPlan, cast: Cast, to: Place<'_>, from: Place<'_>) -> Result<()> {
    let (pack, unpack) = plan.through_packed(Side::Target);
    let mut elements = zeroed_vec::<u8>(pack.size() * cast.src.itemsize_bytes())?;
    let packed = Place::Host(elements.as_mut_ptr());
    // SAFETY: promise 2; the memory holds all packed elements, and is our own.
    unsafe { execute(pack, Cast::new(cast.src, cast.src), packed, from) }?;
    // SAFETY: promise 1; the memory holds all packed elements, and is our own.
    unsafe { execute(unpack, cast, to, packed) }
}
