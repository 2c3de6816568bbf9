//! The backends of this machine, their devices, and the choice of a device.
//!
//! | file | job |
//! |---|---|
//! | `mod.rs` | the runtime: a field for each backend, their devices and default queues |
//! | `cuda.rs` | the CUDA backend: loaded on first request, or the reason why it is missing |
//! | `sycl.rs` | the SYCL backend: loaded on first request, or the reason why it is missing |
//! | `host.rs` | the host backend: of this copy of the library, or of another one in the process |
//! | `across_copies.rs` | one host backend for all copies of the library in a process |
//! | `select.rs` | the choice of a device by selector, type or aspects |
//! | `status.rs`, `doctor/` | the state of each backend; the diagnostic report |
//! | `options.rs`, `tree.rs` | options of a runtime; devices by platform |

#[cfg(feature = "across-copies")]
mod across_copies;
mod cuda;
mod doctor;
mod host;
mod options;
mod select;
mod status;
mod sycl;
mod tree;

use std::iter;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cuda::CudaSide;
pub use doctor::{DoctorReport, Problem, ProblemKind, ReportedDevice, SearchedPlace, SyclLibrary, Variable};
use host::HostSide;
pub use options::RuntimeOptions;
pub use status::{BackendState, BackendStatus};
use sycl::SyclSide;
pub use tree::{DeviceTree, PlatformBranch};

use crate::backend::{Backend, BackendId};
use crate::fork::{self, ForkMutex, ForkOnce, PerProcess};
use crate::queue::THREAD_STREAM;
use crate::{Context, Device, Error, Queue, QueueProperties, Result};

static GLOBAL: ForkOnce<Runtime> = ForkOnce::new();

/// The backends of a process.
///
/// The host backend is always there. The SYCL runtime and the CUDA driver are searched for and loaded on the first request for a
/// device of another backend. A process that uses only the host backend never loads them.
///
/// Loading changes the environment of the process once: it appends the OpenCL CPU driver beside the SYCL runtime to
/// `OCL_ICD_FILENAMES`. Otherwise the runtime shows no CPU device. Load while no other thread uses the environment, or switch
/// this off with [`RuntimeOptions::autoconfig`] or `USM_SYCL_AUTOCONFIG=0`.
#[derive(Debug)]
pub struct Runtime {
    options: RuntimeOptions,
    /// Invariant R1: at least one.
    host: Vec<Device>,
    #[cfg_attr(not(feature = "across-copies"), expect(dead_code, reason = "for other copies alone"))]
    host_side: HostSide,
    sycl: ForkOnce<SyclSide>,
    cuda: ForkOnce<CudaSide>,
    default_queues: ForkMutex<Vec<Queue>>,
    /// The default device, from the first request on.
    default_queue: ForkOnce<Queue>,
    default_queues_from: ForkOnce<DefaultQueue>,
    /// Held while a thread loads the SYCL runtime or makes a default queue.
    setup_lock: PerProcess<Mutex<()>>,
}

/// The source of default queues, see [`Runtime::default_queues_from`].
pub type DefaultQueue = fn(&Device) -> Option<Queue>;

impl Runtime {
    /// The runtime of this process, with default options unless [`init_global`](Self::init_global) came first.
    #[must_use]
    pub fn global() -> &'static Self {
        Self::init_global(RuntimeOptions::new)
    }

    /// The runtime of this process; the first call decides on the options.
    pub fn init_global(options: impl FnOnce() -> RuntimeOptions) -> &'static Self {
        match GLOBAL.get() {
            Some(runtime) => runtime,
            None => {
                GLOBAL.set(Self::new(options()));
                Self::global()
            }
        }
    }

    /// A runtime of its own, with its own host memory. Only one SYCL runtime can exist in a process: all share it.
    #[must_use]
    pub fn new(options: RuntimeOptions) -> Self {
        let (host_side, host) = HostSide::own(&options);
        Self::of(options, host_side, host)
    }

    fn of(options: RuntimeOptions, host_side: HostSide, host: Vec<Device>) -> Self {
        Self {
            options,
            host,
            host_side,
            sycl: ForkOnce::new(),
            cuda: ForkOnce::new(),
            default_queues: ForkMutex::default(),
            default_queue: ForkOnce::new(),
            default_queues_from: ForkOnce::new(),
            setup_lock: PerProcess::default(),
        }
    }

    /// A runtime with the devices of `backend` and the host device, for instance for a test backend.
    ///
    /// # Errors
    /// When the backend cannot list its devices.
    pub fn with_backend(backend: Arc<dyn Backend>) -> Result<Self> {
        let runtime = Self::new(RuntimeOptions::new().without_cuda());
        let side = SyclSide::plugged_in(backend)?;
        runtime.sycl.set(side);
        Ok(runtime)
    }

    /// A number that differs in each forked child. It marks values that a child must not use, such as locks that another thread of
    /// the parent may have held.
    #[must_use]
    #[inline]
    pub fn fork_generation() -> u64 {
        fork::generation()
    }

    /// Whether [`fork_generation`](Self::fork_generation) gave that number in this process. Reads one value.
    #[must_use]
    #[inline]
    pub fn is_fork_generation(number: u64) -> bool {
        fork::is_generation(number)
    }

    /// Whether a backend belongs to the global runtime. Does not make that runtime.
    pub(crate) fn is_global(backend: &Arc<dyn Backend>) -> bool {
        GLOBAL.get().is_some_and(|runtime| runtime.loaded().any(|known| Arc::ptr_eq(known, backend)))
    }

    /// The backends that have been loaded.
    fn loaded(&self) -> impl Iterator<Item = &Arc<dyn Backend>> {
        let sycl = self.sycl.get().and_then(|side| side.backend.as_ref());
        let cuda = self.cuda.get().and_then(|side| side.backend.as_ref());
        [Some(self.host_device().backend()), sycl, cuda].into_iter().flatten()
    }

    /// Gives memory back to the system that backends keep after it was freed. Other libraries and processes can have it then, and the
    /// next allocations take longer. The CUDA backend keeps device memory, and pinned host memory up to a sixteenth of the machine's. The
    /// host backend keeps pages of device memory. A refused allocation does the same for memory of its kind.
    pub fn trim(&self) {
        self.loaded().for_each(|backend| backend.trim_all());
    }

    /// The status of each backend. The first call may search for the SYCL runtime, and load it and the CUDA driver.
    #[must_use]
    pub fn status(&self) -> Vec<BackendStatus> {
        let status = |backend, state: &BackendState, devices: &[Device]| {
            let devices = devices.iter().map(Device::filter_string).collect();
            BackendStatus { backend, state: state.clone(), devices }
        };
        let (sycl, cuda) = (self.sycl(), self.cuda());
        vec![
            status(BackendId::Sycl, &sycl.state, &sycl.devices),
            status(BackendId::Cuda, &cuda.state, &cuda.devices),
            status(BackendId::Host, &BackendState::available(), &self.host),
        ]
    }

    /// All root devices: those of the SYCL runtime, those of the CUDA driver, then the host device.
    #[must_use]
    pub fn devices(&self) -> Vec<Device> {
        let mut devices = self.sycl().devices.clone();
        devices.extend_from_slice(&self.cuda().devices);
        devices.extend_from_slice(&self.host);
        devices
    }

    /// Position of a root device in the list of [all](Self::devices). `None` for a sub-device, and for a device of another runtime.
    #[must_use]
    pub fn number_of(&self, device: &Device) -> Option<usize> {
        self.devices().iter().position(|other| other == device)
    }

    /// The root devices of one backend, in the order of [`devices`](Self::devices), without a list of all.
    pub fn devices_of(&self, backend: BackendId) -> impl Iterator<Item = &Device> {
        let others = self.sycl().devices.iter().chain(&self.cuda().devices);
        others.chain(&self.host).filter(move |device| device.backend_id() == backend)
    }

    /// The first device of the embedded host backend: `host:cpu:0`, unless the application described others.
    #[must_use]
    pub fn host_device(&self) -> &Device {
        &self.host[0] // R1
    }

    /// Lets `source` choose the default queues, for instance those of another library in the process, which may differ from thread
    /// to thread. The runtime calls it at each request for a default queue; `None` selects the runtime's own one. The first
    /// source stays; the result says whether this one does.
    ///
    /// The source may know a queue only after the runtime has returned its own one for a device. Then its first queue of the same
    /// context takes over: all [`Queue`] values that name the runtime's own one, also those of existing buffers, stand for the queue
    /// of the source from then on, with its properties, its hash and its identity. Work that is under way comes first.
    pub fn default_queues_from(&self, source: DefaultQueue) -> bool {
        self.default_queues_from.set(source)
    }

    /// The queue for operations on a device without a given queue. It comes from [`default_queues_from`](Self::default_queues_from),
    /// or else it is the runtime's own: in order, in the device's default context, the same at each call. The runtime keeps its
    /// own queues, with their sub-devices.
    ///
    /// # Errors
    /// [`Error::Backend`] when the runtime cannot make it.
    pub fn default_queue(&self, device: &Device) -> Result<Queue> {
        match self.chosen_default_queue(device)? {
            Some(queue) => Ok(queue),
            None => self.own_default_queue(device),
        }
    }

    /// Asks the source of default queues for that of a device, so that this takes over from the runtime's own one, if there is one.
    /// A program calls this when it has noticed that the source may know more than before. Makes no queue.
    ///
    /// # Errors
    /// [`Error::Backend`] when the runtime cannot order the two queues.
    pub fn update_default_queue(&self, device: &Device) -> Result<()> {
        self.chosen_default_queue(device).map(drop)
    }

    /// A queue for all threads on a CUDA stream of another library, on the device that has the stream. `first` is tried before the other
    /// devices, since each device has the default streams. `None` where there is no device of CUDA.
    ///
    /// # Safety
    /// 1. As for [`Queue::from_cuda_stream`].
    ///
    /// # Errors
    /// [`Error::ThreadStream`] for stream 2; those of [`Queue::from_cuda_stream`] on the last device that was tried.
    pub unsafe fn queue_on_cuda_stream(&self, first: &Device, stream: usize) -> Result<Option<Queue>> {
        if stream == THREAD_STREAM {
            return Err(Error::ThreadStream);
        }
        let others = self.devices_of(BackendId::Cuda).filter(|device| *device != first);
        let is_cuda = |device: &&Device| device.backend_id() == BackendId::Cuda;
        let mut last = None;
        for device in iter::once(first).filter(is_cuda).chain(others) {
            // SAFETY: the caller's promise 1; the driver refuses a stream of another device.
            match unsafe { Queue::from_cuda_stream(device, stream) } {
                Ok(queue) => return Ok(Some(queue)),
                Err(error) => last = Some(error),
            }
        }
        last.map_or(Ok(None), Err)
    }

    /// The [default queue](Self::default_queue) of the [default device](Self::default_device).
    ///
    /// # Errors
    /// [`Error::DefaultDevice`]; [`Error::Backend`] when the runtime cannot make it.
    pub fn default_device_queue(&self) -> Result<Queue> {
        let own = match self.default_queue.get() {
            Some(queue) => queue,
            None => {
                let queue = self.own_default_queue(&self.default_device()?)?;
                self.default_queue.get_or_init(|| queue.clone())
            }
        };
        Ok(self.chosen_default_queue(own.device())?.unwrap_or_else(|| own.clone()))
    }

    fn chosen_default_queue(&self, device: &Device) -> Result<Option<Queue>> {
        let Some(queue) = self.default_queues_from.get().and_then(|source| source(device)) else {
            return Ok(None);
        };
        if !queue.is_default() {
            if let Some(own) = self.known_default_queue(device) {
                own.go_over_to(&queue)?;
            }
            // Last: another thread that finds the mark finds the own queue gone over, too.
            queue.mark_default();
        }
        Ok(Some(queue))
    }

    fn known_default_queue(&self, device: &Device) -> Option<Queue> {
        self.default_queues.lock().iter().find(|queue| queue.device() == device).cloned()
    }

    fn own_default_queue(&self, device: &Device) -> Result<Queue> {
        if let Some(queue) = self.known_default_queue(device) {
            return Ok(queue);
        }
        let lock = self.setup_lock();
        if let Some(queue) = self.known_default_queue(device) {
            return Ok(queue);
        }
        let queue = Queue::new(&device.default_context()?, device, QueueProperties::IN_ORDER)?;
        queue.mark_default();
        self.default_queues.lock().push(queue.clone());
        drop(lock);
        // The source may have got to know one since it was asked: its queue may have the mark, but did not find this one.
        if let Some(chosen) = self.default_queues_from.get().and_then(|source| source(device)) {
            queue.go_over_to(&chosen)?;
        }
        Ok(queue)
    }

    /// The queue for operations on a device of `context` without a given queue: the default queue if it belongs to this context,
    /// else a new one, in order.
    ///
    /// # Errors
    /// [`Error::DeviceNotInContext`], [`Error::Backend`] when the runtime cannot make it.
    pub fn queue_in(&self, context: &Context, device: &Device) -> Result<Queue> {
        let default = self.default_queue(device)?;
        if default.context() == context {
            return Ok(default);
        }
        context.create_queue(device, QueueProperties::IN_ORDER)
    }

    /// The queue for memory at an address in `context` without a given queue: [that](Self::queue_in) on the device of the memory. `None`
    /// when the context does not know the address.
    ///
    /// # Errors
    /// [`Error::Backend`] when the runtime cannot tell the device; those of [`queue_in`](Self::queue_in).
    pub fn queue_for(&self, context: &Context, address: usize) -> Result<Option<Queue>> {
        let device = context.pointer_device(address)?;
        device.map(|device| self.queue_in(context, &device)).transpose()
    }

    /// The backend that external SYCL handles belong to.
    ///
    /// # Errors
    /// [`Error::BackendUnavailable`] when there is no SYCL runtime.
    pub fn sycl_backend(&self) -> Result<&Arc<dyn Backend>> {
        let sycl = self.sycl();
        sycl.backend.as_ref().ok_or_else(|| Error::BackendUnavailable {
            backend: BackendId::Sycl,
            state: Box::new(sycl.state.clone()),
        })
    }

    fn sycl(&self) -> &SyclSide {
        if let Some(sycl) = self.sycl.get() {
            return sycl;
        }
        let _lock = self.setup_lock();
        self.sycl.get_or_init(|| SyclSide::load(&self.options))
    }

    fn setup_lock(&self) -> MutexGuard<'_, ()> {
        self.setup_lock.get().lock().unwrap_or_else(PoisonError::into_inner)
    }
}
