//! One launch of a kernel over work-groups

use usm_memory::usm_core::{Event, Kernel, KernelArgument, NdRange, Queue, Result};

/// A kernel with its arguments and its work-groups.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) arguments: &'a [KernelArgument],
    /// How many work-groups; at least 1.
    pub(crate) groups: usize,
    /// Work-items of a group; at least 1, and at most what the kernel can have.
    pub(crate) group_items: usize,
}

impl Launch<'_> {
    /// Submits the kernel after the dependencies.
    ///
    /// # Safety
    /// 1. The arguments are those that the source of the kernel declares, in number and kind.
    /// 2. The kernel's behaviour with them is defined, and its memory stays valid until the event is complete, which nobody else uses in
    ///    another way meanwhile.
    ///
    /// # Errors
    /// Those of [`Queue::submit_kernel`].
    pub(crate) unsafe fn submit(&self, queue: &Queue, dependencies: &[Event]) -> Result<Event> {
        let range = NdRange::new(self.groups.saturating_mul(self.group_items), self.group_items);
        // SAFETY: promises 1 and 2.
        unsafe { queue.submit_kernel(self.kernel, self.arguments, range, dependencies) }
    }
}
