//! The functions of the table, on the side of the backend.
//!
//! Each is `unsafe` for the same reasons: 1. `server` is that of the table. 2. Tokens are live objects of it and of the type that the
//! parameter's name or the query says. 3. Pointers lead to as many values as their count says. 4. What the method of `Backend` with
//! that name asks for.

use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::super::objects::Handle;
use super::super::{
    Backend, DeviceInfo, HostBackend, HostContext, HostQueue, RawContext, RawDevice, RawEvent, RawHandle,
    RawQueue, SimulatedDevice,
};
use super::{
    Answer, DEVICE_TYPES, Failure, HostTable, Query, Server, Token, VERSION, kind_number, kind_of,
    properties_number, properties_of,
};
use crate::Result;

impl HostBackend {
    /// The table by which other copies of this library in the process work on this backend, which lives on from now on.
    #[must_use]
    pub fn table(self: &Arc<Self>) -> HostTable {
        HostTable {
            version: VERSION,
            size_bytes: u32::try_from(size_of::<HostTable>()).unwrap_or(0),
            server: Arc::into_raw(Arc::clone(self)).cast(), // T1: this count is never given back
            waits: flag(),
            query,
            allocate,
            free,
            copy,
            fill,
            wait,
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
    // SAFETY: 1 and T1.
    unsafe { &*server.cast::<HostBackend>() }
}

/// A null pointer, which no caller passes, becomes one that leads nowhere.
fn pointer(token: Token) -> NonNull<std::ffi::c_void> {
    NonNull::new(token).unwrap_or(NonNull::dangling())
}

unsafe fn values<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: 3.
    unsafe { slice::from_raw_parts(first, count) }
}

unsafe extern "C" fn query(
    server: Server,
    query: Query,
    of: *const Token,
    count: usize,
    number: usize,
) -> Answer {
    // SAFETY: 1.
    let backend = unsafe { backend(server) };
    // SAFETY: 3.
    let of = unsafe { values(of, count) };
    // SAFETY: 2 and 4.
    unsafe { answer(backend, query, of, number) }.unwrap_or(Answer::NONE)
}

unsafe fn answer(backend: &HostBackend, query: Query, of: &[Token], number: usize) -> Option<Answer> {
    let first = pointer(of.first().copied().unwrap_or_default());
    let (device, context, queue) = (RawDevice::new(first), RawContext::new(first), RawQueue::new(first));
    let of_device = |device: RawDevice| Answer::object(device.as_ptr());
    let of_context = |context: RawContext| Answer::object(context.as_ptr());
    let with_count = |device: &Arc<SimulatedDevice>| of_device(SimulatedDevice::into_raw(Arc::clone(device)));
    Some(match query {
        Query::ROOT_DEVICE => with_count(&backend.roots.get(number)?.device),
        // SAFETY: 2.
        Query::DEVICE_FACTS => facts(&unsafe { backend.device_info(device) }),
        // SAFETY: 2.
        Query::PARENT_DEVICE => of_device(unsafe { backend.parent_device(device) }.ok()??),
        // SAFETY: 2.
        Query::DEFAULT_CONTEXT => of_context(unsafe { backend.default_context(device) }.ok()?),
        Query::NEW_CONTEXT => {
            let devices: Vec<_> = of.iter().map(|&device| RawDevice::new(pointer(device))).collect();
            // SAFETY: 2.
            of_context(unsafe { backend.create_context(&devices) }.ok()?)
        }
        // SAFETY: 2.
        Query::CONTEXT_ID => Answer::numbers([unsafe { backend.context_id(context) }]),
        Query::CONTEXT_DEVICE => {
            // SAFETY: 2.
            let context = unsafe { HostContext::clone_raw(context) };
            with_count(context.devices.get(number)?)
        }
        Query::NEW_QUEUE => {
            let device = RawDevice::new(pointer(*of.get(1)?));
            // SAFETY: 2.
            let made = unsafe { backend.create_queue(context, device, properties_of(number)) };
            Answer::object(made.ok()?.as_ptr())
        }
        Query::QUEUE_PARTS => {
            // SAFETY: 2.
            let (context, device, properties) = unsafe { backend.queue_parts(queue) }.ok()?;
            let properties = properties_number(properties) as u64;
            Answer { objects: [context.as_ptr(), device.as_ptr()], ..Answer::numbers([properties]) }
        }
        Query::POINTER => {
            // SAFETY: 2.
            let found = unsafe { backend.pointer_info(context, number) }?;
            let (start, len_bytes) = found.block.unwrap_or((0, 0));
            Answer::numbers([kind_number(found.kind) as u64, start as u64, len_bytes as u64])
        }
        // SAFETY: 2 and 4.
        Query::POINTER_DEVICE => of_device(unsafe { backend.pointer_device(context, number) }.ok()?),
        Query::ROOT_OF => {
            // SAFETY: 2.
            let mut device = unsafe { SimulatedDevice::clone_raw(device) };
            while let Some(parent) = &device.parent {
                device = Arc::clone(parent);
            }
            with_count(&device)
        }
        Query::RETAIN_QUEUE => {
            // SAFETY: 2.
            let queue = unsafe { HostQueue::clone_raw(queue) };
            Answer::object(HostQueue::into_raw(queue).as_ptr())
        }
        Query::RELEASE_DEVICE | Query::RELEASE_CONTEXT | Query::RELEASE_QUEUE => {
            let handle = match query {
                Query::RELEASE_DEVICE => RawHandle::Device(device),
                Query::RELEASE_CONTEXT => RawHandle::Context(context),
                _ => RawHandle::Queue(queue),
            };
            // SAFETY: 2 and 4.
            unsafe { backend.release(handle) };
            Answer::NONE
        }
        _ => Answer::NONE,
    })
}

fn facts(info: &DeviceInfo) -> Answer {
    let device_type = DEVICE_TYPES.iter().position(|&known| known == info.device_type).unwrap_or(0);
    let number = info.number.map_or(0, |number| number + 1);
    let units = u64::from(info.compute_units);
    Answer::numbers([device_type as u64, number as u64, units, info.global_mem_bytes, info.max_alloc_bytes])
}

unsafe extern "C" fn allocate(
    server: Server,
    queue: Token,
    kind: usize,
    len_bytes: usize,
    align_bytes: usize,
) -> *mut u8 {
    let Some(kind) = kind_of(kind) else { return ptr::null_mut() };
    // SAFETY: 1.
    let backend = unsafe { backend(server) };
    // SAFETY: 2 and 4.
    let block = unsafe { backend.allocate(RawQueue::new(pointer(queue)), kind, len_bytes, align_bytes) };
    block.map_or(ptr::null_mut(), NonNull::as_ptr)
}

unsafe extern "C" fn free(server: Server, context: Token, block: *mut u8) {
    let Some(block) = NonNull::new(block) else { return };
    // SAFETY: 1.
    let backend = unsafe { backend(server) };
    // SAFETY: 2 and 4.
    unsafe { backend.free(RawContext::new(pointer(context)), block) };
}

/// Waits for an operation that was just submitted.
fn complete(backend: &HostBackend, submitted: Result<RawEvent>) -> Failure {
    Failure::of(submitted.and_then(|event| {
        // SAFETY: a fresh event of this backend.
        let completed = unsafe { backend.wait(event) };
        // SAFETY: its reference, which goes nowhere else.
        unsafe { backend.release(RawHandle::Event(event)) };
        completed
    }))
}

unsafe extern "C" fn copy(
    server: Server,
    queue: Token,
    dst: *mut u8,
    src: *const u8,
    len_bytes: usize,
) -> Failure {
    // SAFETY: 1.
    let backend = unsafe { backend(server) };
    // SAFETY: 2 and 4.
    let submitted = unsafe { backend.memcpy(RawQueue::new(pointer(queue)), dst, src, len_bytes, &[]) };
    complete(backend, submitted)
}

unsafe extern "C" fn fill(
    server: Server,
    queue: Token,
    dst: *mut u8,
    pattern: *const u8,
    pattern_bytes: usize,
    count: usize,
) -> Failure {
    // SAFETY: 1.
    let backend = unsafe { backend(server) };
    // SAFETY: 3.
    let pattern = unsafe { values(pattern, pattern_bytes) };
    // SAFETY: 2 and 4.
    let submitted = unsafe { backend.fill(RawQueue::new(pointer(queue)), dst, pattern, count, &[]) };
    complete(backend, submitted)
}

unsafe extern "C" fn wait(server: Server, queue: Token) -> Failure {
    // SAFETY: 1.
    let backend = unsafe { backend(server) };
    // SAFETY: 2.
    let submitted = unsafe { backend.barrier(RawQueue::new(pointer(queue)), &[]) };
    complete(backend, submitted)
}
