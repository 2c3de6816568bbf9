//! Events: every command is complete when its event exists.

use super::export;
use crate::devices::OPENCL;
use crate::state::{Event, Handle, Kind, Object, with};

/// `DPCTL_COMPLETE`.
const COMPLETE: u32 = 3;

/// Calls the handler that an asynchronous error is waiting for, with the state unlocked: a handler may call back.
pub(super) fn deliver_error() {
    if let Some((handler, code)) = with(crate::state::State::take_error) {
        // SAFETY: the header's contract: the handler of a queue outlives the queue.
        unsafe { handler(code) };
    }
}

export! {
    fn DPCTLEvent_Create(state) -> Handle { Some(state.create(Object::Event(Event { times: [0; 3], after: Vec::new() }))) }

    // Like the real library, this delivers no asynchronous error.
    fn DPCTLEvent_Wait(state, event: Handle) { state.event(event).map(|_| ()) }

    fn DPCTLEvent_Delete(state, event: Handle) { state.delete(event, Kind::Event) }

    fn DPCTLEvent_Copy(state, event: Handle) -> Handle { state.copy(event, Kind::Event) }

    fn DPCTLEvent_GetBackend(state, event: Handle) -> u32 { state.event(event).map(|_| OPENCL) }

    fn DPCTLEvent_GetCommandExecutionStatus(state, event: Handle) -> u32 { state.event(event).map(|_| COMPLETE) }

    fn DPCTLEvent_GetProfilingInfoSubmit(state, event: Handle) -> u64 { state.event(event).map(|event| event.times[0]) }

    fn DPCTLEvent_GetProfilingInfoStart(state, event: Handle) -> u64 { state.event(event).map(|event| event.times[1]) }

    fn DPCTLEvent_GetProfilingInfoEnd(state, event: Handle) -> u64 { state.event(event).map(|event| event.times[2]) }

    fn DPCTLEvent_GetWaitList(state, event: Handle) -> Handle {
        let after = state.event(event)?.after;
        Some(state.create(Object::EventVector(after)))
    }

    fn DPCTLEventVector_Delete(state, vector: Handle) { state.delete(vector, Kind::EventVector) }

    fn DPCTLEventVector_Size(state, vector: Handle) -> usize { Some(state.event_vector(vector)?.len()) }

    fn DPCTLEventVector_GetAt(state, vector: Handle, index: usize) -> Handle {
        let times = *state.event_vector(vector)?.get(index)?;
        Some(state.create(Object::Event(Event { times, after: Vec::new() })))
    }
}

#[unsafe(no_mangle)]
#[allow(non_snake_case)]
unsafe extern "C" fn DPCTLEvent_WaitAndThrow(event: Handle) {
    if with(|state| state.event(event)).is_some() {
        deliver_error();
    }
}
