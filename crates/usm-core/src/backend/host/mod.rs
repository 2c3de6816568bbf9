//! The embedded host backend: SYCL-like memory in plain Rust, with device memory that host code cannot touch.
//!
//! Host and shared USM are ordinary memory. Device USM has public addresses in pages without any access right, and its bytes
//! at another address that only queue operations know: a stray load or store of host code faults, as it would with a GPU.

mod arena;
mod classes;
mod mapping;
mod memory;
mod objects;
mod simulated;
mod spans;

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::memory::Memory;
use self::objects::{Handle, HostContext, HostEvent, HostQueue, SimulatedDevice, now_ns};
pub use self::simulated::HostDevice;
use super::{
    Backend, BackendId, DeviceInfo, DeviceType, EventStatus, ForeignKind, PointerInfo, ProfilingTimes,
    QueueProperties, RawContext, RawDevice, RawEvent, RawHandle, RawQueue,
};
use crate::{Device, Error, Result, UsmKind};

/// Name of the backend in filter strings.
const NAME: &str = "host";
/// Most address space for device memory: a quarter of what x86-64 has.
const MAX_ARENA_BYTES: usize = 1 << 45;

/// The embedded host backend: one device `host:cpu:0`, or as many simulated ones as asked for.
///
/// Needs Linux. Values of this type are independent of each other: their devices, contexts and memory are different ones.
#[derive(Debug)]
pub struct HostBackend {
    /// Each device with its default context.
    devices: Vec<(Arc<SimulatedDevice>, Arc<HostContext>)>,
    memory: Mutex<Memory>,
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
            let context = Arc::new(HostContext::new(vec![Arc::clone(&device)]));
            (device, context)
        };
        let devices = described.iter().enumerate().map(device).collect();
        Self { devices, memory: Mutex::new(Memory::new(arena_bytes)) }
    }

    /// The devices of this backend, each of which keeps the backend alive.
    pub(crate) fn into_devices(self) -> Vec<Device> {
        let backend: Arc<Self> = Arc::new(self);
        let wrap = |(device, _): &(Arc<SimulatedDevice>, _)| {
            let raw = SimulatedDevice::into_raw(Arc::clone(device));
            // SAFETY: a fresh handle of this backend.
            unsafe { Device::from_raw(Arc::clone(&backend) as _, raw) }
        };
        backend.devices.iter().map(wrap).collect()
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        // No code unwinds while it holds the lock half done.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reach(&self, operation: &'static str, address: *mut u8, len_bytes: usize) -> Result<*mut u8> {
        let unreachable = || Error::Unreachable { operation, address: address.addr(), len_bytes };
        self.memory().reach(address, len_bytes).ok_or_else(unreachable)
    }
}

impl Default for HostBackend {
    fn default() -> Self {
        Self::new()
    }
}

fn physical_bytes() -> u64 {
    // SAFETY: a query without side effects.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    // SAFETY: a query without side effects.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let known = u64::try_from(pages).ok().zip(u64::try_from(page_bytes).ok());
    known.and_then(|(pages, bytes)| pages.checked_mul(bytes)).filter(|&bytes| bytes > 0).unwrap_or(1 << 32)
}

// SAFETY: handles are counted pointers (promise 1); `Memory` hands out disjoint blocks and answers for live ones only
// (promises 2 and 3); operations have ended before their event exists (promise 4); nothing here panics (promise 5).
unsafe impl Backend for HostBackend {
    fn id(&self) -> BackendId {
        BackendId::Host
    }

    fn root_devices(&self) -> Result<Vec<RawDevice>> {
        let raw = |(device, _): &(Arc<SimulatedDevice>, _)| SimulatedDevice::into_raw(Arc::clone(device));
        Ok(self.devices.iter().map(raw).collect())
    }

    unsafe fn device_info(&self, device: RawDevice) -> DeviceInfo {
        // SAFETY: the handle is live.
        let device = unsafe { SimulatedDevice::clone_raw(device) };
        DeviceInfo {
            name: format!("usm host {}", device.device_type),
            vendor: "usm".to_owned(),
            driver_version: env!("CARGO_PKG_VERSION").to_owned(),
            backend_name: NAME,
            device_type: device.device_type,
            number: device.number,
            max_alloc_bytes: device.max_alloc_bytes,
            global_mem_bytes: device.memory_bytes,
            local_mem_bytes: 0,
            compute_units: std::thread::available_parallelism()
                .ok()
                .and_then(|n| u32::try_from(n.get()).ok())
                .unwrap_or(1),
            max_work_group_size: 1,
            has_fp16: true,
            has_fp64: true,
            has_usm_host: true,
            has_usm_device: true,
            has_usm_shared: true,
        }
    }

    unsafe fn default_context(&self, device: RawDevice) -> Result<RawContext> {
        // SAFETY: the handle is live.
        let device = unsafe { SimulatedDevice::clone_raw(device) };
        let found = self.devices.iter().find(|(other, _)| Arc::ptr_eq(other, &device));
        found
            .map(|(_, context)| HostContext::into_raw(Arc::clone(context)))
            .ok_or(Error::Backend { backend: BackendId::Host, call: "default_context" })
    }

    unsafe fn create_context(&self, devices: &[RawDevice]) -> Result<RawContext> {
        let clone = |&raw| {
            // SAFETY: the handles are live.
            unsafe { SimulatedDevice::clone_raw(raw) }
        };
        let devices = devices.iter().map(clone).collect();
        Ok(HostContext::into_raw(Arc::new(HostContext::new(devices))))
    }

    unsafe fn context_devices(&self, context: RawContext) -> Result<Vec<RawDevice>> {
        // SAFETY: the handle is live.
        let context = unsafe { HostContext::clone_raw(context) };
        Ok(context.devices.iter().map(|device| SimulatedDevice::into_raw(Arc::clone(device))).collect())
    }

    unsafe fn create_queue(
        &self,
        context: RawContext,
        device: RawDevice,
        properties: QueueProperties,
    ) -> Result<RawQueue> {
        // SAFETY: the handle is live.
        let context = unsafe { HostContext::clone_raw(context) };
        // SAFETY: the handle is live.
        let device = unsafe { SimulatedDevice::clone_raw(device) };
        Ok(HostQueue::into_raw(Arc::new(HostQueue { context, device, properties })))
    }

    unsafe fn queue_parts(&self, queue: RawQueue) -> Result<(RawContext, RawDevice, QueueProperties)> {
        // SAFETY: the handle is live.
        let queue = unsafe { HostQueue::clone_raw(queue) };
        let context = HostContext::into_raw(Arc::clone(&queue.context));
        Ok((context, SimulatedDevice::into_raw(Arc::clone(&queue.device)), queue.properties))
    }

    unsafe fn same(&self, a: RawHandle, b: RawHandle) -> bool {
        a == b
    }

    unsafe fn release(&self, handle: RawHandle) {
        match handle {
            // SAFETY: the caller gives its count back.
            RawHandle::Device(raw) => unsafe { SimulatedDevice::release_raw(raw) },
            // SAFETY: as above.
            RawHandle::Context(raw) => unsafe { HostContext::release_raw(raw) },
            // SAFETY: as above.
            RawHandle::Queue(raw) => unsafe { HostQueue::release_raw(raw) },
            // SAFETY: as above.
            RawHandle::Event(raw) => unsafe { HostEvent::release_raw(raw) },
        }
    }

    unsafe fn allocate(
        &self,
        queue: RawQueue,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: usize,
    ) -> Option<NonNull<u8>> {
        // SAFETY: the handle is live.
        let queue = unsafe { HostQueue::clone_raw(queue) };
        self.memory().allocate(kind, len_bytes, align_bytes, queue.context.id, &queue.device)
    }

    unsafe fn free(&self, _context: RawContext, block: NonNull<u8>) {
        self.memory().free(block);
    }

    unsafe fn pointer_info(&self, context: RawContext, address: usize) -> Option<PointerInfo> {
        // SAFETY: the handle is live.
        let context = unsafe { HostContext::clone_raw(context) };
        self.memory().find(address, context.id)
    }

    unsafe fn pointer_device(&self, context: RawContext, address: usize) -> Result<RawDevice> {
        // SAFETY: the handle is live.
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
        _dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        let start_ns = now_ns();
        let dst = self.reach("memcpy destination", dst, len_bytes)?;
        let src = self.reach("memcpy source", src.cast_mut(), len_bytes)?;
        // SAFETY: both ranges are valid by the caller's promise, and `reach` found where their bytes are.
        unsafe { std::ptr::copy(src, dst, len_bytes) };
        // SAFETY: the handle is live.
        Ok(unsafe { HostEvent::ended(queue, start_ns) })
    }

    unsafe fn fill(
        &self,
        queue: RawQueue,
        dst: *mut u8,
        pattern: &[u8],
        count: usize,
        _dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        let start_ns = now_ns();
        let len_bytes = pattern.len().saturating_mul(count);
        let start = self.reach("fill", dst, len_bytes)?;
        let first = pattern.len().min(len_bytes);
        // SAFETY: the range is valid for writing by the caller's promise, and `reach` found where its bytes are.
        unsafe { std::ptr::copy_nonoverlapping(pattern.as_ptr(), start, first) };
        // What is written doubles at each step; the part stays a multiple of the pattern's length.
        let mut done = first;
        while done < len_bytes {
            let step = done.min(len_bytes - done);
            // SAFETY: `done` is below the length of the range.
            let next = unsafe { start.add(done) };
            // SAFETY: the two parts of the range do not overlap, since `step` is at most `done`.
            unsafe { std::ptr::copy_nonoverlapping(start, next, step) };
            done += step;
        }
        // SAFETY: the handle is live.
        Ok(unsafe { HostEvent::ended(queue, start_ns) })
    }

    unsafe fn prefetch(
        &self,
        queue: RawQueue,
        _address: usize,
        _len_bytes: usize,
        _dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        // SAFETY: the handle is live.
        Ok(unsafe { HostEvent::ended(queue, now_ns()) })
    }

    unsafe fn mem_advise(
        &self,
        queue: RawQueue,
        _address: usize,
        _len_bytes: usize,
        _advice: i32,
        _dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        // SAFETY: the handle is live.
        Ok(unsafe { HostEvent::ended(queue, now_ns()) })
    }

    unsafe fn barrier(&self, queue: RawQueue, _events: &[RawEvent]) -> Result<RawEvent> {
        // SAFETY: the handle is live.
        Ok(unsafe { HostEvent::ended(queue, now_ns()) })
    }

    unsafe fn wait(&self, _event: RawEvent) -> Result<()> {
        Ok(())
    }

    unsafe fn event_status(&self, _event: RawEvent) -> EventStatus {
        EventStatus::Complete
    }

    unsafe fn event_times(&self, event: RawEvent) -> Result<ProfilingTimes> {
        // SAFETY: the handle is live.
        unsafe { HostEvent::clone_raw(event) }.times.ok_or(Error::NoProfiling)
    }

    unsafe fn event_dependencies(&self, _event: RawEvent) -> Result<Vec<RawEvent>> {
        Ok(Vec::new())
    }

    unsafe fn import_foreign(&self, kind: ForeignKind, _pointer: *mut c_void) -> Result<RawHandle> {
        Err(Error::NoForeignHandle { backend: BackendId::Host, what: kind.name() })
    }

    unsafe fn export_foreign(&self, handle: RawHandle) -> Result<NonNull<c_void>> {
        let what =
            if matches!(handle, RawHandle::Context(_)) { ForeignKind::Context } else { ForeignKind::Queue };
        Err(Error::NoForeignHandle { backend: BackendId::Host, what: what.name() })
    }

    // Nothing was exported, so there is nothing to delete.
    unsafe fn delete_foreign(&self, _kind: ForeignKind, _pointer: NonNull<c_void>) {}
}
