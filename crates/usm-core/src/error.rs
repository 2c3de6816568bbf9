//! Errors of devices, contexts, queues and USM, with the numbers that explain them.

use std::convert::Infallible;

use crate::backend::{Aspects, BackendId, MemoryFigures, Partition};
use crate::{BackendState, ByteCount, UsmKind};

/// Result of this crate's operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Error of a device, context, queue or USM operation.
#[derive(thiserror::Error, usm_derive::ErrorDebug)]
#[non_exhaustive]
pub enum Error {
    /// A text that names none of the three USM kinds.
    #[error("USM kind {found:?} is not one of \"host\", \"device\", \"shared\"")]
    UnknownKind {
        /// The text.
        found: String,
    },
    /// A text that is none of the values of its type.
    #[error("{found:?} is no {what}; allowed are: {}", allowed.join(", "))]
    UnknownText {
        /// The type, in words.
        what: &'static str,
        /// The text.
        found: String,
        /// The texts of all values.
        allowed: &'static [&'static str],
    },
    /// A request for no bytes. SYCL returns no pointer for it.
    #[error("cannot allocate 0 bytes of USM; at least 1 byte is needed")]
    ZeroSize,
    /// An alignment that is not a power of two.
    #[error("alignment of {align_bytes} bytes is not a power of two")]
    InvalidAlignment {
        /// The requested alignment, in bytes.
        align_bytes: usize,
    },
    /// The runtime has no memory of that alignment, and a longer block that contains such memory is over the device's limit, or the
    /// alignment is over 16 MiB.
    #[error(
        "alignment of {align_bytes} bytes is more than the runtime has for {kind} USM, and a longer block that contains such memory \
         would be too long; ask for an alignment of at most 16 MiB, or for fewer bytes"
    )]
    AlignmentNotHonoured {
        /// The requested kind.
        kind: UsmKind,
        /// The requested alignment, in bytes.
        align_bytes: usize,
    },
    /// More bytes in one allocation than the device's limit.
    #[error(
        "{} of {kind} USM exceed the largest single allocation of device {device}, {}; split them into parts",
        ByteCount::from(*len_bytes),
        ByteCount(*max_bytes)
    )]
    TooLarge {
        /// Requested bytes.
        len_bytes: usize,
        /// The device's limit, in bytes.
        max_bytes: u64,
        /// The requested kind.
        kind: UsmKind,
        /// Filter string of the device.
        device: String,
    },
    /// The device does not support this kind of USM.
    #[error("device {device} has no support for {kind} USM")]
    KindNotSupported {
        /// The requested kind.
        kind: UsmKind,
        /// Filter string of the device.
        device: String,
    },
    /// The runtime had no memory left.
    #[error(
        "out of memory: {} of {kind} USM on device {device} could not be allocated{}",
        ByteCount::from(*len_bytes),
        figures.map(|figures| format!("; {figures}")).unwrap_or_default()
    )]
    OutOfMemory {
        /// Requested bytes.
        len_bytes: usize,
        /// The requested kind.
        kind: UsmKind,
        /// Filter string of the device.
        device: String,
        /// Memory of the device, where the runtime reports it.
        figures: Option<MemoryFigures>,
    },
    /// A fill pattern that is too long, or empty.
    #[error("fill pattern of {len_bytes} bytes; allowed are 1 to 16")]
    PatternLength {
        /// Length of the pattern, in bytes.
        len_bytes: usize,
    },
    /// A range of addresses that is not memory the queue can reach.
    #[error("{operation}: {len_bytes} bytes at {address:#x} are not reachable by the queue's device")]
    Unreachable {
        /// The requested operation.
        operation: &'static str,
        /// First address.
        address: usize,
        /// Number of bytes.
        len_bytes: usize,
    },
    /// USM of one context in an operation on a queue of another.
    #[error(
        "{operation}: the memory at {address:#x} belongs to context {memory_context}, the queue to context \
         {queue_context}; a queue takes USM of its own context, and copies memory that host code reaches"
    )]
    OtherContext {
        /// The requested operation.
        operation: &'static str,
        /// First address.
        address: usize,
        /// Number of the memory's context, and the device it was allocated for.
        memory_context: String,
        /// Number and device of the queue's context.
        queue_context: String,
    },
    /// The operation belongs to the parent process, which this one was forked from; it never runs here.
    #[error("the operation was pending when this process was forked; it runs in the parent only")]
    Forked,
    /// The SYCL runtime was loaded by a process that this one was forked from.
    #[error(
        "the SYCL runtime and the CUDA driver do not work in a forked process; start workers with \"spawn\" or \"forkserver\", or use the device \
         host:cpu:0"
    )]
    ForkedRuntime,
    /// The process ends, and with it the SYCL runtime.
    #[error("the process ends, and with it the SYCL runtime: wait for threads that use it before")]
    ProcessEnding,
    /// The host backend of another copy of this library, which this copy shares, failed.
    #[cfg(feature = "across-copies")]
    #[error("{text}")]
    OfOtherCopy {
        /// The other copy's message.
        text: String,
    },
    /// Another copy of this library in the process is too different to work together with.
    #[error(
        "{what} of the other copy of usm in this process has interface version {found}, this copy needs {expected}; build both \
         from the same release"
    )]
    SharedVersion {
        /// The object to share.
        what: &'static str,
        /// The other copy's version.
        found: u32,
        /// The version of this copy.
        expected: u32,
    },
    /// No device matches the request.
    #[error("no device matches {wanted}; there are: {available}")]
    NoSuchDevice {
        /// The request: a filter selector, a type, aspects.
        wanted: String,
        /// Filter strings of all devices.
        available: String,
    },
    /// A sub-device that another process cannot find.
    #[error(
        "{device}: another process cannot find it, since it is not known which part it is; allowed are root devices, and \
         sub-devices that Device::create_sub_devices made"
    )]
    NoLocation {
        /// Name of the device in messages.
        device: String,
    },
    /// `USM_DEFAULT_DEVICE` selects no device.
    #[error(
        "USM_DEFAULT_DEVICE: found {found:?}: {reason}; there are: {available}; unset the variable, or name one of these"
    )]
    DefaultDevice {
        /// The value of the variable.
        found: String,
        /// Why it selects none.
        reason: String,
        /// Filter strings of all devices.
        available: String,
    },
    /// A text that is not a filter selector.
    #[error("{found:?} is not a filter selector: {part:?} at position {position} {reason}")]
    InvalidFilter {
        /// The text.
        found: String,
        /// The part of it that is wrong.
        part: String,
        /// Where that part starts: a number of bytes from the start of the text.
        position: usize,
        /// The reason, with the texts that are allowed there.
        reason: String,
    },
    /// A text that is not the name of an aspect.
    #[error("{found:?} is not an aspect; aspects are: {}", Aspects::all())]
    UnknownAspect {
        /// The text.
        found: String,
    },
    /// A device cannot be partitioned into the requested sub-devices.
    #[error(
        "device {device} cannot be partitioned {partition}: {reason}; it has {compute_units} compute units and can have at \
         most {max_sub_devices} sub-devices"
    )]
    CannotPartition {
        /// Filter string of the device.
        device: String,
        /// The requested partition.
        partition: Partition,
        /// The reason.
        reason: &'static str,
        /// Compute units of the device.
        compute_units: u32,
        /// Sub-devices that it can have at most; 0 if it cannot be partitioned at all.
        max_sub_devices: u32,
    },
    /// Peer access cannot be enabled or disabled.
    #[error("peer access of device {device} to device {peer}: {reason}")]
    PeerAccess {
        /// Filter string of the device.
        device: String,
        /// Filter string of the device whose memory it would access.
        peer: String,
        /// The reason.
        reason: &'static str,
    },
    /// A context and a device that do not belong together.
    #[error("device {device} is not a device of the context")]
    DeviceNotInContext {
        /// Filter string of the device.
        device: String,
    },
    /// An external handle that is not of the stated kind.
    #[error("{what}: {reason}")]
    InvalidExternalHandle {
        /// The expected kind of handle.
        what: &'static str,
        /// A description of the pointer's target.
        reason: String,
    },
    /// The backend has no SYCL objects for other libraries.
    #[error("the {backend} backend has no SYCL {what} to hand out; only objects of a SYCL backend have one")]
    NoExternalHandle {
        /// The backend.
        backend: BackendId,
        /// The requested kind of handle.
        what: &'static str,
    },
    /// The backend cannot be used on this machine.
    #[error("the {backend} backend is not available: {state}")]
    BackendUnavailable {
        /// The requested backend.
        backend: BackendId,
        /// The state of the backend; in a box, since a report is long and errors are returned by value.
        state: Box<BackendState>,
    },
    /// A host task returned an error or panicked.
    #[error("a host task failed: {reason}")]
    HostTask {
        /// The message of the task.
        reason: String,
    },
    /// An error that the runtime reported after the call that caused it.
    #[error("the SYCL runtime reported asynchronous error {code} ({meaning})")]
    Asynchronous {
        /// The runtime's error code.
        code: i32,
        /// Name of the code in SYCL 2020's `errc`, where it has one.
        meaning: &'static str,
    },
    /// Times of an event whose queue does not record them.
    #[error("no profiling times: the event's queue was made without profiling")]
    NoProfiling,
    /// A call of a driver failed.
    #[error("{call} of the CUDA driver failed: {name} ({text})")]
    Driver {
        /// The function of the driver.
        call: &'static str,
        /// The driver's name of the error.
        name: String,
        /// The driver's text for it.
        text: String,
    },
    /// A fault made the device unusable for this process, for instance a kernel that reached outside of its memory.
    #[error(
        "device {device} is lost for this process: an earlier operation failed with {name} ({text}); what was in its memory is lost, \
         and only a new process can use it again"
    )]
    DeviceLost {
        /// Filter string of the device.
        device: String,
        /// The driver's name of the error.
        name: String,
        /// The driver's text for it.
        text: String,
    },
    /// Memory that other processes cannot open.
    #[error("other processes cannot open the memory: {reason}")]
    NotShareable {
        /// Why not, and what works.
        reason: String,
    },
    /// The system, or a runtime, refused a step of opening memory for several processes.
    #[error("memory for several processes: {call} failed: {text}")]
    SharedMemory {
        /// The function.
        call: &'static str,
        /// The reason in words.
        text: String,
    },
    /// The default stream of a thread, which is another one in each thread, for a queue that all threads share.
    #[error("found 2, the default stream of a thread, allowed are streams that all threads share")]
    ThreadStream,
    /// Something that cannot be done because a CUDA stream is captured into a graph. The capture goes on as it was.
    #[error("a CUDA stream is captured into a graph: {reason}")]
    StreamCapture {
        /// What cannot be done, and the ways out.
        reason: &'static str,
    },
    /// A call of the backend failed without a reason.
    #[error("{call} of the {backend} backend failed")]
    Backend {
        /// The backend.
        backend: BackendId,
        /// The call that failed.
        call: &'static str,
    },
    /// A request that this backend, or this device, does not support.
    #[error("the {backend} backend does not support {what}")]
    NotSupported {
        /// The backend.
        backend: BackendId,
        /// The request and the limit.
        what: &'static str,
    },
    /// Bytes that are not a SPIR-V module.
    #[error("not a SPIR-V module: {reason}")]
    InvalidSpirv {
        /// A description of the bytes.
        reason: String,
    },
    /// A text for a C interface, where a byte of 0 would end it.
    #[error("{what}: the byte at {position} is 0; none is allowed")]
    NulByte {
        /// Name of the text.
        what: &'static str,
        /// Position of the byte.
        position: usize,
    },
    /// Kernels that the runtime could not build.
    #[error(
        "{language} could not be built for device {device}{}",
        log.as_ref().map_or_else(|| "; the SYCL interface does not tell why".to_owned(), |log| format!(": {log}"))
    )]
    KernelBuild {
        /// `"SPIR-V"`, `"OpenCL C"`, `"PTX"`, `"cubin"` or `"CUDA C"`.
        language: &'static str,
        /// Filter string of the device.
        device: String,
        /// The compiler's messages, where the runtime passes them on.
        log: Option<String>,
    },
    /// There is no compiler for CUDA C.
    #[error(
        "CUDA C needs NVIDIA's library NVRTC, which was not found: {reason}; `pip install {package}` brings it"
    )]
    NoNvrtc {
        /// The Python package that brings it.
        package: String,
        /// What was tried.
        reason: String,
    },
    /// A bundle has no kernel of that name.
    #[error("the bundle has no kernel named {name:?}")]
    NoSuchKernel {
        /// The name.
        name: String,
    },
    /// A kernel that the queue cannot run.
    #[error("the kernel is of the {what} {of_kernel}, but the queue is of another one, {of_queue}")]
    KernelMismatch {
        /// `"context"` or `"device"`.
        what: &'static str,
        /// Context or device of the kernel.
        of_kernel: String,
        /// Context or device of the queue.
        of_queue: String,
    },
    /// A wrong number of arguments for a kernel.
    #[error("kernel {kernel:?} has {expected} arguments, but {found} were given")]
    KernelArguments {
        /// Name of the kernel.
        kernel: String,
        /// Number of arguments given.
        found: usize,
        /// Number of arguments it has.
        expected: usize,
    },
    /// An argument of another size than the kernel declares.
    #[error(
        "kernel {kernel:?}: argument {position} has {found_bytes} bytes, but the kernel declares {expected_bytes}"
    )]
    ArgumentSize {
        /// Name of the kernel.
        kernel: String,
        /// Position of the argument, from 0 on.
        position: usize,
        /// Bytes of the argument.
        found_bytes: usize,
        /// Bytes of the kernel's parameter.
        expected_bytes: usize,
    },
    /// Local memory as an argument that is empty, or larger than the device's.
    #[error(
        "kernel {kernel:?}: {len_bytes} bytes of local memory; each argument needs at least 1 byte, and the device has \
         {max_bytes} bytes for all of them"
    )]
    LocalMemory {
        /// Name of the kernel.
        kernel: String,
        /// Bytes that all arguments request together.
        len_bytes: usize,
        /// Local memory of the device, in bytes.
        max_bytes: u64,
    },
    /// A range that no kernel can run over.
    #[error("{reason}")]
    KernelRange {
        /// The range and the reason.
        reason: String,
    },
}

/// Conversions that cannot fail have this error, such as that of a filter selector to itself.
impl From<Infallible> for Error {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}
