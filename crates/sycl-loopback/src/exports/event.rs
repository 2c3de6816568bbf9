//! Events: every command has run when its event exists, and is complete unless commands are held.

use super::{export, getters};
use crate::state::{Event, Handle, Object, with};

/// `DPCTL_SUBMITTED`.
const SUBMITTED: u32 = 1;
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
    fn DPCTLEvent_Create(state) -> Handle { Some(state.create(Object::Event(Event { times: [0; 3], after: Vec::new(), held: None }))) }

    fn DPCTLEvent_GetWaitList(state, event: Handle) -> Handle {
        let after = state.event(event)?.after;
        Some(state.create(Object::EventVector(after)))
    }

    // Like the real library, this delivers no asynchronous error.
    fn DPCTLEvent_Wait(state, event: Handle) {
        let event = state.event(event)?;
        state.complete(&event);
        Some(())
    }

    fn DPCTLEvent_GetCommandExecutionStatus(state, event: Handle) -> u32 {
        let event = state.event(event)?;
        Some(if state.is_held(&event) { SUBMITTED } else { COMPLETE })
    }

    fn DPCTLEventVector_GetAt(state, vector: Handle, index: usize) -> Handle {
        let times = *state.event_vector(vector)?.get(index)?;
        Some(state.create(Object::Event(Event { times, after: Vec::new(), held: None })))
    }
}

getters! {
    DPCTLEvent_GetProfilingInfoSubmit -> u64 = event: |event| event.times[0];
    DPCTLEvent_GetProfilingInfoStart -> u64 = event: |event| event.times[1];
    DPCTLEvent_GetProfilingInfoEnd -> u64 = event: |event| event.times[2];
}

#[unsafe(no_mangle)]
#[allow(non_snake_case)]
unsafe extern "C" fn DPCTLEvent_WaitAndThrow(event: Handle) {
    let found = with(|state| state.event(event).inspect(|event| state.complete(event)));
    if found.is_some() {
        deliver_error();
    }
}
