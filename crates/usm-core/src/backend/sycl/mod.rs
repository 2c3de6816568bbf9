//! The SYCL backend: the runtime's own devices and memory, through the C interface loaded at run time.
//!
//! | file | job |
//! |---|---|
//! | `platform.rs`, `device.rs`, `context.rs`, `event.rs` | the objects of the runtime |
//! | `facts.rs`, `vector.rs` | facts about devices and platforms; lists of the C interface |
//! | `submit.rs`, `fill.rs`, `kernel.rs` | operations on a queue |
//! | `external.rs`, `external_types.rs` | checks of pointers from capsules |
//! | `async_errors.rs` | asynchronous errors: the wait in which one arrives returns it |
//! | `idle_queues.rs` | queues without work, which are used again, or deleted late |
//! | `one_waits.rs`, `one_frees.rs` | calls that drivers do not stand in several threads |
//! | `peer.rs` | access of devices to the memory of each other |
//! | `processes.rs` | memory of several processes: pages of CPUs, device memory of others |

pub(crate) mod async_errors;
mod context;
mod device;
mod event;
mod external;
mod external_types;
mod facts;
mod fill;
mod idle_queues;
mod kernel;
mod one_frees;
pub(crate) mod one_waits;
mod peer;
mod platform;
mod processes;
mod submit;
mod vector;

use std::env;
use std::ffi::c_void;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::{Mutex, OnceLock};

use sycl_sys::{
    Api, DPCTLQueuePropertyType, DPCTLSyclContextRef, DPCTLSyclDeviceRef, DPCTLSyclEventRef,
    DPCTLSyclPlatformRef, DPCTLSyclQueueRef, DPCTLSyclUSMType, error_handler_callback,
};

use self::external_types::ExternalTypes;
use self::idle_queues::{IdleQueues, Likeness};
use self::one_frees::OneFrees;
use self::processes::ContextLeases;
use super::entry::{Entry, Loaded};
use super::{
    Backend, BackendId, Composites, DeviceInfo, DeviceType, EventStatus, ExternalObject, Partition,
    PeerAccess, PlatformInfo, PointerInfo, ProfilingTimes, QueueProperties, RawContext, RawDevice, RawEvent,
    RawHandle, RawPlatform, RawQueue, SharedMemory, SharedRange, pages,
};
use crate::{Error, Result, UsmKind};

/// `1` keeps host code away from device memory.
const STRICT_DEVICE: &str = "USM_STRICT_DEVICE";

const HANDLER: Option<error_handler_callback> = Some(async_errors::handler);

/// The SYCL runtime behind a loaded C interface.
#[derive(Debug)]
pub struct SyclBackend {
    /// Invariant S1: a table whose functions do what their C declarations say; never unloaded. A handle, an array or a text that one
    /// of them makes is live, and ours alone until we delete it once.
    runtime: Entry<Api>,
    /// Virtual tables that identify a context and a queue, learned from objects of our own.
    types: OnceLock<ExternalTypes>,
    /// Pairs of a device and a peer whose memory we let it reach.
    ///
    /// Invariant S2: live handles of our own, deleted when they leave the list.
    peers: Mutex<Vec<[RawDevice; 2]>>,
    leases: Mutex<ContextLeases>,
    frees: OneFrees,
    idle_queues: IdleQueues,
    /// Leaves device USM to queues, even where host code reaches it.
    strict_device: bool,
}

impl SyclBackend {
    /// A backend over a loaded table.
    ///
    /// Host code copies and fills device USM of a CPU whose runtime allocates in this process. With `USM_STRICT_DEVICE=1` in the
    /// environment queues and kernels do, as on other devices.
    #[must_use]
    pub fn new(api: Api) -> Self {
        let strict_device = env::var_os(STRICT_DEVICE).is_some_and(|value| value == "1");
        Self {
            runtime: Entry::new(api, Loaded::Table),
            types: OnceLock::new(),
            peers: Mutex::default(),
            leases: Mutex::default(),
            frees: OneFrees::new(),
            idle_queues: IdleQueues::new(),
            strict_device,
        }
    }

    /// Version of the DPC++ compiler that the library was built with; empty if the library does not report it.
    #[must_use]
    pub fn version(&self) -> String {
        facts::version(&self.runtime.look())
    }

    /// The version of dpctl whose C interface the library has, as `dpctl 0.23`.
    #[must_use]
    pub fn interface(&self) -> String {
        self.runtime.functions().form().to_string()
    }

    /// The library that the functions come from.
    #[must_use]
    pub fn library(&self) -> &Path {
        self.runtime.functions().path()
    }

    /// Deletes handles that this backend owns.
    fn delete_queues(&self, queues: Vec<RawQueue>) {
        let Ok(api) = self.runtime.enter() else { return };
        for raw in queues {
            // SAFETY: our own heap copy (I1), used no more, for which the call does not throw.
            unsafe { (api.DPCTLQueue_Delete)(queue(raw)) };
        }
    }

    fn failed(call: &'static str) -> Error {
        Error::Backend { backend: BackendId::Sycl, call }
    }
}

fn platform(raw: RawPlatform) -> DPCTLSyclPlatformRef {
    raw.as_ptr().cast()
}

fn device(raw: RawDevice) -> DPCTLSyclDeviceRef {
    raw.as_ptr().cast()
}

fn context(raw: RawContext) -> DPCTLSyclContextRef {
    raw.as_ptr().cast()
}

fn queue(raw: RawQueue) -> DPCTLSyclQueueRef {
    raw.as_ptr().cast()
}

fn event(raw: RawEvent) -> DPCTLSyclEventRef {
    raw.as_ptr().cast()
}

/// Null means that the call failed; the reason is lost in the C interface.
fn some<T>(pointer: *mut T, call: &'static str) -> Result<NonNull<c_void>> {
    NonNull::new(pointer.cast()).ok_or_else(|| SyclBackend::failed(call))
}

impl Drop for SyclBackend {
    fn drop(&mut self) {
        // In a forked child the handles are the parent's, and their lock may be one of its threads'.
        if !matches!(self.runtime.check(), Err(Error::ForkedRuntime)) {
            self.forget_peers();
            self.delete_queues(self.idle_queues.take_all());
        }
    }
}

// SAFETY: handles are heap copies of SYCL objects, which are thread-safe reference-counted values (promise 1); memory comes
// from the SYCL allocator and queries answer for any address (promises 2 and 3); waiting is done on the event itself (promise
// 4); nothing here panics, and functions that may throw get arguments for which they do not (promise 5).
unsafe impl Backend for SyclBackend {
    fn id(&self) -> BackendId {
        BackendId::Sycl
    }

    fn check_process(&self) -> Result<()> {
        self.runtime.check()
    }

    fn root_devices(&self) -> Result<Vec<RawDevice>> {
        let api = self.runtime.enter()?;
        let devices = Self::list_root_devices(&api);
        self.runtime.wait_at_exit(Loaded::Devices);
        devices
    }

    unsafe fn device_info(&self, raw: RawDevice) -> DeviceInfo {
        // SAFETY: the handle is live (promise 1).
        let info = unsafe { facts::device(&self.runtime.look(), device(raw)) };
        match info.vendor.as_str() {
            _ if info.backend_name != facts::OPENCL => {}
            facts::INTEL if matches!(info.device_type, DeviceType::Cpu | DeviceType::Accelerator) => {
                self.idle_queues.need();
            }
            facts::INTEL => {}
            _ => self.frees.need(),
        }
        info
    }

    fn platforms(&self) -> Result<Vec<RawPlatform>> {
        let api = self.runtime.enter()?;
        let platforms = Self::list_platforms(&api);
        self.runtime.wait_at_exit(Loaded::Devices);
        platforms
    }

    unsafe fn platform_info(&self, raw: RawPlatform) -> PlatformInfo {
        // SAFETY: the handle is live (promise 1).
        unsafe { facts::platform(&self.runtime.look(), platform(raw)) }
    }

    unsafe fn platform_devices(&self, raw: RawPlatform) -> Result<Vec<RawDevice>> {
        let api = self.runtime.enter()?;
        // SAFETY: the handle is live (promise 1).
        unsafe { Self::devices_of_platform(&api, platform(raw)) }
    }

    unsafe fn device_platform(&self, raw: RawDevice) -> Result<RawPlatform> {
        let api = self.runtime.enter()?;
        // SAFETY: the handle is live (promise 1).
        let platform = unsafe { (api.DPCTLDevice_GetPlatform)(device(raw)) };
        some(platform, "Device_GetPlatform").map(RawPlatform::new)
    }

    unsafe fn composites(&self, asked: Composites) -> Result<Vec<RawDevice>> {
        let api = self.runtime.enter()?;
        // SAFETY: the handle is live (promise 1).
        unsafe { Self::list_composites(&api, asked) }
    }

    unsafe fn parent_device(&self, raw: RawDevice) -> Result<Option<RawDevice>> {
        let api = self.runtime.enter()?;
        // SAFETY: the handle is live (promise 1).
        unsafe { Self::parent(&api, device(raw)) }
    }

    unsafe fn sub_devices(&self, raw: RawDevice, how: &Partition) -> Result<Vec<RawDevice>> {
        let api = self.runtime.enter()?;
        // SAFETY: the handle is live (promise 1).
        unsafe { Self::partition(&api, device(raw), how) }
    }

    unsafe fn host_reachable(&self, raw: RawDevice, kind: UsmKind) -> bool {
        // SAFETY: the handle is live (promise 1).
        kind.is_host_accessible() || !self.strict_device && unsafe { self.is_in_process(raw, kind) }
    }

    unsafe fn is_in_process(&self, raw: RawDevice, kind: UsmKind) -> bool {
        // A forked child has no copy of what the drivers of other devices map.
        let is_mapped = kind.is_host_accessible() && !self.runtime.is_forked();
        // SAFETY: the handle is live (promise 1).
        is_mapped || unsafe { facts::is_in_process(&self.runtime.look(), device(raw)) }
    }

    unsafe fn can_access_peer(&self, raw: RawDevice, peer: RawDevice, access: PeerAccess) -> bool {
        let Ok(api) = self.runtime.enter() else { return false };
        // SAFETY: the handles are live (promise 1).
        unsafe { Self::supports_peer(&api, device(raw), device(peer), access) }
    }

    unsafe fn set_peer_access(&self, raw: RawDevice, peer: RawDevice, enabled: bool) -> Result<bool> {
        let api = self.runtime.enter()?;
        // SAFETY: the handles are live (promise 1), and access is supported.
        unsafe { self.switch_peer(&api, raw, peer, enabled) }
    }

    unsafe fn default_context(&self, raw: RawDevice) -> Result<RawContext> {
        let api = self.runtime.enter()?;
        // SAFETY: the handle is live (promise 1).
        unsafe { Self::cached_context(&api, device(raw)) }
    }

    unsafe fn create_context(&self, devices: &[RawDevice]) -> Result<RawContext> {
        let api = self.runtime.enter()?;
        // SAFETY: the handles are live (promise 1).
        unsafe { Self::new_context(&api, devices) }
    }

    unsafe fn context_id(&self, raw: RawContext) -> u64 {
        let api = self.runtime.look();
        // SAFETY: the handle is live (promise 1). It is the address of the runtime's object.
        let hash = unsafe { (api.DPCTLContext_Hash)(context(raw)) };
        u64::try_from(hash).unwrap_or(u64::MAX)
    }

    unsafe fn context_devices(&self, raw: RawContext) -> Result<Vec<RawDevice>> {
        let api = self.runtime.enter()?;
        // SAFETY: the handle is live (promise 1).
        unsafe { Self::devices_of_context(&api, context(raw)) }
    }

    unsafe fn create_queue(
        &self,
        in_context: RawContext,
        on_device: RawDevice,
        properties: QueueProperties,
    ) -> Result<RawQueue> {
        let api = self.runtime.enter()?;
        let mut bits = 0;
        if properties.in_order {
            bits |= DPCTLQueuePropertyType::IN_ORDER.0;
        }
        if properties.profiling {
            bits |= DPCTLQueuePropertyType::ENABLE_PROFILING.0;
        }
        let likeness = Likeness {
            // SAFETY: the handle is live (promise 1), for which the call does not throw.
            context: unsafe { (api.DPCTLContext_Hash)(context(in_context)) },
            // SAFETY: the handle is live (promise 1), for which the call does not throw.
            device: unsafe { (api.DPCTLDevice_Hash)(device(on_device)) },
            properties: bits,
        };
        if let Some(idle) = self.idle_queues.take(likeness) {
            return Ok(idle);
        }
        // SAFETY: the handles are live (promise 1); the handler is a function that does not unwind.
        let queue = unsafe { (api.DPCTLQueue_Create)(context(in_context), device(on_device), HANDLER, bits) };
        self.runtime.wait_at_exit(Loaded::Queue);
        let queue = some(queue, "Queue_Create").map(RawQueue::new)?;
        self.idle_queues.add(queue, likeness);
        Ok(queue)
    }

    unsafe fn queue_parts(&self, raw: RawQueue) -> Result<(RawContext, RawDevice, QueueProperties)> {
        let api = self.runtime.enter()?;
        // SAFETY: the handle is live (promise 1), for which the call does not throw.
        let context = unsafe { (api.DPCTLQueue_GetContext)(queue(raw)) };
        let context = some(context, "Queue_GetContext").map(RawContext::new)?;
        // SAFETY: the handle is live (promise 1).
        let device = unsafe { (api.DPCTLQueue_GetDevice)(queue(raw)) };
        let device = some(device, "Queue_GetDevice").map(RawDevice::new).inspect_err(|_| {
            // SAFETY: our own handle (S1), without a later use.
            unsafe { self.release(RawHandle::Context(context)) };
        })?;
        // SAFETY: the handle is live (promise 1).
        let in_order = unsafe { (api.DPCTLQueue_IsInOrder)(queue(raw)) };
        // SAFETY: the handle is live (promise 1).
        let profiling = unsafe { (api.DPCTLQueue_HasEnableProfiling)(queue(raw)) };
        Ok((context, device, QueueProperties { in_order, profiling }))
    }

    unsafe fn same(&self, a: RawHandle, b: RawHandle) -> bool {
        let api = self.runtime.look();
        match (a, b) {
            (RawHandle::Platform(a), RawHandle::Platform(b)) => {
                // SAFETY: both handles are live (promise 1), for which the call does not throw.
                unsafe { (api.DPCTLPlatform_AreEq)(platform(a), platform(b)) }
            }
            (RawHandle::Device(a), RawHandle::Device(b)) => {
                // SAFETY: both handles are live (promise 1), for which the call does not throw.
                unsafe { (api.DPCTLDevice_AreEq)(device(a), device(b)) }
            }
            (RawHandle::Context(a), RawHandle::Context(b)) => {
                // SAFETY: both handles are live (promise 1), for which the call does not throw.
                unsafe { (api.DPCTLContext_AreEq)(context(a), context(b)) }
            }
            (RawHandle::Queue(a), RawHandle::Queue(b)) => {
                // SAFETY: both handles are live (promise 1), for which the call does not throw.
                unsafe { (api.DPCTLQueue_AreEq)(queue(a), queue(b)) }
            }
            (a, b) => a == b,
        }
    }

    unsafe fn hash(&self, handle: RawHandle) -> u64 {
        let api = self.runtime.look();
        let hash = match handle {
            // SAFETY: the handle is live (promise 1), for which the call does not throw.
            RawHandle::Platform(raw) => unsafe { (api.DPCTLPlatform_Hash)(platform(raw)) },
            // SAFETY: the handle is live (promise 1), for which the call does not throw.
            RawHandle::Device(raw) => unsafe { (api.DPCTLDevice_Hash)(device(raw)) },
            // SAFETY: the handle is live (promise 1), for which the call does not throw.
            RawHandle::Context(raw) => unsafe { (api.DPCTLContext_Hash)(context(raw)) },
            // SAFETY: the handle is live (promise 1), for which the call does not throw.
            RawHandle::Queue(raw) => unsafe { (api.DPCTLQueue_Hash)(queue(raw)) },
            other => return other.address(),
        };
        u64::try_from(hash).unwrap_or(u64::MAX)
    }

    unsafe fn release(&self, handle: RawHandle) {
        let Ok(api) = self.runtime.enter() else { return };
        match handle {
            // SAFETY: the caller's own heap copy (promise 1), for which the call does not throw.
            RawHandle::Platform(raw) => unsafe { (api.DPCTLPlatform_Delete)(platform(raw)) },
            // SAFETY: the caller's own heap copy (promise 1), for which the call does not throw.
            RawHandle::Device(raw) => unsafe { (api.DPCTLDevice_Delete)(device(raw)) },
            // SAFETY: the caller's own heap copy (promise 1), for which the call does not throw.
            RawHandle::Context(raw) => unsafe { (api.DPCTLContext_Delete)(context(raw)) },
            RawHandle::Queue(raw) => self.delete_queues(self.idle_queues.release(raw)),
            // SAFETY: the caller's own heap copy (promise 1), for which the call does not throw.
            RawHandle::Event(raw) => unsafe { (api.DPCTLEvent_Delete)(event(raw)) },
            // SAFETY: the caller's own heap copy (promise 1), for which the call does not throw.
            RawHandle::Bundle(raw) => unsafe { kernel::release_bundle(&api, raw) },
            // SAFETY: the caller's own heap copy (promise 1), for which the call does not throw.
            RawHandle::Kernel(raw) => unsafe { kernel::release(&api, raw) },
        }
    }

    unsafe fn allocate(
        &self,
        raw: RawQueue,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: usize,
    ) -> Option<NonNull<u8>> {
        let (api, queue) = (self.runtime.enter().ok()?, queue(raw));
        // SAFETY: the queue is live (promise 1).
        let has_pages = len_bytes >= pages::FEWEST_BYTES && unsafe { Self::has_pages(&api, raw) };
        // Other processes may get the pages, and nothing else in them.
        let (len_bytes, align_bytes) =
            if has_pages { pages::in_pages(len_bytes, align_bytes) } else { (len_bytes, align_bytes) };
        let block = match (kind, align_bytes) {
            // SAFETY: the queue is live (promise 1); that the device has the aspect was checked, so the call does not throw.
            (UsmKind::Host, 0) => unsafe { (api.DPCTLmalloc_host)(len_bytes, queue) },
            // SAFETY: the queue is live (promise 1).
            (UsmKind::Device, 0) => unsafe { (api.DPCTLmalloc_device)(len_bytes, queue) },
            // SAFETY: the queue is live (promise 1).
            (UsmKind::Shared, 0) => unsafe { (api.DPCTLmalloc_shared)(len_bytes, queue) },
            // SAFETY: the queue is live (promise 1); that the device has the aspect was checked, so the call does not throw.
            (UsmKind::Host, align) => unsafe { (api.DPCTLaligned_alloc_host)(align, len_bytes, queue) },
            // SAFETY: the queue is live (promise 1).
            (UsmKind::Device, align) => unsafe { (api.DPCTLaligned_alloc_device)(align, len_bytes, queue) },
            // SAFETY: the queue is live (promise 1).
            (UsmKind::Shared, align) => unsafe { (api.DPCTLaligned_alloc_shared)(align, len_bytes, queue) },
        };
        NonNull::new(block.cast())
    }

    unsafe fn free(&self, raw: RawContext, block: NonNull<u8>) {
        let Ok(api) = self.runtime.enter() else { return };
        // SAFETY: the context is live, and nobody uses the block any more (promises 1 and 2).
        if unsafe { self.close_on_device(&api, raw, block) } {
            return;
        }
        // SAFETY: a live block, which nobody uses any more (promises 1 and 2).
        if !unsafe { pages::unshare(block.as_ptr()) } {
            // The runtime would give pages out again that stay shared.
            return;
        }
        let _alone = self.frees.free();
        // SAFETY: a live block of this context (promises 1 and 2), for which the call does not throw.
        unsafe { (api.DPCTLfree_with_context)(block.as_ptr().cast(), context(raw)) };
    }

    unsafe fn shares_in_place(&self, raw: RawQueue, kind: UsmKind) -> bool {
        // SAFETY: the queue is live (promise 1).
        kind == UsmKind::Device
            && self.runtime.enter().is_ok_and(|api| !unsafe { Self::has_pages(&api, raw) })
    }

    unsafe fn share(
        &self,
        raw: RawQueue,
        kind: UsmKind,
        start: NonNull<u8>,
        len_bytes: usize,
        range: SharedRange,
    ) -> Result<SharedMemory> {
        // SAFETY: the queue is live (promise 1).
        if !unsafe { Self::has_pages(&*self.runtime.enter()?, raw) } {
            // SAFETY: the caller's promise 1.
            return unsafe { self.share_on_device(raw, kind, start, len_bytes) };
        }
        let pages_bytes = pages::len_of(range, len_bytes)?;
        // SAFETY: nothing else is in the pages, and nobody writes to them (promises 1 and 2): `allocate` asks for whole ones.
        let file = unsafe { pages::share(start.as_ptr(), pages_bytes, range) }?;
        Ok(SharedMemory::new(kind, start.addr().get(), len_bytes, Vec::new(), vec![file]))
    }

    unsafe fn open_shared(
        &self,
        raw: RawQueue,
        memory: &SharedMemory,
        can_write: bool,
    ) -> Result<NonNull<u8>> {
        if !memory.data.is_empty() {
            // SAFETY: the queue is live (promise 1).
            return unsafe { self.open_on_device(raw, memory) };
        }
        // SAFETY: the queue is live (promise 1).
        if !unsafe { Self::has_pages(&*self.runtime.enter()?, raw) } {
            return Self::not_of_device();
        }
        let (file, len_bytes) = pages::file_of(memory)?;
        let align_bytes = pages::in_pages(len_bytes, 0).1;
        // SAFETY: the queue is live (promise 1), and the length is not 0.
        let block = unsafe { self.allocate(raw, memory.kind, len_bytes, align_bytes) };
        let block =
            block.ok_or(Error::NotShareable { reason: "the runtime has no memory for it".to_owned() })?;
        // SAFETY: promises 1 and 2 of `map`: a new block of whole pages, which nobody uses; `file_of` has checked the file.
        let mapped = unsafe { pages::map(block.as_ptr(), len_bytes, file, can_write) };
        if let Err(error) = mapped {
            // SAFETY: the queue is live (promise 1).
            if let Ok(parts) = unsafe { self.parts(raw) } {
                // SAFETY: promises 1 and 2 of `free`: the block is of this context, and nobody has it.
                unsafe { self.free(parts.context, block) };
            }
            return Err(error);
        }
        Ok(block)
    }

    unsafe fn unshare(&self, raw: RawQueue, start: NonNull<u8>) -> bool {
        // SAFETY: the queue is live (promise 1).
        if !unsafe { self.unshare_on_device(raw, start) } {
            return false;
        }
        // SAFETY: pages that nobody uses (promises 1 and 2).
        unsafe { pages::unshare(start.as_ptr()) }
    }

    unsafe fn make_writable(&self, _: RawQueue, start: NonNull<u8>, memory: &SharedMemory) -> Result<()> {
        // What a device has open can be written to.
        if !memory.data.is_empty() {
            return Ok(());
        }
        let (file, _) = pages::file_of(memory)?;
        // SAFETY: pages of a live block (promise 1).
        unsafe { pages::make_writable(start.as_ptr(), file) }
    }

    unsafe fn is_open_elsewhere(&self, raw: RawQueue, start: NonNull<u8>) -> bool {
        // SAFETY: the queue is live (promise 1).
        pages::is_held_elsewhere(start.addr().get()) || unsafe { self.is_leased(raw, start) }
    }

    unsafe fn pointer_info(&self, raw: RawContext, address: usize) -> Option<PointerInfo> {
        if address == 0 {
            return None;
        }
        let api = self.runtime.enter().ok()?;
        let pointer = ptr::without_provenance_mut(address);
        // SAFETY: the context is live (promise 1); the runtime looks the address up and does not follow it.
        let kind = match unsafe { (api.DPCTLUSM_GetPointerType)(pointer, context(raw)) } {
            DPCTLSyclUSMType::HOST => UsmKind::Host,
            DPCTLSyclUSMType::DEVICE => UsmKind::Device,
            DPCTLSyclUSMType::SHARED => UsmKind::Shared,
            _ => return None,
        };
        Some(PointerInfo { kind, block: None })
    }

    unsafe fn pointer_device(&self, raw: RawContext, address: usize) -> Result<RawDevice> {
        let api = self.runtime.enter()?;
        let pointer = ptr::without_provenance_mut(address);
        // SAFETY: the context is live (promise 1) and knows the address, for which the call does not throw.
        let device = unsafe { (api.DPCTLUSM_GetPointerDevice)(pointer, context(raw)) };
        some(device, "USM_GetPointerDevice").map(RawDevice::new)
    }

    unsafe fn memcpy(
        &self,
        raw: RawQueue,
        dst: *mut u8,
        src: *const u8,
        len_bytes: usize,
        dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        let api = self.runtime.enter()?;
        let _submitting = self.frees.submit();
        // SAFETY: promises 1 and 2 of `memcpy`.
        unsafe { submit::memcpy(&api, queue(raw), dst, src, len_bytes, dependencies) }
    }

    unsafe fn fill(
        &self,
        raw: RawQueue,
        dst: *mut u8,
        pattern: &[u8],
        count: usize,
        dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        let api = self.runtime.enter()?;
        let _submitting = self.frees.submit();
        // SAFETY: promises 1 and 2 of `fill`.
        unsafe { fill::fill(&api, queue(raw), dst, pattern, count, dependencies) }
    }

    unsafe fn prefetch(
        &self,
        raw: RawQueue,
        address: usize,
        len_bytes: usize,
        dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        let api = self.runtime.enter()?;
        let _submitting = self.frees.submit();
        // SAFETY: promises 1 and 2 of `prefetch`.
        unsafe { submit::prefetch(&api, queue(raw), address, len_bytes, dependencies) }
    }

    unsafe fn mem_advise(
        &self,
        raw: RawQueue,
        address: usize,
        len_bytes: usize,
        advice: i32,
        dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        let api = self.runtime.enter()?;
        let _submitting = self.frees.submit();
        // SAFETY: promises 1 and 2 of `mem_advise`.
        unsafe { submit::mem_advise(&api, queue(raw), address, len_bytes, advice, dependencies) }
    }

    unsafe fn barrier(&self, raw: RawQueue, events: &[RawEvent]) -> Result<RawEvent> {
        let api = self.runtime.enter()?;
        let _submitting = self.frees.submit();
        // SAFETY: promise 1 of `barrier`.
        unsafe { submit::barrier(&api, queue(raw), events) }
    }

    unsafe fn wait(&self, raw: RawEvent) -> Result<()> {
        let api = self.runtime.enter_to_wait()?;
        // SAFETY: the event is live (promise 1).
        unsafe { event::wait(&api, event(raw)) }
    }

    unsafe fn event_status(&self, raw: RawEvent) -> EventStatus {
        let api = match self.runtime.enter() {
            Ok(api) => api,
            // In a forked child it is over as far as it ever is.
            Err(Error::ForkedRuntime) => return EventStatus::Failed,
            Err(_) => return EventStatus::Running,
        };
        // SAFETY: the event is live (promise 1).
        unsafe { event::status(&api, event(raw)) }
    }

    unsafe fn event_times(&self, raw: RawEvent) -> Result<ProfilingTimes> {
        let api = self.runtime.enter()?;
        // SAFETY: the event is live (promise 1).
        unsafe { event::times(&api, event(raw)) }
    }

    unsafe fn event_dependencies(&self, raw: RawEvent) -> Result<Vec<RawEvent>> {
        let api = self.runtime.enter()?;
        // SAFETY: the event is live (promise 1).
        unsafe { event::dependencies(&api, event(raw)) }
    }

    unsafe fn import_external(&self, kind: ExternalObject, pointer: *mut c_void) -> Result<RawHandle> {
        let api = self.runtime.enter()?;
        self.check_external(kind, pointer)?;
        match kind {
            ExternalObject::Context => {
                // SAFETY: a live context (promise 1, checked as far as possible); copied, not consumed.
                let copy = unsafe { (api.DPCTLContext_Copy)(pointer.cast()) };
                some(copy, "Context_Copy").map(|copy| RawHandle::Context(RawContext::new(copy)))
            }
            ExternalObject::Queue => {
                // SAFETY: a live queue (promise 1, checked as far as possible); copied, not consumed.
                let copy = unsafe { (api.DPCTLQueue_Copy)(pointer.cast()) };
                some(copy, "Queue_Copy").map(|copy| RawHandle::Queue(RawQueue::new(copy)))
            }
        }
    }

    unsafe fn export_external(&self, handle: RawHandle) -> Result<NonNull<c_void>> {
        let api = self.runtime.enter()?;
        match handle {
            RawHandle::Context(raw) => {
                // SAFETY: the handle is live (promise 1).
                let copy = unsafe { (api.DPCTLContext_Copy)(context(raw)) };
                some(copy, "Context_Copy")
            }
            RawHandle::Queue(raw) => {
                self.idle_queues.publish(raw);
                // SAFETY: the handle is live (promise 1).
                let copy = unsafe { (api.DPCTLQueue_Copy)(queue(raw)) };
                some(copy, "Queue_Copy")
            }
            _ => Err(Self::failed("export_external")),
        }
    }

    unsafe fn delete_external(&self, kind: ExternalObject, pointer: NonNull<c_void>) {
        let Ok(api) = self.runtime.enter() else { return };
        match kind {
            // SAFETY: from `export_external`, deleted once (promise 1).
            ExternalObject::Context => unsafe { (api.DPCTLContext_Delete)(pointer.as_ptr().cast()) },
            // SAFETY: from `export_external`, deleted once (promise 1).
            ExternalObject::Queue => unsafe { (api.DPCTLQueue_Delete)(pointer.as_ptr().cast()) },
        }
    }

    kernel::methods!();
}
