//! Built kernels, kept for each device of each context

use std::sync::{Arc, Mutex, PoisonError};

use usm_memory::usm_core::fork::{ForkMutex, ForkOnce, PerProcess};
use usm_memory::usm_core::{Context, Device, DeviceType, Error, Kernel, KernelBundle, Queue};

use super::nest::{Reason, Sharing};
use super::variant::{COUNT, MODULES, Variant};

/// For how many pairs of context and device kernels are kept.
///
/// What is dropped stays in memory all the same, about 1.8 MB a kernel on the OpenCL CPU runtime, and is built anew when it is
/// needed again. So this is large; it bounds the contexts that are kept alive.
pub(super) const MAX_PLACES: usize = 32;

/// Kernels for strided copies, built when they are first needed, since each takes some 40 to 130 ms on the OpenCL CPU runtime.
#[derive(Debug, Default)]
pub(crate) struct StridedKernels {
    /// The one used last is the last one. Locked for look-ups only, never during a build.
    places: ForkMutex<Vec<Arc<Place>>>,
}

/// The kernels of one device in one context, which they keep alive.
#[derive(Debug)]
pub(super) struct Place {
    context: Context,
    device: Device,
    kernels: [Slot; COUNT],
}

#[derive(Debug)]
struct Slot {
    kernel: ForkOnce<Result<Kernel, Reason>>,
    /// Held during the build.
    turn: PerProcess<Mutex<()>>,
}

impl Slot {
    const fn new() -> Self {
        Self { kernel: ForkOnce::new(), turn: PerProcess::new(Mutex::new(())) }
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
        Self { places: ForkMutex::new(Vec::new()) }
    }

    /// The kernels for a queue. The ones used longest ago are forgotten when there are too many.
    pub(super) fn place(&self, queue: &Queue) -> Arc<Place> {
        let mut places = self.places.lock();
        let is_it = |place: &Arc<Place>| place.device == *queue.device() && place.context == *queue.context();
        let place = match places.iter().rposition(is_it) {
            Some(found) => places.remove(found),
            None => Arc::new(Place {
                context: queue.context().clone(),
                device: queue.device().clone(),
                kernels: [const { Slot::new() }; COUNT],
            }),
        };
        places.push(Arc::clone(&place));
        let forgotten = (places.len() > MAX_PLACES).then(|| places.remove(0));
        // Releasing a context takes its time.
        drop(places);
        drop(forgotten);
        place
    }
}

impl Place {
    /// How work is shared out on the device.
    pub(super) fn sharing(&self) -> Sharing {
        match self.device.info().device_type {
            DeviceType::Cpu => Sharing::Items,
            _ => Sharing::Groups,
        }
    }

    /// How many units run work-groups at the same time.
    pub(super) fn compute_units(&self) -> usize {
        usize::try_from(self.device.info().compute_units).unwrap_or(1)
    }

    /// The kernel, built now if it has not been. Whoever needs the same one meanwhile waits; nobody else does.
    ///
    /// A build that fails is not tried again.
    pub(super) fn kernel(&self, variant: Variant) -> Result<&Kernel, Reason> {
        let missing = "no kernel has elements of this size";
        let index = variant.index().ok_or(missing)?;
        let slot = self.kernels.get(index).ok_or(missing)?;
        let built = match slot.kernel.get() {
            Some(built) => built,
            None => {
                let _turn = slot.turn.get().lock().unwrap_or_else(PoisonError::into_inner);
                slot.kernel.get_or_init(|| self.build(MODULES[index].1))
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
