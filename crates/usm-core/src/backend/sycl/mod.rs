//! The SYCL backend: the runtime's own devices and memory, through the C interface loaded at run time.

mod async_errors;
mod context;
mod device;
mod event;
mod facts;
mod fill;
mod foreign;
mod foreign_types;
mod kernel;
pub(crate) mod one_waits;
mod peer;
mod platform;
mod process;
mod submit;

use std::env;
use std::ffi::c_void;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::{Mutex, OnceLock};

use sycl_sys::{
    Api, DPCTLQueuePropertyType, DPCTLSyclContextRef, DPCTLSyclDeviceRef, DPCTLSyclEventRef,
    DPCTLSyclPlatformRef, DPCTLSyclQueueRef, DPCTLSyclUSMType, error_handler_callback,
};

use self::foreign_types::ForeignTypes;
use self::process::Process;
use super::{
    Backend, BackendId, Composites, DeviceInfo, EventStatus, ForeignKind, Partition, PeerAccess,
    PlatformInfo, PointerInfo, ProfilingTimes, QueueProperties, RawContext, RawDevice, RawEvent, RawHandle,
    RawPlatform, RawQueue,
};
use crate::{Error, Result, UsmKind};

/// `1` keeps host code away from device memory.
const STRICT_DEVICE: &str = "USM_STRICT_DEVICE";

const HANDLER: Option<error_handler_callback> = Some(async_errors::handler);

/// The SYCL runtime behind a loaded C interface.
#[derive(Debug)]
pub struct SyclBackend {
    /// Invariant S1: a table whose functions do what their C declarations say; never unloaded.
    api: Api,
    /// Virtual tables that identify a context and a queue, learned from objects of our own.
    types: OnceLock<ForeignTypes>,
    /// Each device with a peer whose memory it may reach, since we enabled it.
    ///
    /// Invariant S2: live handles of our own, deleted when they leave the list.
    peers: Mutex<Vec<[RawDevice; 2]>>,
    /// Whether device USM is left to queues even where host code reaches it.
    strict_device: bool,
    process: Process,
}

impl SyclBackend {
    /// A backend over a loaded table.
    ///
    /// Device USM of a CPU whose runtime allocates in this process is copied and filled by host code, unless the environment
    /// says `USM_STRICT_DEVICE=1`: then by queues and kernels, as that of other devices.
    #[must_use]
    pub fn new(api: Api) -> Self {
        let strict_device = env::var_os(STRICT_DEVICE).is_some_and(|value| value == "1");
        let (types, peers) = (OnceLock::new(), Mutex::default());
        Self { api, types, peers, strict_device, process: Process::this() }
    }

    /// Version of the DPC++ compiler that the library was built with; empty where it does not tell.
    #[must_use]
    pub fn version(&self) -> String {
        facts::version(&self.api)
    }

    /// The library that the functions come from.
    #[must_use]
    pub fn library(&self) -> &Path {
        self.api.path()
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
        if !self.is_forked() {
            self.forget_peers();
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
        self.check_not_forked()
    }

    fn root_devices(&self) -> Result<Vec<RawDevice>> {
        self.check_process()?;
        self.list_root_devices()
    }

    unsafe fn device_info(&self, raw: RawDevice) -> DeviceInfo {
        // SAFETY: the handle is live.
        unsafe { facts::device(&self.api, device(raw)) }
    }

    fn platforms(&self) -> Result<Vec<RawPlatform>> {
        self.check_process()?;
        self.list_platforms()
    }

    unsafe fn platform_info(&self, raw: RawPlatform) -> PlatformInfo {
        // SAFETY: the handle is live.
        unsafe { facts::platform(&self.api, platform(raw)) }
    }

    unsafe fn platform_devices(&self, raw: RawPlatform) -> Result<Vec<RawDevice>> {
        self.check_process()?;
        // SAFETY: the handle is live.
        unsafe { self.devices_of_platform(platform(raw)) }
    }

    unsafe fn device_platform(&self, raw: RawDevice) -> Result<RawPlatform> {
        self.check_process()?;
        // SAFETY: the handle is live.
        let platform = unsafe { (self.api.DPCTLDevice_GetPlatform)(device(raw)) };
        some(platform, "Device_GetPlatform").map(RawPlatform::new)
    }

    unsafe fn composites(&self, asked: Composites) -> Result<Vec<RawDevice>> {
        // SAFETY: the handle is live.
        unsafe { self.list_composites(asked) }
    }

    unsafe fn parent_device(&self, raw: RawDevice) -> Result<Option<RawDevice>> {
        self.check_process()?;
        // SAFETY: the handle is live.
        unsafe { self.parent(device(raw)) }
    }

    unsafe fn sub_devices(&self, raw: RawDevice, how: &Partition) -> Result<Vec<RawDevice>> {
        self.check_process()?;
        // SAFETY: the handle is live.
        unsafe { self.partition(device(raw), how) }
    }

    unsafe fn host_reachable(&self, raw: RawDevice, kind: UsmKind) -> bool {
        // SAFETY: the handle is live.
        kind.is_host_accessible()
            || !self.strict_device && unsafe { facts::is_in_process(&self.api, device(raw)) }
    }

    unsafe fn can_access_peer(&self, raw: RawDevice, peer: RawDevice, access: PeerAccess) -> bool {
        if self.is_forked() {
            return false;
        }
        // SAFETY: the handles are live.
        unsafe { self.supports_peer(device(raw), device(peer), access) }
    }

    unsafe fn set_peer_access(&self, raw: RawDevice, peer: RawDevice, enabled: bool) -> Result<bool> {
        self.check_process()?;
        // SAFETY: the handles are live, and access is supported.
        unsafe { self.switch_peer(raw, peer, enabled) }
    }

    unsafe fn default_context(&self, raw: RawDevice) -> Result<RawContext> {
        self.check_process()?;
        // SAFETY: the handle is live.
        unsafe { self.cached_context(device(raw)) }
    }

    unsafe fn create_context(&self, devices: &[RawDevice]) -> Result<RawContext> {
        self.check_process()?;
        // SAFETY: the handles are live.
        unsafe { self.new_context(devices) }
    }

    unsafe fn context_id(&self, raw: RawContext) -> u64 {
        // SAFETY: the handle is live. It is the address of the runtime's object.
        let hash = unsafe { (self.api.DPCTLContext_Hash)(context(raw)) };
        u64::try_from(hash).unwrap_or(u64::MAX)
    }

    unsafe fn context_devices(&self, raw: RawContext) -> Result<Vec<RawDevice>> {
        self.check_process()?;
        // SAFETY: the handle is live.
        unsafe { self.devices_of_context(context(raw)) }
    }

    unsafe fn create_queue(
        &self,
        in_context: RawContext,
        on_device: RawDevice,
        properties: QueueProperties,
    ) -> Result<RawQueue> {
        self.check_process()?;
        let mut bits = 0;
        if properties.in_order {
            bits |= DPCTLQueuePropertyType::IN_ORDER.0;
        }
        if properties.profiling {
            bits |= DPCTLQueuePropertyType::ENABLE_PROFILING.0;
        }
        // SAFETY: the handles are live; the handler is a function that does not unwind.
        let queue =
            unsafe { (self.api.DPCTLQueue_Create)(context(in_context), device(on_device), HANDLER, bits) };
        some(queue, "Queue_Create").map(RawQueue::new)
    }

    unsafe fn queue_parts(&self, raw: RawQueue) -> Result<(RawContext, RawDevice, QueueProperties)> {
        self.check_process()?;
        // SAFETY: the handle is live, for which the call does not throw.
        let context = unsafe { (self.api.DPCTLQueue_GetContext)(queue(raw)) };
        let context = some(context, "Queue_GetContext").map(RawContext::new)?;
        // SAFETY: the handle is live.
        let device = unsafe { (self.api.DPCTLQueue_GetDevice)(queue(raw)) };
        let device = some(device, "Queue_GetDevice").map(RawDevice::new).inspect_err(|_| {
            // SAFETY: ours, and used no more.
            unsafe { self.release(RawHandle::Context(context)) };
        })?;
        // SAFETY: the handle is live.
        let in_order = unsafe { (self.api.DPCTLQueue_IsInOrder)(queue(raw)) };
        // SAFETY: the handle is live.
        let profiling = unsafe { (self.api.DPCTLQueue_HasEnableProfiling)(queue(raw)) };
        Ok((context, device, QueueProperties { in_order, profiling }))
    }

    unsafe fn same(&self, a: RawHandle, b: RawHandle) -> bool {
        match (a, b) {
            (RawHandle::Platform(a), RawHandle::Platform(b)) => {
                // SAFETY: both handles are live, for which the call does not throw.
                unsafe { (self.api.DPCTLPlatform_AreEq)(platform(a), platform(b)) }
            }
            (RawHandle::Device(a), RawHandle::Device(b)) => {
                // SAFETY: both handles are live, for which the call does not throw.
                unsafe { (self.api.DPCTLDevice_AreEq)(device(a), device(b)) }
            }
            (RawHandle::Context(a), RawHandle::Context(b)) => {
                // SAFETY: as above.
                unsafe { (self.api.DPCTLContext_AreEq)(context(a), context(b)) }
            }
            (RawHandle::Queue(a), RawHandle::Queue(b)) => {
                // SAFETY: as above.
                unsafe { (self.api.DPCTLQueue_AreEq)(queue(a), queue(b)) }
            }
            (a, b) => a == b,
        }
    }

    unsafe fn release(&self, handle: RawHandle) {
        if self.is_forked() {
            return;
        }
        match handle {
            // SAFETY: the caller's own heap copy, for which the call does not throw.
            RawHandle::Platform(raw) => unsafe { (self.api.DPCTLPlatform_Delete)(platform(raw)) },
            // SAFETY: as above.
            RawHandle::Device(raw) => unsafe { (self.api.DPCTLDevice_Delete)(device(raw)) },
            // SAFETY: as above.
            RawHandle::Context(raw) => unsafe { (self.api.DPCTLContext_Delete)(context(raw)) },
            // SAFETY: as above.
            RawHandle::Queue(raw) => unsafe { (self.api.DPCTLQueue_Delete)(queue(raw)) },
            // SAFETY: as above.
            RawHandle::Event(raw) => unsafe { (self.api.DPCTLEvent_Delete)(event(raw)) },
            // SAFETY: as above.
            RawHandle::Bundle(raw) => unsafe { kernel::release_bundle(&self.api, raw) },
            // SAFETY: as above.
            RawHandle::Kernel(raw) => unsafe { kernel::release(&self.api, raw) },
        }
    }

    unsafe fn allocate(
        &self,
        raw: RawQueue,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: usize,
    ) -> Option<NonNull<u8>> {
        if self.is_forked() {
            return None;
        }
        let (api, queue) = (&self.api, queue(raw));
        let block = match (kind, align_bytes) {
            // SAFETY: the queue is live; that the device has the aspect was checked, so the call does not throw.
            (UsmKind::Host, 0) => unsafe { (api.DPCTLmalloc_host)(len_bytes, queue) },
            // SAFETY: the queue is live.
            (UsmKind::Device, 0) => unsafe { (api.DPCTLmalloc_device)(len_bytes, queue) },
            // SAFETY: the queue is live.
            (UsmKind::Shared, 0) => unsafe { (api.DPCTLmalloc_shared)(len_bytes, queue) },
            // SAFETY: as for `malloc_host`.
            (UsmKind::Host, align) => unsafe { (api.DPCTLaligned_alloc_host)(align, len_bytes, queue) },
            // SAFETY: the queue is live.
            (UsmKind::Device, align) => unsafe { (api.DPCTLaligned_alloc_device)(align, len_bytes, queue) },
            // SAFETY: the queue is live.
            (UsmKind::Shared, align) => unsafe { (api.DPCTLaligned_alloc_shared)(align, len_bytes, queue) },
        };
        NonNull::new(block.cast())
    }

    unsafe fn free(&self, raw: RawContext, block: NonNull<u8>) {
        if self.is_forked() {
            return;
        }
        // SAFETY: a live block of this context (the caller's promise), for which the call does not throw.
        unsafe { (self.api.DPCTLfree_with_context)(block.as_ptr().cast(), context(raw)) };
    }

    unsafe fn pointer_info(&self, raw: RawContext, address: usize) -> Option<PointerInfo> {
        if address == 0 || self.is_forked() {
            return None;
        }
        let pointer = ptr::without_provenance_mut(address);
        // SAFETY: the context is live; the runtime looks the address up and does not follow it.
        let kind = match unsafe { (self.api.DPCTLUSM_GetPointerType)(pointer, context(raw)) } {
            DPCTLSyclUSMType::HOST => UsmKind::Host,
            DPCTLSyclUSMType::DEVICE => UsmKind::Device,
            DPCTLSyclUSMType::SHARED => UsmKind::Shared,
            _ => return None,
        };
        Some(PointerInfo { kind, block: None })
    }

    unsafe fn pointer_device(&self, raw: RawContext, address: usize) -> Result<RawDevice> {
        self.check_process()?;
        let pointer = ptr::without_provenance_mut(address);
        // SAFETY: the context is live and knows the address, for which the call does not throw.
        let device = unsafe { (self.api.DPCTLUSM_GetPointerDevice)(pointer, context(raw)) };
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
        self.check_process()?;
        // SAFETY: the caller's promises are the same.
        unsafe { submit::memcpy(&self.api, queue(raw), dst, src, len_bytes, dependencies) }
    }

    unsafe fn fill(
        &self,
        raw: RawQueue,
        dst: *mut u8,
        pattern: &[u8],
        count: usize,
        dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        self.check_process()?;
        // SAFETY: the caller's promises are the same.
        unsafe { fill::fill(&self.api, queue(raw), dst, pattern, count, dependencies) }
    }

    unsafe fn prefetch(
        &self,
        raw: RawQueue,
        address: usize,
        len_bytes: usize,
        dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        self.check_process()?;
        // SAFETY: the caller's promises are the same.
        unsafe { submit::prefetch(&self.api, queue(raw), address, len_bytes, dependencies) }
    }

    unsafe fn mem_advise(
        &self,
        raw: RawQueue,
        address: usize,
        len_bytes: usize,
        advice: i32,
        dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        self.check_process()?;
        // SAFETY: the caller's promises are the same.
        unsafe { submit::mem_advise(&self.api, queue(raw), address, len_bytes, advice, dependencies) }
    }

    unsafe fn barrier(&self, raw: RawQueue, events: &[RawEvent]) -> Result<RawEvent> {
        self.check_process()?;
        // SAFETY: the caller's promises are the same.
        unsafe { submit::barrier(&self.api, queue(raw), events) }
    }

    unsafe fn wait(&self, raw: RawEvent) -> Result<()> {
        self.check_process()?;
        // SAFETY: the event is live.
        unsafe { event::wait(&self.api, event(raw)) }
    }

    unsafe fn event_status(&self, raw: RawEvent) -> EventStatus {
        if self.is_forked() {
            return EventStatus::Complete; // as far as it ever is here
        }
        // SAFETY: the event is live.
        unsafe { event::status(&self.api, event(raw)) }
    }

    unsafe fn event_times(&self, raw: RawEvent) -> Result<ProfilingTimes> {
        self.check_process()?;
        // SAFETY: the event is live.
        unsafe { event::times(&self.api, event(raw)) }
    }

    unsafe fn event_dependencies(&self, raw: RawEvent) -> Result<Vec<RawEvent>> {
        self.check_process()?;
        // SAFETY: the event is live.
        unsafe { event::dependencies(&self.api, event(raw)) }
    }

    unsafe fn import_foreign(&self, kind: ForeignKind, pointer: *mut c_void) -> Result<RawHandle> {
        self.check_process()?;
        self.check_foreign(kind, pointer)?;
        match kind {
            ForeignKind::Context => {
                // SAFETY: a live context (the caller's promise, checked as far as can be); copied, not consumed.
                let copy = unsafe { (self.api.DPCTLContext_Copy)(pointer.cast()) };
                some(copy, "Context_Copy").map(|copy| RawHandle::Context(RawContext::new(copy)))
            }
            ForeignKind::Queue => {
                // SAFETY: a live queue (the caller's promise, checked as far as can be); copied, not consumed.
                let copy = unsafe { (self.api.DPCTLQueue_Copy)(pointer.cast()) };
                some(copy, "Queue_Copy").map(|copy| RawHandle::Queue(RawQueue::new(copy)))
            }
        }
    }

    unsafe fn export_foreign(&self, handle: RawHandle) -> Result<NonNull<c_void>> {
        self.check_process()?;
        match handle {
            RawHandle::Context(raw) => {
                // SAFETY: the handle is live.
                let copy = unsafe { (self.api.DPCTLContext_Copy)(context(raw)) };
                some(copy, "Context_Copy")
            }
            RawHandle::Queue(raw) => {
                // SAFETY: the handle is live.
                let copy = unsafe { (self.api.DPCTLQueue_Copy)(queue(raw)) };
                some(copy, "Queue_Copy")
            }
            _ => Err(Self::failed("export_foreign")),
        }
    }

    unsafe fn delete_foreign(&self, kind: ForeignKind, pointer: NonNull<c_void>) {
        if self.is_forked() {
            return;
        }
        match kind {
            // SAFETY: from `export_foreign`, deleted once (the caller's promise).
            ForeignKind::Context => unsafe { (self.api.DPCTLContext_Delete)(pointer.as_ptr().cast()) },
            // SAFETY: as above.
            ForeignKind::Queue => unsafe { (self.api.DPCTLQueue_Delete)(pointer.as_ptr().cast()) },
        }
    }

    kernel::methods!();
}
