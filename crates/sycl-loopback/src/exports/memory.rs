//! Operations of queues: copies, fills, barriers. Each is complete when its function returns.

use std::ffi::{c_int, c_void};
use std::ptr;

use super::usm::block_of;
use super::{elements, export, queue};
use crate::state::{Event, Handle, Object, Queue, State};

/// `DPCTL_USM_DEVICE`.
const DEVICE: u32 = 1;

/// A fault if a range leaves the allocation it starts in, or is device memory of another context.
pub(super) fn check(
    state: &mut State,
    queue: &Queue,
    pointer: *const c_void,
    count_bytes: usize,
) -> Option<()> {
    if count_bytes == 0 {
        return Some(());
    }
    if pointer.is_null() {
        return None;
    }
    let Some((start, block)) = block_of(state, pointer.addr()) else {
        // Ordinary memory of the host.
        return Some(());
    };
    let available = block.size_bytes - (pointer.addr() - start);
    let reachable = block.usm_type != DEVICE || block.context == queue.context.identity;
    state.expect(count_bytes <= available && reachable)
}

/// The event of a command that has run, and that started after events with these times.
pub(super) fn done(state: &mut State, queue: &Queue, after: Vec<[u64; 3]>) -> Handle {
    done_by(state, queue, [0; 2], after)
}

/// [`done`] for a kernel: its handle, and that of its bundle.
pub(super) fn done_by(state: &mut State, queue: &Queue, kernel: [usize; 2], after: Vec<[u64; 3]>) -> Handle {
    let times = if queue::records_times(queue) { [state.tick(), state.tick(), state.tick()] } else { [0; 3] };
    let held = state.held(queue, kernel);
    state.create(Object::Event(Event { times, after, held }))
}

/// The times of events; a fault for each that is not live.
pub(super) fn times_of(state: &mut State, events: *const Handle, count: usize) -> Option<Vec<[u64; 3]>> {
    // SAFETY: the header's contract: `events` has `count` elements.
    let events = unsafe { elements(events, count) };
    events.into_iter().map(|event| state.event(event).map(|event| event.times)).collect()
}

fn hint(state: &mut State, queue: Handle, pointer: *const c_void, count_bytes: usize) -> Option<Handle> {
    let queue = state.queue(queue)?;
    check(state, &queue, pointer, count_bytes)?;
    Some(done(state, &queue, Vec::new()))
}

fn copy(
    state: &mut State,
    queue: Handle,
    destination: *mut c_void,
    source: *const c_void,
    count_bytes: usize,
    after: Vec<[u64; 3]>,
) -> Option<Handle> {
    let queue = state.queue(queue)?;
    check(state, &queue, destination, count_bytes)?;
    check(state, &queue, source, count_bytes)?;
    if count_bytes > 0 {
        // SAFETY: the header's contract: both are valid for `count_bytes`; `copy` allows that they overlap.
        unsafe { ptr::copy(source.cast::<u8>(), destination.cast::<u8>(), count_bytes) };
    }
    Some(done(state, &queue, after))
}

pub(super) fn fill<T: Copy>(
    state: &mut State,
    queue: Handle,
    usm: *mut c_void,
    value: T,
    count: usize,
    after: Vec<[u64; 3]>,
) -> Option<Handle> {
    let queue = state.queue(queue)?;
    check(state, &queue, usm, count.checked_mul(size_of::<T>())?)?;
    for index in 0..count {
        // SAFETY: the header's contract: `usm` is valid for `count` elements.
        let element = unsafe { usm.cast::<T>().add(index) };
        // SAFETY: the header's contract: `usm` is valid for `count` elements, of any alignment.
        unsafe { element.write_unaligned(value) };
    }
    Some(done(state, &queue, after))
}

macro_rules! fills {
    ($($name:ident = $ty:ty;)*) => {
        export! {$(
            fn $name(state, queue: Handle, usm: *mut c_void, value: $ty, count: usize) -> Handle {
                fill(state, queue, usm, value, count, Vec::new())
            }
        )*}
    };
}
fills! {
    DPCTLQueue_Memset = u8;
    DPCTLQueue_Fill8 = u8;
    DPCTLQueue_Fill16 = u16;
    DPCTLQueue_Fill32 = u32;
    DPCTLQueue_Fill64 = u64;
}

export! {
    fn DPCTLQueue_Memcpy(
        state, queue: Handle, destination: *mut c_void, source: *const c_void, count_bytes: usize,
    ) -> Handle {
        copy(state, queue, destination, source, count_bytes, Vec::new())
    }

    fn DPCTLQueue_MemcpyWithEvents(
        state, queue: Handle, destination: *mut c_void, source: *const c_void, count_bytes: usize,
        events: *const Handle, event_count: usize,
    ) -> Handle {
        let after = times_of(state, events, event_count)?;
        copy(state, queue, destination, source, count_bytes, after)
    }

    fn DPCTLQueue_Prefetch(state, queue: Handle, pointer: *const c_void, count_bytes: usize) -> Handle {
        hint(state, queue, pointer, count_bytes)
    }

    fn DPCTLQueue_MemAdvise(
        state, queue: Handle, pointer: *const c_void, count_bytes: usize, _advice: c_int,
    ) -> Handle {
        hint(state, queue, pointer, count_bytes)
    }

    fn DPCTLQueue_SubmitBarrier(state, queue: Handle) -> Handle {
        let queue = state.queue(queue)?;
        Some(done(state, &queue, Vec::new()))
    }

    fn DPCTLQueue_SubmitBarrierForEvents(state, queue: Handle, events: *const Handle, event_count: usize) -> Handle {
        let queue = state.queue(queue)?;
        let after = times_of(state, events, event_count)?;
        Some(done(state, &queue, after))
    }

    fn DPCTLQueue_Fill128(state, queue: Handle, usm: *mut c_void, value: *mut u64, count: usize) -> Handle {
        if value.is_null() {
            return None;
        }
        // SAFETY: the header's contract: `value` points to two words.
        let value = unsafe { value.cast::<[u64; 2]>().read() };
        fill(state, queue, usm, value, count, Vec::new())
    }
}
