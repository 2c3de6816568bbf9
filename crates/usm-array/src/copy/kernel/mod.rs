//! Strided copies, casts and fills of memory that host code cannot touch, by kernels

#[cfg(test)]
mod tests;

use std::slice;

use usm_memory::usm_core::{Error, Event, Kernel, KernelArgument, Queue, Result};

use super::plan::CopyPlan;
use crate::device::{
    Elements, Kernels, Launch, LinearLaunch, Reason, TILE_LOCAL_BYTES, TileLaunch, Work, tiled as tile_module,
};

impl Kernels {
    /// Whether kernels can carry out a plan between the addresses from which it counts; they are built then. They cannot where none can
    /// be built (the host backend, a device without an online compiler), for thousands of launches, which take many more than eight
    /// loops, and for casts and fills of elements that are not aligned to their size or 8 bytes, whichever is less.
    pub(in crate::copy) fn takes(
        &self,
        queue: &Queue,
        work: Work<'_>,
        plan: &CopyPlan,
        [dst, src]: [usize; 2],
    ) -> bool {
        self.plan(queue, work, plan, [dst, src]).is_ok()
    }

    /// The launches that carry out a plan, one after the other.
    fn plan(
        &self,
        queue: &Queue,
        work: Work<'_>,
        plan: &CopyPlan,
        [dst, src]: [usize; 2],
    ) -> Result<Vec<Built>, Reason> {
        let on_device = self.on_device(queue);
        if let Some(tiled) = tiled(queue, work, plan, [dst, src])
            && let Some(module) = tile_module(tiled.kernel, work.item_bytes())
        {
            let kernel = on_device.kernel(module, tiled.kernel)?;
            if tiled.group_items <= kernel.info().work_group_size {
                let (arguments, groups) = (tiled.arguments().to_vec(), tiled.groups);
                return Ok(vec![Built { kernel, arguments, groups, group_items: tiled.group_items }]);
            }
        }
        let launches = LinearLaunch::of(plan, work, dst, src).ok_or("elements that kernels do not take")?;
        let build = |launch: &LinearLaunch<'_>| {
            let module = launch.module().ok_or("no kernel has elements of this size")?;
            let kernel = on_device.kernel(module, launch.kernel())?;
            let group_items = LinearLaunch::GROUP_ITEMS.min(kernel.info().work_group_size);
            let (arguments, groups) = (launch.arguments(), launch.groups(group_items));
            Ok(Built { kernel, arguments, groups, group_items })
        };
        launches.iter().map(build).collect()
    }

    /// Copies or casts elements after the dependencies, by a plan that counts from the two addresses.
    ///
    /// # Safety
    /// Until the event is complete:
    /// 1. The target elements of the plan are USM that the device of the queue may write, or any memory of the process where it has
    ///    `usm_system_allocations`, each for one pair, and used by nobody else.
    /// 2. The source elements of the plan are such memory that it may read, none of them one of the target, written by nobody. So is
    ///    what lies between them.
    ///
    /// # Errors
    /// - [`Error::NotSupported`]: it is none that [`takes`](Self::takes) allows; nothing was submitted
    /// - those of [`Queue::submit_kernel`] that the runtime reports; what was submitted is complete
    pub(in crate::copy) unsafe fn copy(
        &self,
        queue: &Queue,
        plan: &CopyPlan,
        elements: Elements,
        dst: *mut u8,
        src: *const u8,
        dependencies: &[Event],
    ) -> Result<Event> {
        let (dst, src) = (dst.expose_provenance(), src.expose_provenance());
        // SAFETY: promises 1 and 2.
        unsafe { self.carry_out(queue, plan, Work::Copy(elements), [dst, src], dependencies) }
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
        // SAFETY: promise 1; a fill reads nothing.
        unsafe {
            self.carry_out(queue, plan, Work::Fill(element), [dst.expose_provenance(), 0], dependencies)
        }
    }

    /// # Safety
    /// Those of [`copy`](Self::copy), but nothing is read for a fill.
    unsafe fn carry_out(
        &self,
        queue: &Queue,
        plan: &CopyPlan,
        work: Work<'_>,
        [dst, src]: [usize; 2],
        dependencies: &[Event],
    ) -> Result<Event> {
        let launches = self.plan(queue, work, plan, [dst, src]).map_err(refused(queue))?;
        let mut last: Option<Event> = None;
        for Built { kernel, arguments, groups, group_items } in &launches {
            let launch = Launch { kernel, arguments, groups: *groups, group_items: *group_items };
            let after = last.as_ref().map_or(dependencies, slice::from_ref);
            // SAFETY: promise 1 of it: those of the kernel's source, in its order. 2: together the launches visit the pairs of the plan (G1),
            // which are the caller's promises; each element is written once.
            match unsafe { launch.submit(queue, after) } {
                Ok(event) => last = Some(event),
                Err(error) => {
                    // The error says what is wrong; this one is about another launch.
                    let _ = last.map(|last| last.wait());
                    return Err(error);
                }
            }
        }
        last.ok_or("no elements").map_err(refused(queue))
    }
}

/// A kernel with what it is launched with.
struct Built {
    kernel: Kernel,
    arguments: Vec<KernelArgument>,
    groups: usize,
    group_items: usize,
}

/// The launch of a kernel that transposes, for copies that are best done so on this device.
fn tiled(queue: &Queue, work: Work<'_>, plan: &CopyPlan, [dst, src]: [usize; 2]) -> Option<TileLaunch> {
    let item_bytes = match work {
        Work::Copy(elements) if elements.keeps_bits() => elements.item_bytes,
        _ => return None,
    };
    let is_aligned = |address: usize| address.is_multiple_of(item_bytes.min(8));
    let has_memory = queue.device().info().local_mem_bytes >= TILE_LOCAL_BYTES as u64;
    if !has_memory || !is_aligned(dst) || !is_aligned(src) {
        return None;
    }
    TileLaunch::new(plan, item_bytes, dst, src)
}

fn refused(queue: &Queue) -> impl Fn(Reason) -> Error {
    let backend = queue.backend_id();
    move |what| Error::NotSupported { backend, what }
}
