//! Contexts.

use std::ffi::c_int;

use super::export;
use crate::state::{Context, Handle, Handler, Object, State};

/// The default context of a device, the same each time.
pub(super) fn default_of(device: usize) -> Context {
    Context { identity: device + 1, devices: vec![device] }
}

fn new(state: &mut State, devices: Vec<usize>) -> Handle {
    let context = Context { identity: state.identity(), devices };
    state.create(Object::Context(context))
}

export! {
    fn DPCTLContext_Create(state, device: Handle, _handler: Option<Handler>, _properties: c_int) -> Handle {
        let device = state.device(device)?;
        Some(new(state, vec![device]))
    }

    fn DPCTLContext_CreateFromDevices(state, devices: Handle, _handler: Option<Handler>, _properties: c_int) -> Handle {
        let devices = state.device_vector(devices)?;
        // Every root device has its own platform, and a context cannot span platforms.
        let platform = state.root(*devices.first()?);
        let one = devices.iter().all(|&device| state.root(device) == platform);
        one.then(|| new(state, devices))
    }

    fn DPCTLContext_DeviceCount(state, context: Handle) -> usize { Some(state.context(context)?.devices.len()) }

    fn DPCTLContext_GetDevices(state, context: Handle) -> Handle {
        let devices = state.context(context)?.devices;
        Some(state.create(Object::DeviceVector(devices)))
    }
}
