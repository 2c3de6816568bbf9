//! A device: who runs operations and whose memory device USM is.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::backend::{Backend, RawDevice};
use crate::{BackendId, Context, DeviceInfo, Result};

owned_handle!(
    /// Owner of a raw device.
    DeviceHandle, RawDevice, Device
);

#[derive(Debug)]
struct Inner {
    handle: DeviceHandle,
    // Asking a runtime takes a dozen calls: only when somebody wants to know.
    info: OnceLock<DeviceInfo>,
}

/// A SYCL device, or the embedded host device. Clones name the same device.
#[derive(Clone)]
pub struct Device {
    inner: Arc<Inner>,
}

impl Device {
    /// # Safety
    /// 1. `raw` is a live handle of `backend` whose reference the caller gives away.
    pub(crate) unsafe fn from_raw(backend: Arc<dyn Backend>, raw: RawDevice) -> Self {
        // SAFETY: the caller's promise 1.
        let handle = unsafe { DeviceHandle::from_raw(backend, raw) };
        Self { inner: Arc::new(Inner { handle, info: OnceLock::new() }) }
    }

    pub(crate) fn raw(&self) -> RawDevice {
        self.inner.handle.raw()
    }

    pub(crate) fn backend(&self) -> &Arc<dyn Backend> {
        self.inner.handle.backend()
    }

    /// The backend that implements the device.
    #[must_use]
    pub fn backend_id(&self) -> BackendId {
        self.backend().id()
    }

    /// What is known about the device.
    #[must_use]
    pub fn info(&self) -> &DeviceInfo {
        self.inner.info.get_or_init(|| {
            // SAFETY: the handle is live (H1).
            unsafe { self.backend().device_info(self.raw()) }
        })
    }

    /// `backend:device_type:number`, which selects this device again.
    #[must_use]
    pub fn filter_string(&self) -> String {
        self.info().filter_string()
    }

    /// The default context of the device's platform.
    ///
    /// # Errors
    /// [`crate::Error::Backend`] when the runtime has none.
    pub fn default_context(&self) -> Result<Context> {
        // SAFETY: the handle is live (H1).
        let raw = unsafe { self.backend().default_context(self.raw()) }?;
        // SAFETY: a fresh handle of this backend.
        Ok(unsafe { Context::from_raw(Arc::clone(self.backend()), raw) })
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        self.inner.handle.same(&other.inner.handle)
    }
}

impl Eq for Device {}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({}, {:?})", self.filter_string(), self.info().name)
    }
}
