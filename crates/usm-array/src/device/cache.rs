//! Built kernels, kept for each device of each context

use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use usm_memory::usm_core::fork::{ForkMutex, ForkOnce, PerProcess};
use usm_memory::usm_core::{BackendId, Context, Device, Error, Kernel, KernelBundle, Queue};

use super::modules::Module;

/// Why a job is not one for a kernel.
pub(crate) type Reason = &'static str;

/// For how many pairs of context and device kernels are kept.
///
/// What is dropped stays in memory all the same, about 1.8 MB a kernel on the OpenCL CPU runtime, and is built anew when it is
/// needed again. So this is large; it bounds the contexts that are kept alive.
pub(crate) const MAX_DEVICES: usize = 32;

/// Built kernels, by context and device. They are built on first use, since a build takes some 40 to 130 ms on the OpenCL CPU runtime.
#[derive(Debug, Default)]
pub(crate) struct Kernels {
    /// The one used last is the last one. Locked for look-ups only, never during a build.
    devices: ForkMutex<Vec<Arc<DeviceKernels>>>,
}

/// The kernels of one device in one context, which they keep alive.
#[derive(Debug)]
pub(crate) struct DeviceKernels {
    context: Context,
    device: Device,
    modules: ForkMutex<Vec<Arc<Slot>>>,
}

/// A module on a device, or the reason why it could not be built.
#[derive(Debug)]
struct Slot {
    module: &'static Module,
    bundle: ForkOnce<Result<Built, Reason>>,
    /// Held during the build.
    build_lock: PerProcess<Mutex<()>>,
}

/// A built module and the kernels of it that were looked up.
#[derive(Debug)]
pub(crate) struct Built {
    bundle: KernelBundle,
    kernels: ForkMutex<Vec<(&'static str, Kernel)>>,
}

impl Kernels {
    /// Those of this process.
    pub(crate) fn global() -> &'static Self {
        static KERNELS: Kernels = Kernels::new();
        &KERNELS
    }

    /// None built yet.
    pub(crate) const fn new() -> Self {
        Self { devices: ForkMutex::new(Vec::new()) }
    }

    /// The kernels for a queue. The ones used longest ago are forgotten when there are too many.
    pub(crate) fn on_device(&self, queue: &Queue) -> Arc<DeviceKernels> {
        let mut devices = self.devices.lock();
        let is_it = |on_device: &Arc<DeviceKernels>| {
            on_device.device == *queue.device() && on_device.context == *queue.context()
        };
        if let Some(last) = devices.last().filter(|last| is_it(last)) {
            return Arc::clone(last);
        }
        let on_device = match devices.iter().rposition(is_it) {
            Some(found) => devices.remove(found),
            None => Arc::new(DeviceKernels {
                context: queue.context().clone(),
                device: queue.device().clone(),
                modules: ForkMutex::new(Vec::new()),
            }),
        };
        devices.push(Arc::clone(&on_device));
        let forgotten = (devices.len() > MAX_DEVICES).then(|| devices.remove(0));
        // Releasing a context takes its time.
        drop(devices);
        drop(forgotten);
        on_device
    }
}

impl DeviceKernels {
    /// A kernel of a module, built now if it has not been. Whoever needs the same module meanwhile waits; nobody else does.
    ///
    /// A build that fails is not tried again.
    pub(crate) fn kernel(&self, module: &'static Module, name: &'static str) -> Result<Kernel, Reason> {
        let slot = self.slot(module);
        let built = match slot.bundle.get() {
            Some(built) => built,
            None => {
                let _build_lock = slot.build_lock.get().lock().unwrap_or_else(PoisonError::into_inner);
                slot.bundle.get_or_init(|| self.build(module))
            }
        };
        built.as_ref().map_err(|reason| *reason)?.kernel(name)
    }

    fn slot(&self, module: &'static Module) -> Arc<Slot> {
        let mut modules = self.modules.lock();
        if let Some(slot) = modules.iter().find(|slot| ptr::eq(slot.module, module)) {
            return Arc::clone(slot);
        }
        let build_lock = PerProcess::new(Mutex::new(()));
        let slot = Arc::new(Slot { module, bundle: ForkOnce::new(), build_lock });
        modules.push(Arc::clone(&slot));
        slot
    }

    fn build(&self, module: &'static Module) -> Result<Built, Reason> {
        let bundle = match self.context.backend_id() {
            BackendId::Cuda => {
                // SAFETY: promise 1: the modules are those in the repository, which `cargo xtask kernels` has compiled; a test compares
                // their hashes.
                unsafe { KernelBundle::from_ptx(&self.context, &self.device, module.ptx, "") }
            }
            // SAFETY: promise 1, as above; `spirv-val` has found them valid.
            _ => unsafe { KernelBundle::from_spirv(&self.context, &self.device, &module.spirv(), "") },
        };
        let bundle = bundle.map_err(|error| match error {
            Error::NotSupported { what, .. } => what,
            _ => "the kernel could not be built for this device",
        })?;
        Ok(Built { bundle, kernels: ForkMutex::new(Vec::new()) })
    }
}

impl Built {
    fn kernel(&self, name: &'static str) -> Result<Kernel, Reason> {
        let find = |known: &[(&'static str, Kernel)]| {
            known.iter().find(|(known, _)| *known == name).map(|(_, kernel)| kernel.clone())
        };
        if let Some(kernel) = find(&self.kernels.lock()) {
            return Ok(kernel);
        }
        let kernel = self.bundle.kernel(name).map_err(|_| "the module has no such kernel")?;
        let mut kernels = self.kernels.lock();
        // Another thread may have looked it up meanwhile.
        if let Some(first) = find(&kernels) {
            drop(kernels);
            return Ok(first);
        }
        kernels.push((name, kernel.clone()));
        Ok(kernel)
    }
}
