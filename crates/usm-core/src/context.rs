//! A context: the scope in which USM pointers have a meaning.

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::backend::{Backend, ExternalObject, RawContext, RawHandle};
use crate::fork::ForkOnce;
use crate::queue::ExternalHandle;
use crate::{Device, Error, PointerInfo, Queue, QueueProperties, Result, Runtime};

owned_handle!(
    /// Owner of a raw context.
    ContextHandle, RawContext, Context
);

/// A SYCL context over one or several devices. Clones name the same context.
///
/// USM is bound to the context it was allocated in and freed with it.
#[derive(Clone)]
pub struct Context {
    inner: Arc<Inner>,
}

struct Inner {
    handle: ContextHandle,
    /// Whether it lives as long as the process: `YES` or `NO` from the first request on.
    outlives_all: AtomicU8,
    attached: ForkOnce<Box<dyn Any + Send + Sync>>,
}

const NO: u8 = 1;
const YES: u8 = 2;

impl Context {
    fn handle(&self) -> &ContextHandle {
        &self.inner.handle
    }

    /// A new context over `devices`, all of one platform.
    ///
    /// # Errors
    /// [`Error::DeviceNotInContext`] when the devices are of different backends or there is none, [`Error::Backend`] when the
    /// runtime refuses.
    pub fn new(devices: &[Device]) -> Result<Self> {
        let Some(first) = devices.first() else {
            return Err(Error::DeviceNotInContext { device: "(none)".to_owned() });
        };
        let backend = first.backend();
        if let Some(other) = devices.iter().find(|d| !Arc::ptr_eq(d.backend(), backend)) {
            return Err(Error::DeviceNotInContext { device: other.filter_string() });
        }
        let raw: Vec<_> = devices.iter().map(Device::raw).collect();
        // SAFETY: all handles are live on this backend (H1).
        let raw = unsafe { backend.create_context(&raw) }?;
        // SAFETY: a fresh handle of this backend (promise 1 of `Backend`).
        Ok(unsafe { Self::from_raw(Arc::clone(backend), raw) })
    }

    /// # Safety
    /// 1. `raw` is a live handle of `backend` whose reference the caller gives away.
    pub(crate) unsafe fn from_raw(backend: Arc<dyn Backend>, raw: RawContext) -> Self {
        // SAFETY: the caller's promise 1.
        let handle = unsafe { ContextHandle::from_raw(backend, raw) };
        Self { inner: Arc::new(Inner { handle, outlives_all: AtomicU8::new(0), attached: ForkOnce::new() }) }
    }

    /// A context from an external `sycl::context*`. The object is copied; the producer keeps it.
    ///
    /// # Safety
    /// 1. `pointer` is a live heap `sycl::context`, or no SYCL object at all. Unreadable memory, and readable memory that does
    ///    not look like a context, are refused. A freed context looks like a live one.
    ///
    /// # Errors
    /// [`Error::InvalidExternalHandle`], [`Error::NoExternalHandle`] from a backend without SYCL objects.
    pub unsafe fn from_external(backend: &Arc<dyn Backend>, pointer: *mut c_void) -> Result<Self> {
        // SAFETY: the caller's promise 1.
        match unsafe { backend.import_external(ExternalObject::Context, pointer) }? {
            // SAFETY: a fresh handle of this backend (promise 1 of `Backend`).
            RawHandle::Context(raw) => Ok(unsafe { Self::from_raw(Arc::clone(backend), raw) }),
            _ => Err(Error::Backend { backend: backend.id(), call: "import_external" }),
        }
    }

    /// A heap `sycl::context` of its own for another SYCL library.
    ///
    /// # Errors
    /// [`Error::NoExternalHandle`] from a backend without SYCL objects.
    pub fn to_external(&self) -> Result<ExternalHandle> {
        ExternalHandle::new(self.backend(), RawHandle::Context(self.raw()), self.clone())
    }

    /// A number that no other live context has. All handles of the context have the same.
    #[must_use]
    pub fn id(&self) -> u64 {
        // SAFETY: the handle is live (H1).
        unsafe { self.backend().context_id(self.raw()) }
    }

    /// Whether the context lives as long as the process: a default context of the [global](Runtime::global) runtime. A cache in such
    /// a context prolongs no lifetime.
    #[must_use]
    #[inline]
    pub fn is_permanent(&self) -> bool {
        self.is_known_permanent() || self.find_out_whether_permanent()
    }

    /// The answer of an earlier [`is_permanent`](Self::is_permanent), `false` without one. Calls nothing.
    #[doc(hidden)]
    #[must_use]
    #[inline(always)]
    pub fn is_known_permanent(&self) -> bool {
        self.inner.outlives_all.load(Ordering::Relaxed) == YES
    }

    #[cold]
    fn find_out_whether_permanent(&self) -> bool {
        if self.inner.outlives_all.load(Ordering::Relaxed) == NO {
            return false;
        }
        let default = || {
            // A part of a device has a context of its own.
            let first = self.devices().ok()?.into_iter().next()?;
            if first.parent().ok()?.is_none() { first.default_context().ok() } else { None }
        };
        let is_it = Runtime::is_global(self.backend()) && default().is_some_and(|default| default == *self);
        let answer = if is_it { YES } else { NO };
        // The first answer counts: the runtime may have failed to give one.
        let set = self.inner.outlives_all.compare_exchange(0, answer, Ordering::Relaxed, Ordering::Relaxed);
        set.err().unwrap_or(answer) == YES
    }

    /// The devices of the context.
    ///
    /// # Errors
    /// [`Error::Backend`] when the runtime cannot list them.
    pub fn devices(&self) -> Result<Vec<Device>> {
        // SAFETY: the handle is live (H1).
        let raw = unsafe { self.backend().context_devices(self.raw()) }?;
        // SAFETY: fresh handles of this backend (promise 1 of `Backend`).
        Ok(unsafe { Device::list(self.backend(), raw) })
    }

    /// The first [device](Self::devices) of the context.
    ///
    /// # Errors
    /// Those of [`devices`](Self::devices); [`Error::DeviceNotInContext`] when there is none.
    pub fn first_device(&self) -> Result<Device> {
        let first = self.devices()?.into_iter().next();
        first.ok_or_else(|| Error::DeviceNotInContext { device: "(none)".to_owned() })
    }

    /// A new queue on a device of this context.
    ///
    /// # Errors
    /// [`Error::DeviceNotInContext`], [`Error::Backend`] when the runtime refuses.
    pub fn create_queue(&self, device: &Device, properties: QueueProperties) -> Result<Queue> {
        if !self.devices()?.contains(device) {
            return Err(Error::DeviceNotInContext { device: device.filter_string() });
        }
        Queue::new(self, device, properties)
    }

    /// The runtime's facts about an address in this context; `None` when it is not USM here. Any address is allowed.
    #[must_use]
    pub fn pointer_info(&self, address: usize) -> Option<PointerInfo> {
        // SAFETY: the handle is live (H1).
        unsafe { self.backend().pointer_info(self.raw(), address) }
    }

    /// The device that the USM at `address` belongs to, or `None` when it is not USM here. Sub-devices share the memory of
    /// their root: a runtime may name another sub-device of the context (OpenCL names the first).
    ///
    /// # Errors
    /// [`Error::Backend`] when the runtime cannot tell.
    pub fn pointer_device(&self, address: usize) -> Result<Option<Device>> {
        if self.pointer_info(address).is_none() {
            return Ok(None);
        }
        // SAFETY: the handle is live (H1) and the address was just found to be known. Should another thread free it between
        // the two calls, it frees memory that it has just let us describe: the trust boundary of SECURITY.md.
        let raw = unsafe { self.backend().pointer_device(self.raw(), address) }?;
        // SAFETY: a fresh handle of this backend (promise 1 of `Backend`).
        Ok(Some(unsafe { Device::from_raw(Arc::clone(self.backend()), raw) }))
    }

    /// Keeps `object` as long as this context and its clones, like [`Queue::attach`].
    pub fn attach(&self, object: impl Any + Send + Sync) {
        // A later object is dropped with its box.
        let _ = self.inner.attached.set(Box::new(object));
    }

    /// The first object of that type that was [attached](Self::attach).
    #[must_use]
    pub fn attached<T: Any>(&self) -> Option<&T> {
        self.inner.attached.get()?.downcast_ref()
    }
}

identity!(Context, RawContext, "context");

impl fmt::Display for Context {
    /// Its number and its devices, as errors name it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "context {:#x} of ", self.id())?;
        match self.devices() {
            Ok(devices) => {
                let names: Vec<_> = devices.iter().map(Device::filter_string).collect();
                f.write_str(&names.join(", "))
            }
            Err(error) => write!(f, "devices that cannot be listed ({error})"),
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({self})")
    }
}
