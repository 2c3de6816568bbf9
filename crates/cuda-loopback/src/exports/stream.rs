//! Streams.

use std::ffi::c_uint;

use super::{export, give, handle};
use crate::codes::{Code, Outcome};
use crate::handles::StreamRef;
use crate::state::{Event, Handle, Locked, Object, changed, wait};
use crate::streams::Implicit;

/// `CU_STREAM_NON_BLOCKING`: no implicit order with the legacy default stream.
const NON_BLOCKING: c_uint = 1;

/// Waits for all that was submitted to a stream, which host code then knows to be complete.
pub(super) fn synchronize(state: Locked, stream: StreamRef) -> Outcome<Locked> {
    let (last, clock) = state.streams.last(stream.number);
    let mut state = wait(state, |state| state.is_complete_or_lost(last, stream.device));
    state.usable(stream.device)?;
    state.streams.host_learns(&clock);
    state.memory.trim_all();
    Ok(state)
}

export! {
    fn cuStreamCreate(call, state, stream: *mut Handle, flags: c_uint) {
        let device = state.current_device(call)?;
        if flags > NON_BLOCKING || stream.is_null() {
            return Err(Code::INVALID_VALUE.refusal());
        }
        let implicit = (flags != NON_BLOCKING).then_some(Implicit::Blocking);
        let number = state.streams.create(device, implicit);
        let new = state.create(Object::Stream(number));
        // SAFETY: the header's contract: writable.
        unsafe { give(stream, handle(new)) }
    }

    // The work goes on. The stream goes when it is complete.
    fn cuStreamDestroy_v2(call, state, stream: Handle) {
        if stream.addr() <= 2 {
            return Err(Code::INVALID_HANDLE.fault(format!("{call}: a default stream")));
        }
        let found = state.stream(call, stream)?;
        state.destroy_captured(call, found);
        state.remove(stream.addr());
        state.streams.destroy(found.number);
        Ok(())
    }

    fn cuStreamSynchronize(call, state, stream: Handle) {
        let stream = state.stream(call, stream)?;
        state.check_not_captured(call, stream)?;
        synchronize(state, stream).map(drop)
    }

    fn cuStreamQuery(call, state, stream: Handle) {
        let stream = state.stream(call, stream)?;
        state.check_not_captured(call, stream)?;
        state.usable(stream.device)?;
        let (last, clock) = state.streams.last(stream.number);
        if !state.streams.is_complete(last) {
            return Err(Code::NOT_READY.refusal());
        }
        state.streams.host_learns(&clock);
        Ok(())
    }

    fn cuStreamWaitEvent(call, state, stream: Handle, event: Handle, flags: c_uint) {
        let stream = state.stream_to_use(call, stream)?;
        let Event { recorded, captured, .. } = state.event(call, event)?.clone();
        if flags != 0 {
            return Err(Code::INVALID_VALUE.refusal());
        }
        if let Some(captured) = captured {
            return state.join(call, stream, &captured);
        }
        if let Some(record) = recorded {
            state.check_isolation(call, stream)?;
            state.streams.order(stream.number, record.at, &record.clock);
            changed();
        }
        Ok(())
    }

    fn cuStreamGetCtx(call, state, stream: Handle, context: *mut Handle) {
        let device = state.stream(call, stream)?.device;
        let found = state.contexts.get(&device).map_or(0, |found| found.handle);
        // SAFETY: the header's contract: writable.
        unsafe { give(context, handle(found)) }
    }
}
