//! Platforms: one for each device.

use std::ffi::c_char;

use super::{context, export};
use crate::devices::{DEVICES, OPENCL};
use crate::state::{Handle, Kind, Object};

export! {
    fn DPCTLPlatform_Copy(state, platform: Handle) -> Handle { state.copy(platform, Kind::Platform) }

    fn DPCTLPlatform_Delete(state, platform: Handle) { state.delete(platform, Kind::Platform) }

    fn DPCTLPlatform_AreEq(state, first: Handle, second: Handle) -> bool {
        Some(state.platform(first)? == state.platform(second)?)
    }

    fn DPCTLPlatform_Hash(state, platform: Handle) -> usize { Some(state.platform(platform)? + 1) }

    fn DPCTLPlatform_GetBackend(state, platform: Handle) -> u32 { state.platform(platform).map(|_| OPENCL) }

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

    fn DPCTLPlatformVector_Delete(state, vector: Handle) { state.delete(vector, Kind::PlatformVector) }

    fn DPCTLPlatformVector_Size(state, vector: Handle) -> usize { Some(state.platform_vector(vector)?.len()) }

    fn DPCTLPlatformVector_GetAt(state, vector: Handle, index: usize) -> Handle {
        let platform = *state.platform_vector(vector)?.get(index)?;
        Some(state.create(Object::Platform(platform)))
    }
}
