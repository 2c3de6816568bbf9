//! Devices, the device manager, device vectors, strings. Sub-devices are in `partition`.

use std::ffi::{c_char, c_int};

use super::{context, elements, export};
use crate::devices::{ASPECTS, DEVICES, Device, matching};
use crate::state::{Handle, Object, State};

fn info(state: &mut State, device: Handle) -> Option<&'static Device> {
    let device = state.device(device)?;
    state.facts(device)
}

/// The compute units of a device, which are fewer than its root's for a sub-device.
pub(super) fn compute_units(state: &State, device: usize) -> Option<u32> {
    state
        .sub_device(device)
        .map(|part| part.compute_units)
        .or(state.facts(device).map(|root| root.compute_units))
}

/// The device with the highest score.
pub(super) fn preferred(scores: &[(usize, i32)]) -> Option<usize> {
    let accepted = scores.iter().filter(|(_, score)| *score >= 0);
    accepted.max_by_key(|(_, score)| *score).map(|(device, _)| *device)
}

export! {
    fn DPCTLDevice_Create(state) -> Handle {
        let scores: Vec<_> = DEVICES.iter().map(|device| device.score).enumerate().collect();
        Some(state.create(Object::Device(preferred(&scores)?)))
    }

    fn DPCTLDevice_CreateFromSelector(state, selector: Handle) -> Handle {
        let device = preferred(&state.selector(selector)?)?;
        Some(state.create(Object::Device(device)))
    }

    fn DPCTLDevice_GetDeviceType(state, device: Handle) -> u32 { Some(info(state, device)?.device_type) }

    fn DPCTLDevice_GetName(state, device: Handle) -> *const c_char {
        let name = info(state, device)?.name;
        Some(state.string(name))
    }

    fn DPCTLDevice_GetVendor(state, device: Handle) -> *const c_char {
        let vendor = info(state, device)?.vendor;
        Some(state.string(vendor))
    }

    fn DPCTLDevice_GetDriverVersion(state, device: Handle) -> *const c_char {
        info(state, device)?;
        Some(state.string(c"1.0"))
    }

    fn DPCTLDevice_GetMaxComputeUnits(state, device: Handle) -> u32 {
        let device = state.device(device)?;
        compute_units(state, device)
    }

    fn DPCTLDevice_GetGlobalMemSize(state, device: Handle) -> u64 { Some(info(state, device)?.global_mem_bytes) }

    fn DPCTLDevice_GetLocalMemSize(state, device: Handle) -> u64 { Some(info(state, device)?.local_mem_bytes) }

    fn DPCTLDevice_GetMaxMemAllocSize(state, device: Handle) -> u64 { Some(info(state, device)?.max_alloc_bytes) }

    fn DPCTLDevice_GetMaxWorkGroupSize(state, device: Handle) -> usize { Some(info(state, device)?.max_work_group) }

    fn DPCTLDevice_HasAspect(state, device: Handle, aspect: u32) -> bool {
        let aspects = info(state, device)?.aspects;
        // The real library reports an error.
        state.expect(aspect < ASPECTS)?;
        Some(aspects.checked_shr(aspect).unwrap_or(0) & 1 == 1)
    }

    fn DPCTLDevice_GetPlatform(state, device: Handle) -> Handle {
        let device = state.device(device)?;
        let platform = state.root(device);
        Some(state.create(Object::Platform(platform)))
    }

    fn DPCTLDeviceMgr_GetDevices(state, identifier: c_int) -> Handle {
        Some(state.create(Object::DeviceVector(matching(identifier))))
    }

    fn DPCTLDeviceMgr_GetCachedContext(state, device: Handle) -> Handle {
        let device = state.device(device)?;
        state.sub_device(device).is_none().then(|| state.create(Object::Context(context::default_of(device))))
    }

    fn DPCTLDeviceMgr_GetNumDevices(_state, identifier: c_int) -> usize { Some(matching(identifier).len()) }

    // There is one root device of each type.
    fn DPCTLDeviceMgr_GetRelativeId(state, device: Handle) -> i64 {
        let device = state.device(device)?;
        state.sub_device(device).is_none().then_some(0)
    }

    fn DPCTLDeviceMgr_GetPositionInDevices(state, device: Handle, identifier: c_int) -> c_int {
        let device = state.device(device)?;
        let position = matching(identifier).iter().position(|&other| other == device)?;
        c_int::try_from(position).ok()
    }

    fn DPCTLDeviceVector_Create(state) -> Handle { Some(state.create(Object::DeviceVector(Vec::new()))) }

    fn DPCTLDeviceVector_CreateFromArray(state, len: usize, devices: *mut Handle) -> Handle {
        if len > 0 && devices.is_null() {
            return None;
        }
        // SAFETY: the header's contract: `devices` has `len` elements.
        let devices = unsafe { elements(devices, len) };
        let positions = devices.into_iter().map(|device| state.device(device)).collect::<Option<_>>()?;
        Some(state.create(Object::DeviceVector(positions)))
    }

    fn DPCTLDeviceVector_GetAt(state, vector: Handle, index: usize) -> Handle {
        let device = *state.device_vector(vector)?.get(index)?;
        Some(state.create(Object::Device(device)))
    }

    fn DPCTLCString_Delete(state, string: *const c_char) { state.delete_string(string) }

    fn DPCTLSize_t_Array_Delete(state, array: *mut usize) { state.delete_array(array) }

    fn DPCTLService_GetDPCPPVersion(state) -> *const c_char { Some(state.string(c"loopback")) }
}
