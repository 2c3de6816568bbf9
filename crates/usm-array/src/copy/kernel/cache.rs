//! Built kernels, kept for each device of each context

use std::sync::{Arc, Mutex, PoisonError};

use usm_memory::usm_core::fork::{ForkMutex, ForkOnce, PerProcess};
use usm_memory::usm_core::{Context, Device, DeviceType, Error, Kernel, KernelBundle, Queue};

/// What a kernel does with each pair of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    Copy,
    /// Sets the element of the target to one value.
    Fill,
}

/// Sizes of elements that there are kernels for.
pub(super) const SIZES: [usize; 5] = [1, 2, 4, 8, 16];

macro_rules! modules {
    ($name:literal [$($bytes:literal)+]) => {
        [$(include_bytes!(concat!("../../../kernels/", $name, "_", $bytes, ".spv"))),+]
    };
}

/// The modules of each job and size, which `cargo xtask spirv` has built and found valid: as in `xtask/src/tasks/spirv/modules.rs`.
pub(super) static MODULES: [[&[u8]; SIZES.len()]; 2] =
    [modules!("copy" [1 2 4 8 16]), modules!("fill" [1 2 4 8 16])];

/// Why a copy is not one for a kernel.
pub(super) type Reason = &'static str;

/// For how many pairs of context and device kernels are kept.
///
/// What is dropped stays in memory all the same, about 1.8 MB a kernel on the OpenCL CPU runtime, and is built anew when it is
/// needed again. So this is large; it bounds the contexts that are kept alive.
pub(super) const MAX_DEVICES: usize = 32;

/// Kernels for strided copies, built when they are first needed, since each takes some 40 to 130 ms on the OpenCL CPU runtime.
#[derive(Debug, Default)]
pub(crate) struct StridedKernels {
    /// The one used last is the last one. Locked for look-ups only, never during a build.
    devices: ForkMutex<Vec<Arc<DeviceKernels>>>,
}

/// The kernels of one device in one context, which they keep alive.
#[derive(Debug)]
pub(super) struct DeviceKernels {
    context: Context,
    device: Device,
    kernels: [[Slot; SIZES.len()]; 2],
}

#[derive(Debug)]
struct Slot {
    kernel: ForkOnce<Result<Kernel, Reason>>,
    /// Held during the build.
    build_lock: PerProcess<Mutex<()>>,
}

impl Slot {
    const fn new() -> Self {
        Self { kernel: ForkOnce::new(), build_lock: PerProcess::new(Mutex::new(())) }
    }
}

impl StridedKernels {
    /// Those of this process.
    pub(crate) fn global() -> &'static Self {
        static KERNELS: StridedKernels = StridedKernels::new();
        &KERNELS
    }

    /// None built yet.
    pub(crate) const fn new() -> Self {
        Self { devices: ForkMutex::new(Vec::new()) }
    }

    /// The kernels for a queue. The ones used longest ago are forgotten when there are too many.
    pub(super) fn on_device(&self, queue: &Queue) -> Arc<DeviceKernels> {
        let mut devices = self.devices.lock();
        let is_it = |on_device: &Arc<DeviceKernels>| {
            on_device.device == *queue.device() && on_device.context == *queue.context()
        };
        let on_device = match devices.iter().rposition(is_it) {
            Some(found) => devices.remove(found),
            None => Arc::new(DeviceKernels {
                context: queue.context().clone(),
                device: queue.device().clone(),
                kernels: [const { [const { Slot::new() }; SIZES.len()] }; 2],
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
    /// How many work-items share a block: one where processors with caches of their own do the work, else enough for memory that
    /// wants adjacent items at adjacent places.
    pub(super) fn lanes(&self) -> usize {
        if self.device.info().device_type == DeviceType::Cpu { 1 } else { 64 }
    }

    /// How many units run work-groups at the same time.
    pub(super) fn compute_units(&self) -> usize {
        usize::try_from(self.device.info().compute_units).unwrap_or(1)
    }

    /// The kernel, built now if it has not been. Whoever needs the same one meanwhile waits; nobody else does.
    ///
    /// A build that fails is not tried again.
    pub(super) fn kernel(&self, job: Job, item_bytes: usize) -> Result<&Kernel, Reason> {
        let size = SIZES.iter().position(|&size| size == item_bytes);
        let size = size.ok_or("no kernel has elements of this size")?;
        let slot = &self.kernels[job as usize][size];
        let built = match slot.kernel.get() {
            Some(built) => built,
            None => {
                let _build_lock = slot.build_lock.get().lock().unwrap_or_else(PoisonError::into_inner);
                slot.kernel.get_or_init(|| self.build(MODULES[job as usize][size]))
            }
        };
        built.as_ref().map_err(|reason| *reason)
    }

    fn build(&self, module: &[u8]) -> Result<Kernel, Reason> {
        // SAFETY: promise 1: the modules are those in the repository, which `cargo xtask spirv` has validated; a test compares
        // their hashes.
        let bundle = unsafe { KernelBundle::from_spirv(&self.context, &self.device, module, "") };
        bundle.and_then(|bundle| bundle.kernel("strided")).map_err(|error| match error {
            Error::NotSupported { what, .. } => what,
            _ => "the kernel could not be built for this device",
        })
    }
}
