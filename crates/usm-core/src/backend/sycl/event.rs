//! Events: waiting, status, times and dependencies.

use sycl_sys::{Api, DPCTLSyclEventRef, DPCTLSyclEventStatusType};

use super::one_waits::{self, Next};
use super::vector::Vectors;
use super::{SyclBackend, async_errors};
use crate::backend::{EventStatus, ProfilingTimes, RawEvent};
use crate::{Error, Result};

/// Waits until the operation is complete, and returns its error.
///
/// # Safety
/// 1. `event` is live.
pub(super) unsafe fn wait(api: &Api, event: DPCTLSyclEventRef) -> Result<()> {
    // SAFETY: the caller's promise 1.
    let exclusive = match unsafe { one_waits::exclusive(api, event) } {
        Next::Wait(exclusive) => exclusive,
        Next::Return => return async_errors::take(),
    };
    let reported = async_errors::during(|| {
        // `Event_Wait` alone would leave asynchronous errors in the queue.
        // SAFETY: the caller's promise 1.
        unsafe { (api.DPCTLEvent_WaitAndThrow)(event) };
    });
    // The interface swallows the exception of a failed wait. The operands must stay until completion.
    let status = loop {
        // SAFETY: the caller's promise 1.
        let status = unsafe { (api.DPCTLEvent_GetCommandExecutionStatus)(event) };
        if !one_waits::is_under_way(status) {
            break status;
        }
        std::thread::yield_now();
        // SAFETY: the caller's promise 1.
        unsafe { (api.DPCTLEvent_Wait)(event) };
    };
    drop(exclusive);
    reported?;
    if status == DPCTLSyclEventStatusType::COMPLETE {
        Ok(())
    } else {
        Err(SyclBackend::failed("Event_WaitAndThrow"))
    }
}

/// # Safety
/// 1. `event` is live.
pub(super) unsafe fn status(api: &Api, event: DPCTLSyclEventRef) -> EventStatus {
    // SAFETY: the caller's promise 1.
    match unsafe { (api.DPCTLEvent_GetCommandExecutionStatus)(event) } {
        DPCTLSyclEventStatusType::SUBMITTED => EventStatus::Submitted,
        DPCTLSyclEventStatusType::RUNNING => EventStatus::Running,
        DPCTLSyclEventStatusType::COMPLETE => EventStatus::Complete,
        // A failed one has no name in this interface, and is complete.
        _ => EventStatus::Failed,
    }
}

/// # Safety
/// 1. `event` is live.
pub(super) unsafe fn times(api: &Api, event: DPCTLSyclEventRef) -> Result<ProfilingTimes> {
    // SAFETY: the caller's promise 1.
    unsafe { wait(api, event) }?;
    let times = ProfilingTimes {
        // SAFETY: the caller's promise 1.
        submit_ns: unsafe { (api.DPCTLEvent_GetProfilingInfoSubmit)(event) },
        // SAFETY: the caller's promise 1.
        start_ns: unsafe { (api.DPCTLEvent_GetProfilingInfoStart)(event) },
        // SAFETY: the caller's promise 1.
        end_ns: unsafe { (api.DPCTLEvent_GetProfilingInfoEnd)(event) },
    };
    // The interface answers 0 where there are no times.
    if times.end_ns == 0 { Err(Error::NoProfiling) } else { Ok(times) }
}

/// # Safety
/// 1. `event` is live.
pub(super) unsafe fn dependencies(api: &Api, event: DPCTLSyclEventRef) -> Result<Vec<RawEvent>> {
    // SAFETY: the caller's promise 1.
    let vector = unsafe { (api.DPCTLEvent_GetWaitList)(event) };
    let vectors = Vectors {
        element_call: "EventVector_GetAt",
        len: api.DPCTLEventVector_Size,
        element: api.DPCTLEventVector_GetAt,
        delete: api.DPCTLEventVector_Delete,
        delete_element: api.DPCTLEvent_Delete,
    };
    // SAFETY: 1. The functions for events. 2. The vector was made for us (S1).
    let events = unsafe { vectors.take(vector, "Event_GetWaitList") }?;
    Ok(events.into_iter().map(RawEvent::new).collect())
}
