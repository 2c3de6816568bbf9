//! Strided copies of memory that host code cannot touch, by kernels
//!
//! The kernels move elements as bits; a cast between dtypes goes through the host. `nest.rs` makes the numbers that a kernel takes of a
//! plan; only arithmetic.

mod nest;

#[cfg(test)]
mod tests;

use std::iter;
use std::sync::Arc;

use usm_memory::usm_core::{Error, Event, Kernel, KernelArgument, Queue, Result};

use super::plan::CopyPlan;
use crate::device::{DeviceKernels, Kernels, Launch, Reason, STRIDED_COPY, STRIDED_FILL, of_size};
use nest::Nest;

/// What a kernel does with each pair of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    Copy,
    /// Sets the element of the target to one value.
    Fill,
}

/// Work-items that share a block: one where processors with caches of their own do the work, else enough for memory that wants
/// adjacent items at adjacent places.
fn lanes(on_device: &DeviceKernels) -> usize {
    if on_device.is_cpu() { 1 } else { 64 }
}

fn kernel(on_device: &DeviceKernels, job: Job, item_bytes: usize) -> Result<Kernel, Reason> {
    let modules = match job {
        Job::Copy => &STRIDED_COPY,
        Job::Fill => &STRIDED_FILL,
    };
    let module = of_size(modules, item_bytes).ok_or("no kernel has elements of this size")?;
    on_device.kernel(module, "strided")
}

impl Kernels {
    /// Whether a kernel can carry out a plan for elements of so many bytes, between the addresses from which it counts; the kernel is
    /// built then. It cannot where none can be built (the host backend, a device without an online compiler), for sizes other than 1,
    /// 2, 4, 8 and 16 bytes, for more than eight loops, and for addresses that are not aligned to the size or 8 bytes, whichever is less.
    pub(in crate::copy) fn takes(
        &self,
        queue: &Queue,
        job: Job,
        plan: &CopyPlan,
        item_bytes: usize,
        addresses: [usize; 2],
    ) -> bool {
        self.prepare(queue, job, plan, item_bytes, addresses).is_ok()
    }

    /// Copies elements of so many bytes after the dependencies, by a plan that counts from the two addresses.
    ///
    /// # Safety
    /// Until the event is complete:
    /// 1. The target elements of the plan are USM that the device of the queue may write, or any memory of the process where it has
    ///    `usm_system_allocations`, each for one pair, and used by nobody else.
    /// 2. The source elements of the plan are such memory that it may read, none of them one of the target, written by nobody.
    ///
    /// # Errors
    /// - [`Error::NotSupported`]: it is none that [`takes`](Self::takes) allows; nothing was submitted
    /// - those of [`Queue::submit_kernel`] that the runtime reports
    pub(in crate::copy) unsafe fn copy(
        &self,
        queue: &Queue,
        plan: &CopyPlan,
        item_bytes: usize,
        dst: *mut u8,
        src: *const u8,
        dependencies: &[Event],
    ) -> Result<Event> {
        let addresses = [dst.addr(), src.addr()];
        let (on_device, nest) =
            self.prepare(queue, Job::Copy, plan, item_bytes, addresses).map_err(refused(queue))?;
        let ends = copy_ends(plan, item_bytes, dst, src);
        // SAFETY: promises 1 and 2; the nest visits the pairs of the plan (N1).
        unsafe { submit(&on_device, queue, Job::Copy, &nest, item_bytes, &ends, dependencies) }
    }

    /// Sets elements to one value of as many bytes as they have. The source of the plan means nothing; otherwise as
    /// [`copy`](Self::copy).
    ///
    /// # Safety
    /// Promise 1 of [`copy`](Self::copy).
    ///
    /// # Errors
    /// As there.
    pub(in crate::copy) unsafe fn fill(
        &self,
        queue: &Queue,
        plan: &CopyPlan,
        element: &[u8],
        dst: *mut u8,
        dependencies: &[Event],
    ) -> Result<Event> {
        let item_bytes = element.len();
        let prepared = self.prepare(queue, Job::Fill, plan, item_bytes, [dst.addr(), 0]);
        let (on_device, nest) = prepared.map_err(refused(queue))?;
        let ends = fill_ends(plan, element, dst);
        // SAFETY: promise 1; the nest visits the elements of the plan (N1).
        unsafe { submit(&on_device, queue, Job::Fill, &nest, item_bytes, &ends, dependencies) }
    }

    fn prepare(
        &self,
        queue: &Queue,
        job: Job,
        plan: &CopyPlan,
        item_bytes: usize,
        addresses: [usize; 2],
    ) -> Result<(Arc<DeviceKernels>, Nest), Reason> {
        // All elements are aligned alike: they are whole elements apart.
        if item_bytes == 0 || !addresses.iter().all(|address| address.is_multiple_of(item_bytes.min(8))) {
            return Err("elements that are not aligned");
        }
        let on_device = self.on_device(queue);
        let nest = Nest::new(plan, on_device.compute_units(), lanes(&on_device))
            .ok_or("kernels have at most 8 loops")?;
        kernel(&on_device, job, item_bytes)?;
        Ok((on_device, nest))
    }
}

fn refused(queue: &Queue) -> impl Fn(Reason) -> Error {
    let backend = queue.backend_id();
    move |what| Error::NotSupported { backend, what }
}

/// The first element of the target, and that of the source.
fn copy_ends(plan: &CopyPlan, item_bytes: usize, dst: *mut u8, src: *const u8) -> Vec<KernelArgument> {
    let skipped = |elements: isize| elements * item_bytes.cast_signed(); // the place of an element, by P2
    vec![
        dst.wrapping_offset(skipped(plan.dst_start)).into(),
        src.wrapping_offset(skipped(plan.src_start)).into(),
    ]
}

/// The first element of the target, and a value of at most 16 bytes in two halves.
fn fill_ends(plan: &CopyPlan, element: &[u8], dst: *mut u8) -> Vec<KernelArgument> {
    let mut value = [0; 16];
    value[..element.len()].copy_from_slice(element);
    let halves = value.as_chunks::<8>().0.iter().map(|half| u64::from_ne_bytes(*half).into());
    let skipped = plan.dst_start * element.len().cast_signed(); // the place of an element, by P2
    iter::once(dst.wrapping_offset(skipped).into()).chain(halves).collect()
}

/// # Safety
/// Those of [`Kernels::copy`], for the pairs of the nest, from its first one on.
unsafe fn submit(
    on_device: &DeviceKernels,
    queue: &Queue,
    job: Job,
    nest: &Nest,
    item_bytes: usize,
    ends: &[KernelArgument],
    dependencies: &[Event],
) -> Result<Event> {
    let kernel = kernel(on_device, job, item_bytes).map_err(refused(queue))?;
    let arguments: Vec<_> = ends.iter().copied().chain(nest.numbers().map(KernelArgument::from)).collect();
    let group_items = nest.lanes.min(kernel.info().work_group_size);
    let launch = Launch { kernel: &kernel, arguments: &arguments, groups: nest.groups, group_items };
    // SAFETY: promise 1 of it: two pointers, or one and two halves of a value, then `long`s, as in `kernels/strided.cl`; 2: the
    // kernel visits the pairs of the nest (N1, N2), which are the caller's promises; 3: each element is written once.
    unsafe { launch.submit(queue, dependencies) }
}
