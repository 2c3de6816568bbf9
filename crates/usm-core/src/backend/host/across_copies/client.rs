//! A backend whose methods call the functions of another copy's table.

use std::ptr::NonNull;

use super::super::{
    Backend, BackendId, DeviceInfo, EventStatus, HostPlatform, HostTask, Partition, PeerAccess, PlatformInfo,
    ProfilingTimes, QueueProperties, RawContext, RawDevice, RawEvent, RawHandle, RawPlatform, RawQueue,
    TaskMemory,
};
use super::c_form::CForm;
use super::{DeviceFacts, HostTable, VERSION, functions};
use crate::{DeviceType, Error, PointerInfo, Result, UsmKind};

/// The host backend of another copy of this library in the same process.
///
/// Its devices, contexts, queues and memory are those of that copy. Operations complete before their call returns.
#[derive(Debug)]
pub struct HostOfOtherCopy {
    /// Invariant C1: a table of [`VERSION`] by `HostBackend::table` of some copy, which lives as long as the process, and whose
    /// functions get its own server and objects that its functions gave.
    table: &'static HostTable,
}

impl HostOfOtherCopy {
    /// The backend behind a table.
    ///
    /// # Safety
    /// 1. `table` is null, or a [`HostTable`] that a copy of this library made with
    ///    [`HostBackend::table`](super::super::HostBackend::table), of any version, and it lives as long as the process.
    ///
    /// # Errors
    /// [`Error::SharedVersion`] for a table of another version.
    pub unsafe fn new(table: *const HostTable) -> Result<Self> {
        let wrong = |found| Error::SharedVersion { what: "the host backend", found, expected: VERSION };
        if table.is_null() {
            return Err(wrong(0));
        }
        // SAFETY: C1 for a table of any version (1): each starts with its number.
        let version = unsafe { table.cast::<u32>().read() };
        if version != VERSION {
            return Err(wrong(version));
        }
        // SAFETY: C1 (1), and the version is this one.
        let table = unsafe { &*table };
        if table.size_bytes as usize != size_of::<HostTable>() {
            return Err(wrong(version));
        }
        #[cfg(feature = "sycl")]
        // SAFETY: C1: null, or the static flag of that copy.
        if let Some(flag) = unsafe { table.waits.as_ref() }
            && !std::ptr::eq(flag, crate::backend::sycl::one_waits::flag())
        {
            crate::backend::sycl::one_waits::use_flag(flag);
        }
        Ok(Self { table })
    }
}

/// Methods that call the function of the table with their name.
macro_rules! call {
    ($visibility:vis, $($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)+) => {
        $($visibility unsafe fn $name(&self, $($argument: $type),*) -> $answer {
            // SAFETY: C1: the promises of the method are those of the caller.
            let answer = unsafe { (self.table.$name)(self.table.server, $($argument.into_c()),*) };
            // SAFETY: C1: the C form of an answer, fresh from that copy.
            unsafe { <$answer as CForm>::from_c(answer) }
        })+
    };
}

macro_rules! call_methods {
    (methods { $($methods:tt)* } others { $($others:tt)* }) => { call! { , $($methods)* } };
}

macro_rules! call_others {
    (methods { $($methods:tt)* } others { $($others:tt)* }) => {
        impl HostOfOtherCopy { call! { pub(crate), $($others)* } }
    };
}
functions!(call_others);

/// The event of an operation that is complete. It stands for no object.
fn completed(result: Result<()>) -> Result<RawEvent> {
    result.map(|()| RawEvent::new(NonNull::dangling()))
}

fn not_supported<T>(what: &'static str) -> Result<T> {
    Err(Error::NotSupported { backend: BackendId::Host, what })
}

// SAFETY: each method hands the call to a host backend, which keeps the five promises (C1). Operations are complete when they have
// been submitted, so that there is nothing to wait for (promise 4).
unsafe impl Backend for HostOfOtherCopy {
    functions!(call_methods);

    fn id(&self) -> BackendId {
        BackendId::Host
    }

    fn root_devices(&self) -> Result<Vec<RawDevice>> {
        // SAFETY: C1, about no object.
        unsafe { Self::root_devices(self) }
    }

    unsafe fn device_info(&self, device: RawDevice) -> DeviceInfo {
        // SAFETY: C1: the device is live.
        unsafe { self.device_facts(device) }.info()
    }

    fn platforms(&self) -> Result<Vec<RawPlatform>> {
        // SAFETY: C1, about no object.
        unsafe { Self::platforms(self) }
    }

    unsafe fn platform_info(&self, platform: RawPlatform) -> PlatformInfo {
        // SAFETY: C1: the platform is live.
        HostPlatform::info_of(unsafe { self.platform_type(platform) })
    }

    unsafe fn sub_devices(&self, _device: RawDevice, _partition: &Partition) -> Result<Vec<RawDevice>> {
        not_supported(
            "partitioning in an extension: partition the device in Python and pass a queue of the part",
        )
    }

    // The memory of all simulated devices is the host's.
    unsafe fn can_access_peer(&self, device: RawDevice, peer: RawDevice, _access: PeerAccess) -> bool {
        device != peer
    }

    unsafe fn set_peer_access(&self, _device: RawDevice, _peer: RawDevice, _enabled: bool) -> Result<bool> {
        not_supported("switching peer access in an extension: switch it in Python")
    }

    unsafe fn release(&self, handle: RawHandle) {
        // An event stands for no object.
        if !matches!(handle, RawHandle::Event(_)) {
            // SAFETY: C1: the caller gives its reference back.
            unsafe { Self::release(self, handle) };
        }
    }

    unsafe fn memcpy(
        &self,
        queue: RawQueue,
        dst: *mut u8,
        src: *const u8,
        len_bytes: usize,
        _dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        // SAFETY: C1: the queue is live, and the ranges are those of this method. Dependencies are complete.
        completed(unsafe { self.copy(queue, dst, src, len_bytes) })
    }

    unsafe fn fill(
        &self,
        queue: RawQueue,
        dst: *mut u8,
        pattern: &[u8],
        count: usize,
        _dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        // SAFETY: C1: the queue is live, and the range is that of this method. Dependencies are complete.
        completed(unsafe { self.fill_all(queue, dst, pattern, count) })
    }

    unsafe fn barrier(&self, queue: RawQueue, _events: &[RawEvent]) -> Result<RawEvent> {
        // SAFETY: C1: the queue is live.
        completed(unsafe { self.finish(queue) })
    }

    unsafe fn host_task(
        &self,
        _queue: RawQueue,
        _memory: &[TaskMemory],
        _task: HostTask,
        _dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        not_supported(
            "host tasks in an extension: copy device memory to host memory and call the function, \
             since copies are complete when they return",
        )
    }

    unsafe fn wait(&self, _event: RawEvent) -> Result<()> {
        Ok(())
    }

    unsafe fn event_status(&self, _event: RawEvent) -> EventStatus {
        EventStatus::Complete
    }

    unsafe fn event_times(&self, _event: RawEvent) -> Result<ProfilingTimes> {
        not_supported(
            "profiling in an extension: measure the calls, since operations are complete when they return",
        )
    }

    unsafe fn event_dependencies(&self, _event: RawEvent) -> Result<Vec<RawEvent>> {
        not_supported(
            "event graphs in an extension: operations are complete when they return, so submit them in order",
        )
    }
}
