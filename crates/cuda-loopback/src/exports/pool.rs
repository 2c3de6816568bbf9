//! Memory pools, and allocation in the order of a stream.

use std::ffi::{c_int, c_void};

use super::memory::retry;
use super::{export, give, handle};
use crate::codes::{Code, Outcome};
use crate::handles::StreamRef;
use crate::operations::submit;
use crate::state::{Handle, Locked, Object, State};
use crate::streams::Work;

/// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`, a `u64`.
const RELEASE_THRESHOLD: c_int = 4;
/// `CU_MEM_LOCATION_TYPE_DEVICE`.
const LOCATION_DEVICE: c_int = 1;
/// `CU_MEM_ALLOCATION_TYPE_PINNED`.
const ALLOCATION_PINNED: c_int = 1;
/// `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`.
pub(super) const FILE_DESCRIPTOR: c_int = 1;
/// No access, reading, reading and writing.
const ACCESS: [c_int; 3] = [0, 1, 3];

/// `CUmemPoolProps`, up to the location.
#[repr(C)]
#[derive(Clone, Copy)]
struct PoolProperties {
    allocation_type: c_int,
    handle_types: c_int,
    location: [c_int; 2],
}

/// `CUmemAccessDesc`.
#[repr(C)]
#[derive(Clone, Copy)]
struct PoolAccess {
    location: [c_int; 2],
    flags: c_int,
}

fn device_at(state: &State, location: [c_int; 2]) -> Outcome<usize> {
    match location {
        [LOCATION_DEVICE, ordinal] => state.device(ordinal),
        _ => Err(Code::INVALID_VALUE.refusal()),
    }
}

/// Allocates memory of a device in the order of a stream.
fn allocate(
    state: Locked,
    device: usize,
    address: *mut u64,
    len_bytes: usize,
    pool: Option<usize>,
    stream: StreamRef,
) -> Outcome {
    if len_bytes == 0 {
        // As the real driver.
        // SAFETY: the header's contract: writable.
        return unsafe { give(address, 0) };
    }
    let (mut state, start) = retry(state, |state| state.memory.allocate_device(device, len_bytes, pool));
    let start = start?;
    // SAFETY: the header's contract: writable.
    let submitted = unsafe { give(address, start as u64) }
        .and_then(|()| submit(&mut state, stream, Work::Allocate { block: start }));
    match submitted {
        Ok(at) => state.memory.set_allocated(start, at),
        Err(_) => state.memory.remove(start),
    }
    submitted.map(|_| ())
}

export! {
    fn cuMemPoolCreate(call, state, pool: *mut Handle, properties: *const PoolProperties) {
        if pool.is_null() || properties.is_null() {
            return Err(Code::INVALID_VALUE.refusal());
        }
        // SAFETY: the header's contract: readable.
        let properties = unsafe { properties.read() };
        if properties.allocation_type != ALLOCATION_PINNED || ![0, FILE_DESCRIPTOR].contains(&properties.handle_types) {
            return Err(Code::NOT_SUPPORTED.refusal());
        }
        let device = device_at(&state, properties.location)?;
        state.memory.open(device)?;
        let new = state.create(Object::Pool);
        state.memory.create_pool(new, device, properties.handle_types == FILE_DESCRIPTOR);
        // SAFETY: the header's contract: writable.
        unsafe { give(pool, handle(new)) }
    }

    // The real driver keeps a pool with blocks until these are freed.
    fn cuMemPoolDestroy(call, state, pool: Handle) {
        let pool = state.pool_handle(call, pool)?;
        if !state.memory.destroy_pool(pool) {
            return Err(Code::INVALID_VALUE.fault(format!("{call}: the pool has blocks")));
        }
        state.remove(pool);
        Ok(())
    }

    fn cuMemPoolSetAttribute(call, state, pool: Handle, attribute: c_int, value: *mut c_void) {
        let pool = state.pool_handle(call, pool)?;
        if value.is_null() || attribute != RELEASE_THRESHOLD {
            return Err(Code::INVALID_VALUE.refusal());
        }
        // SAFETY: the header's contract: a `u64`.
        let threshold = unsafe { value.cast::<u64>().read() };
        if let Some(pool) = state.memory.pool(pool) {
            pool.threshold = threshold;
        }
        Ok(())
    }

    fn cuMemPoolSetAccess(call, state, pool: Handle, access: *const PoolAccess, count: usize) {
        let pool = state.pool_handle(call, pool)?;
        if access.is_null() {
            return Err(Code::INVALID_VALUE.refusal());
        }
        for index in 0..count {
            // SAFETY: the header's contract: `count` descriptions.
            let PoolAccess { location, flags } = unsafe { access.wrapping_add(index).read() };
            let device = device_at(&state, location)?;
            let Some(pool) = state.memory.pool(pool) else { continue };
            if !ACCESS.contains(&flags) || flags == 0 && pool.device == device {
                return Err(Code::INVALID_VALUE.refusal());
            }
            if flags == 0 { pool.peers.remove(&device) } else { pool.peers.insert(device) };
        }
        Ok(())
    }

    fn cuMemPoolTrimTo(call, state, pool: Handle, keep_bytes: usize) {
        let pool = state.pool_handle(call, pool)?;
        state.memory.trim(pool, keep_bytes as u64);
        Ok(())
    }

    fn cuMemAllocFromPoolAsync(call, state, address: *mut u64, len_bytes: usize, pool: Handle, stream: Handle) {
        let pool = state.pool_handle(call, pool)?;
        let stream = state.stream_to_use(call, stream)?;
        let device = state.memory.pool(pool).map(|pool| pool.device).unwrap_or_default();
        allocate(state, device, address, len_bytes, Some(pool), stream)
    }

    // From the pool of the device, which nobody made.
    fn cuMemAllocAsync(call, state, address: *mut u64, len_bytes: usize, stream: Handle) {
        let stream = state.stream_to_use(call, stream)?;
        allocate(state, stream.device, address, len_bytes, None, stream)
    }

    // The bytes are overwritten in the order of the stream; from the call on, the address is of no allocation.
    fn cuMemFreeAsync(call, state, address: u64, stream: Handle) {
        let stream = state.stream_to_use(call, stream)?;
        let start = usize::try_from(address).unwrap_or_default();
        if start == 0 {
            return Ok(());
        }
        let kind = state.memory.starting_at(call, start)?.kind;
        if kind != crate::memory::BlockKind::Device {
            return Err(Code::INVALID_VALUE.fault(format!("{call}: {start:#x} is {kind:?} memory")));
        }
        let at = submit(&mut state, stream, Work::Free { block: start })?;
        let (_, clock) = state.streams.last(stream.number);
        let state = &mut *state;
        for fault in state.memory.set_freed(&state.streams, start, at, clock) {
            state.fault(fault);
        }
        Ok(())
    }
}
