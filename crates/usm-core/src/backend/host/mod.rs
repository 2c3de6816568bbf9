//! The embedded host backend: SYCL-like memory in plain Rust, with device memory that host code cannot touch.
//!
//! Host and shared USM are ordinary memory. Device USM has public addresses in pages without any access right, and its bytes
//! at another address that only queue operations know: a stray load or store of host code faults, as it would with a GPU. The
//! process then dies of `SIGSEGV`, after a message on stderr with the address and the way out (`fault/`; `USM_FAULT_MESSAGE=0`
//! switches it off). Handlers of the signal that others installed run as before.
//!
//! Queues are asynchronous. A submitted operation becomes a job (`job.rs`) in the graph of all that is not complete (`graph.rs`);
//! `queue.rs` says what it runs after. Two worker threads run what is ready, and so does every thread that waits
//! (`worker.rs`), so that a small operation that is waited for needs no other thread.
//!
//! | file | job |
//! |---|---|
//! | `memory.rs` | each live block, exactly: kind, context, jobs that use it |
//! | `mapping.rs`, `arena.rs` | device memory: a protected half and the bytes; its allocator |
//! | `classes.rs`, `spans.rs` | size classes of small blocks; free ranges of pages |
//! | `queue.rs`, `graph.rs`, `job.rs`, `worker.rs` | the order of operations, and who runs them |
//! | `context.rs`, `device.rs`, `event.rs` | contexts, devices and events |
//! | `simulated.rs` | devices that a test describes |
//! | `across_copies/` | one host backend for several copies of this library in a process |

#[cfg(feature = "across-copies")]
mod across_copies;
mod arena;
mod classes;
mod context;
mod device;
mod event;
mod fault;
mod graph;
mod job;
mod mapping;
mod memory;
mod queue;
mod simulated;
mod spans;
mod worker;

use std::ptr::NonNull;
use std::sync::Arc;

#[cfg(feature = "across-copies")]
pub use self::across_copies::{HostOfOtherCopy, HostTable, VERSION as TABLE_VERSION};
use self::context::HostContext;
use self::device::{HostPlatform, Peers, SimulatedDevice};
use self::event::HostEvent;
use self::job::Work;
use self::memory::Memory;
use self::queue::HostQueue;
pub use self::simulated::HostDevice;
use self::worker::Executor;
use super::objects::{Handle, handle};
use super::{
    Backend, BackendId, DeviceInfo, DeviceType, EventStatus, HostTask, MAX_PATTERN_BYTES, Partition,
    PeerAccess, PlatformInfo, PointerInfo, ProfilingTimes, QueueProperties, RawContext, RawDevice, RawEvent,
    RawHandle, RawPlatform, RawQueue, SharedMemory, SharedRange, TaskMemory, pages,
};
use crate::fork::{ForkMutex, ForkMutexGuard};
use crate::{Device, Error, Result, UsmKind, os};

handle!(
    HostPlatform => RawPlatform,
    SimulatedDevice => RawDevice,
    HostContext => RawContext,
    HostQueue => RawQueue,
    HostEvent => RawEvent,
);

/// Name of the backend in filter strings.
const NAME: &str = "host";
/// Most address space for device memory: a quarter of what x86-64 has.
const MAX_ARENA_BYTES: usize = 1 << 45;

/// The embedded host backend: one device `host:cpu:0`, or as many simulated ones as asked for.
///
/// Needs Linux. Values of this type are independent of each other: their devices, contexts and memory are different ones.
///
/// Operations run asynchronously: on at most two threads, which start with the first operation and end with this value, and on
/// each thread that waits. Dropping it ends what is pending. A process forked from this one starts threads of its own; operations that
/// were pending in the parent never run there ([`Error::Forked`]).
#[derive(Debug)]
pub struct HostBackend {
    roots: Vec<Root>,
    /// Dropped before the memory that its jobs use.
    executor: Executor,
    memory: ForkMutex<Memory>,
    peers: ForkMutex<Peers>,
    #[cfg(feature = "across-copies")]
    queues: ForkMutex<across_copies::Queues>,
}

/// A root device with what belongs to it alone.
#[derive(Debug)]
struct Root {
    device: Arc<SimulatedDevice>,
    platform: Arc<HostPlatform>,
    default_context: Arc<HostContext>,
}

impl HostBackend {
    /// A host backend with one CPU, whose memory is the machine's own.
    #[must_use]
    pub fn new() -> Self {
        Self::with_devices(&[HostDevice::new(DeviceType::Cpu)])
    }

    /// A host backend with these devices.
    #[must_use]
    pub fn with_devices(described: &[HostDevice]) -> Self {
        let physical_bytes = physical_bytes();
        let wanted_bytes = |device: &HostDevice| device.memory_bytes.unwrap_or(physical_bytes);
        let all_bytes = described.iter().map(wanted_bytes).fold(0, u64::saturating_add);
        // Addresses cost nothing; four times the memory keeps fragmentation out of sight.
        let arena_bytes = all_bytes
            .saturating_mul(4)
            .checked_next_power_of_two()
            .and_then(|bytes| usize::try_from(bytes).ok())
            .filter(|&bytes| bytes <= MAX_ARENA_BYTES)
            .unwrap_or(MAX_ARENA_BYTES);
        let device = |(i, device): (usize, &HostDevice)| {
            let same_type = |other: &&HostDevice| other.device_type == device.device_type;
            let number = described.iter().take(i).filter(same_type).count();
            let device = Arc::new(SimulatedDevice::new(device, number, physical_bytes));
            let platform = Arc::new(HostPlatform { device: Arc::clone(&device) });
            let default_context = Arc::new(HostContext::new(vec![Arc::clone(&device)]));
            Root { device, platform, default_context }
        };
        let roots = described.iter().enumerate().map(device).collect();
        let memory = ForkMutex::new(Memory::new(arena_bytes));
        Self {
            roots,
            executor: Executor::default(),
            memory,
            peers: ForkMutex::default(),
            #[cfg(feature = "across-copies")]
            queues: ForkMutex::default(),
        }
    }

    /// The devices of a backend, each of which keeps the backend alive.
    pub(crate) fn devices(self: &Arc<Self>) -> Vec<Device> {
        let wrap = |root: &Root| {
            let raw = SimulatedDevice::into_raw(Arc::clone(&root.device));
            // SAFETY: a fresh handle of this backend (promise 1 of `Backend`).
            unsafe { Device::from_raw(Arc::clone(self) as _, raw) }
        };
        self.roots.iter().map(wrap).collect()
    }

    fn memory(&self) -> ForkMutexGuard<'_, Memory> {
        self.memory.lock()
    }

    /// Looks operands up and submits a job that is made of them.
    ///
    /// # Safety
    /// 1. Queue and dependencies are live.
    unsafe fn submit(
        &self,
        queue: RawQueue,
        dependencies: &[RawEvent],
        work: impl FnOnce(&mut Memory, &HostQueue) -> Result<Work>,
    ) -> Result<RawEvent> {
        // SAFETY: O1: the queue is live (1).
        let queue = unsafe { HostQueue::clone_raw(queue) };
        let work = work(&mut self.memory(), &queue)?;
        // SAFETY: O1: the dependencies are live (1).
        let dependencies = unsafe { events(dependencies) };
        queue.submit(&self.executor, work, dependencies).map(HostEvent::into_raw)
    }
}

/// An operation without effect, on USM that is looked up all the same.
fn hint(
    operation: &'static str,
    address: usize,
    len_bytes: usize,
) -> impl FnOnce(&mut Memory, &HostQueue) -> Result<Work> {
    let range = std::ptr::without_provenance_mut(address);
    move |memory, queue| {
        memory.operand(operation, range, len_bytes, false, queue)?;
        Ok(Work::Nothing)
    }
}

/// Counts of our own to the events behind handles.
///
/// # Safety
/// 1. All of them are live.
unsafe fn events(raw: &[RawEvent]) -> Vec<Arc<HostEvent>> {
    // SAFETY: O1: all of them are live (1).
    raw.iter().map(|&event| unsafe { HostEvent::clone_raw(event) }).collect()
}

impl Default for HostBackend {
    fn default() -> Self {
        Self::new()
    }
}

/// Memory of the machine.
pub(super) fn physical_bytes() -> u64 {
    if cfg!(miri) {
        return 1 << 32; // it does not know the question
    }
    os::physical_bytes().filter(|&bytes| bytes > 0).unwrap_or(1 << 32)
}

// SAFETY: handles are counted pointers (promise 1); `Memory` hands out disjoint blocks and answers for live ones only
// (promises 2 and 3); an event completes after its job's work, and a wait returns when it is complete, or in a process where it never
// runs (promise 4); nothing here panics (promise 5).
unsafe impl Backend for HostBackend {
    fn id(&self) -> BackendId {
        BackendId::Host
    }

    fn root_devices(&self) -> Result<Vec<RawDevice>> {
        Ok(self.roots.iter().map(|root| SimulatedDevice::into_raw(Arc::clone(&root.device))).collect())
    }

    unsafe fn device_info(&self, device: RawDevice) -> DeviceInfo {
        // SAFETY: O1: the handle is live.
        unsafe { SimulatedDevice::clone_raw(device) }.facts.info()
    }

    fn platforms(&self) -> Result<Vec<RawPlatform>> {
        Ok(self.roots.iter().map(|root| HostPlatform::into_raw(Arc::clone(&root.platform))).collect())
    }

    unsafe fn platform_info(&self, platform: RawPlatform) -> PlatformInfo {
        // SAFETY: O1: the handle is live.
        unsafe { HostPlatform::get(platform) }.info()
    }

    unsafe fn platform_devices(&self, platform: RawPlatform) -> Result<Vec<RawDevice>> {
        // SAFETY: O1: the handle is live.
        let platform = unsafe { HostPlatform::clone_raw(platform) };
        Ok(vec![SimulatedDevice::into_raw(Arc::clone(&platform.device))])
    }

    unsafe fn device_platform(&self, device: RawDevice) -> Result<RawPlatform> {
        // SAFETY: O1: the handle is live.
        let mut device = unsafe { SimulatedDevice::clone_raw(device) };
        while let Some(parent) = &device.parent {
            device = Arc::clone(parent);
        }
        let found = self.roots.iter().find(|root| Arc::ptr_eq(&root.device, &device));
        found
            .map(|root| HostPlatform::into_raw(Arc::clone(&root.platform)))
            .ok_or(Error::Backend { backend: BackendId::Host, call: "device_platform" })
    }

    unsafe fn parent_device(&self, device: RawDevice) -> Result<Option<RawDevice>> {
        // SAFETY: O1: the handle is live.
        let device = unsafe { SimulatedDevice::clone_raw(device) };
        Ok(device.parent.clone().map(SimulatedDevice::into_raw))
    }

    unsafe fn sub_devices(&self, device: RawDevice, partition: &Partition) -> Result<Vec<RawDevice>> {
        // SAFETY: O1: the handle is live.
        let device = unsafe { SimulatedDevice::clone_raw(device) };
        let parts = device.parts(partition);
        parts
            .map(|parts| parts.into_iter().map(SimulatedDevice::into_raw).collect())
            .ok_or(Error::Backend { backend: BackendId::Host, call: "sub_devices" })
    }

    // The memory of all simulated devices is the host's.
    unsafe fn can_access_peer(&self, device: RawDevice, peer: RawDevice, _access: PeerAccess) -> bool {
        device != peer
    }

    unsafe fn set_peer_access(&self, device: RawDevice, peer: RawDevice, enabled: bool) -> Result<bool> {
        // SAFETY: O1: the handle is live.
        let device = unsafe { SimulatedDevice::clone_raw(device) };
        // SAFETY: O1: the handle is live.
        let peer = unsafe { SimulatedDevice::clone_raw(peer) };
        Ok(self.peers.lock().set(device, peer, enabled))
    }

    unsafe fn default_context(&self, device: RawDevice) -> Result<RawContext> {
        // SAFETY: O1: the handle is live.
        let device = unsafe { SimulatedDevice::clone_raw(device) };
        let found = self.roots.iter().find(|root| Arc::ptr_eq(&root.device, &device));
        found
            .map(|root| HostContext::into_raw(Arc::clone(&root.default_context)))
            .ok_or(Error::Backend { backend: BackendId::Host, call: "default_context" })
    }

    unsafe fn create_context(&self, devices: &[RawDevice]) -> Result<RawContext> {
        let clone = |&raw| {
            // SAFETY: O1: the handles are live.
            unsafe { SimulatedDevice::clone_raw(raw) }
        };
        let devices = devices.iter().map(clone).collect();
        Ok(HostContext::into_raw(Arc::new(HostContext::new(devices))))
    }

    unsafe fn context_id(&self, context: RawContext) -> u64 {
        // SAFETY: O1: the handle is live.
        unsafe { HostContext::get(context) }.id
    }

    unsafe fn context_devices(&self, context: RawContext) -> Result<Vec<RawDevice>> {
        // SAFETY: O1: the handle is live.
        let context = unsafe { HostContext::clone_raw(context) };
        Ok(context.devices.iter().map(|device| SimulatedDevice::into_raw(Arc::clone(device))).collect())
    }

    unsafe fn create_queue(
        &self,
        context: RawContext,
        device: RawDevice,
        properties: QueueProperties,
    ) -> Result<RawQueue> {
        // SAFETY: O1: the handle is live.
        let context = unsafe { HostContext::clone_raw(context) };
        // SAFETY: O1: the handle is live.
        let device = unsafe { SimulatedDevice::clone_raw(device) };
        let queue = Arc::new(HostQueue::new(context, device, properties));
        #[cfg(feature = "across-copies")]
        self.queues.lock().add(&queue);
        Ok(HostQueue::into_raw(queue))
    }

    unsafe fn queue_parts(&self, queue: RawQueue) -> Result<(RawContext, RawDevice, QueueProperties)> {
        // SAFETY: O1: the handle is live.
        let queue = unsafe { HostQueue::clone_raw(queue) };
        let context = HostContext::into_raw(Arc::clone(&queue.context));
        Ok((context, SimulatedDevice::into_raw(Arc::clone(&queue.device)), queue.properties))
    }

    // A job has its operands and its event, and nothing of its queue.
    fn keeps_released(&self) -> bool {
        true
    }

    unsafe fn release(&self, handle: RawHandle) {
        match handle {
            // SAFETY: O1: the caller gives the count of the handle back.
            RawHandle::Platform(raw) => unsafe { HostPlatform::release_raw(raw) },
            // SAFETY: O1: as for a platform.
            RawHandle::Device(raw) => unsafe { SimulatedDevice::release_raw(raw) },
            // SAFETY: O1: as for a platform.
            RawHandle::Context(raw) => unsafe { HostContext::release_raw(raw) },
            // SAFETY: O1: as for a platform.
            RawHandle::Queue(raw) => unsafe { HostQueue::release_raw(raw) },
            // SAFETY: O1: as for a platform.
            RawHandle::Event(raw) => unsafe { HostEvent::release_raw(raw) },
            // None was given out.
            RawHandle::Bundle(_) | RawHandle::Kernel(_) => {}
        }
    }

    unsafe fn allocate(
        &self,
        queue: RawQueue,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: usize,
    ) -> Option<NonNull<u8>> {
        // SAFETY: O1: the handle is live.
        let queue = unsafe { HostQueue::clone_raw(queue) };
        self.memory().allocate(kind, len_bytes, align_bytes, queue.context.id, &queue.device)
    }

    unsafe fn trim(&self, _queue: RawQueue, _kind: UsmKind) -> bool {
        self.memory().trim()
    }

    fn trim_all(&self) {
        self.memory().trim();
    }

    unsafe fn free(&self, _context: RawContext, block: NonNull<u8>) {
        self.memory().free(block.addr().get());
    }

    unsafe fn pointer_info(&self, context: RawContext, address: usize) -> Option<PointerInfo> {
        // SAFETY: O1: the handle is live.
        let context = unsafe { HostContext::clone_raw(context) };
        self.memory().find(address, context.id)
    }

    unsafe fn pointer_device(&self, context: RawContext, address: usize) -> Result<RawDevice> {
        // SAFETY: O1: the handle is live.
        let context = unsafe { HostContext::clone_raw(context) };
        let device = self.memory().device_of(address, context.id);
        device
            .map(SimulatedDevice::into_raw)
            .ok_or(Error::Backend { backend: BackendId::Host, call: "pointer_device" })
    }

    unsafe fn memcpy(
        &self,
        queue: RawQueue,
        dst: *mut u8,
        src: *const u8,
        len_bytes: usize,
        dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        let work = |memory: &mut Memory, queue: &HostQueue| {
            let dst = memory.operand("memcpy destination", dst, len_bytes, true, queue)?;
            let src = memory.operand("memcpy source", src.cast_mut(), len_bytes, true, queue)?;
            // J1 is the caller's promise, at the addresses that `operand` found.
            Ok(Work::Copy { dst, src, len_bytes })
        };
        // SAFETY: O1: queue and dependencies are live.
        unsafe { self.submit(queue, dependencies, work) }
    }

    unsafe fn fill(
        &self,
        queue: RawQueue,
        dst: *mut u8,
        pattern: &[u8],
        count: usize,
        dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        let work = |memory: &mut Memory, queue: &HostQueue| {
            let mut bytes = [0; MAX_PATTERN_BYTES];
            let len = pattern.len();
            bytes.get_mut(..len).ok_or(Error::PatternLength { len_bytes: len })?.copy_from_slice(pattern);
            let dst = memory.operand("fill", dst, len.saturating_mul(count), false, queue)?;
            // J2 is the caller's promise, at the address that `operand` found.
            Ok(Work::Fill { dst, pattern: bytes, len, count })
        };
        // SAFETY: O1: queue and dependencies are live.
        unsafe { self.submit(queue, dependencies, work) }
    }

    unsafe fn prefetch(
        &self,
        queue: RawQueue,
        address: usize,
        len_bytes: usize,
        dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        // SAFETY: O1: queue and dependencies are live.
        unsafe { self.submit(queue, dependencies, hint("prefetch", address, len_bytes)) }
    }

    unsafe fn mem_advise(
        &self,
        queue: RawQueue,
        address: usize,
        len_bytes: usize,
        _advice: i32,
        dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        // SAFETY: O1: queue and dependencies are live.
        unsafe { self.submit(queue, dependencies, hint("mem_advise", address, len_bytes)) }
    }

    unsafe fn barrier(&self, queue: RawQueue, after: &[RawEvent]) -> Result<RawEvent> {
        // SAFETY: O1: the handle is live.
        let queue = unsafe { HostQueue::clone_raw(queue) };
        // SAFETY: O1: the events are live.
        let after = unsafe { events(after) };
        queue.barrier(&self.executor, after).map(HostEvent::into_raw)
    }

    fn runs_host_tasks(&self) -> bool {
        true
    }

    unsafe fn host_task(
        &self,
        queue: RawQueue,
        memory: &[TaskMemory],
        task: HostTask,
        dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        let work = |known: &mut Memory, queue: &HostQueue| {
            let operand =
                |range: &TaskMemory| known.operand("host task", range.start, range.len_bytes, true, queue);
            let operands = memory.iter().map(operand).collect::<Result<_>>()?;
            let len_bytes = memory.iter().map(|range| range.len_bytes).max().unwrap_or(0);
            // J3 is the caller's promise, at the addresses that `operand` found.
            Ok(Work::Task { memory: operands, len_bytes, task })
        };
        // SAFETY: O1: queue and dependencies are live.
        unsafe { self.submit(queue, dependencies, work) }
    }

    unsafe fn wait(&self, event: RawEvent) -> Result<()> {
        // SAFETY: O1: the handle is live.
        let event = unsafe { HostEvent::clone_raw(event) };
        self.executor.wait(&event)?;
        event.failure().map_or(Ok(()), |reason| Err(Error::HostTask { reason: reason.to_owned() }))
    }

    unsafe fn event_status(&self, event: RawEvent) -> EventStatus {
        // SAFETY: O1: the handle is live.
        unsafe { HostEvent::get(event) }.status()
    }

    unsafe fn event_times(&self, event: RawEvent) -> Result<ProfilingTimes> {
        // SAFETY: O1: the handle is live.
        let event = unsafe { HostEvent::clone_raw(event) };
        if event.times().is_some() {
            self.executor.wait(&event)?;
        }
        event.times().ok_or(Error::NoProfiling)
    }

    unsafe fn share(
        &self,
        queue: RawQueue,
        kind: UsmKind,
        start: NonNull<u8>,
        len_bytes: usize,
        range: SharedRange,
    ) -> Result<SharedMemory> {
        // SAFETY: O1: the handle is live.
        let context = unsafe { HostQueue::get(queue) }.context.id;
        let address = start.addr().get();
        let pages_bytes = pages::len_of(range, len_bytes)?;
        let known = self.memory().bytes_at(address, context);
        let pages = known.ok_or_else(|| Error::NotShareable {
            reason: format!("the {len_bytes} bytes at {address:#x} are in no block of the context"),
        })?;
        // Without the lock, since the pages may be many.
        // SAFETY: the pages belong to the bytes alone, and nobody writes to them (promises 1 and 2, B1).
        let file = unsafe { pages::share(pages.as_ptr(), pages_bytes, range) }?;
        Ok(SharedMemory::new(kind, address, len_bytes, Vec::new(), vec![file]))
    }

    unsafe fn open_shared(
        &self,
        queue: RawQueue,
        memory: &SharedMemory,
        can_write: bool,
    ) -> Result<NonNull<u8>> {
        let (file, len_bytes) = pages::file_of(memory)?;
        // SAFETY: O1: the handle is live.
        let queue = unsafe { HostQueue::get(queue) };
        let context = queue.context.id;
        let block = self.memory().allocate(memory.kind, len_bytes, 0, context, &queue.device);
        let block = block.ok_or_else(|| Error::OutOfMemory {
            len_bytes,
            kind: memory.kind,
            device: queue.device.facts.info().filter_string(),
            figures: None,
        })?;
        let address = block.addr().get();
        let known = self.memory().bytes_at(address, context);
        let mapped = known.map_or(Ok(()), |pages| {
            // SAFETY: 1. The pages belong to the block (B1), which is new, so that nobody uses it. 2. `file_of` has checked the file.
            unsafe { pages::map(pages.as_ptr(), len_bytes, file, can_write) }
        });
        mapped.inspect_err(|_| self.memory().free(address)).map(|()| block)
    }

    unsafe fn make_writable(&self, queue: RawQueue, start: NonNull<u8>, memory: &SharedMemory) -> Result<()> {
        let (file, _) = pages::file_of(memory)?;
        // SAFETY: O1: the handle is live.
        let context = unsafe { HostQueue::get(queue) }.context.id;
        let known = self.memory().bytes_at(start.addr().get(), context);
        // SAFETY: pages of a live block (promise 1).
        known.map_or(Ok(()), |pages| unsafe { pages::make_writable(pages.as_ptr(), file) })
    }

    unsafe fn register_host_memory(
        &self,
        queue: RawQueue,
        kind: UsmKind,
        start: NonNull<u8>,
        len_bytes: usize,
    ) -> bool {
        // SAFETY: O1: the handle is live.
        let queue = unsafe { HostQueue::get(queue) };
        self.memory().register(kind, start.addr().get(), len_bytes, queue.context.id, &queue.device)
    }

    unsafe fn unshare(&self, queue: RawQueue, start: NonNull<u8>) -> bool {
        // SAFETY: O1: the handle is live.
        let context = unsafe { HostQueue::get(queue) }.context.id;
        let known = self.memory().bytes_at(start.addr().get(), context);
        // SAFETY: pages that nobody uses (promises 1 and 2).
        known.is_none_or(|pages| unsafe { pages::unshare(pages.as_ptr()) })
    }

    unsafe fn is_open_elsewhere(&self, queue: RawQueue, start: NonNull<u8>) -> bool {
        // SAFETY: O1: the handle is live.
        let context = unsafe { HostQueue::get(queue) }.context.id;
        let known = self.memory().bytes_at(start.addr().get(), context);
        known.is_some_and(|pages| pages::is_held_elsewhere(pages.addr().get()))
    }

    unsafe fn event_dependencies(&self, event: RawEvent) -> Result<Vec<RawEvent>> {
        // SAFETY: O1: the handle is live.
        let event = unsafe { HostEvent::clone_raw(event) };
        let dependencies = self.executor.dependencies(&event);
        Ok(dependencies.into_iter().map(HostEvent::into_raw).collect())
    }
}
