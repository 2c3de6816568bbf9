//! A device: it runs operations and has the memory of device USM.

mod composite;
mod location;
mod partition;
mod peer;

use std::fmt;
use std::slice::from_ref;
use std::sync::Arc;

pub use location::DeviceLocation;

use crate::backend::{Backend, Partition, RawDevice};
use crate::fork::ForkOnce;
use crate::{Context, DeviceInfo, Error, FilterSelector, MemoryFigures, Platform, Result, UsmKind};

owned_handle!(
    /// Owner of a raw device.
    DeviceHandle, RawDevice, Device
);

#[derive(Debug)]
struct Inner {
    handle: DeviceHandle,
    // Read on first request: a runtime needs dozens of calls.
    info: ForkOnce<DeviceInfo>,
    host_reaches_device: ForkOnce<bool>,
    parent: ForkOnce<Option<Device>>,
    /// How the parent was partitioned into this sub-device and others, and its position among these.
    part: ForkOnce<(Partition, usize)>,
    /// The context of a sub-device, since runtimes have no default context for it.
    own_context: ForkOnce<Context>,
}

/// A SYCL device or sub-device, or an embedded host device. Clones name the same device.
#[derive(Clone)]
pub struct Device {
    inner: Arc<Inner>,
}

impl Device {
    fn handle(&self) -> &DeviceHandle {
        &self.inner.handle
    }

    /// # Safety
    /// 1. `raw` is a live handle of `backend` whose reference the caller gives away.
    pub(crate) unsafe fn from_raw(backend: Arc<dyn Backend>, raw: RawDevice) -> Self {
        // SAFETY: the caller's promise 1.
        let handle = unsafe { DeviceHandle::from_raw(backend, raw) };
        let inner = Inner {
            handle,
            info: ForkOnce::new(),
            host_reaches_device: ForkOnce::new(),
            parent: ForkOnce::new(),
            part: ForkOnce::new(),
            own_context: ForkOnce::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The root devices of a backend, in its order.
    pub(crate) fn roots_of(backend: &Arc<dyn Backend>) -> Result<Vec<Self>> {
        // SAFETY: fresh handles of this backend (promise 1 of `Backend`).
        Ok(unsafe { Self::list(backend, backend.root_devices()?) })
    }

    /// # Safety
    /// 1. `found` are live handles of `backend` whose references the caller gives away.
    pub(crate) unsafe fn list(backend: &Arc<dyn Backend>, found: Vec<RawDevice>) -> Vec<Self> {
        // SAFETY: the caller's promise 1.
        found.into_iter().map(|raw| unsafe { Self::from_raw(Arc::clone(backend), raw) }).collect()
    }

    /// The facts about the device.
    #[must_use]
    pub fn info(&self) -> &DeviceInfo {
        self.inner.info.get_or_init(|| {
            // SAFETY: the handle is live (H1).
            unsafe { self.backend().device_info(self.raw()) }
        })
    }

    /// Whether host code of this library reaches USM of that kind and device without the help of a queue.
    ///
    /// True for host and shared USM. True for device USM only if the device is a CPU whose runtime allocates it in this process, and
    /// neither `USM_STRICT_DEVICE=1` is set nor the handle is a [strict](Self::strict) one. In SYCL 2020 such memory is not host-accessible: copies use the access for speed, but no
    /// user gets a slice of the memory.
    #[must_use]
    pub fn host_reachable(&self, kind: UsmKind) -> bool {
        kind.is_host_accessible()
            || *self.inner.host_reaches_device.get_or_init(|| {
                // SAFETY: the handle is live (H1).
                unsafe { self.backend().host_reachable(self.raw(), UsmKind::Device) }
            })
    }

    /// Another handle of this root device, whose device USM host code of this library [does not reach](Self::host_reachable). Memory of
    /// its queues is left to queues and kernels, as on a GPU: for tests on a CPU. `USM_STRICT_DEVICE=1` makes all handles so.
    ///
    /// # Errors
    /// [`Error::NotSupported`] for a sub-device; [`Error::Backend`] when the runtime cannot list its devices.
    pub fn strict(&self) -> Result<Self> {
        // A value of its own: clones share what is known about the device.
        let fresh = self.platform()?.devices()?.into_iter().find(|device| device == self);
        let what = "strict handles of sub-devices";
        let strict = fresh.ok_or(Error::NotSupported { backend: self.backend_id(), what })?;
        strict.inner.host_reaches_device.set(false);
        Ok(strict)
    }

    /// Whether USM of that kind and device lies in pages of this process. Unlike with [`host_reachable`](Self::host_reachable), host
    /// code may be forbidden to touch it.
    #[must_use]
    pub fn is_in_process(&self, kind: UsmKind) -> bool {
        // SAFETY: the handle is live (H1).
        unsafe { self.backend().is_in_process(self.raw(), kind) }
    }

    /// Free and total memory of the device now; `None` when the runtime does not report it.
    #[must_use]
    pub fn memory_figures(&self) -> Option<MemoryFigures> {
        // SAFETY: the handle is live (H1).
        unsafe { self.backend().memory_figures(self.raw()) }
    }

    /// Name of the device in messages: `backend:device_type:number`, a selector of this root device, or `sub-device of …`, which is no
    /// selector.
    #[must_use]
    pub fn filter_string(&self) -> String {
        if self.info().number.is_none()
            && let Ok(Some(parent)) = self.parent()
        {
            return format!("sub-device of {}", parent.filter_string());
        }
        self.info().filter_string()
    }

    /// The filter selector of this device; `None` for a sub-device, which has none.
    #[must_use]
    pub fn filter_selector(&self) -> Option<FilterSelector> {
        FilterSelector::of(self.info())
    }

    /// The device that this sub-device is a part of; `None` for a root device.
    ///
    /// # Errors
    /// [`crate::Error::Backend`] when the runtime does not report it.
    pub fn parent(&self) -> Result<Option<Self>> {
        if let Some(parent) = self.inner.parent.get() {
            return Ok(parent.clone());
        }
        // SAFETY: the handle is live (H1).
        let raw = unsafe { self.backend().parent_device(self.raw()) }?;
        // SAFETY: a fresh handle of this backend (promise 1 of `Backend`).
        let parent = raw.map(|raw| unsafe { Self::from_raw(Arc::clone(self.backend()), raw) });
        Ok(self.inner.parent.get_or_init(|| parent.clone()).clone())
    }

    /// The root device that this sub-device is a part of; a root device itself.
    ///
    /// ```
    /// use usm_core::Runtime;
    ///
    /// let device = Runtime::global().host_device();
    /// assert_eq!(&device.root()?, device);
    /// # Ok::<(), usm_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`parent`](Self::parent).
    pub fn root(&self) -> Result<Self> {
        let mut root = self.clone();
        while let Some(parent) = root.parent()? {
            root = parent;
        }
        Ok(root)
    }

    /// The platform that the device belongs to.
    ///
    /// # Errors
    /// [`crate::Error::Backend`] when the runtime does not report it.
    pub fn platform(&self) -> Result<Platform> {
        // SAFETY: the handle is live (H1).
        let raw = unsafe { self.backend().device_platform(self.raw()) }?;
        // SAFETY: a fresh handle of this backend (promise 1 of `Backend`).
        Ok(unsafe { Platform::from_raw(Arc::clone(self.backend()), raw) })
    }

    /// The default context of the device's platform. A sub-device is not in that context. It has a context of its own, which
    /// this value and its clones share.
    ///
    /// # Errors
    /// [`crate::Error::Backend`] when the runtime has none.
    pub fn default_context(&self) -> Result<Context> {
        if self.parent()?.is_some() {
            return self.own_context();
        }
        // SAFETY: the handle is live (H1).
        let raw = unsafe { self.backend().default_context(self.raw()) }?;
        // SAFETY: a fresh handle of this backend (promise 1 of `Backend`).
        Ok(unsafe { Context::from_raw(Arc::clone(self.backend()), raw) })
    }

    fn own_context(&self) -> Result<Context> {
        match self.inner.own_context.get() {
            Some(context) => Ok(context.clone()),
            None => {
                let context = Context::new(from_ref(self))?;
                Ok(self.inner.own_context.get_or_init(|| context.clone()).clone())
            }
        }
    }
}

identity!(Device, RawDevice, "device");

/// The [filter string](Device::filter_string). That of a root device with a number selects it again.
///
/// ```
/// use usm_core::Runtime;
///
/// let runtime = Runtime::global();
/// let device = runtime.host_device();
/// assert_eq!(device.to_string(), "host:cpu:0");
/// assert_eq!(&runtime.select(device.to_string())?, device);
/// # Ok::<(), usm_core::Error>(())
/// ```
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.filter_string())
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({}, {:?})", self.filter_string(), self.info().name)
    }
}
