//! Strided copies, casts and fills of memory that host code cannot touch, by kernels
//!
//! | file | job; only arithmetic |
//! |---|---|
//! | `linear.rs` | launches of the kernels whose work-items lie along the target |
//! | `tile.rs` | launches of the kernels that transpose |
//! | `planned.rs` | a launch and its arguments |
//! | `elements.rs` | the elements of both sides |
//! | `divisor.rs` | numbers that kernels divide by |

mod divisor;
mod elements;
mod linear;
mod planned;
mod tile;

#[cfg(test)]
mod tests;

use std::slice;

use usm_memory::Error as MemoryError;
use usm_memory::usm_core::{Error, Event, Kernel, KernelArgument, Queue, Result};

use super::plan::CopyPlan;
use crate::kernel_engine::{Kernels, Launch, NoKernel};
pub(super) use elements::Elements;
pub(super) use planned::KernelWork;
use planned::Planned;
use tile::TILE_LOCAL_BYTES;

/// The launches that carry out a plan between two addresses, one after the other.
pub(super) struct Launches {
    // Invariant LG1: Together they visit the pairs of the plan, each once, by the arguments of the kernel's source, in its order.
    first: Built,
    /// Nearly always none.
    more: Vec<Built>,
}

/// A kernel with what it is launched with.
struct Built {
    kernel: Kernel,
    arguments: Vec<KernelArgument>,
    groups: usize,
    group_items: usize,
}

impl Built {
    fn launch(&self) -> Launch<'_> {
        let Self { kernel, arguments, groups, group_items } = self;
        Launch { kernel, arguments, groups: *groups, group_items: *group_items }
    }
}

impl Launches {
    /// Submits them after the dependencies.
    ///
    /// # Safety
    /// Until the event is complete:
    /// 1. The target elements of the plan, counted from the address that the launches were made for, are USM that the device of the queue
    ///    may write, or any memory of the process where it has `usm_system_allocations`, each for one pair, and used by nobody else.
    /// 2. The source elements of the plan are such memory that it may read, none of them one of the target, written by nobody. So is
    ///    what lies between them. A fill has none.
    /// 3. The provenance of both addresses is exposed.
    ///
    /// # Errors
    /// Those of [`Queue::submit_kernel`] that the runtime reports; what was submitted is complete.
    pub(super) unsafe fn submit(&self, queue: &Queue, dependencies: &[Event]) -> Result<Event> {
        // SAFETY: promise 1 of `submit`: LG1. 2: the caller's promises 1 to 3.
        let mut last = unsafe { self.first.launch().submit(queue, dependencies) }?;
        for built in &self.more {
            // SAFETY: LG1; the caller's promises 1 to 3.
            match unsafe { built.launch().submit(queue, slice::from_ref(&last)) } {
                Ok(event) => last = event,
                Err(error) => {
                    // The error says what is wrong; this one is about another launch.
                    let _ = last.wait();
                    return Err(error);
                }
            }
        }
        Ok(last)
    }
}

impl Kernels {
    /// The launches that carry out a plan between the addresses from which it counts; the kernels are built now. There are none where no
    /// kernel can be built (the host backend, a device without an online compiler), for thousands of launches, which take many more than
    /// eight loops, and for casts and fills of elements that are not aligned to their size or 8 bytes, whichever is less.
    pub(super) fn launches(
        &self,
        queue: &Queue,
        work: KernelWork<'_>,
        plan: &CopyPlan,
        [dst, src]: [usize; 2],
    ) -> std::result::Result<Launches, NoKernel> {
        let build = |planned: Planned<'_>| self.built(queue, planned);
        match tiled(queue, work, plan, [dst, src]).map(build) {
            // A device may have no work-groups of the size of tiles.
            None | Some(Err(NoKernel::Reason(_))) => {}
            Some(first) => return Ok(Launches { first: first?, more: Vec::new() }),
        }
        let launches = linear::launches(plan, work, dst, src).ok_or("elements that kernels do not take")?;
        let mut all = launches.into_iter().map(build);
        let (first, mut more) = (all.next().ok_or("no elements")??, Vec::new());
        for built in all {
            more.push(built?);
        }
        Ok(Launches { first, more })
    }

    fn built(&self, queue: &Queue, planned: Planned<'_>) -> std::result::Result<Built, NoKernel> {
        let module = planned.module().ok_or("no kernel has elements of this size")?;
        let kernel = self.kernel(queue, module, planned.kernel)?;
        let group_items = planned.group_items.min(kernel.info().work_group_size);
        if planned.is_whole && group_items < planned.group_items {
            return Err("the device has no work-groups of this size".into());
        }
        let groups = planned.items.div_ceil(group_items.max(1));
        Ok(Built { kernel, arguments: planned.arguments, groups, group_items })
    }

    /// Copies or casts elements after the dependencies, by a plan that counts from the two addresses.
    ///
    /// # Safety
    /// Promises 1 and 2 of [`Launches::submit`].
    ///
    /// # Errors
    /// - [`Error::NotSupported`]: there are no [`launches`](Self::launches); nothing was submitted
    /// - those of [`usm_memory::run_job`]; nothing was submitted
    /// - those of [`Launches::submit`]
    pub(super) unsafe fn copy(
        &self,
        queue: &Queue,
        plan: &CopyPlan,
        elements: Elements,
        dst: *mut u8,
        src: *const u8,
        dependencies: &[Event],
    ) -> usm_memory::Result<Event> {
        let addresses = [dst.expose_provenance(), src.expose_provenance()];
        let launches =
            self.launches(queue, KernelWork::Copy(elements), plan, addresses).map_err(refused(queue))?;
        // SAFETY: promises 1 and 2.
        Ok(unsafe { launches.submit(queue, dependencies) }?)
    }
}

/// The launch of a kernel that transposes, for copies and casts that are best done so on this device.
fn tiled(
    queue: &Queue,
    work: KernelWork<'_>,
    plan: &CopyPlan,
    [dst, src]: [usize; 2],
) -> Option<Planned<'static>> {
    let KernelWork::Copy(elements) = work else { return None };
    let has_memory = queue.device().info().local_mem_bytes >= TILE_LOCAL_BYTES as u64;
    if has_memory { tile::launch(plan, elements, dst, src) } else { None }
}

fn refused(queue: &Queue) -> impl Fn(NoKernel) -> MemoryError {
    let backend = queue.backend_id();
    move |why| match why {
        NoKernel::Reason(what) => Error::NotSupported { backend, what }.into(),
        NoKernel::Wait(error) => error,
    }
}
