//! Platforms: one for each device.

use std::ffi::c_char;

use super::{context, export};
use crate::devices::DEVICES;
use crate::state::{Handle, Object};

export! {
    fn DPCTLPlatform_GetName(state, platform: Handle) -> *const c_char {
        let name = DEVICES.get(state.platform(platform)?)?.platform_name;
        Some(state.string(name))
    }

    fn DPCTLPlatform_GetVendor(state, platform: Handle) -> *const c_char {
        state.platform(platform)?;
        Some(state.string(c"usm"))
    }

    fn DPCTLPlatform_GetVersion(state, platform: Handle) -> *const c_char {
        state.platform(platform)?;
        Some(state.string(c"OpenCL 3.0 LOOPBACK"))
    }

    fn DPCTLPlatform_GetDefaultContext(state, platform: Handle) -> Handle {
        let device = state.platform(platform)?;
        Some(state.create(Object::Context(context::default_of(device))))
    }

    fn DPCTLPlatform_GetDevices(state, platform: Handle, device_type: u32) -> Handle {
        let device = state.platform(platform)?;
        let hit = DEVICES.get(device)?.device_type & device_type != 0;
        Some(state.create(Object::DeviceVector(hit.then_some(device).into_iter().collect())))
    }

    fn DPCTLPlatform_GetPlatforms(state) -> Handle {
        Some(state.create(Object::PlatformVector((0..DEVICES.len()).collect())))
    }

    fn DPCTLPlatformVector_GetAt(state, vector: Handle, index: usize) -> Handle {
        let platform = *state.platform_vector(vector)?.get(index)?;
        Some(state.create(Object::Platform(platform)))
    }
}
