//! Queues and their properties. Their operations are in `memory`.

use std::ffi::c_int;

use super::{context, event, export};
use crate::state::{Context, Handle, Handler, Object, Queue, State, with};

const ENABLE_PROFILING: c_int = 1;
const IN_ORDER: c_int = 2;

fn new(
    state: &mut State,
    context: Context,
    device: usize,
    handler: Option<Handler>,
    properties: c_int,
) -> Option<Handle> {
    if !context.devices.contains(&device) {
        return None;
    }
    let queue = Queue { identity: state.identity(), context, device, handler, properties };
    Some(state.create(Object::Queue(queue)))
}

/// Whether the events of a queue record times.
pub(super) fn records_times(queue: &Queue) -> bool {
    queue.properties & ENABLE_PROFILING != 0
}

export! {
    fn DPCTLQueue_Create(
        state, context: Handle, device: Handle, handler: Option<Handler>, properties: c_int,
    ) -> Handle {
        let context = state.context(context)?;
        let device = state.device(device)?;
        new(state, context, device, handler, properties)
    }

    fn DPCTLQueue_CreateForDevice(state, device: Handle, handler: Option<Handler>, properties: c_int) -> Handle {
        let device = state.device(device)?;
        // A sub-device gets a context of its own, as in the real library.
        let context = match state.sub_device(device) {
            None => context::default_of(device),
            Some(_) => Context { identity: state.identity(), devices: vec![device] },
        };
        new(state, context, device, handler, properties)
    }

    fn DPCTLQueue_GetContext(state, queue: Handle) -> Handle {
        let context = state.queue(queue)?.context;
        Some(state.create(Object::Context(context)))
    }

    fn DPCTLQueue_GetDevice(state, queue: Handle) -> Handle {
        let device = state.queue(queue)?.device;
        Some(state.create(Object::Device(device)))
    }

    fn DPCTLQueue_IsInOrder(state, queue: Handle) -> bool { Some(state.queue(queue)?.properties & IN_ORDER != 0) }

    fn DPCTLQueue_HasEnableProfiling(state, queue: Handle) -> bool { Some(records_times(&state.queue(queue)?)) }
}

#[unsafe(no_mangle)]
#[allow(non_snake_case)]
unsafe extern "C" fn DPCTLQueue_Wait(queue: Handle) {
    if with(|state| state.queue(queue)).is_some() {
        event::deliver_error();
    }
}
