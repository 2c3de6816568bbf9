//! One host backend for all copies of this library in a process: offering it, using another copy's, and handing queues over.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

use super::host::HostSide;
use super::{GLOBAL, Runtime, RuntimeOptions};
use crate::backend::Backend;
use crate::backend::host::{HostOfOtherCopy, HostTable};
use crate::{Device, Queue, Result};

impl Runtime {
    /// A runtime over the host backend of another copy of this library in the process, for a Python extension: both copies then
    /// know the same memory. All copies share the SYCL runtime anyway.
    ///
    /// # Safety
    /// 1. Those of [`HostOfOtherCopy::new`].
    ///
    /// # Errors
    /// [`Error::SharedVersion`](crate::Error::SharedVersion) for a table of another version,
    /// [`Error::Backend`](crate::Error::Backend) when that backend has no device.
    pub unsafe fn with_host_table(options: RuntimeOptions, table: *const HostTable) -> Result<Self> {
        // SAFETY: the caller's promise 1.
        let other = Arc::new(unsafe { HostOfOtherCopy::new(table) }?);
        let backend: Arc<dyn Backend> = Arc::clone(&other) as _;
        let host = Device::roots_of(&backend)?;
        if host.is_empty() {
            return Err(crate::Error::Backend { backend: backend.id(), call: "root_devices" }); // R1
        }
        let host_side = HostSide::OfOtherCopy(other);
        Ok(Self::of(options, host_side, host))
    }

    /// Makes `make()` the runtime of this process, unless there is one.
    ///
    /// # Errors
    /// The error of `make`.
    pub fn init_global_with(make: impl FnOnce() -> Result<Self>) -> Result<&'static Self> {
        match GLOBAL.get() {
            Some(runtime) => Ok(runtime),
            None => {
                GLOBAL.set(make()?);
                Ok(Self::global())
            }
        }
    }

    /// Whether the host backend belongs to another copy of this library.
    #[must_use]
    pub fn has_host_of_other_copy(&self) -> bool {
        matches!(self.host_side, HostSide::OfOtherCopy(_))
    }

    /// The table by which other copies of this library work on the host backend of this runtime; `None` where another copy
    /// has the backend. The backend lives as long as the process: make one table and keep it.
    #[must_use]
    pub fn host_table(&self) -> Option<HostTable> {
        match &self.host_side {
            HostSide::Own(backend) => Some(backend.table()),
            HostSide::OfOtherCopy(_) => None,
        }
    }

    /// A queue of the host backend as the pointer that [`host_queue`](Self::host_queue) of another copy takes, valid as long as
    /// the queue; `None` for other queues.
    #[must_use]
    pub fn host_queue_pointer(&self, queue: &Queue) -> Option<NonNull<c_void>> {
        let is_of_host = Arc::ptr_eq(queue.backend(), &self.host_side.backend());
        is_of_host.then(|| NonNull::new(queue.raw_for_others().as_ptr())).flatten()
    }

    /// The queue behind a pointer of [`host_queue_pointer`](Self::host_queue_pointer) of a copy that uses the same host backend. The
    /// pointer may be any: `None` where no live queue is.
    ///
    /// # Errors
    /// [`Error::Backend`](crate::Error::Backend) when the backend does not report the parts of the queue.
    pub fn host_queue(&self, pointer: NonNull<c_void>) -> Result<Option<Queue>> {
        let address = pointer.addr().get();
        let found = match &self.host_side {
            HostSide::Own(backend) => backend.find_queue(address),
            // SAFETY: C1, and the address may be any.
            HostSide::OfOtherCopy(backend) => unsafe { backend.find_queue(address) },
        };
        // SAFETY: a fresh handle of this backend (promise 1 of `Backend`).
        found.map(|queue| unsafe { Queue::from_raw(&self.host_side.backend(), queue) }).transpose()
    }
}
