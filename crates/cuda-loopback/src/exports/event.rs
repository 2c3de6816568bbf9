//! Events.

use std::ffi::c_uint;

use super::{export, give, handle};
use crate::codes::Code;
use crate::operations::submit;
use crate::state::{Event, Handle, Object, Record, wait};
use crate::streams::Work;

/// `CU_EVENT_DISABLE_TIMING`.
const DISABLE_TIMING: c_uint = 2;
/// All flags of an event.
const FLAGS: c_uint = 7;

export! {
    fn cuEventCreate(call, state, event: *mut Handle, flags: c_uint) {
        let device = state.current_device(call)?;
        if flags & !FLAGS != 0 || event.is_null() {
            return Err(Code::INVALID_VALUE.refusal());
        }
        let new = Event { device, has_times: flags & DISABLE_TIMING == 0, recorded: None, captured: None };
        let new = state.create(Object::Event(new));
        // SAFETY: the header's contract: writable.
        unsafe { give(event, handle(new)) }
    }

    fn cuEventRecord(call, state, event: Handle, stream: Handle) {
        let device = state.event(call, event)?.device;
        let stream = state.stream_to_use(call, stream)?;
        if device != stream.device {
            let text = format!("{call}: an event of device {device} in a stream of device {}", stream.device);
            return Err(Code::INVALID_HANDLE.fault(text));
        }
        if let Some(status) = state.captures.of(stream.number) {
            let captured = state.captured_so_far(stream, status)?;
            state.event(call, event)?.captured = Some(captured);
            return Ok(());
        }
        submit(&mut state, stream, Work::Record { event: event.addr() })?;
        let (at, clock) = state.streams.last(stream.number);
        let event = state.event(call, event)?;
        (event.recorded, event.captured) = (Some(Record { at, clock, time: None }), None);
        Ok(())
    }

    fn cuEventQuery(call, state, event: Handle) {
        let Event { device, recorded, captured, .. } = state.event(call, event)?.clone();
        state.check_event(call, captured.as_ref())?;
        state.usable(device)?;
        let Some(record) = recorded else { return Ok(()) };
        if !state.streams.is_complete(record.at) {
            return Err(Code::NOT_READY.refusal());
        }
        state.streams.host_learns(&record.clock);
        Ok(())
    }

    fn cuEventSynchronize(call, state, event: Handle) {
        let Event { device, recorded, captured, .. } = state.event(call, event)?.clone();
        state.check_event(call, captured.as_ref())?;
        state.usable(device)?;
        let Some(record) = recorded else { return Ok(()) };
        let mut state = wait(state, |state| state.is_complete_or_lost(record.at, device));
        state.usable(device)?;
        state.streams.host_learns(&record.clock);
        state.memory.trim_all();
        Ok(())
    }

    fn cuEventElapsedTime(call, state, milliseconds: *mut f32, start: Handle, end: Handle) {
        let mut times = [None; 2];
        for (event, time) in [start, end].into_iter().zip(&mut times) {
            let Event { device, has_times, recorded, captured } = state.event(call, event)?.clone();
            state.check_event(call, captured.as_ref())?;
            state.usable(device)?;
            let record = recorded.filter(|_| has_times);
            let record = record.ok_or_else(|| Code::INVALID_HANDLE.fault(format!("{call}: an event without a time")))?;
            *time = record.time;
        }
        let [Some(start), Some(end)] = times else { return Err(Code::NOT_READY.refusal()) };
        let seconds = if end >= start { (end - start).as_secs_f32() } else { -(start - end).as_secs_f32() };
        // SAFETY: the header's contract: writable.
        unsafe { give(milliseconds, seconds * 1e3) }
    }

    // A pending one completes without its handle.
    fn cuEventDestroy_v2(call, state, event: Handle) {
        let device = state.event(call, event)?.device;
        state.usable(device)?;
        state.remove(event.addr());
        Ok(())
    }
}
