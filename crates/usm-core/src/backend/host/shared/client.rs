//! A backend whose methods call the functions of another copy's table: objects and memory. Operations are in `client_events.rs`.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::super::device::{HostPlatform, SimulatedDevice};
use super::super::simulated::HostDevice;
use super::super::{
    Backend, BackendId, DeviceInfo, EventStatus, ForeignKind, HostTask, Partition, PeerAccess, PlatformInfo,
    PointerInfo, ProfilingTimes, QueueProperties, RawContext, RawDevice, RawEvent, RawHandle, RawPlatform,
    RawQueue, TaskMemory,
};
use super::table::{
    Facts, Failure, HostTable, List, Object, Pointer, QueueParts, Token, VERSION, kind_number, kind_of,
    properties_number, properties_of, type_of,
};
use crate::{Error, Result, UsmKind};

/// Objects that one call has room for; more take a second one.
const FIRST: usize = 16;

/// The host backend of another copy of this library in the same process.
///
/// Its devices, contexts, queues and memory are those of that copy. Devices cannot be partitioned through it.
#[derive(Debug)]
pub struct SharedHost {
    /// Invariant C1: a table of [`VERSION`] by `HostBackend::table` of some copy, which lives as long as the process, and whose
    /// functions get its own server and objects that its functions gave.
    pub(super) table: &'static HostTable,
}

impl SharedHost {
    /// The backend behind a table.
    ///
    /// # Safety
    /// 1. `table` is null, or a [`HostTable`] that a copy of this library made with
    ///    [`HostBackend::table`](super::super::HostBackend::table), of any version, and it lives as long as the process.
    ///
    /// # Errors
    /// [`Error::SharedVersion`] for a table of another version.
    pub unsafe fn new(table: *const HostTable) -> Result<Self> {
        let wrong = |found| Error::SharedVersion { what: "the host backend", found, expected: VERSION };
        if table.is_null() {
            return Err(wrong(0));
        }
        // SAFETY: the caller's promise; every version starts with its number.
        let version = unsafe { table.cast::<u32>().read() };
        if version != VERSION {
            return Err(wrong(version));
        }
        // SAFETY: the caller's promise, of this very version.
        let table = unsafe { &*table };
        if table.size_bytes as usize != size_of::<HostTable>() {
            return Err(wrong(version));
        }
        #[cfg(feature = "sycl")]
        // SAFETY: null, or the static flag of that copy.
        if let Some(flag) = unsafe { table.waits.as_ref() }
            && !ptr::eq(flag, super::super::super::sycl::one_waits::flag())
        {
            super::super::super::sycl::one_waits::use_flag(flag);
        }
        Ok(Self { table })
    }

    pub(super) fn call<T>(
        &self,
        name: &'static str,
        call: impl FnOnce(&HostTable, *mut Failure) -> T,
    ) -> Result<T> {
        let mut failure = Failure::none();
        let value = call(self.table, &raw mut failure);
        failure.result(name).map(|()| value)
    }

    /// # Safety
    /// 1. `of` is a live object of the type that `what` is about.
    pub(super) unsafe fn list(
        &self,
        name: &'static str,
        what: List,
        of: Token,
        address: usize,
    ) -> Result<Vec<NonNull<c_void>>> {
        let mut found = vec![ptr::null_mut(); FIRST];
        loop {
            let count = self.call(name, |table, failure| {
                // SAFETY: C1 and the caller's promise; room for as many as are said.
                unsafe {
                    (table.list)(table.server, what, of, address, found.as_mut_ptr(), found.len(), failure)
                }
            })?;
            let all = count <= found.len();
            found.truncate(count);
            if all {
                return Ok(found.into_iter().filter_map(NonNull::new).collect());
            }
            let object = match what {
                List::PLATFORMS => Object::PLATFORM,
                List::EVENT_DEPENDENCIES => Object::EVENT,
                _ => Object::DEVICE,
            };
            for token in found {
                // SAFETY: C1; a fresh object that goes nowhere else.
                unsafe { (self.table.release)(self.table.server, object, token) };
            }
            found = vec![ptr::null_mut(); count];
        }
    }

    /// The only object of a list.
    ///
    /// # Safety
    /// 1. As of `list`.
    unsafe fn one(
        &self,
        name: &'static str,
        what: List,
        of: Token,
        address: usize,
    ) -> Result<NonNull<c_void>> {
        // SAFETY: the caller's promise.
        let found = unsafe { self.list(name, what, of, address) }?;
        found.first().copied().ok_or(Error::Backend { backend: BackendId::Host, call: name })
    }

    /// A device of this copy that has the same facts.
    fn described(&self, device: RawDevice) -> DeviceInfo {
        let mut facts = Facts::default();
        // SAFETY: C1; callers pass live devices.
        unsafe { (self.table.facts)(self.table.server, device.as_ptr(), &raw mut facts) };
        let device_type = type_of(facts.device_type);
        let twin = SimulatedDevice::new(&HostDevice::new(device_type), 0, facts.global_mem_bytes);
        DeviceInfo {
            number: usize::try_from(facts.number).ok(),
            compute_units: facts.compute_units,
            max_sub_devices: facts.max_sub_devices,
            global_mem_bytes: facts.global_mem_bytes,
            max_alloc_bytes: facts.max_alloc_bytes,
            ..twin.info()
        }
    }

    /// One more reference to a queue of the other copy.
    ///
    /// # Safety
    /// 1. `queue` is a live queue of the backend behind the table.
    pub(crate) unsafe fn retain(&self, queue: RawQueue) {
        // SAFETY: C1 and the caller's promise.
        unsafe { (self.table.retain_queue)(self.table.server, queue.as_ptr()) };
    }
}

fn not_supported<T>(what: &'static str) -> Result<T> {
    Err(Error::NotSupported { backend: BackendId::Host, what })
}

fn made(name: &'static str, token: Token) -> Result<NonNull<c_void>> {
    NonNull::new(token).ok_or(Error::Backend { backend: BackendId::Host, call: name })
}

// SAFETY: each method hands the call to a host backend, which keeps the five promises, and adds nothing (C1).
unsafe impl Backend for SharedHost {
    fn id(&self) -> BackendId {
        BackendId::Host
    }

    fn root_devices(&self) -> Result<Vec<RawDevice>> {
        // SAFETY: about no object.
        let found = unsafe { self.list("root_devices", List::ROOT_DEVICES, ptr::null_mut(), 0) }?;
        Ok(found.into_iter().map(RawDevice::new).collect())
    }

    unsafe fn device_info(&self, device: RawDevice) -> DeviceInfo {
        self.described(device)
    }

    fn platforms(&self) -> Result<Vec<RawPlatform>> {
        // SAFETY: about no object.
        let found = unsafe { self.list("platforms", List::PLATFORMS, ptr::null_mut(), 0) }?;
        Ok(found.into_iter().map(RawPlatform::new).collect())
    }

    unsafe fn platform_info(&self, platform: RawPlatform) -> PlatformInfo {
        // SAFETY: the platform is live.
        let devices = unsafe { self.platform_devices(platform) }.unwrap_or_default();
        let device_type = devices.first().map_or(crate::DeviceType::Cpu, |&device| {
            // SAFETY: a live device.
            unsafe { self.device_info(device) }.device_type
        });
        for device in devices {
            // SAFETY: a fresh handle that goes nowhere else.
            unsafe { self.release(RawHandle::Device(device)) };
        }
        HostPlatform { device: Arc::new(SimulatedDevice::new(&HostDevice::new(device_type), 0, 0)) }.info()
    }

    unsafe fn platform_devices(&self, platform: RawPlatform) -> Result<Vec<RawDevice>> {
        // SAFETY: the platform is live.
        let found = unsafe { self.list("platform_devices", List::PLATFORM_DEVICES, platform.as_ptr(), 0) }?;
        Ok(found.into_iter().map(RawDevice::new).collect())
    }

    unsafe fn device_platform(&self, device: RawDevice) -> Result<RawPlatform> {
        // SAFETY: the device is live.
        unsafe { self.one("device_platform", List::DEVICE_PLATFORM, device.as_ptr(), 0) }
            .map(RawPlatform::new)
    }

    unsafe fn parent_device(&self, device: RawDevice) -> Result<Option<RawDevice>> {
        // SAFETY: the device is live.
        let found = unsafe { self.list("parent_device", List::PARENT_DEVICE, device.as_ptr(), 0) }?;
        Ok(found.first().copied().map(RawDevice::new))
    }

    unsafe fn sub_devices(&self, _device: RawDevice, _partition: &Partition) -> Result<Vec<RawDevice>> {
        not_supported("sub-devices of a device that another copy of this library made")
    }

    unsafe fn host_reachable(&self, _device: RawDevice, kind: UsmKind) -> bool {
        kind.is_host_accessible()
    }

    // The memory of all simulated devices is the host's.
    unsafe fn can_access_peer(&self, device: RawDevice, peer: RawDevice, _access: PeerAccess) -> bool {
        device != peer
    }

    unsafe fn set_peer_access(&self, _device: RawDevice, _peer: RawDevice, _enabled: bool) -> Result<bool> {
        not_supported("switching peer access of a device that another copy of this library made")
    }

    unsafe fn default_context(&self, device: RawDevice) -> Result<RawContext> {
        // SAFETY: the device is live.
        unsafe { self.one("default_context", List::DEFAULT_CONTEXT, device.as_ptr(), 0) }.map(RawContext::new)
    }

    unsafe fn create_context(&self, devices: &[RawDevice]) -> Result<RawContext> {
        let devices: Vec<Token> = devices.iter().map(|device| device.as_ptr()).collect();
        let name = "create_context";
        let token = self.call(name, |table, failure| {
            // SAFETY: C1; the devices are live.
            unsafe { (table.create_context)(table.server, devices.as_ptr(), devices.len(), failure) }
        })?;
        made(name, token).map(RawContext::new)
    }

    unsafe fn context_id(&self, context: RawContext) -> u64 {
        // SAFETY: C1; the context is live.
        unsafe { (self.table.context_id)(self.table.server, context.as_ptr()) }
    }

    unsafe fn context_devices(&self, context: RawContext) -> Result<Vec<RawDevice>> {
        // SAFETY: the context is live.
        let found = unsafe { self.list("context_devices", List::CONTEXT_DEVICES, context.as_ptr(), 0) }?;
        Ok(found.into_iter().map(RawDevice::new).collect())
    }

    unsafe fn create_queue(
        &self,
        context: RawContext,
        device: RawDevice,
        properties: QueueProperties,
    ) -> Result<RawQueue> {
        let (context, device) = (context.as_ptr(), device.as_ptr());
        let (name, properties) = ("create_queue", properties_number(properties));
        let token = self.call(name, |table, failure| {
            // SAFETY: C1; both are live.
            unsafe { (table.create_queue)(table.server, context, device, properties, failure) }
        })?;
        made(name, token).map(RawQueue::new)
    }

    unsafe fn queue_parts(&self, queue: RawQueue) -> Result<(RawContext, RawDevice, QueueProperties)> {
        let mut parts = MaybeUninit::<QueueParts>::zeroed();
        // SAFETY: C1; the queue is live.
        unsafe { (self.table.queue_parts)(self.table.server, queue.as_ptr(), parts.as_mut_ptr()) };
        // SAFETY: pointers and a number, for which zero is a value.
        let parts = unsafe { parts.assume_init() };
        let name = "queue_parts";
        let (context, device) = (made(name, parts.context)?, made(name, parts.device)?);
        Ok((RawContext::new(context), RawDevice::new(device), properties_of(parts.properties)))
    }

    unsafe fn same(&self, a: RawHandle, b: RawHandle) -> bool {
        a == b
    }

    unsafe fn hash(&self, handle: RawHandle) -> u64 {
        handle.address()
    }

    unsafe fn release(&self, handle: RawHandle) {
        let (object, token) = match handle {
            RawHandle::Platform(raw) => (Object::PLATFORM, raw.as_ptr()),
            RawHandle::Device(raw) => (Object::DEVICE, raw.as_ptr()),
            RawHandle::Context(raw) => (Object::CONTEXT, raw.as_ptr()),
            RawHandle::Queue(raw) => (Object::QUEUE, raw.as_ptr()),
            RawHandle::Event(raw) => (Object::EVENT, raw.as_ptr()),
            // None was given out.
            RawHandle::Bundle(_) | RawHandle::Kernel(_) => return,
        };
        // SAFETY: C1; the caller gives its reference back.
        unsafe { (self.table.release)(self.table.server, object, token) };
    }

    unsafe fn allocate(
        &self,
        queue: RawQueue,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: usize,
    ) -> Option<NonNull<u8>> {
        let (table, kind) = (self.table, kind_number(kind));
        // SAFETY: C1; the queue is live and the length not 0.
        NonNull::new(unsafe { (table.allocate)(table.server, queue.as_ptr(), kind, len_bytes, align_bytes) })
    }

    unsafe fn free(&self, context: RawContext, block: NonNull<u8>) {
        // SAFETY: C1; the caller's promises are the same.
        unsafe { (self.table.free)(self.table.server, context.as_ptr(), block.as_ptr()) };
    }

    unsafe fn pointer_info(&self, context: RawContext, address: usize) -> Option<PointerInfo> {
        let mut told = Pointer::default();
        let (table, context) = (self.table, context.as_ptr());
        // SAFETY: C1; the context is live.
        unsafe { (table.pointer_info)(table.server, context, address, &raw mut told) };
        let block = Some((told.start, told.len_bytes)).filter(|_| told.len_bytes > 0);
        kind_of(told.kind).map(|kind| PointerInfo::new(kind, block))
    }

    unsafe fn pointer_device(&self, context: RawContext, address: usize) -> Result<RawDevice> {
        // SAFETY: the context is live and knows the address.
        unsafe { self.one("pointer_device", List::POINTER_DEVICE, context.as_ptr(), address) }
            .map(RawDevice::new)
    }

    unsafe fn memcpy(
        &self,
        queue: RawQueue,
        dst: *mut u8,
        src: *const u8,
        len_bytes: usize,
        dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        // SAFETY: the caller's promises are the same.
        unsafe { self.submit_memcpy(queue, dst, src, len_bytes, dependencies) }
    }

    unsafe fn fill(
        &self,
        queue: RawQueue,
        dst: *mut u8,
        pattern: &[u8],
        count: usize,
        dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        // SAFETY: the caller's promises are the same.
        unsafe { self.submit_fill(queue, dst, pattern, count, dependencies) }
    }

    unsafe fn prefetch(
        &self,
        queue: RawQueue,
        address: usize,
        len_bytes: usize,
        dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        // SAFETY: the caller's promises are the same.
        unsafe { self.submit_hint("prefetch", queue, address, len_bytes, dependencies) }
    }

    unsafe fn mem_advise(
        &self,
        queue: RawQueue,
        address: usize,
        len_bytes: usize,
        _advice: i32,
        dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        // SAFETY: the caller's promises are the same.
        unsafe { self.submit_hint("mem_advise", queue, address, len_bytes, dependencies) }
    }

    unsafe fn barrier(&self, queue: RawQueue, events: &[RawEvent]) -> Result<RawEvent> {
        // SAFETY: the caller's promises are the same.
        unsafe { self.submit_barrier(queue, events) }
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
        // SAFETY: the caller's promises are the same.
        unsafe { self.submit_task(queue, memory, task, dependencies) }
    }

    unsafe fn wait(&self, event: RawEvent) -> Result<()> {
        // SAFETY: the event is live.
        unsafe { self.wait_for(event) }
    }

    unsafe fn event_status(&self, event: RawEvent) -> EventStatus {
        // SAFETY: the event is live.
        unsafe { self.status(event) }
    }

    unsafe fn event_times(&self, event: RawEvent) -> Result<ProfilingTimes> {
        // SAFETY: the event is live.
        unsafe { self.times(event) }
    }

    unsafe fn event_dependencies(&self, event: RawEvent) -> Result<Vec<RawEvent>> {
        // SAFETY: the event is live.
        let found = unsafe { self.list("event_dependencies", List::EVENT_DEPENDENCIES, event.as_ptr(), 0) }?;
        Ok(found.into_iter().map(RawEvent::new).collect())
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
