//! Composite devices: the CPU passes for one, with the GPU as its only component.

use super::export;
use crate::state::{Handle, Object};

const CPU: usize = 0;
const GPU: usize = 1;

export! {
    fn DPCTLPlatform_GetCompositeDevices(state, platform: Handle) -> Handle {
        let found = (state.platform(platform)? == CPU).then_some(CPU);
        Some(state.create(Object::DeviceVector(found.into_iter().collect())))
    }

    fn DPCTLDevice_GetCompositeDevice(state, device: Handle) -> Handle {
        let component = state.device(device)? == GPU;
        component.then(|| state.create(Object::Device(CPU)))
    }

    fn DPCTLDevice_GetComponentDevices(state, device: Handle) -> Handle {
        let found = (state.device(device)? == CPU).then_some(GPU);
        Some(state.create(Object::DeviceVector(found.into_iter().collect())))
    }
}
