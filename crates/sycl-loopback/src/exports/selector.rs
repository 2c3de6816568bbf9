//! Device selectors: a score per device.

use std::ffi::{c_char, c_int};

use super::{export, text};
use crate::devices::{DEVICES, Device, filtered};
use crate::state::{Handle, Object};

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
        // SAFETY: the header's contract: `filter` is NULL or a zero-terminated string.
        let devices = filtered(&unsafe { text(filter) }?)?;
        Some(state.create(scores(|index, _| devices.contains(&index))))
    }

    fn DPCTLDeviceSelector_Score(state, selector: Handle, device: Handle) -> c_int {
        let scores = state.selector(selector)?;
        let device = state.device(device)?;
        scores.iter().find(|(index, _)| *index == device).map(|(_, score)| *score)
    }
}
