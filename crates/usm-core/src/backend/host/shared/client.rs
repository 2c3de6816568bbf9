//! A backend whose methods call the functions of another copy's table.

use std::ffi::c_void;
use std::ptr::NonNull;

use super::super::device::SimulatedDevice;
use super::super::{
    Backend, BackendId, DeviceInfo, EventStatus, HostDevice, HostPlatform, HostTask, Partition, PeerAccess,
    PlatformInfo, PointerInfo, ProfilingTimes, QueueProperties, RawContext, RawDevice, RawEvent, RawHandle,
    RawPlatform, RawQueue, TaskMemory,
};
use super::{
    Answer, DEVICE_TYPES, Failure, HostTable, Query, Token, VERSION, kind_number, kind_of, properties_number,
    properties_of,
};
use crate::{DeviceType, Error, Result, UsmKind};

/// The host backend of another copy of this library in the same process.
///
/// Its devices, contexts, queues and memory are those of that copy. Operations complete before their call returns. A platform is the
/// handle of its device.
#[derive(Debug)]
pub struct SharedHost {
    /// Invariant C1: a table of [`VERSION`] by `HostBackend::table` of some copy, which lives as long as the process, and whose
    /// functions get its own server and objects that its functions gave.
    table: &'static HostTable,
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
        // SAFETY: C1 for a table of any version (1): each starts with its number.
        let version = unsafe { table.cast::<u32>().read() };
        if version != VERSION {
            return Err(wrong(version));
        }
        // SAFETY: C1 (1), and the version is this one.
        let table = unsafe { &*table };
        if table.size_bytes as usize != size_of::<HostTable>() {
            return Err(wrong(version));
        }
        #[cfg(feature = "sycl")]
        // SAFETY: C1: null, or the static flag of that copy.
        if let Some(flag) = unsafe { table.waits.as_ref() }
            && !std::ptr::eq(flag, super::super::super::sycl::one_waits::flag())
        {
            super::super::super::sycl::one_waits::use_flag(flag);
        }
        Ok(Self { table })
    }

    /// # Safety
    /// 1. `of` are live objects of the types that the query is about.
    unsafe fn ask(&self, query: Query, of: &[Token], number: usize) -> Answer {
        // SAFETY: C1 for the objects (1), which are as many as are said.
        unsafe { (self.table.query)(self.table.server, query, of.as_ptr(), of.len(), number) }
    }

    /// The object that answers a query, if there is one.
    ///
    /// # Safety
    /// 1. As of `ask`.
    unsafe fn object(&self, query: Query, of: &[Token], number: usize) -> Option<NonNull<c_void>> {
        // SAFETY: C1 for the objects (1).
        NonNull::new(unsafe { self.ask(query, of, number) }.objects[0])
    }

    /// The devices that answer a query, one after the other.
    ///
    /// # Safety
    /// 1. As of `ask`.
    unsafe fn devices(&self, query: Query, of: &[Token]) -> Vec<RawDevice> {
        // SAFETY: C1 for the objects (1).
        let device = |index| unsafe { self.object(query, of, index) };
        (0..).map_while(device).map(RawDevice::new).collect()
    }

    /// One more reference to a queue of the other copy.
    ///
    /// # Safety
    /// 1. `queue` is a live queue of the backend behind the table.
    pub(crate) unsafe fn retain(&self, queue: RawQueue) {
        // SAFETY: C1: the queue is live (1).
        unsafe { self.ask(Query::RETAIN_QUEUE, &[queue.as_ptr()], 0) };
    }
}

/// The object that a call made.
fn made(object: Option<NonNull<c_void>>, call: &'static str) -> Result<NonNull<c_void>> {
    object.ok_or(Error::Backend { backend: BackendId::Host, call })
}

/// The event of an operation that is complete. It stands for no object.
fn completed(failure: &Failure) -> Result<RawEvent> {
    failure.result().map(|()| RawEvent::new(NonNull::dangling()))
}

fn not_supported<T>(what: &'static str) -> Result<T> {
    Err(Error::NotSupported { backend: BackendId::Host, what })
}

// SAFETY: each method hands the call to a host backend, which keeps the five promises (C1). Operations are complete when they have
// been submitted, so that there is nothing to wait for (promise 4).
unsafe impl Backend for SharedHost {
    fn id(&self) -> BackendId {
        BackendId::Host
    }

    fn root_devices(&self) -> Result<Vec<RawDevice>> {
        // SAFETY: C1, about no object.
        Ok(unsafe { self.devices(Query::ROOT_DEVICE, &[]) })
    }

    unsafe fn device_info(&self, device: RawDevice) -> DeviceInfo {
        // SAFETY: C1: the device is live.
        let facts = unsafe { self.ask(Query::DEVICE_FACTS, &[device.as_ptr()], 0) };
        let [device_type, number, units, memory_bytes, max_alloc_bytes] = facts.numbers;
        let device_type = usize::try_from(device_type).ok().and_then(|number| DEVICE_TYPES.get(number));
        let twin = HostDevice::new(device_type.copied().unwrap_or(DeviceType::Custom))
            .memory_bytes(memory_bytes)
            .max_alloc_bytes(max_alloc_bytes)
            .compute_units(u32::try_from(units).unwrap_or(1));
        let number = number.checked_sub(1).and_then(|number| usize::try_from(number).ok());
        DeviceInfo { number, ..SimulatedDevice::new(&twin, 0, 0).info() }
    }

    fn platforms(&self) -> Result<Vec<RawPlatform>> {
        let devices = self.root_devices()?;
        Ok(devices
            .into_iter()
            .filter_map(|device| NonNull::new(device.as_ptr()))
            .map(RawPlatform::new)
            .collect())
    }

    unsafe fn platform_info(&self, platform: RawPlatform) -> PlatformInfo {
        let device = RawDevice::new(NonNull::new(platform.as_ptr()).unwrap_or(NonNull::dangling()));
        // SAFETY: C1: a live platform is a live device.
        HostPlatform::info_of(unsafe { self.device_info(device) }.device_type)
    }

    unsafe fn platform_devices(&self, platform: RawPlatform) -> Result<Vec<RawDevice>> {
        // SAFETY: C1: a live platform is a live root device.
        let device = unsafe { self.object(Query::ROOT_OF, &[platform.as_ptr()], 0) };
        Ok(device.map(RawDevice::new).into_iter().collect())
    }

    unsafe fn device_platform(&self, device: RawDevice) -> Result<RawPlatform> {
        // SAFETY: C1: the device is live.
        let root = unsafe { self.object(Query::ROOT_OF, &[device.as_ptr()], 0) };
        made(root, "device_platform").map(RawPlatform::new)
    }

    unsafe fn parent_device(&self, device: RawDevice) -> Result<Option<RawDevice>> {
        // SAFETY: C1: the device is live.
        Ok(unsafe { self.object(Query::PARENT_DEVICE, &[device.as_ptr()], 0) }.map(RawDevice::new))
    }

    unsafe fn sub_devices(&self, _device: RawDevice, _partition: &Partition) -> Result<Vec<RawDevice>> {
        not_supported(
            "partitioning in an extension: partition the device in Python and pass a queue of the part",
        )
    }

    // The memory of all simulated devices is the host's.
    unsafe fn can_access_peer(&self, device: RawDevice, peer: RawDevice, _access: PeerAccess) -> bool {
        device != peer
    }

    unsafe fn set_peer_access(&self, _device: RawDevice, _peer: RawDevice, _enabled: bool) -> Result<bool> {
        not_supported("switching peer access in an extension: switch it in Python")
    }

    unsafe fn default_context(&self, device: RawDevice) -> Result<RawContext> {
        // SAFETY: C1: the device is live.
        let context = unsafe { self.object(Query::DEFAULT_CONTEXT, &[device.as_ptr()], 0) };
        made(context, "default_context").map(RawContext::new)
    }

    unsafe fn create_context(&self, devices: &[RawDevice]) -> Result<RawContext> {
        let devices: Vec<Token> = devices.iter().map(|device| device.as_ptr()).collect();
        // SAFETY: C1: the devices are live.
        made(unsafe { self.object(Query::NEW_CONTEXT, &devices, 0) }, "create_context").map(RawContext::new)
    }

    unsafe fn context_id(&self, context: RawContext) -> u64 {
        context.as_ptr().addr() as u64
    }

    unsafe fn context_devices(&self, context: RawContext) -> Result<Vec<RawDevice>> {
        // SAFETY: C1: the context is live.
        Ok(unsafe { self.devices(Query::CONTEXT_DEVICE, &[context.as_ptr()]) })
    }

    unsafe fn create_queue(
        &self,
        context: RawContext,
        device: RawDevice,
        properties: QueueProperties,
    ) -> Result<RawQueue> {
        // SAFETY: C1: both are live.
        let queue = unsafe {
            self.object(Query::NEW_QUEUE, &[context.as_ptr(), device.as_ptr()], properties_number(properties))
        };
        made(queue, "create_queue").map(RawQueue::new)
    }

    unsafe fn queue_parts(&self, queue: RawQueue) -> Result<(RawContext, RawDevice, QueueProperties)> {
        // SAFETY: C1: the queue is live.
        let parts = unsafe { self.ask(Query::QUEUE_PARTS, &[queue.as_ptr()], 0) };
        let [context, device] = parts.objects.map(|object| made(NonNull::new(object), "queue_parts"));
        let properties = usize::try_from(parts.numbers[0]).unwrap_or(0);
        Ok((RawContext::new(context?), RawDevice::new(device?), properties_of(properties)))
    }

    unsafe fn release(&self, handle: RawHandle) {
        let (token, number) = match handle {
            RawHandle::Platform(raw) => (raw.as_ptr(), 0),
            RawHandle::Device(raw) => (raw.as_ptr(), 0),
            RawHandle::Context(raw) => (raw.as_ptr(), 1),
            RawHandle::Queue(raw) => (raw.as_ptr(), 2),
            // An event stands for no object, and none of the others was given out.
            RawHandle::Event(_) | RawHandle::Bundle(_) | RawHandle::Kernel(_) => return,
        };
        // SAFETY: C1: the caller gives its reference back.
        unsafe { self.ask(Query::RELEASE, &[token], number) };
    }

    unsafe fn allocate(
        &self,
        queue: RawQueue,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: usize,
    ) -> Option<NonNull<u8>> {
        let (table, kind) = (self.table, kind_number(kind));
        // SAFETY: C1: the queue is live and the length not 0.
        NonNull::new(unsafe { (table.allocate)(table.server, queue.as_ptr(), kind, len_bytes, align_bytes) })
    }

    unsafe fn free(&self, context: RawContext, block: NonNull<u8>) {
        // SAFETY: C1: context and block are of that backend.
        unsafe { (self.table.free)(self.table.server, context.as_ptr(), block.as_ptr()) };
    }

    unsafe fn pointer_info(&self, context: RawContext, address: usize) -> Option<PointerInfo> {
        // SAFETY: C1: the context is live.
        let found = unsafe { self.ask(Query::POINTER, &[context.as_ptr()], address) };
        let [kind, start, len_bytes] = [0, 1, 2].map(|i| usize::try_from(found.numbers[i]).unwrap_or(0));
        let block = Some((start, len_bytes)).filter(|_| len_bytes > 0);
        kind_of(kind).map(|kind| PointerInfo::new(kind, block))
    }

    unsafe fn pointer_device(&self, context: RawContext, address: usize) -> Result<RawDevice> {
        // SAFETY: C1: the context is live and knows the address.
        let device = unsafe { self.object(Query::POINTER_DEVICE, &[context.as_ptr()], address) };
        made(device, "pointer_device").map(RawDevice::new)
    }

    unsafe fn memcpy(
        &self,
        queue: RawQueue,
        dst: *mut u8,
        src: *const u8,
        len_bytes: usize,
        _dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        // SAFETY: C1: the queue is live, and the ranges are those of this method. Dependencies are complete.
        completed(&unsafe { (self.table.copy)(self.table.server, queue.as_ptr(), dst, src, len_bytes) })
    }

    unsafe fn fill(
        &self,
        queue: RawQueue,
        dst: *mut u8,
        pattern: &[u8],
        count: usize,
        _dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        let (table, queue) = (self.table, queue.as_ptr());
        // SAFETY: C1: the queue is live, and the ranges are those of this method. Dependencies are complete.
        completed(&unsafe { (table.fill)(table.server, queue, dst, pattern.as_ptr(), pattern.len(), count) })
    }

    unsafe fn barrier(&self, queue: RawQueue, _events: &[RawEvent]) -> Result<RawEvent> {
        // SAFETY: C1: the queue is live.
        completed(&unsafe { (self.table.wait)(self.table.server, queue.as_ptr()) })
    }

    unsafe fn host_task(
        &self,
        _queue: RawQueue,
        _memory: &[TaskMemory],
        _task: HostTask,
        _dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        not_supported(
            "host tasks in an extension: copy device memory to host memory and call the function, \
             since copies are complete when they return",
        )
    }

    unsafe fn wait(&self, _event: RawEvent) -> Result<()> {
        Ok(())
    }

    unsafe fn event_status(&self, _event: RawEvent) -> EventStatus {
        EventStatus::Complete
    }

    unsafe fn event_times(&self, _event: RawEvent) -> Result<ProfilingTimes> {
        not_supported(
            "profiling in an extension: measure the calls, since operations are complete when they return",
        )
    }

    unsafe fn event_dependencies(&self, _event: RawEvent) -> Result<Vec<RawEvent>> {
        not_supported(
            "event graphs in an extension: operations are complete when they return, so submit them in order",
        )
    }
}
