//! Primary contexts, the current ones of each thread, and peers.

use std::collections::BTreeSet;
use std::ffi::{c_int, c_uint};

use super::{export, give, handle};
use crate::codes::Code;
use crate::state::{Context, Handle, Object, current, wait};
use crate::streams::Implicit;

export! {
    fn cuDevicePrimaryCtxRetain(call, state, context: *mut Handle, device: c_int) {
        let device = state.device(device)?;
        if !state.contexts.contains_key(&device) {
            state.memory.open(device)?;
            let default_streams = [Implicit::Legacy, Implicit::Blocking].map(|implicit| state.streams.create(device, Some(implicit)));
            let new = state.create(Object::Context(device));
            let new = Context { handle: new, references: 0, lost: None, peers: BTreeSet::new(), default_streams };
            state.contexts.insert(device, new);
        }
        let Some(found) = state.contexts.get_mut(&device) else { return Err(Code::UNKNOWN.refusal()) };
        // SAFETY: the header's contract: writable.
        unsafe { give(context, handle(found.handle)) }?;
        found.references += 1;
        Ok(())
    }

    fn cuCtxGetCurrent(call, state, context: *mut Handle) {
        let device = current(|current| current.last().copied()).flatten();
        let found = device.and_then(|device| state.contexts.get(&device)).map_or(0, |found| found.handle);
        // SAFETY: the header's contract: writable.
        unsafe { give(context, handle(found)) }
    }

    fn cuCtxPushCurrent_v2(call, state, context: Handle) {
        let device = state.context(call, context)?;
        current(|current| current.push(device)).ok_or_else(|| Code::INVALID_CONTEXT.refusal())
    }

    fn cuCtxPopCurrent_v2(call, state, context: *mut Handle) {
        let device = current(Vec::pop).flatten();
        let device = device.ok_or_else(|| Code::INVALID_CONTEXT.fault(format!("{call}: no context is current")))?;
        let found = state.contexts.get(&device).map_or(0, |found| found.handle);
        if context.is_null() {
            return Ok(());
        }
        // SAFETY: the header's contract: writable.
        unsafe { give(context, handle(found)) }
    }

    // The context takes the place of the current one, of none, or ends it.
    fn cuCtxSetCurrent(call, state, context: Handle) {
        let device = if context.is_null() { None } else { Some(state.context(call, context)?) };
        let set = |current: &mut Vec<usize>| {
            current.pop();
            current.extend(device);
        };
        current(set).ok_or_else(|| Code::INVALID_CONTEXT.refusal())
    }

    // The stand-in keeps the context for the one who retained it first.
    fn cuDevicePrimaryCtxRelease_v2(call, state, device: c_int) {
        let device = state.device(device)?;
        match state.contexts.get_mut(&device) {
            Some(found) if found.references > 1 => found.references -= 1,
            _ => return Err(Code::INVALID_CONTEXT.fault(format!("{call}: nobody else has the context of {device}"))),
        }
        Ok(())
    }

    fn cuCtxSynchronize(call, state) {
        let device = state.current_device(call)?;
        state.check_none_captured(call, device)?;
        let mut state = wait(state, |state| state.streams.is_idle_on(device) || state.usable(device).is_err());
        state.usable(device)?;
        state.streams.host_learns_all(device);
        state.memory.trim_all();
        Ok(())
    }

    fn cuCtxEnablePeerAccess(call, state, peer: Handle, flags: c_uint) {
        let peer = state.context(call, peer)?;
        if flags != 0 {
            return Err(Code::INVALID_VALUE.refusal());
        }
        if state.current_device(call)? == peer {
            return Err(Code::INVALID_CONTEXT.refusal());
        }
        let is_new = state.current_context(call)?.peers.insert(peer);
        if is_new { Ok(()) } else { Err(Code::PEER_ACCESS_ALREADY_ENABLED.refusal()) }
    }

    fn cuCtxDisablePeerAccess(call, state, peer: Handle) {
        let peer = state.context(call, peer)?;
        let was_peer = state.current_context(call)?.peers.remove(&peer);
        if was_peer { Ok(()) } else { Err(Code::PEER_ACCESS_NOT_ENABLED.refusal()) }
    }
}
