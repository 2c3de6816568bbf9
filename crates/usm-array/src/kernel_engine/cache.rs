//! Built kernels, kept for each device of each context

use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use usm_memory::run_job;
use usm_memory::usm_core::fork::{ForkMutex, ForkOnce, PerProcess};
use usm_memory::usm_core::{BackendId, Context, Device, Error, Kernel, KernelBundle, Queue};

use super::modules::Module;

/// Why a job is not one for a kernel.
pub(crate) type Reason = &'static str;

/// Why there is no kernel for a job.
#[derive(Debug)]
pub(crate) enum NoKernel {
    /// The job is not one for a kernel.
    Reason(Reason),
    /// The wait for its build has ended with an error.
    Wait(usm_memory::Error),
}

impl From<Reason> for NoKernel {
    fn from(reason: Reason) -> Self {
        Self::Reason(reason)
    }
}

/// `None` where the job is not one for a kernel.
pub(crate) fn kernel_if_any<T>(found: Result<T, NoKernel>) -> usm_memory::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(NoKernel::Reason(_)) => Ok(None),
        Err(NoKernel::Wait(error)) => Err(error),
    }
}

/// For how many pairs of context and device kernels are kept.
///
/// What is dropped stays in memory all the same, about 1.8 MB a kernel on the OpenCL CPU runtime, and is built anew when it is
/// needed again. So this is large; it bounds the contexts that are kept alive.
pub(crate) const MAX_DEVICES: usize = 32;

/// Built kernels, by context and device. They are built on first use, since a build takes some 40 to 130 ms on the OpenCL CPU runtime, and
/// seconds where the machine is busy.
#[derive(Debug, Default)]
pub(crate) struct Kernels {
    /// The one used last is the last one. Locked for look-ups only, never during a build.
    devices: ForkMutex<Vec<Arc<DeviceKernels>>>,
}

/// A kernel with its module and its name.
type Known = (&'static Module, &'static str, Kernel);

fn find(known: &[Known], module: &'static Module, name: &str) -> Option<Kernel> {
    let found = known.iter().find(|(of, known, _)| ptr::eq(*of, module) && *known == name);
    found.map(|(.., kernel)| kernel.clone())
}

/// The kernels of one device in one context, which they keep alive.
#[derive(Debug)]
pub(crate) struct DeviceKernels {
    context: Context,
    device: Device,
    /// The kernels that were looked up.
    known: ForkMutex<Vec<Known>>,
    modules: ForkMutex<Vec<Arc<Slot>>>,
}

/// A module on a device, or the reason why it could not be built.
#[derive(Debug)]
struct Slot {
    module: &'static Module,
    bundle: ForkOnce<Result<KernelBundle, Reason>>,
    /// Held during the build.
    build_lock: PerProcess<Mutex<()>>,
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

    /// A kernel for a queue, as [`DeviceKernels::kernel`] gives it.
    pub(crate) fn kernel(
        &self,
        queue: &Queue,
        module: &'static Module,
        name: &'static str,
    ) -> Result<Kernel, NoKernel> {
        let known = || {
            let devices = self.devices.lock();
            // Nearly always, and without a count of it.
            devices.last().filter(|last| last.is_for(queue))?.known(module, name)
        };
        known().map_or_else(|| self.on_device(queue).kernel(module, name), Ok)
    }

    /// The kernels for a queue. The ones used longest ago are forgotten when there are too many.
    pub(crate) fn on_device(&self, queue: &Queue) -> Arc<DeviceKernels> {
        let mut devices = self.devices.lock();
        let on_device = match devices.iter().rposition(|on_device| on_device.is_for(queue)) {
            Some(found) => devices.remove(found),
            None => Arc::new(DeviceKernels {
                context: queue.context().clone(),
                device: queue.device().clone(),
                known: ForkMutex::default(),
                modules: ForkMutex::default(),
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
    fn is_for(&self, queue: &Queue) -> bool {
        self.device == *queue.device() && self.context == *queue.context()
    }

    /// A kernel that was looked up.
    fn known(&self, module: &'static Module, name: &'static str) -> Option<Kernel> {
        find(&self.known.lock(), module, name)
    }

    /// A kernel of a module, built now if it has not been. Whoever needs the same module meanwhile waits; nobody else does.
    ///
    /// A build that fails is not tried again. One whose wait is broken off goes on, for the next call.
    pub(crate) fn kernel(
        self: &Arc<Self>,
        module: &'static Module,
        name: &'static str,
    ) -> Result<Kernel, NoKernel> {
        if let Some(kernel) = self.known(module, name) {
            return Ok(kernel);
        }
        let slot = self.slot(module);
        if slot.bundle.get().is_none() {
            let (on_device, slot) = (Arc::clone(self), Arc::clone(&slot));
            run_job(move || _ = on_device.bundle(&slot)).map_err(NoKernel::Wait)?;
        }
        let kernel = self.bundle(&slot)?.kernel(name).map_err(|_| "the module has no such kernel")?;
        let mut known = self.known.lock();
        // Another thread may have looked it up meanwhile.
        if let Some(first) = find(&known, module, name) {
            drop(known);
            return Ok(first);
        }
        known.push((module, name, kernel.clone()));
        Ok(kernel)
    }

    /// The module of a slot, built here if it has not been.
    fn bundle<'a>(&self, slot: &'a Slot) -> Result<&'a KernelBundle, Reason> {
        let built = || {
            let _build_lock = slot.build_lock.get().lock().unwrap_or_else(PoisonError::into_inner);
            slot.bundle.get_or_init(|| self.build(slot.module))
        };
        slot.bundle.get().unwrap_or_else(built).as_ref().map_err(|reason| *reason)
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

    fn build(&self, module: &'static Module) -> Result<KernelBundle, Reason> {
        let bundle = match self.context.backend_id() {
            BackendId::Cuda => {
                // SAFETY: promise 1 of `from_ptx`: the modules are those in the repository, which `cargo xtask kernels` has compiled; a
                // test compares their hashes.
                unsafe { KernelBundle::from_ptx(&self.context, &self.device, module.ptx, "") }
            }
            // SAFETY: promise 1 of `from_spirv`: the modules are those in the repository, which `cargo xtask kernels` has compiled and
            // `spirv-val` has found valid; a test compares their hashes.
            _ => unsafe { KernelBundle::from_spirv(&self.context, &self.device, &module.spirv(), "") },
        };
        bundle.map_err(|error| match error {
            Error::NotSupported { what, .. } => what,
            _ => "the kernel could not be built for this device",
        })
    }
}
