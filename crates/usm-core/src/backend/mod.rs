//! The backend trait: what a backend provides, on opaque raw handles. Methods that a backend may leave out have a default.
//!
//! A backend does minimal checking; the safe types above ([`crate::Device`], [`crate::Context`], [`crate::Queue`],
//! [`crate::Event`], [`crate::Allocation`], [`crate::Kernel`]) check everything once. Calls are coarse: element access
//! never crosses the trait.
//!
//! | file | job |
//! |---|---|
//! | `host/` | the backend in plain Rust, which every process has |
//! | `sycl/` | any SYCL runtime, through the C interface of dpctl |
//! | `cuda/` | NVIDIA GPUs, through their driver |
//! | `raw.rs`, `objects.rs` | opaque handles; objects in Rust that travel as such |
//! | `entry.rs` | the entry guard of both external runtimes: forks, and the end of the process |
//! | `info.rs`, `device_info.rs`, `aspects.rs`, `event.rs` | plain facts about backends, pointers, devices and events |
//! | `partition.rs`, `external_object.rs` | parts and peers of devices; objects in capsules |
//! | `host_task.rs` | host code as an operation of a queue |
//! | `shared_memory.rs`, `files/`, `pages/` | memory that other processes open; files by which they share; pages that they map, for host code and CPUs |
//! | `leases.rs` | ranges of devices whose runtime does not tell who has them open |
//!
//! Files of the three backends that have the same name have the same job: `context.rs`, `device.rs`, `event.rs`; `facts.rs`, `fill.rs`,
//! `kernel.rs` and `submit.rs` where a runtime is called; `memory.rs` and `queue.rs` in `host/` and `cuda/`. In `sycl/` both jobs are
//! in `mod.rs`.

mod aspects;
#[cfg(feature = "cuda")]
pub mod cuda;
mod device_info;
#[cfg(any(feature = "sycl", feature = "cuda"))]
pub(crate) mod entry;
mod event;
mod external_object;
mod files;
pub mod host;
mod host_task;
mod info;
#[cfg(any(feature = "sycl", feature = "cuda"))]
mod leases;
mod objects;
pub(crate) mod pages;
mod partition;
mod raw;
mod shared_memory;
#[cfg(feature = "sycl")]
pub mod sycl;

use std::any::Any;
use std::ffi::{CStr, c_void};
use std::fmt::Debug;
use std::ptr::NonNull;

pub use aspects::Aspects;
pub use device_info::{CacheType, CudaVersions, DeviceInfo, ImageLimits, PlatformInfo, VectorWidths};
pub use event::{EventStatus, ProfilingTimes};
pub use external_object::ExternalObject;
pub use files::SharedFile;
#[cfg(windows)]
#[doc(hidden)]
pub use files::no_sharing;
pub use host_task::{HostTask, TaskMemory};
pub use info::{BackendId, DeviceType, MemoryFigures, PointerInfo, QueueProperties};
pub use partition::{AffinityDomain, Composites, Partition, PeerAccess};
pub use raw::{RawBundle, RawContext, RawDevice, RawEvent, RawHandle, RawKernel, RawPlatform, RawQueue};
pub use shared_memory::{SharedMemory, SharedRange};

use crate::{Error, ExecutionRange, KernelArgument, KernelCode, KernelInfo, Result, UsmKind};

/// Largest fill pattern, in bytes.
pub const MAX_PATTERN_BYTES: usize = 16;

/// An implementation of SYCL-like memory.
///
/// Every `Raw…` handle that a method returns carries one reference, which the caller gives back with
/// [`release`](Self::release).
///
/// # Safety
/// An implementation promises:
/// 1. Handles stay valid from the call that returned them until their `release`, and can be used from any thread.
/// 2. [`allocate`](Self::allocate) returns memory of at least the asked length that no other live allocation overlaps, valid
///    until `free` as long as its context lives, even if other handles are released.
/// 3. [`pointer_info`](Self::pointer_info) accepts any address at all and answers for live USM of that context only.
/// 4. After [`wait`](Self::wait) has returned, with or without an error, the operation of the event no longer touches its operands.
/// 5. No method unwinds.
pub unsafe trait Backend: Debug + Send + Sync + 'static {
    /// Which backend this is.
    fn id(&self) -> BackendId;

    /// Whether the backend can be used in this process.
    ///
    /// # Errors
    /// [`crate::Error::ForkedRuntime`] in a child that was forked after the runtime was loaded, [`crate::Error::ProcessEnding`] when
    /// the process ends.
    fn check_process(&self) -> Result<()> {
        Ok(())
    }

    /// All root devices, in the runtime's order.
    ///
    /// # Errors
    /// When the runtime cannot list them.
    fn root_devices(&self) -> Result<Vec<RawDevice>>;

    /// The facts about a device.
    ///
    /// # Safety
    /// 1. `device` is live.
    unsafe fn device_info(&self, device: RawDevice) -> DeviceInfo;

    /// All platforms, in the runtime's order.
    ///
    /// # Errors
    /// When the runtime cannot list them.
    fn platforms(&self) -> Result<Vec<RawPlatform>>;

    /// The facts about a platform.
    ///
    /// # Safety
    /// 1. `platform` is live.
    unsafe fn platform_info(&self, platform: RawPlatform) -> PlatformInfo;

    /// The root devices of a platform.
    ///
    /// # Safety
    /// 1. `platform` is live.
    ///
    /// # Errors
    /// When the runtime cannot list them.
    unsafe fn platform_devices(&self, platform: RawPlatform) -> Result<Vec<RawDevice>>;

    /// The platform that a device belongs to.
    ///
    /// # Safety
    /// 1. `device` is live.
    ///
    /// # Errors
    /// When the runtime does not report it.
    unsafe fn device_platform(&self, device: RawDevice) -> Result<RawPlatform>;

    /// The device that a sub-device is a part of; `None` for a root device.
    ///
    /// # Safety
    /// 1. `device` is live.
    ///
    /// # Errors
    /// When the runtime does not report it.
    unsafe fn parent_device(&self, device: RawDevice) -> Result<Option<RawDevice>>;

    /// Composite devices or their components; none for a runtime that does not combine devices.
    ///
    /// # Safety
    /// 1. The platform or device is live.
    ///
    /// # Errors
    /// When the runtime cannot list them.
    unsafe fn composites(&self, asked: Composites) -> Result<Vec<RawDevice>> {
        let _ = asked;
        Ok(Vec::new())
    }

    /// New sub-devices of a device. Counts of compute units are above 0 and together at most those of the device.
    ///
    /// # Safety
    /// 1. `device` is live.
    ///
    /// # Errors
    /// When the device cannot be partitioned like that.
    unsafe fn sub_devices(&self, device: RawDevice, partition: &Partition) -> Result<Vec<RawDevice>>;

    /// Whether host code of this process reaches USM of that kind and device like other memory of the process.
    ///
    /// True for host and shared USM. True for device USM only if the device is a CPU whose runtime allocates in this process. The
    /// library does not pass this on to users: in SYCL 2020 device USM is not host-accessible.
    ///
    /// # Safety
    /// 1. `device` is live.
    unsafe fn host_reachable(&self, _device: RawDevice, kind: UsmKind) -> bool {
        kind.is_host_accessible()
    }

    /// Whether USM of that kind and device lies in pages of this process, accessible or not. The size of the pages then matters to
    /// a CPU device, too.
    ///
    /// # Safety
    /// 1. `device` is live.
    unsafe fn is_in_process(&self, device: RawDevice, kind: UsmKind) -> bool {
        // SAFETY: the caller's promise 1.
        unsafe { self.host_reachable(device, kind) }
    }

    /// Whether `device` may use the memory of `peer` in that way.
    ///
    /// # Safety
    /// 1. Both handles are live.
    unsafe fn can_access_peer(&self, device: RawDevice, peer: RawDevice, access: PeerAccess) -> bool;

    /// Enables or disables access of `device` to the memory of `peer`. `false` when the state was the same before.
    ///
    /// # Safety
    /// 1. Both handles are live, and `can_access_peer` says yes to [`PeerAccess::AccessSupported`].
    ///
    /// # Errors
    /// When the runtime refuses.
    unsafe fn set_peer_access(&self, device: RawDevice, peer: RawDevice, enabled: bool) -> Result<bool>;

    /// The default context of the platform that a root device belongs to: the same SYCL object at each call.
    ///
    /// # Safety
    /// 1. `device` is live.
    ///
    /// # Errors
    /// When the runtime has none, as for a sub-device.
    unsafe fn default_context(&self, device: RawDevice) -> Result<RawContext>;

    /// A new context over `devices`.
    ///
    /// # Safety
    /// 1. All `devices` are live.
    ///
    /// # Errors
    /// When the runtime refuses, for instance for devices of different platforms.
    unsafe fn create_context(&self, devices: &[RawDevice]) -> Result<RawContext>;

    /// A number that no other live context has. All handles of a context have the same.
    ///
    /// # Safety
    /// 1. `context` is live.
    unsafe fn context_id(&self, context: RawContext) -> u64;

    /// The devices of a context.
    ///
    /// # Safety
    /// 1. `context` is live.
    ///
    /// # Errors
    /// When the runtime cannot list them.
    unsafe fn context_devices(&self, context: RawContext) -> Result<Vec<RawDevice>>;

    /// The properties that a queue gets which is asked for with `asked`: a backend may keep more order than necessary.
    fn queue_properties(&self, asked: QueueProperties) -> QueueProperties {
        asked
    }

    /// A new queue with the properties that [`queue_properties`](Self::queue_properties) answers.
    ///
    /// # Safety
    /// 1. Both handles are live.
    ///
    /// # Errors
    /// When the runtime refuses, for instance for a device that is not in the context.
    unsafe fn create_queue(
        &self,
        context: RawContext,
        device: RawDevice,
        properties: QueueProperties,
    ) -> Result<RawQueue>;

    /// Context, device and properties of a queue, each handle with a reference of its own.
    ///
    /// # Safety
    /// 1. `queue` is live.
    ///
    /// # Errors
    /// When the runtime does not report it.
    unsafe fn queue_parts(&self, queue: RawQueue) -> Result<(RawContext, RawDevice, QueueProperties)>;

    /// Whether two handles of the same type name the same SYCL object. It never waits, since callers may hold locks that a
    /// fork waits for.
    ///
    /// # Safety
    /// 1. Both handles are live.
    unsafe fn same(&self, a: RawHandle, b: RawHandle) -> bool {
        a == b
    }

    /// The value of SYCL's `std::hash` for a platform, device, context or queue: equal for handles that are [`same`](Self::same).
    ///
    /// # Safety
    /// 1. `handle` is live.
    unsafe fn hash(&self, handle: RawHandle) -> u64 {
        handle.address()
    }

    /// Gives one reference back.
    ///
    /// # Safety
    /// 1. `handle` is live and the caller owns a reference, which it uses no more.
    /// 2. No operation that was submitted with this queue, kernel or bundle is under way, unless the backend
    ///    [needs no such promise](Self::keeps_released).
    unsafe fn release(&self, handle: RawHandle);

    /// Whether operations go on without the handles that they were submitted with, of which they have none.
    fn keeps_released(&self) -> bool {
        false
    }

    /// New USM of `kind`, at least `len_bytes` long, or `None` when the runtime has none. `align_bytes` is a power of two, or 0
    /// for the runtime's own choice, which suits every element type.
    ///
    /// # Safety
    /// 1. `queue` is live.
    /// 2. `len_bytes` is not 0.
    unsafe fn allocate(
        &self,
        queue: RawQueue,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: usize,
    ) -> Option<NonNull<u8>>;

    /// Gives memory back to the system that the backend keeps after it was freed, and that a request of `kind` on the queue may need.
    /// Returns whether it gave any back, so that a refused request is worth another attempt. Only
    /// `Queue::allocate_checked`, below all methods that allocate, calls this, after a refusal: [`allocate`](Self::allocate) asks its
    /// runtime once.
    ///
    /// # Safety
    /// 1. `queue` is live.
    unsafe fn trim(&self, _queue: RawQueue, _kind: UsmKind) -> bool {
        false
    }

    /// Gives as much memory back to the system as it can of what the backend keeps after it was freed.
    fn trim_all(&self) {}

    /// Frees USM.
    ///
    /// # Safety
    /// 1. `context` is live and `block` came from `allocate` on a queue of it.
    /// 2. It was not freed before and no pending operation uses it.
    unsafe fn free(&self, context: RawContext, block: NonNull<u8>);

    // Memory of several processes: a backend without it keeps these five defaults.

    /// Whether [`share`](Self::share) leaves memory of a kind as it is, so that operations may write to it meanwhile.
    ///
    /// # Safety
    /// 1. `queue` is live.
    unsafe fn shares_in_place(&self, _queue: RawQueue, _kind: UsmKind) -> bool {
        false
    }

    /// Memory in the form in which other processes open it, the same one each time.
    ///
    /// # Safety
    /// 1. `queue` is live, and `start` begins so many bytes of live memory of its context, of that kind, which are what `range` says.
    /// 2. Nobody writes to the bytes during the call, unless it [leaves them as they are](Self::shares_in_place).
    ///
    /// # Errors
    /// [`Error::NotShareable`]; [`Error::SharedMemory`] when the system refuses, for instance because the process has no more files.
    unsafe fn share(
        &self,
        _queue: RawQueue,
        _kind: UsmKind,
        _start: NonNull<u8>,
        _len_bytes: usize,
        _range: SharedRange,
    ) -> Result<SharedMemory> {
        Err(not_shareable(self.id()))
    }

    /// A block over the memory of another process, which [`free`](Self::free) takes away from this process alone.
    ///
    /// # Safety
    /// 1. `queue` is live.
    ///
    /// # Errors
    /// [`Error::NotShareable`] for memory of another backend or of a device that is not here; [`Error::SharedMemory`] when the
    /// system refuses, or when the files are others or shorter; [`Error::OutOfMemory`].
    unsafe fn open_shared(
        &self,
        _queue: RawQueue,
        _memory: &SharedMemory,
        _can_write: bool,
    ) -> Result<NonNull<u8>> {
        Err(not_shareable(self.id()))
    }

    /// Lets this process write to memory that it [opened](Self::open_shared) only to read, at the same address. The files are those of a
    /// process that allows it. Does nothing where all that is open can be written to.
    ///
    /// # Safety
    /// 1. `queue` is live, and `start` is a block of its context that `open_shared` gave for this memory.
    ///
    /// # Errors
    /// [`Error::SharedMemory`] when the system refuses: nothing has changed then.
    unsafe fn make_writable(
        &self,
        _queue: RawQueue,
        _start: NonNull<u8>,
        _memory: &SharedMemory,
    ) -> Result<()> {
        Ok(())
    }

    /// Ends what [`share`](Self::share) began, so that the bytes can be used for something else, of which other processes see nothing.
    /// False where that is not so as long as other processes have the memory open.
    ///
    /// # Safety
    /// 1. `queue` is live, and `start` was shared on a queue of its context.
    /// 2. Nobody of this process uses the bytes, whose content is lost.
    unsafe fn unshare(&self, _queue: RawQueue, _start: NonNull<u8>) -> bool {
        true
    }

    /// Whether another process has memory open that this process [shares](Self::share).
    ///
    /// # Safety
    /// 1. `queue` is live, and `start` is in a live block of its context.
    unsafe fn is_open_elsewhere(&self, _queue: RawQueue, _start: NonNull<u8>) -> bool {
        false
    }

    /// Makes host memory of other code known as USM of the context of a queue, and returns whether it is. [`free`](Self::free) ends that,
    /// as often as this was called, and leaves the memory alone. A range within a known one is known with that one.
    ///
    /// # Safety
    /// 1. `queue` is live.
    /// 2. The memory is valid until it is freed here.
    unsafe fn register_host_memory(
        &self,
        _queue: RawQueue,
        _kind: UsmKind,
        _start: NonNull<u8>,
        _len_bytes: usize,
    ) -> bool {
        false
    }

    /// Free and total memory of a device; `None` when the runtime does not report it.
    ///
    /// # Safety
    /// 1. `device` is live.
    unsafe fn memory_figures(&self, _device: RawDevice) -> Option<MemoryFigures> {
        None
    }

    /// Whether the device can be used: an error is the reason why not, such as an earlier fault.
    ///
    /// # Safety
    /// 1. `device` is live.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], or as [`check_process`](Self::check_process).
    unsafe fn check_device(&self, _device: RawDevice) -> Result<()> {
        self.check_process()
    }

    /// The runtime's facts about an address in a context; `None` when it is not USM there.
    ///
    /// # Safety
    /// 1. `context` is live.
    unsafe fn pointer_info(&self, context: RawContext, address: usize) -> Option<PointerInfo>;

    /// The device a USM address belongs to.
    ///
    /// # Safety
    /// 1. `context` is live and `pointer_info` knows the address there.
    ///
    /// # Errors
    /// When the runtime does not report it.
    unsafe fn pointer_device(&self, context: RawContext, address: usize) -> Result<RawDevice>;

    /// Copies `len_bytes` bytes. Either side is USM of the queue's context or host memory. The ranges do not overlap.
    ///
    /// # Safety
    /// 1. Queue and dependencies are live.
    /// 2. Both ranges are valid for the copy, and stay so until the event completes.
    ///
    /// # Errors
    /// When the operation cannot be submitted. No part of it touches memory after the call has returned.
    unsafe fn memcpy(
        &self,
        queue: RawQueue,
        dst: *mut u8,
        src: *const u8,
        len_bytes: usize,
        dependencies: &[RawEvent],
    ) -> Result<RawEvent>;

    /// Writes `count` repetitions of `pattern`, 1 to [`MAX_PATTERN_BYTES`] bytes long, at any address.
    ///
    /// # Safety
    /// 1. Queue and dependencies are live.
    /// 2. The range of `count * pattern.len()` bytes is USM of the queue's context, valid for writing until the event completes.
    ///
    /// # Errors
    /// When the operation cannot be submitted. No part of it touches memory after the call has returned.
    unsafe fn fill(
        &self,
        queue: RawQueue,
        dst: *mut u8,
        pattern: &[u8],
        count: usize,
        dependencies: &[RawEvent],
    ) -> Result<RawEvent>;

    /// Hints that the queue's device will soon use a range of USM.
    ///
    /// # Safety
    /// 1. Queue and dependencies are live.
    /// 2. The range is USM of the queue's context until the event completes.
    ///
    /// # Errors
    /// When the operation cannot be submitted.
    unsafe fn prefetch(
        &self,
        queue: RawQueue,
        _address: usize,
        _len_bytes: usize,
        dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        // SAFETY: the caller's promise 1. A backend that ignores hints keeps their place in the order.
        unsafe { self.barrier(queue, dependencies) }
    }

    /// Advises the device about the use of a range of USM. The device defines the numbers of the advice; 0 resets earlier advice.
    ///
    /// # Safety
    /// 1. Queue and dependencies are live.
    /// 2. The range is USM of the queue's context until the event completes.
    ///
    /// # Errors
    /// When the operation cannot be submitted, for instance when the device does not know the advice.
    unsafe fn mem_advise(
        &self,
        queue: RawQueue,
        _address: usize,
        _len_bytes: usize,
        _advice: i32,
        dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        // SAFETY: the caller's promise 1. A backend that ignores hints keeps their place in the order.
        unsafe { self.barrier(queue, dependencies) }
    }

    /// An event that completes when all `events` are complete; without `events`, when all earlier operations of the queue are
    /// complete. Later operations of the queue start after it.
    ///
    /// # Safety
    /// 1. Queue and events are live.
    ///
    /// # Errors
    /// When the operation cannot be submitted.
    unsafe fn barrier(&self, queue: RawQueue, events: &[RawEvent]) -> Result<RawEvent>;

    /// Whether [`host_task`](Self::host_task) is supported.
    fn runs_host_tasks(&self) -> bool {
        false
    }

    /// Runs host code, which gets native addresses of `memory` in that order.
    ///
    /// A task that fails or panics is complete, too, and so is its event: dependent operations run. `wait` returns the error.
    ///
    /// # Safety
    /// 1. Queue and dependencies are live.
    /// 2. Each range is valid for what the task does with it, and stays so until the event completes.
    /// 3. The task uses the addresses for these ranges only, and not after it has returned. The task, and the drop of its values, use
    ///    no object of this backend: both may run on one of the backend's threads.
    ///
    /// # Errors
    /// [`Error::NotSupported`], or an error of the submission. The task never runs then.
    unsafe fn host_task(
        &self,
        _queue: RawQueue,
        _memory: &[TaskMemory],
        _task: HostTask,
        _dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        Err(Error::NotSupported { backend: self.id(), what: "host tasks" })
    }

    /// Waits until the event is complete.
    ///
    /// # Safety
    /// 1. `event` is live.
    ///
    /// # Errors
    /// The operation's own error, or an asynchronous one reported meanwhile.
    unsafe fn wait(&self, event: RawEvent) -> Result<()>;

    /// How far the operation is, without waiting.
    ///
    /// # Safety
    /// 1. `event` is live.
    unsafe fn event_status(&self, event: RawEvent) -> EventStatus;

    /// When the operation was submitted, started and completed. Waits for its completion.
    ///
    /// # Safety
    /// 1. `event` is live.
    ///
    /// # Errors
    /// [`crate::Error::NoProfiling`] when its queue does not record times.
    unsafe fn event_times(&self, event: RawEvent) -> Result<ProfilingTimes>;

    /// The events that the operation starts after, each with a reference of its own. Complete ones may be missing.
    ///
    /// # Safety
    /// 1. `event` is live.
    ///
    /// # Errors
    /// When the runtime cannot list them.
    unsafe fn event_dependencies(&self, event: RawEvent) -> Result<Vec<RawEvent>>;

    // Streams of CUDA: a backend without them keeps these four defaults.

    /// The `CUstream` of a queue, which stays the queue's; `None` where queues are no streams.
    ///
    /// # Safety
    /// 1. `queue` is live.
    unsafe fn native_stream(&self, _queue: RawQueue) -> Option<usize> {
        None
    }

    /// Whether a queue has no work, whoever submitted it; `None` where its stream has no answer for the moment, is of another library, or
    /// queues are no streams.
    ///
    /// # Safety
    /// 1. `queue` is live.
    unsafe fn is_stream_idle(&self, _queue: RawQueue) -> Option<bool> {
        None
    }

    /// A queue on a `CUstream`, in the default context of the device. The stream is not destroyed with it.
    ///
    /// # Safety
    /// 1. `device` is live.
    /// 2. `stream` is a live `CUstream`, or the number of a default stream, and stays live as long as the queue.
    ///
    /// # Errors
    /// [`Error::NotSupported`]; [`Error::InvalidExternalHandle`] for a stream of another context.
    unsafe fn queue_on_stream(&self, _device: RawDevice, _stream: usize) -> Result<RawQueue> {
        Err(Error::NotSupported { backend: self.id(), what: "queues on CUDA streams" })
    }

    /// Lets what is submitted to a queue from now on start after all that was submitted to a `CUstream` of its device. Does not wait.
    ///
    /// # Safety
    /// 1. `queue` is live.
    /// 2. `stream` is a live `CUstream`, or the number of a default stream.
    ///
    /// # Errors
    /// As [`queue_on_stream`](Self::queue_on_stream).
    unsafe fn order_after_stream(&self, _queue: RawQueue, _stream: usize) -> Result<()> {
        Err(Error::NotSupported { backend: self.id(), what: "queues on CUDA streams" })
    }

    // Captures of streams into graphs: a backend without them keeps these three defaults.

    /// The number of the capture that the stream of a queue is in, which no other capture of the process has; `None` outside of one. The
    /// question changes nothing.
    ///
    /// # Safety
    /// 1. `queue` is live.
    ///
    /// # Errors
    /// [`Error::StreamCapture`] when the capture is invalid, or when the stream cannot be used because of another one.
    unsafe fn capture(&self, _queue: RawQueue) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Lets the graph that the stream of a queue is captured into keep a value: until the graph and all graphs made of it are gone, and
    /// their launches are complete. [`release_from_graphs`](crate::release_from_graphs) drops it then.
    ///
    /// Returns an event that permits one operation: the backend refuses operations in a capture that do not depend on such an event.
    ///
    /// # Safety
    /// 1. `queue` is live.
    ///
    /// # Errors
    /// [`Error::StreamCapture`] when the graph cannot keep values, and as [`capture`](Self::capture).
    unsafe fn keep_in_graph(&self, _queue: RawQueue, _value: Box<dyn Any + Send>) -> Result<RawEvent> {
        Err(Error::NotSupported { backend: self.id(), what: "captures into graphs" })
    }

    /// The capture in which the operation of an event was recorded.
    ///
    /// # Safety
    /// 1. `event` is live.
    unsafe fn event_capture(&self, _event: RawEvent) -> Option<u64> {
        None
    }

    // Objects of SYCL: a backend without them keeps these three defaults.

    /// A handle of our own to the SYCL object behind an external pointer. The object is copied, never consumed.
    ///
    /// Pointers to other memory are refused as far as the backend can tell.
    ///
    /// # Safety
    /// 1. `pointer` leads to a live heap object of kind `kind`, or to memory that the backend recognises as no such object.
    ///
    /// # Errors
    /// [`crate::Error::InvalidExternalHandle`], [`crate::Error::NoExternalHandle`].
    unsafe fn import_external(&self, kind: ExternalObject, _pointer: *mut c_void) -> Result<RawHandle> {
        Err(Error::NoExternalHandle { backend: self.id(), what: kind.name() })
    }

    /// A heap copy of a context or queue, for a consumer that frees it with [`delete_external`](Self::delete_external).
    ///
    /// # Safety
    /// 1. `handle` is live.
    ///
    /// # Errors
    /// [`crate::Error::NoExternalHandle`] where the backend has no SYCL objects.
    unsafe fn export_external(&self, handle: RawHandle) -> Result<NonNull<c_void>> {
        let is_context = matches!(handle, RawHandle::Context(_));
        let kind = if is_context { ExternalObject::Context } else { ExternalObject::Queue };
        Err(Error::NoExternalHandle { backend: self.id(), what: kind.name() })
    }

    /// Deletes an object from `export_external`.
    ///
    /// # Safety
    /// 1. `pointer` came from `export_external` with that kind and was not deleted before.
    unsafe fn delete_external(&self, _kind: ExternalObject, _pointer: NonNull<c_void>) {}

    // Kernels: a backend without them keeps these four defaults.

    /// Kernels for `device`. Blocks until they are built.
    ///
    /// # Safety
    /// 1. Both handles are live, and the device is one of the context.
    ///
    /// # Errors
    /// [`Error::NotSupported`]; [`Error::Backend`] or [`Error::KernelBuild`] when they cannot be built.
    unsafe fn create_bundle(
        &self,
        _context: RawContext,
        _device: RawDevice,
        _code: KernelCode<'_>,
        _options: &CStr,
    ) -> Result<RawBundle> {
        Err(no_kernels(self.id()))
    }

    /// The kernel of that name; `None` when there is none. It stays valid when the bundle is released.
    ///
    /// # Safety
    /// 1. `bundle` is live.
    ///
    /// # Errors
    /// When the runtime cannot look it up.
    unsafe fn bundle_kernel(&self, _bundle: RawBundle, _name: &CStr) -> Result<Option<RawKernel>> {
        Ok(None)
    }

    /// The facts about a kernel.
    ///
    /// # Safety
    /// 1. `kernel` and `device` are live, and the kernel was built for that device.
    ///
    /// # Errors
    /// When the runtime does not report it.
    unsafe fn kernel_info(&self, _kernel: RawKernel, _device: RawDevice) -> Result<KernelInfo> {
        Err(no_kernels(self.id()))
    }

    /// Runs a kernel over a range.
    ///
    /// # Safety
    /// 1. Queue, kernel and dependencies are live; the kernel was built for the queue's device in the queue's context.
    /// 2. There are as many arguments as the kernel has, each of the type it declares. A backend may refuse one of another size.
    /// 3. The kernel's behaviour with these arguments is defined, and its memory stays valid until the event completes.
    /// 4. No size is 0, and a local range has as many dimensions as the global one, divides it, and has at most as many
    ///    work-items as [`KernelInfo::work_group_size`].
    ///
    /// # Errors
    /// When the operation cannot be submitted. No memory is touched then.
    unsafe fn submit_kernel(
        &self,
        _queue: RawQueue,
        _kernel: RawKernel,
        _arguments: &[KernelArgument],
        _range: &ExecutionRange,
        _dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        Err(no_kernels(self.id()))
    }
}

fn not_shareable(backend: BackendId) -> Error {
    Error::NotShareable {
        reason: format!("the {backend} backend has no form for it here; a copy in host memory works"),
    }
}

/// The error for memory of another library, for which the runtime has no form.
fn not_ours() -> Error {
    let reason = "another library owns it; a copy of it, as by usm.tensor.copy, works";
    Error::NotShareable { reason: reason.to_owned() }
}

fn no_kernels(backend: BackendId) -> Error {
    Error::NotSupported { backend, what: "kernels" }
}
