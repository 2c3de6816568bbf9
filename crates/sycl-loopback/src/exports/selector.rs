//! Device selectors: a score per device.

use std::ffi::{CStr, c_char, c_int};

use super::export;
use crate::devices::{DEVICES, Device, filtered};
use crate::state::{Handle, Kind, Object};

/// Scores that accept the given devices and refuse all others.
fn scores(accepts: impl Fn(usize, &Device) -> bool) -> Object {
    let score =
        |(index, device): (usize, &Device)| (index, if accepts(index, device) { device.score } else { -1 });
    Object::Selector(DEVICES.iter().enumerate().map(score).collect())
}

export! {
    fn DPCTLDefaultSelector_Create(state) -> Handle { Some(state.create(scores(|_, _| true))) }

    fn DPCTLCPUSelector_Create(state) -> Handle {
        Some(state.create(scores(|_, device| device.type_name == "cpu")))
    }

    fn DPCTLGPUSelector_Create(state) -> Handle {
        Some(state.create(scores(|_, device| device.type_name == "gpu")))
    }

    fn DPCTLFilterSelector_Create(state, filter: *const c_char) -> Handle {
        if filter.is_null() {
            return None;
        }
        // SAFETY: the header's contract: `filter` is a zero-terminated string.
        let filter = unsafe { CStr::from_ptr(filter) }.to_str().ok()?;
        let devices = filtered(filter)?;
        Some(state.create(scores(|index, _| devices.contains(&index))))
    }

    fn DPCTLDeviceSelector_Delete(state, selector: Handle) { state.delete(selector, Kind::Selector) }

    fn DPCTLDeviceSelector_Score(state, selector: Handle, device: Handle) -> c_int {
        let scores = state.selector(selector)?;
        let device = state.device(device)?;
        scores.iter().find(|(index, _)| *index == device).map(|(_, score)| *score)
    }
}
