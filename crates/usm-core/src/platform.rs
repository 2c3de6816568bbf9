//! A platform: the devices that one driver brings.

use std::fmt;
use std::sync::Arc;

use crate::backend::{Backend, PlatformInfo, RawPlatform};
use crate::fork::ForkOnce;
use crate::{Context, Device, Error, Result};

owned_handle!(
    /// Owner of a raw platform.
    PlatformHandle, RawPlatform, Platform
);

#[derive(Debug)]
struct Inner {
    handle: PlatformHandle,
    info: ForkOnce<PlatformInfo>,
}

/// A SYCL platform, or that of an embedded host device. Clones name the same platform.
///
/// ```
/// use usm_core::{Runtime, RuntimeOptions};
///
/// # fn main() -> usm_core::Result<()> {
/// let runtime = Runtime::new(RuntimeOptions::new().host_only());
/// let platforms = runtime.platforms()?;
/// assert_eq!(platforms[0].info().backend_name, "host");
/// assert_eq!(platforms[0].devices()?, runtime.devices());
/// assert_eq!(runtime.host_device().platform()?, platforms[0]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Platform {
    inner: Arc<Inner>,
}

impl Platform {
    fn handle(&self) -> &PlatformHandle {
        &self.inner.handle
    }

    /// # Safety
    /// 1. `raw` is a live handle of `backend` whose reference the caller gives away.
    pub(crate) unsafe fn from_raw(backend: Arc<dyn Backend>, raw: RawPlatform) -> Self {
        // SAFETY: the caller's promise 1.
        let handle = unsafe { PlatformHandle::from_raw(backend, raw) };
        Self { inner: Arc::new(Inner { handle, info: ForkOnce::new() }) }
    }

    /// All platforms of a backend.
    pub(crate) fn all(backend: &Arc<dyn Backend>) -> Result<Vec<Self>> {
        let wrap = |raw| {
            // SAFETY: fresh handles of this backend (promise 1 of `Backend`).
            unsafe { Self::from_raw(Arc::clone(backend), raw) }
        };
        Ok(backend.platforms()?.into_iter().map(wrap).collect())
    }

    /// Name, vendor, version and backend of the platform.
    #[must_use]
    pub fn info(&self) -> &PlatformInfo {
        self.inner.info.get_or_init(|| {
            // SAFETY: the handle is live (H1).
            unsafe { self.backend().platform_info(self.inner.handle.raw()) }
        })
    }

    /// The root devices of the platform.
    ///
    /// # Errors
    /// [`Error::Backend`] when the runtime cannot list them.
    pub fn devices(&self) -> Result<Vec<Device>> {
        // SAFETY: the handle is live (H1).
        let raw = unsafe { self.backend().platform_devices(self.inner.handle.raw()) }?;
        // SAFETY: fresh handles of this backend (promise 1 of `Backend`).
        Ok(unsafe { Device::list(self.backend(), raw) })
    }

    /// The context over all root devices of the platform that its devices use by default. A GPU of CUDA has a default context of its
    /// own; this is that of the first one.
    ///
    /// # Errors
    /// [`Error::Backend`] when the runtime has none, as for a platform without devices.
    pub fn default_context(&self) -> Result<Context> {
        let none = Error::Backend { backend: self.backend_id(), call: "default_context" };
        self.devices()?.first().ok_or(none)?.default_context()
    }
}

identity!(Platform, RawPlatform, "platform");

impl fmt::Debug for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Platform({}, {:?})", self.info().backend_name, self.info().name)
    }
}
