//! The functions of the table, on the side of the backend.
//!
//! Each is `unsafe` for the same reasons: 1. `server` is that of the table. 2. Tokens are live objects of it and of the type that the
//! parameter's name says. 3. Pointers lead to as many values as their count says, or to one to be written. 4. What the method of
//! `Backend` with that name asks for.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::super::objects::Handle;
use super::super::queue::HostQueue;
use super::super::{
    Backend, HostBackend, RawContext, RawDevice, RawEvent, RawHandle, RawPlatform, RawQueue, TaskMemory,
};
use super::table::{
    Facts, Failure, HostTable, List, Object, Pointer, QueueParts, Range, Server, Task, Token, VERSION,
    kind_number, kind_of, properties_number, properties_of, status_number, type_number,
};
use super::tasks::Given;
use crate::{Error, Result};

impl HostBackend {
    /// The table by which other copies of this library in the process work on this backend, which lives on from now on.
    #[must_use]
    pub fn table(self: &Arc<Self>) -> HostTable {
        HostTable {
            version: VERSION,
            size_bytes: u32::try_from(size_of::<HostTable>()).unwrap_or(0),
            server: Arc::into_raw(Arc::clone(self)).cast(), // S1: this count is never given back
            waits: flag(),
            list,
            facts,
            create_context,
            context_id,
            create_queue,
            queue_parts,
            retain_queue,
            release,
            allocate,
            free,
            pointer_info,
            memcpy,
            fill,
            hint,
            barrier,
            host_task,
            wait,
            status,
            times,
        }
    }
}

#[cfg(feature = "sycl")]
fn flag() -> *const AtomicBool {
    crate::backend::sycl::one_waits::flag()
}

#[cfg(not(feature = "sycl"))]
fn flag() -> *const AtomicBool {
    ptr::null()
}

unsafe fn backend<'a>(server: Server) -> &'a HostBackend {
    // SAFETY: 1 and S1.
    unsafe { &*server.cast::<HostBackend>() }
}

/// A null pointer, which no caller passes, becomes one that leads nowhere.
fn pointer(token: Token) -> NonNull<c_void> {
    NonNull::new(token).unwrap_or(NonNull::dangling())
}

unsafe fn tokens<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: 3.
    unsafe { slice::from_raw_parts(first, count) }
}

unsafe fn events(first: *const Token, count: usize) -> Vec<RawEvent> {
    // SAFETY: 3.
    let events = unsafe { tokens(first, count) };
    events.iter().map(|&event| RawEvent::new(pointer(event))).collect()
}

unsafe fn told<T>(result: Result<T>, failure: *mut Failure) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            // SAFETY: 3.
            unsafe { failure.write(Failure::of(&error)) };
            None
        }
    }
}

unsafe fn event(result: Result<RawEvent>, failure: *mut Failure) -> Token {
    // SAFETY: 3.
    unsafe { told(result, failure) }.map_or(ptr::null_mut(), RawEvent::as_ptr)
}

unsafe extern "C" fn list(
    server: Server,
    what: List,
    of: Token,
    address: usize,
    out: *mut Token,
    capacity: usize,
    failure: *mut Failure,
) -> usize {
    // SAFETY: 1.
    let backend = unsafe { backend(server) };
    let of = pointer(of);
    let (device, context, platform) = (RawDevice::new(of), RawContext::new(of), RawPlatform::new(of));
    let devices = |found: Vec<RawDevice>| found.into_iter().map(RawHandle::Device).collect::<Vec<_>>();
    let found = match what {
        List::ROOT_DEVICES => backend.root_devices().map(devices),
        List::PLATFORMS => {
            backend.platforms().map(|found| found.into_iter().map(RawHandle::Platform).collect())
        }
        // SAFETY: 2.
        List::PLATFORM_DEVICES => unsafe { backend.platform_devices(platform) }.map(devices),
        List::DEVICE_PLATFORM => {
            // SAFETY: 2.
            unsafe { backend.device_platform(device) }.map(RawHandle::Platform).map(|found| vec![found])
        }
        List::PARENT_DEVICE => {
            // SAFETY: 2.
            unsafe { backend.parent_device(device) }.map(|found| devices(found.into_iter().collect()))
        }
        List::DEFAULT_CONTEXT => {
            // SAFETY: 2.
            unsafe { backend.default_context(device) }.map(RawHandle::Context).map(|found| vec![found])
        }
        // SAFETY: 2.
        List::CONTEXT_DEVICES => unsafe { backend.context_devices(context) }.map(devices),
        List::POINTER_DEVICE => {
            // SAFETY: 2 and 4.
            unsafe { backend.pointer_device(context, address) }.map(|found| devices(vec![found]))
        }
        // SAFETY: 2.
        List::EVENT_DEPENDENCIES => unsafe { backend.event_dependencies(RawEvent::new(of)) }
            .map(|found| found.into_iter().map(RawHandle::Event).collect()),
        _ => Err(Error::Backend { backend: backend.id(), call: "list" }),
    };
    // SAFETY: 3.
    let found = unsafe { told(found, failure) }.unwrap_or_default();
    for (i, &handle) in found.iter().enumerate() {
        if i < capacity {
            let place = out.wrapping_add(i);
            // SAFETY: 3: there is room for that many.
            unsafe { place.write(handle_pointer(handle)) };
        } else {
            // SAFETY: a fresh handle that goes nowhere else.
            unsafe { backend.release(handle) };
        }
    }
    found.len()
}

fn handle_pointer(handle: RawHandle) -> Token {
    match handle {
        RawHandle::Platform(raw) => raw.as_ptr(),
        RawHandle::Device(raw) => raw.as_ptr(),
        RawHandle::Context(raw) => raw.as_ptr(),
        RawHandle::Queue(raw) => raw.as_ptr(),
        RawHandle::Event(raw) => raw.as_ptr(),
        RawHandle::Bundle(raw) => raw.as_ptr(),
        RawHandle::Kernel(raw) => raw.as_ptr(),
    }
}

unsafe extern "C" fn facts(server: Server, device: Token, out: *mut Facts) {
    // SAFETY: 1.
    let backend = unsafe { backend(server) };
    // SAFETY: 2.
    let info = unsafe { backend.device_info(RawDevice::new(pointer(device))) };
    let facts = Facts {
        device_type: type_number(info.device_type),
        number: info.number.and_then(|number| i64::try_from(number).ok()).unwrap_or(-1),
        compute_units: info.compute_units,
        max_sub_devices: info.max_sub_devices,
        global_mem_bytes: info.global_mem_bytes,
        max_alloc_bytes: info.max_alloc_bytes,
    };
    // SAFETY: 3.
    unsafe { out.write(facts) };
}

unsafe extern "C" fn create_context(
    server: Server,
    devices: *const Token,
    count: usize,
    failure: *mut Failure,
) -> Token {
    // SAFETY: 1.
    let backend = unsafe { backend(server) };
    // SAFETY: 3.
    let devices = unsafe { tokens(devices, count) };
    let devices: Vec<_> = devices.iter().map(|&device| RawDevice::new(pointer(device))).collect();
    // SAFETY: 2.
    let made = unsafe { backend.create_context(&devices) };
    // SAFETY: 3.
    unsafe { told(made, failure) }.map_or(ptr::null_mut(), RawContext::as_ptr)
}

unsafe extern "C" fn context_id(server: Server, context: Token) -> u64 {
    // SAFETY: 1.
    let backend = unsafe { backend(server) };
    // SAFETY: 2.
    unsafe { backend.context_id(RawContext::new(pointer(context))) }
}

unsafe extern "C" fn create_queue(
    server: Server,
    context: Token,
    device: Token,
    properties: u32,
    failure: *mut Failure,
) -> Token {
    let (context, device) = (RawContext::new(pointer(context)), RawDevice::new(pointer(device)));
    // SAFETY: 1.
    let backend = unsafe { backend(server) };
    // SAFETY: 2.
    let made = unsafe { backend.create_queue(context, device, properties_of(properties)) };
    // SAFETY: 3.
    unsafe { told(made, failure) }.map_or(ptr::null_mut(), RawQueue::as_ptr)
}

unsafe extern "C" fn queue_parts(server: Server, queue: Token, out: *mut QueueParts) {
    // SAFETY: 1.
    let backend = unsafe { backend(server) };
    // SAFETY: 2.
    let parts = unsafe { backend.queue_parts(RawQueue::new(pointer(queue))) };
    // The host backend always tells.
    if let Ok((context, device, properties)) = parts {
        let properties = properties_number(properties);
        let parts = QueueParts { context: context.as_ptr(), device: device.as_ptr(), properties };
        // SAFETY: 3.
        unsafe { out.write(parts) };
    }
}

unsafe extern "C" fn retain_queue(_server: Server, queue: Token) {
    // SAFETY: 2.
    let queue = unsafe { HostQueue::clone_raw(RawQueue::new(pointer(queue))) };
    HostQueue::into_raw(queue);
}

unsafe extern "C" fn release(server: Server, what: Object, token: Token) {
    let token = pointer(token);
    let handle = match what {
        Object::PLATFORM => RawHandle::Platform(RawPlatform::new(token)),
        Object::DEVICE => RawHandle::Device(RawDevice::new(token)),
        Object::CONTEXT => RawHandle::Context(RawContext::new(token)),
        Object::QUEUE => RawHandle::Queue(RawQueue::new(token)),
        Object::EVENT => RawHandle::Event(RawEvent::new(token)),
        _ => return,
    };
    // SAFETY: 1.
    let backend = unsafe { backend(server) };
    // SAFETY: 2 and 4.
    unsafe { backend.release(handle) };
}

unsafe extern "C" fn allocate(
    server: Server,
    queue: Token,
    kind: u32,
    len_bytes: usize,
    align_bytes: usize,
) -> *mut u8 {
    let Some(kind) = kind_of(kind) else { return ptr::null_mut() };
    let queue = RawQueue::new(pointer(queue));
    // SAFETY: 1.
    let backend = unsafe { backend(server) };
    // SAFETY: 2 and 4.
    let block = unsafe { backend.allocate(queue, kind, len_bytes, align_bytes) };
    block.map_or(ptr::null_mut(), NonNull::as_ptr)
}

unsafe extern "C" fn free(server: Server, context: Token, block: *mut u8) {
    let Some(block) = NonNull::new(block) else { return };
    // SAFETY: 1.
    let backend = unsafe { backend(server) };
    // SAFETY: 2 and 4.
    unsafe { backend.free(RawContext::new(pointer(context)), block) };
}

unsafe extern "C" fn pointer_info(server: Server, context: Token, address: usize, out: *mut Pointer) {
    // SAFETY: 1.
    let backend = unsafe { backend(server) };
    // SAFETY: 2.
    let info = unsafe { backend.pointer_info(RawContext::new(pointer(context)), address) };
    let told = info.map_or_else(Pointer::default, |info| {
        let (start, len_bytes) = info.block.unwrap_or((0, 0));
        Pointer { kind: kind_number(info.kind), start, len_bytes }
    });
    // SAFETY: 3.
    unsafe { out.write(told) };
}

unsafe extern "C" fn memcpy(
    server: Server,
    queue: Token,
    dst: *mut u8,
    src: *const u8,
    len_bytes: usize,
    after: *const Token,
    count: usize,
    failure: *mut Failure,
) -> Token {
    // SAFETY: 1.
    let backend = unsafe { backend(server) };
    // SAFETY: 3.
    let after = unsafe { events(after, count) };
    // SAFETY: 2 and 4.
    let made = unsafe { backend.memcpy(RawQueue::new(pointer(queue)), dst, src, len_bytes, &after) };
    // SAFETY: 3.
    unsafe { event(made, failure) }
}

unsafe extern "C" fn fill(
    server: Server,
    queue: Token,
    dst: *mut u8,
    pattern: *const u8,
    pattern_bytes: usize,
    repeats: usize,
    after: *const Token,
    count: usize,
    failure: *mut Failure,
) -> Token {
    // SAFETY: 1.
    let backend = unsafe { backend(server) };
    // SAFETY: 3.
    let pattern = unsafe { tokens(pattern, pattern_bytes) };
    // SAFETY: 3.
    let after = unsafe { events(after, count) };
    // SAFETY: 2 and 4.
    let made = unsafe { backend.fill(RawQueue::new(pointer(queue)), dst, pattern, repeats, &after) };
    // SAFETY: 3.
    unsafe { event(made, failure) }
}

unsafe extern "C" fn hint(
    server: Server,
    queue: Token,
    address: usize,
    len_bytes: usize,
    after: *const Token,
    count: usize,
    failure: *mut Failure,
) -> Token {
    // SAFETY: 1.
    let backend = unsafe { backend(server) };
    // SAFETY: 3.
    let after = unsafe { events(after, count) };
    // SAFETY: 2 and 4.
    let made = unsafe { backend.prefetch(RawQueue::new(pointer(queue)), address, len_bytes, &after) };
    // SAFETY: 3.
    unsafe { event(made, failure) }
}

unsafe extern "C" fn barrier(
    server: Server,
    queue: Token,
    after: *const Token,
    count: usize,
    failure: *mut Failure,
) -> Token {
    // SAFETY: 1.
    let backend = unsafe { backend(server) };
    // SAFETY: 3.
    let after = unsafe { events(after, count) };
    // SAFETY: 2.
    let made = unsafe { backend.barrier(RawQueue::new(pointer(queue)), &after) };
    // SAFETY: 3.
    unsafe { event(made, failure) }
}

unsafe extern "C" fn host_task(
    server: Server,
    queue: Token,
    memory: *const Range,
    ranges: usize,
    task: Task,
    after: *const Token,
    count: usize,
    failure: *mut Failure,
) -> Token {
    // SAFETY: 4: a task of the copy that calls.
    let task = unsafe { Given::new(task) };
    // SAFETY: 1.
    let backend = unsafe { backend(server) };
    // SAFETY: 3.
    let memory = unsafe { tokens(memory, ranges) };
    let memory: Vec<_> =
        memory.iter().map(|range| TaskMemory { start: range.start, len_bytes: range.len_bytes }).collect();
    // SAFETY: 3.
    let after = unsafe { events(after, count) };
    // SAFETY: 2 and 4.
    let made = unsafe { backend.host_task(RawQueue::new(pointer(queue)), &memory, task.into_task(), &after) };
    // SAFETY: 3.
    unsafe { event(made, failure) }
}

unsafe extern "C" fn wait(server: Server, event: Token, failure: *mut Failure) {
    // SAFETY: 1.
    let backend = unsafe { backend(server) };
    // SAFETY: 2.
    let ended = unsafe { backend.wait(RawEvent::new(pointer(event))) };
    // SAFETY: 3.
    unsafe { told(ended, failure) };
}

unsafe extern "C" fn status(server: Server, event: Token) -> u32 {
    // SAFETY: 1.
    let backend = unsafe { backend(server) };
    // SAFETY: 2.
    status_number(unsafe { backend.event_status(RawEvent::new(pointer(event))) })
}

unsafe extern "C" fn times(server: Server, event: Token, out: *mut [u64; 3], failure: *mut Failure) {
    // SAFETY: 1.
    let backend = unsafe { backend(server) };
    // SAFETY: 2.
    let times = unsafe { backend.event_times(RawEvent::new(pointer(event))) };
    // SAFETY: 3.
    if let Some(times) = unsafe { told(times, failure) } {
        // SAFETY: 3.
        unsafe { out.write([times.submit_ns, times.start_ns, times.end_ns]) };
    }
}
