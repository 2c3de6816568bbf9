//! The functions of the table, on the side of the backend.
//!
//! Each is `unsafe` for the same reasons, which its callers in `client.rs` keep:
//! - V1: `server` is that of the table.
//! - V2: tokens are live objects of it and of the type that the parameter's name or the query says.
//! - V3: pointers lead to as many values as their count says.
//! - V4: the promises of the method of `Backend` with that name hold.

use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::super::{
    Backend, DeviceInfo, HostBackend, HostContext, HostQueue, RawContext, RawDevice, RawEvent, RawHandle,
    RawQueue, SimulatedDevice,
};
use super::{
    Answer, DEVICE_TYPES, Failure, HostTable, Query, Server, Token, VERSION, kind_number, kind_of,
    properties_number, properties_of,
};
use crate::Result;
use crate::backend::objects::Handle;

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
    // SAFETY: V1 and T1.
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
    // SAFETY: V3.
    unsafe { slice::from_raw_parts(first, count) }
}

unsafe extern "C" fn query(
    server: Server,
    query: Query,
    of: *const Token,
    count: usize,
    number: usize,
) -> Answer {
    // SAFETY: V1.
    let backend = unsafe { backend(server) };
    // SAFETY: V3.
    let of = unsafe { values(of, count) };
    // SAFETY: V2 and V4.
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
        // SAFETY: V2.
        Query::DEVICE_FACTS => facts(&unsafe { backend.device_info(device) }),
        // SAFETY: V2.
        Query::PARENT_DEVICE => of_device(unsafe { backend.parent_device(device) }.ok()??),
        // SAFETY: V2.
        Query::DEFAULT_CONTEXT => of_context(unsafe { backend.default_context(device) }.ok()?),
        Query::NEW_CONTEXT => {
            let devices: Vec<_> = of.iter().map(|&device| RawDevice::new(pointer(device))).collect();
            // SAFETY: V2.
            of_context(unsafe { backend.create_context(&devices) }.ok()?)
        }
        Query::CONTEXT_DEVICE => {
            // SAFETY: V2.
            let context = unsafe { HostContext::clone_raw(context) };
            with_count(context.devices.get(number)?)
        }
        Query::NEW_QUEUE => {
            let device = RawDevice::new(pointer(*of.get(1)?));
            // SAFETY: V2.
            let made = unsafe { backend.create_queue(context, device, properties_of(number)) };
            Answer::object(made.ok()?.as_ptr())
        }
        Query::QUEUE_PARTS => {
            // SAFETY: V2.
            let (context, device, properties) = unsafe { backend.queue_parts(queue) }.ok()?;
            let properties = properties_number(properties) as u64;
            Answer { objects: [context.as_ptr(), device.as_ptr()], ..Answer::numbers([properties]) }
        }
        Query::POINTER => {
            // SAFETY: V2.
            let found = unsafe { backend.pointer_info(context, number) }?;
            let (start, len_bytes) = found.block.unwrap_or((0, 0));
            Answer::numbers([kind_number(found.kind) as u64, start as u64, len_bytes as u64])
        }
        // SAFETY: V2 and V4.
        Query::POINTER_DEVICE => of_device(unsafe { backend.pointer_device(context, number) }.ok()?),
        Query::ROOT_OF => {
            // SAFETY: V2.
            let mut device = unsafe { SimulatedDevice::clone_raw(device) };
            while let Some(parent) = &device.parent {
                device = Arc::clone(parent);
            }
            with_count(&device)
        }
        Query::RETAIN_QUEUE => {
            // SAFETY: V2.
            let queue = unsafe { HostQueue::clone_raw(queue) };
            Answer::object(HostQueue::into_raw(queue).as_ptr())
        }
        Query::RELEASE => {
            let handles = [RawHandle::Device(device), RawHandle::Context(context), RawHandle::Queue(queue)];
            let handle = *handles.get(number)?;
            // SAFETY: V2 and V4.
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
    // SAFETY: V1.
    let backend = unsafe { backend(server) };
    // SAFETY: V2 and V4.
    let block = unsafe { backend.allocate(RawQueue::new(pointer(queue)), kind, len_bytes, align_bytes) };
    block.map_or(ptr::null_mut(), NonNull::as_ptr)
}

unsafe extern "C" fn free(server: Server, context: Token, block: *mut u8) {
    let Some(block) = NonNull::new(block) else { return };
    // SAFETY: V1.
    let backend = unsafe { backend(server) };
    // SAFETY: V2 and V4.
    unsafe { backend.free(RawContext::new(pointer(context)), block) };
}

/// Waits for an operation that was just submitted.
fn complete(backend: &HostBackend, submitted: Result<RawEvent>) -> Failure {
    Failure::of(submitted.and_then(|event| {
        // SAFETY: O1: a fresh event of this backend.
        let completed = unsafe { backend.wait(event) };
        // SAFETY: O1: its count, which goes nowhere else.
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
    // SAFETY: V1.
    let backend = unsafe { backend(server) };
    // SAFETY: V2 and V4.
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
    // SAFETY: V1.
    let backend = unsafe { backend(server) };
    // SAFETY: V3.
    let pattern = unsafe { values(pattern, pattern_bytes) };
    // SAFETY: V2 and V4.
    let submitted = unsafe { backend.fill(RawQueue::new(pointer(queue)), dst, pattern, count, &[]) };
    complete(backend, submitted)
}

unsafe extern "C" fn wait(server: Server, queue: Token) -> Failure {
    // SAFETY: V1.
    let backend = unsafe { backend(server) };
    // SAFETY: V2.
    let submitted = unsafe { backend.barrier(RawQueue::new(pointer(queue)), &[]) };
    complete(backend, submitted)
}
