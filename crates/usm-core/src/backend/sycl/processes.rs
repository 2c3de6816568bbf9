//! Memory of several processes: pages of CPUs, whose runtime allocates in this process.

use sycl_sys::Api;

use super::{SyclBackend, facts, queue};
use crate::backend::RawQueue;
use crate::{Error, Result};

impl SyclBackend {
    /// Whether USM of a queue lies in pages of this process, on which the runtime keeps nothing of its own.
    ///
    /// # Safety
    /// 1. `queue` is live.
    pub(super) unsafe fn has_pages(api: &Api, raw: RawQueue) -> bool {
        // SAFETY: the queue is live (promise 1).
        let device = unsafe { (api.DPCTLQueue_GetDevice)(queue(raw)) };
        if device.is_null() {
            return false;
        }
        // SAFETY: a live device, of which we have a copy of our own (I1).
        let is_in_process = unsafe { facts::is_in_process(api, device) };
        // SAFETY: I1: our own copy, used no more, for which the call does not throw.
        unsafe { (api.DPCTLDevice_Delete)(device) };
        is_in_process
    }

    /// # Safety
    /// 1. `queue` is live.
    pub(super) unsafe fn check_pages(&self, raw: RawQueue) -> Result<()> {
        // SAFETY: the queue is live (promise 1).
        if unsafe { Self::has_pages(&*self.runtime.enter()?, raw) } {
            return Ok(());
        }
        let reason = "this SYCL runtime has no form for memory of this device; usm.tensor.asnumpy(array), or a pickle, \
                      is a copy that works";
        Err(Error::NotShareable { reason: reason.to_owned() })
    }
}
