//! What can go wrong with a buffer.

use usm_core::{ByteCount, Error as CoreError, UsmKind};

use crate::usage::Usage;

/// Result of this crate's operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Error of a buffer operation.
#[derive(thiserror::Error, usm_derive::ErrorDebug)]
#[non_exhaustive]
pub enum Error {
    /// A range that reaches beyond its buffer.
    #[error(
        "bytes {offset_bytes} .. {offset_bytes}+{len_bytes} are not within a buffer of {buffer_bytes} bytes"
    )]
    OutOfBounds {
        /// Start of the range.
        offset_bytes: usize,
        /// Length of the range.
        len_bytes: usize,
        /// Length of the buffer.
        buffer_bytes: usize,
    },
    /// A copy between ranges of different lengths.
    #[error("cannot copy {src_bytes} bytes into {dst_bytes} bytes; both lengths must be equal")]
    LengthMismatch {
        /// Length of the destination.
        dst_bytes: usize,
        /// Length of the source.
        src_bytes: usize,
    },
    /// A fill pattern that does not divide the buffer.
    #[error("a pattern of {pattern_bytes} bytes does not fill a buffer of {buffer_bytes} bytes evenly")]
    PatternMismatch {
        /// Length of the pattern.
        pattern_bytes: usize,
        /// Length of the buffer.
        buffer_bytes: usize,
    },
    /// A 2-D copy that does not fit, or whose rows would overlap in the destination.
    #[error("{field} of a 2-D copy is {found}; allowed is {allowed}")]
    Copy2d {
        /// Name of the field of [`Copy2d`](crate::Copy2d).
        field: &'static str,
        /// Its value.
        found: usize,
        /// What it may be.
        allowed: String,
    },
    /// Bytes that are no handle of memory.
    #[error("a handle of memory: found {found}, allowed are {allowed}")]
    InvalidHandle {
        /// What was found.
        found: String,
        /// What is allowed.
        allowed: String,
    },
    /// A handle whose memory cannot be had any more.
    #[error(
        "the memory of process {process} cannot be opened: {reason}; the process must keep the handle until others have opened it"
    )]
    StaleHandle {
        /// The number of the process that made the handle.
        process: u32,
        /// Why not.
        reason: String,
    },
    /// This process cannot be asked for memory by others.
    #[error("other processes cannot ask for memory: {call} failed: {text}")]
    Server {
        /// The function.
        call: &'static str,
        /// The reason in words.
        text: String,
    },
    /// A completion that was polled again after it had given its result.
    #[error("the result of the completion was taken before: it gives one, by `wait` or by the first `await`")]
    AlreadyTaken,
    /// A write to read-only memory.
    #[error("the memory is read-only; write to a copy of it")]
    ReadOnly,
    /// Somebody else has borrowed a part of the same bytes.
    #[error("a part of the {len_bytes} bytes at {address:#x} is borrowed for {held} at the moment")]
    BorrowConflict {
        /// First address of the refused range.
        address: usize,
        /// Length of the refused range.
        len_bytes: usize,
        /// What the other borrow is for: `"reading"` or `"writing"`.
        held: &'static str,
    },
    /// Host code asked for the bytes of device memory.
    #[error("{kind} USM is not accessible to host code; copy it to the host")]
    NotHostAccessible {
        /// Kind of the memory.
        kind: UsmKind,
    },
    /// Memory for a kernel on a device that does not reach it.
    #[error(
        "argument {position} is memory of another context or device than {device}, where the kernel runs"
    )]
    NotReachable {
        /// Position of the argument, from 0 on.
        position: usize,
        /// Filter string of the device that runs the kernel.
        device: String,
    },
    /// A kernel that the runtime refused, as SYCL runtimes do without a reason.
    #[error(
        "the runtime refused the kernel without a reason, usually for a number of another size than the kernel declares: a `float` is \
         an f32, an `int` an i32; found {arguments} ({source})"
    )]
    KernelRefused {
        /// The error of the runtime.
        source: Box<CoreError>,
        /// The arguments of the kernel.
        arguments: String,
    },
    /// Memory to borrow that the runtime does not know.
    #[error(
        "the {end} byte, at {address:#x}, is not USM of the given context; either it was freed, and its owner has to live as long as the \
         memory is used, or it is of another context"
    )]
    NotUsm {
        /// Which byte of the range: `"first"` or `"last"`.
        end: &'static str,
        /// Its address.
        address: usize,
    },
    /// Memory to borrow that is not one allocation.
    #[error(
        "the first byte, at {address:#x}, is {first} USM, but the last of {len_bytes} bytes is {last} USM"
    )]
    MixedKinds {
        /// Address of the first byte.
        address: usize,
        /// Length of the range.
        len_bytes: usize,
        /// Kind of the first byte.
        first: UsmKind,
        /// Kind of the last byte.
        last: UsmKind,
    },
    /// Memory to borrow that reaches beyond its allocation.
    #[error(
        "{len_bytes} bytes at {address:#x} reach beyond their allocation of {block_bytes} bytes at {block_address:#x}"
    )]
    BeyondAllocation {
        /// Address of the first byte.
        address: usize,
        /// Length of the range.
        len_bytes: usize,
        /// Address of the allocation.
        block_address: usize,
        /// Length of the allocation.
        block_bytes: usize,
    },
    /// A range that leaves the address space.
    #[error("{len_bytes} bytes at {address:#x} leave the address space")]
    AddressOverflow {
        /// Address of the first byte.
        address: usize,
        /// Length of the range.
        len_bytes: usize,
    },
    /// No host memory for a copy.
    #[error("no host memory for a copy of {}", ByteCount::from(*len_bytes))]
    OutOfHostMemory {
        /// Bytes asked for.
        len_bytes: usize,
    },
    /// A memory resource had no memory left, or was not allowed to use more.
    #[error(
        "out of memory: {} of {kind} USM on device {device} could not be allocated{usage}",
        ByteCount::from(*requested_bytes)
    )]
    OutOfMemory {
        /// Bytes asked for.
        requested_bytes: usize,
        /// The kind asked for.
        kind: UsmKind,
        /// Filter string of the device.
        device: String,
        /// What the resource knows about the memory in use.
        usage: Usage,
    },
    /// A memory resource gave other memory than it was asked for. The memory went back.
    #[error("the memory resource gave memory with {what} {found}; asked for was {wanted}")]
    UnsuitableMemory {
        /// What is wrong about it.
        what: &'static str,
        /// What it is.
        found: String,
        /// What it should have been.
        wanted: String,
    },
    /// A queue of another context than that of the memory it is to work on.
    #[error("the memory belongs to {memory}, the queue to {queue}; both must be of one context")]
    ContextMismatch {
        /// The context of the memory.
        memory: String,
        /// The context of the queue.
        queue: String,
    },
    /// Memory whose address does not suit the element type.
    #[error("the memory at {address:#x} is not aligned to {align_bytes} bytes as its elements must be")]
    Misaligned {
        /// Address of the first byte.
        address: usize,
        /// Alignment of the element type.
        align_bytes: usize,
    },
    /// Memory that does not hold a whole number of elements.
    #[error("{len_bytes} bytes are not a whole number of elements of {element_bytes} bytes")]
    PartialElement {
        /// Length of the memory.
        len_bytes: usize,
        /// Length of an element.
        element_bytes: usize,
    },
    /// More elements than an address space has bytes for.
    #[error("{len} elements of {element_bytes} bytes are more than fit in an address space")]
    TooManyElements {
        /// Number of elements.
        len: usize,
        /// Length of an element.
        element_bytes: usize,
    },
    /// A wait that `interpreter::wait_for_others_with` made, for work of others or the build of a kernel, was broken off; the work goes on.
    #[error("waiting for work of others or the build of a kernel was interrupted; the work goes on")]
    Interrupted,
    /// Host code in a host task that would have to wait for an operation, which may come after the task.
    #[error(
        "a host task cannot wait for other operations, which may come after it; wait before the task is submitted"
    )]
    HostTaskWaits,
    /// An error of the device, context or queue below.
    #[error(transparent)]
    Core(#[from] usm_core::Error),
}

impl Error {
    /// Whether there was no device, host or shared USM left for an allocation: what may work once something else is freed.
    #[must_use]
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, Self::OutOfMemory { .. } | Self::Core(CoreError::OutOfMemory { .. }))
    }

    /// Whether the operation is one of the parent of this forked child.
    pub(crate) fn is_forked(&self) -> bool {
        matches!(self, Self::Core(CoreError::Forked))
    }

    /// Adds what is known about the memory in use to an out-of-memory error. What the error says already comes from closer to the memory
    /// and stays.
    pub(crate) fn explained(self, known: Usage) -> Self {
        match self {
            Self::Core(CoreError::OutOfMemory { len_bytes, kind, device, .. }) => {
                Self::OutOfMemory { requested_bytes: len_bytes, kind, device, usage: known }
            }
            Self::OutOfMemory { requested_bytes, kind, device, usage } => {
                let usage = if usage == Usage::default() { known } else { usage };
                Self::OutOfMemory { requested_bytes, kind, device, usage }
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use usm_core::UsmKind;

    use super::Error;
    use crate::usage::Usage;

    fn error(usage: Usage) -> Error {
        Error::OutOfMemory { requested_bytes: 9, kind: UsmKind::Host, device: "host:cpu:0".to_owned(), usage }
    }

    #[test]
    fn messages_have_the_numbers_that_are_known() {
        assert!(error(Usage::default()).to_string().ends_with("could not be allocated"));
        let usage = Usage { used_bytes: Some(5), limit_bytes: Some(7), ..Usage::default() };
        assert!(error(usage).to_string().ends_with("allocated; 5 bytes are in use, 7 bytes are allowed"));
    }

    #[test]
    fn the_numbers_closest_to_the_memory_stay() {
        let near = Usage { used_bytes: Some(1), ..Usage::default() };
        let far = Usage { used_bytes: Some(2), ..Usage::default() };
        let usage = |error| match error {
            Error::OutOfMemory { usage, .. } => usage,
            other => panic!("{other}"),
        };
        assert_eq!(usage(error(Usage::default()).explained(near).explained(far)), near);
        assert!(matches!(Error::ReadOnly.explained(near), Error::ReadOnly));
    }
}
