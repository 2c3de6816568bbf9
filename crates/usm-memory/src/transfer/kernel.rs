//! Kernels on buffers.

use std::fmt;

use usm_core::{Error as CoreError, Event, ExecutionRange, Kernel, KernelArgument, Queue};

use crate::access::{Completion, Kept, Operand, submit_async};
use crate::{Error, Result, UsmBuffer};

/// An argument of a kernel: memory that it uses, or what it gets by value.
#[derive(Clone, Debug)]
pub enum Argument {
    /// A pointer into a buffer. The kernel may use all of the buffer: write it, too, unless it is read-only.
    Memory {
        /// The bytes that the kernel uses.
        buffer: UsmBuffer,
        /// The byte that the pointer points to, at most the length of the buffer.
        offset_bytes: usize,
    },
    /// A number, a struct, local memory, or a pointer to memory that the caller keeps.
    Value(KernelArgument),
}

impl<T: Into<KernelArgument>> From<T> for Argument {
    fn from(value: T) -> Self {
        Self::Value(value.into())
    }
}

/// `memory`, or the value.
impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory { .. } => f.write_str("memory"),
            Self::Value(value) => value.fmt(f),
        }
    }
}

/// A pointer to the first byte.
impl From<&UsmBuffer> for Argument {
    fn from(buffer: &UsmBuffer) -> Self {
        Self::Memory { buffer: buffer.clone(), offset_bytes: 0 }
    }
}

/// Submits a kernel to a queue, to be run after the events and after the operations under way on its buffers.
///
/// The kernel counts as a writer of its buffers, unless they are read-only. Their memory remembers it, as that of every operand of
/// [`submit`](crate::submit). Several arguments may be the same memory.
///
/// ```
/// use usm_memory::usm_core::{Error, KernelBundle, Runtime, UsmKind};
/// use usm_memory::{UsmBuffer, submit_kernel};
///
/// # fn main() -> usm_memory::Result<()> {
/// let runtime = Runtime::global();
/// let device = runtime.default_device()?;
/// let queue = runtime.default_queue(&device)?;
/// let source = "kernel void add(global uchar *x, uchar number) { x[get_global_id(0)] += number; }";
/// let bundle = match KernelBundle::from_opencl_source(queue.context(), &device, source, "") {
///     // The host backend and CUDA have no compiler for OpenCL C.
///     Err(Error::NotSupported { .. }) => return Ok(()),
///     bundle => bundle?,
/// };
/// let add = bundle.kernel("add")?;
/// let bytes = UsmBuffer::allocate(&queue, UsmKind::Device, 4)?;
/// let upload = bytes.copy_from_vec_async(vec![1, 2, 3, 4], 0, &[])?;
/// let arguments = [(&bytes).into(), 10_u8.into()];
/// // SAFETY: 1. The kernel takes a pointer and a `uchar`. 2. It adds to 4 bytes, each by one work-item.
/// unsafe { submit_kernel(&queue, &add, &arguments, 4, &[]) }?;
/// assert_eq!(bytes.to_vec()?, [11, 12, 13, 14]); // waits
/// # upload.wait()?;
/// # Ok(())
/// # }
/// ```
///
/// # Safety
/// 1. Each argument is what the kernel declares at its position, as for [`Queue::submit_kernel`].
/// 2. The kernel ends, without a race between its work-items. It reads and writes nothing but its buffers, does not write those that are
///    read-only, and other memory only as that function allows.
///
/// # Errors
/// - [`Error::NotReachable`]: memory that the queue's device does not reach.
/// - [`Error::OutOfBounds`]: an offset behind the end of its buffer.
/// - [`Error::BorrowConflict`]: somebody holds a guard of the memory.
/// - [`Error::KernelRefused`]: the runtime does not run the kernel with these arguments.
/// - [`Error::Core`]: other errors of [`Queue::submit_kernel`], and errors of work of others that was waited for.
///
/// After an error the kernel was not submitted.
pub unsafe fn submit_kernel(
    queue: &Queue,
    kernel: &Kernel,
    arguments: &[Argument],
    range: impl Into<ExecutionRange>,
    after: &[Event],
) -> Result<Completion> {
    let (mut operands, mut values) = (Vec::new(), Vec::with_capacity(arguments.len()));
    for (position, argument) in arguments.iter().enumerate() {
        values.push(match argument {
            Argument::Value(value) => value.clone(),
            Argument::Memory { buffer, offset_bytes } => {
                operands.push(Operand::new(buffer, 0..buffer.len_bytes(), buffer.is_writable()));
                pointer(queue, position, buffer, *offset_bytes)?
            }
        });
    }
    let range = range.into();
    // As in SYCL, a kernel without work-items is nothing to do.
    if matches!(range, ExecutionRange::Range(all) if all.sizes().contains(&0)) {
        return Ok(Completion::new(after.to_vec(), Kept::NONE));
    }
    let launch = |_: &[*mut u8], after: &[Event]| {
        // SAFETY: 1 and 3: the caller's promises. 2: O2 for the memory of the operands.
        unsafe { queue.submit_kernel(kernel, &values, range, after) }
    };
    // SAFETY: promise 1 of `submit_async`: The kernel uses its buffers alone (the caller's promise 2). 2. Each was found reachable. 3. Host code has slices under
    // guards alone.
    let event = unsafe { submit_async(queue, &operands, after, launch) };
    let event = event.map_err(|error| match error {
        Error::Core(source @ CoreError::Backend { .. }) => {
            let arguments = arguments.iter().map(Argument::to_string).collect::<Vec<_>>().join(", ");
            Error::KernelRefused { source: source.into(), arguments }
        }
        error => error,
    })?;
    Ok(Completion::new(vec![event], Kept::NONE))
}

/// A pointer into a buffer that the queue reaches.
fn pointer(
    queue: &Queue,
    position: usize,
    buffer: &UsmBuffer,
    offset_bytes: usize,
) -> Result<KernelArgument> {
    if !buffer.is_reachable_by(queue) {
        return Err(Error::NotReachable { position, device: queue.device().filter_string() });
    }
    buffer.check_range(offset_bytes, 0)?;
    Ok(KernelArgument::pointer(buffer.as_ptr().as_ptr().expose_provenance() + offset_bytes))
}
