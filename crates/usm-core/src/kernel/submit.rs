//! Running kernels on a queue.

use super::{ExecutionRange, Kernel, KernelArgument};
use crate::backend::{Backend, RawEvent};
use crate::{Error, Event, Queue, Result};

impl Queue {
    /// Runs a kernel over a range or an [nd-range](crate::NdRange), after the `dependencies`.
    ///
    /// The arguments are taken by value. What their pointers point to must last until the event is complete; kernel and bundle
    /// need not.
    ///
    /// # Safety
    /// 1. Each argument is what the kernel declares at its position: a number of that type, a pointer to USM that the kernel
    ///    may use as it does, local memory of the length it uses.
    /// 2. All memory that the kernel reads or writes for any work-item of the range is valid for that until the event is
    ///    complete, and unshared as far as the kernel does not synchronise its accesses.
    /// 3. What the kernel does is defined: no race between its work-items, no access outside of its operands, an end.
    ///
    /// # Errors
    /// - [`Error::KernelMismatch`]: the kernel is of another context than the queue, or was built for another device.
    /// - [`Error::KernelArguments`]: another number of arguments than the kernel has.
    /// - [`Error::ArgumentSize`]: an argument of another size than the kernel declares, on CUDA.
    /// - [`Error::LocalMemory`]: local memory of 0 bytes, or together more than the device has.
    /// - [`Error::KernelRange`]: a size of 0, work-groups that do not divide the range or have other dimensions, more
    ///   work-items in one than the kernel can have on this device.
    /// - [`Error::NotSupported`]: a struct, where the SYCL interface takes none.
    /// - [`Error::Backend`]: the SYCL runtime refused without a reason; usually a number of another size than the kernel declares.
    ///
    /// After an error nothing was submitted.
    pub unsafe fn submit_kernel(
        &self,
        kernel: &Kernel,
        arguments: &[KernelArgument],
        range: impl Into<ExecutionRange>,
        dependencies: &[Event],
    ) -> Result<Event> {
        let range = range.into();
        self.check_launch(kernel, arguments, &range)?;
        let launch = |backend: &dyn Backend, raw: &[RawEvent]| {
            // SAFETY: handles are live (H1) and of this backend, since the contexts are equal; range and number of arguments
            // were checked; arguments, memory and the kernel's doings are the caller's promises 1 to 3.
            unsafe { backend.submit_kernel(self.raw(), kernel.raw(), arguments, &range, raw) }
        };
        self.submit_noted(dependencies, launch, |event| Some(kernel.note_use(self, event)))
    }

    fn check_launch(
        &self,
        kernel: &Kernel,
        arguments: &[KernelArgument],
        range: &ExecutionRange,
    ) -> Result<()> {
        let (name, info, bundle) = (|| kernel.name().to_owned(), kernel.info(), kernel.bundle());
        let mismatch = |what, of_kernel: String, of_queue: String| {
            Err(Error::KernelMismatch { what, of_kernel, of_queue })
        };
        if bundle.context() != self.context() {
            return mismatch("context", bundle.context().to_string(), self.context().to_string());
        }
        if bundle.device() != self.device() {
            return mismatch("device", bundle.device().filter_string(), self.device().filter_string());
        }
        if arguments.len() != info.num_args {
            return Err(Error::KernelArguments {
                kernel: name(),
                found: arguments.len(),
                expected: info.num_args,
            });
        }
        let local = arguments.iter().filter_map(KernelArgument::local_bytes);
        let (mut is_empty, mut len_bytes) = (false, 0_usize);
        for bytes in local {
            is_empty |= bytes == 0;
            len_bytes = len_bytes.saturating_add(bytes);
        }
        let max_bytes = self.device().info().local_mem_bytes;
        if is_empty || u64::try_from(len_bytes).map_or(true, |len| len > max_bytes) {
            return Err(Error::LocalMemory { kernel: name(), len_bytes, max_bytes });
        }
        range.check(info.work_group_size)
    }
}
