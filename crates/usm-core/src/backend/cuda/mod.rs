//! The CUDA backend: NVIDIA GPUs through nothing but their driver, which is loaded at run time.
//!
//! | SYCL | here |
//! |---|---|
//! | platform | the driver |
//! | device | a GPU, `cuda:gpu:N` with the driver's number |
//! | default context | the primary context of the GPU, which CUDA's runtime library, CuPy, PyTorch, Numba and JAX use, too |
//! | queue | a stream without implicit order with the default stream; always in order |
//! | event | an event behind the operation |
//! | device USM | memory of a pool of this library, ordered by streams |
//! | shared USM | managed memory |
//! | host USM | pinned memory, mapped into each context |
//! | kernel bundle, kernel | a module that the driver compiled from PTX, a function of it |
//! | work-group, sub-group, local memory | block, warp, shared memory |
//!
//! Addresses are unified: a pointer means the same for each GPU and the host. A context over several GPUs has the memory of each of
//! them; copies between them are operations of one queue.
//!
//! After an error such as an access outside of memory the driver refuses all further work in the context of the GPU until the process
//! ends. The device is *lost* then: each operation returns [`Error::DeviceLost`], waits return, and releases do nothing.
//!
//! | file | job |
//! |---|---|
//! | `driver.rs` | the functions of the driver, with their codes and structs |
//! | `device.rs`, `context.rs`, `queue.rs`, `event.rs` | GPUs with their primary contexts, sets of them, streams, events |
//! | `memory.rs`, `pinned.rs` | memory of each kind; pinned blocks that are kept |
//! | `processes.rs`, `shares.rs` | memory of several processes; its tables |
//! | `submit.rs`, `fill.rs` | copies and barriers; fills, some of them by a kernel |
//! | `kernel.rs`, `ptx.rs` | kernels and their launches; parameters of kernels for old drivers |
//! | `capture.rs` | streams that are captured into graphs |
//! | `facts.rs` | facts about devices and the platform |

mod capture;
mod context;
mod device;
mod driver;
mod event;
mod facts;
mod fill;
mod kernel;
mod memory;
mod pinned;
mod processes;
mod ptx;
mod queue;
mod shares;
mod submit;

use std::any::Any;
use std::ffi::{CStr, OsStr};
use std::ptr::NonNull;
use std::sync::Arc;

pub(crate) use self::capture::let_go;
use self::context::CudaContext;
use self::device::{CudaDevice, CudaPlatform};
use self::driver::{Attribute, Code, Driver, Ordinal};
pub use self::driver::{LIBRARY, LoadError};
use self::event::CudaEvent;
use self::kernel::{CudaBundle, CudaKernel};
use self::pinned::PinnedBlocks;
#[cfg(feature = "testing")]
pub(crate) use self::ptx::parameters as parameters_in_ptx;
use self::queue::CudaQueue;
#[cfg(feature = "testing")]
pub(crate) use self::shares::reread as reread_form;
use super::entry::{Entry, Inside, Loaded};
use super::objects::{Handle, handle};
use super::{
    Backend, BackendId, DeviceInfo, EventStatus, MemoryFigures, Partition, PeerAccess, PlatformInfo,
    PointerInfo, ProfilingTimes, QueueProperties, RawBundle, RawContext, RawDevice, RawEvent, RawHandle,
    RawKernel, RawPlatform, RawQueue, SharedMemory, SharedRange,
};
use crate::{Error, ExecutionRange, KernelArgument, KernelCode, KernelInfo, Result, UsmKind};

handle!(
    CudaPlatform => RawPlatform,
    CudaDevice => RawDevice,
    CudaContext => RawContext,
    CudaQueue => RawQueue,
    CudaEvent => RawEvent,
    CudaBundle => RawBundle,
    CudaKernel => RawKernel,
);

/// Name of the backend in filter strings.
const NAME: &str = "cuda";

/// The CUDA driver and its GPUs.
#[derive(Debug)]
pub struct CudaBackend {
    platform: Arc<CudaPlatform>,
    /// In the driver's order.
    devices: Vec<Arc<CudaDevice>>,
    /// The context of each device, in the same order.
    contexts: Vec<Arc<CudaContext>>,
}

impl CudaBackend {
    /// Loads a driver: a path, or [`LIBRARY`], which the loader searches for. The devices get numbers from `first_number` on.
    ///
    /// # Safety
    /// 1. The library is a CUDA driver, or none at all.
    ///
    /// # Errors
    /// The reason why there is no driver.
    pub unsafe fn load(library: &OsStr, first_number: usize) -> std::result::Result<Self, LoadError> {
        // SAFETY: the caller's promise 1.
        let driver = unsafe { Driver::load(library) }?;
        let entry = Entry::new(driver, Loaded::CudaDriver);
        let (version, ordinals) = start(&entry).map_err(|error| LoadError::Unusable(error.to_string()))?;
        let platform = Arc::new(CudaPlatform { entry, version, pinned: PinnedBlocks::default() });
        let devices: Vec<_> = (first_number..)
            .zip(ordinals)
            .map(|(number, ordinal)| Arc::new(CudaDevice::new(Arc::clone(&platform), ordinal, number)))
            .collect();
        let contexts = devices
            .iter()
            .map(|device| Arc::new(CudaContext { devices: vec![Arc::clone(device)] }))
            .collect();
        Ok(Self { platform, devices, contexts })
    }

    /// What a user who misses a device may want to know.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        if !self.devices.is_empty() {
            return Vec::new();
        }
        vec!["the driver shows no device; the variable CUDA_VISIBLE_DEVICES may hide all of them".to_owned()]
    }

    fn position(&self, device: &CudaDevice) -> Option<usize> {
        self.devices.iter().position(|known| known.ordinal == device.ordinal)
    }
}

/// Starts the driver: its version, and its devices with unified addresses, which each GPU of a 64-bit system has.
fn start(entry: &Entry<Driver>) -> Result<(i32, Vec<Ordinal>)> {
    let driver = entry.enter()?;
    let mut version = 0;
    // SAFETY: DR1; the pointer is writable.
    driver.check("cuDriverGetVersion", unsafe { (driver.cuDriverGetVersion)(&raw mut version) })?;
    // SAFETY: DR1; the flags must be 0.
    let initialised = unsafe { (driver.cuInit)(0) };
    if initialised == Code::NO_DEVICE {
        return Ok((version, Vec::new()));
    }
    driver.check("cuInit", initialised)?;
    let mut count = 0;
    // SAFETY: DR1; the pointer is writable.
    driver.check("cuDeviceGetCount", unsafe { (driver.cuDeviceGetCount)(&raw mut count) })?;
    let mut devices = Vec::new();
    for number in 0..count {
        let mut device = 0;
        // SAFETY: DR1; the pointer is writable, and the number is less than the count.
        driver.check("cuDeviceGet", unsafe { (driver.cuDeviceGet)(&raw mut device, number) })?;
        if driver.attribute(Attribute::UNIFIED_ADDRESSING, device) != 0 {
            devices.push(device);
        }
    }
    Ok((version, devices))
}

impl Driver {
    /// The error of a call. Code that knows the device asks [`CudaDevice::check`] instead.
    fn check(&self, call: &'static str, code: Code) -> Result<()> {
        if code == Code::SUCCESS { Ok(()) } else { Err(self.error(call, code)) }
    }

    #[cold]
    fn error(&self, call: &'static str, code: Code) -> Error {
        let (name, text) = self.describe(code);
        Error::Driver { call, name, text }
    }

    /// An attribute of a device; 0 where the driver does not know it.
    fn attribute(&self, attribute: Attribute, ordinal: i32) -> i32 {
        let mut value = 0;
        // SAFETY: DR1; the pointer is writable. The driver refuses attributes and devices that it does not know.
        match unsafe { (self.cuDeviceGetAttribute)(&raw mut value, attribute, ordinal) } {
            Code::SUCCESS => value,
            _ => 0,
        }
    }
}

fn unsupported<T>(what: &'static str) -> Result<T> {
    Err(Error::NotSupported { backend: BackendId::Cuda, what })
}

// SAFETY: handles are counted pointers, and the driver's functions are thread-safe (promise 1); memory comes from the driver, and a
// block of the pool is returned after its allocation is complete (promise 2); the driver answers for any address, and freed pinned
// blocks that are kept are left out (promise 3); a wait ends with the driver's own wait for the event, or with the loss of the device,
// whose context runs nothing any more (promise 4); nothing here panics (promise 5).
unsafe impl Backend for CudaBackend {
    fn id(&self) -> BackendId {
        BackendId::Cuda
    }

    fn check_process(&self) -> Result<()> {
        self.platform.entry.check()
    }

    fn root_devices(&self) -> Result<Vec<RawDevice>> {
        Ok(self.devices.iter().map(|device| CudaDevice::into_raw(Arc::clone(device))).collect())
    }

    unsafe fn device_info(&self, device: RawDevice) -> DeviceInfo {
        // SAFETY: O1: the handle is live.
        facts::device_info(unsafe { CudaDevice::get(device) })
    }

    fn platforms(&self) -> Result<Vec<RawPlatform>> {
        let platform = (!self.devices.is_empty()).then(|| CudaPlatform::into_raw(Arc::clone(&self.platform)));
        Ok(platform.into_iter().collect())
    }

    unsafe fn platform_info(&self, platform: RawPlatform) -> PlatformInfo {
        // SAFETY: O1: the handle is live.
        facts::platform_info(unsafe { CudaPlatform::get(platform) })
    }

    unsafe fn platform_devices(&self, _platform: RawPlatform) -> Result<Vec<RawDevice>> {
        self.root_devices()
    }

    unsafe fn device_platform(&self, _device: RawDevice) -> Result<RawPlatform> {
        Ok(CudaPlatform::into_raw(Arc::clone(&self.platform)))
    }

    unsafe fn parent_device(&self, _device: RawDevice) -> Result<Option<RawDevice>> {
        Ok(None)
    }

    unsafe fn sub_devices(&self, _device: RawDevice, _partition: &Partition) -> Result<Vec<RawDevice>> {
        unsupported("sub-devices")
    }

    // Host code must not change the pages of the driver's memory.
    unsafe fn is_in_process(&self, _device: RawDevice, _kind: UsmKind) -> bool {
        false
    }

    unsafe fn can_access_peer(&self, device: RawDevice, peer: RawDevice, access: PeerAccess) -> bool {
        // SAFETY: O1: the handle is live.
        let device = unsafe { CudaDevice::get(device) };
        // SAFETY: O1: the handle is live.
        let peer = unsafe { CudaDevice::get(peer) };
        access == PeerAccess::AccessSupported && device.can_access(peer)
    }

    unsafe fn set_peer_access(&self, device: RawDevice, peer: RawDevice, enabled: bool) -> Result<bool> {
        // SAFETY: O1: the handle is live.
        let device = unsafe { CudaDevice::get(device) };
        // SAFETY: O1: the handle is live.
        let peer = unsafe { CudaDevice::get(peer) };
        device.set_peer_access(peer, enabled)
    }

    unsafe fn default_context(&self, device: RawDevice) -> Result<RawContext> {
        // SAFETY: O1: the handle is live.
        let device = unsafe { CudaDevice::get(device) };
        let context = self.position(device).and_then(|position| self.contexts.get(position));
        let context = context.ok_or(Error::Backend { backend: BackendId::Cuda, call: "default_context" })?;
        Ok(CudaContext::into_raw(Arc::clone(context)))
    }

    unsafe fn create_context(&self, devices: &[RawDevice]) -> Result<RawContext> {
        let clone = |&raw| {
            // SAFETY: O1: the handles are live.
            unsafe { CudaDevice::clone_raw(raw) }
        };
        Ok(CudaContext::into_raw(Arc::new(CudaContext::over(devices.iter().map(clone).collect()))))
    }

    unsafe fn context_id(&self, context: RawContext) -> u64 {
        // A live object has the address alone.
        RawHandle::Context(context).address()
    }

    unsafe fn context_devices(&self, context: RawContext) -> Result<Vec<RawDevice>> {
        // SAFETY: O1: the handle is live.
        let context = unsafe { CudaContext::get(context) };
        Ok(context.devices.iter().map(|device| CudaDevice::into_raw(Arc::clone(device))).collect())
    }

    fn queue_properties(&self, asked: QueueProperties) -> QueueProperties {
        QueueProperties { in_order: true, ..asked }
    }

    unsafe fn create_queue(
        &self,
        context: RawContext,
        device: RawDevice,
        properties: QueueProperties,
    ) -> Result<RawQueue> {
        // SAFETY: O1: the handle is live.
        let context = unsafe { CudaContext::clone_raw(context) };
        // SAFETY: O1: the handle is live.
        let device = unsafe { CudaDevice::clone_raw(device) };
        let properties = self.queue_properties(properties);
        Ok(CudaQueue::into_raw(Arc::new(CudaQueue::new(context, device, properties)?)))
    }

    unsafe fn queue_parts(&self, queue: RawQueue) -> Result<(RawContext, RawDevice, QueueProperties)> {
        // SAFETY: O1: the handle is live.
        let queue = unsafe { CudaQueue::get(queue) };
        let context = CudaContext::into_raw(Arc::clone(&queue.context));
        Ok((context, CudaDevice::into_raw(Arc::clone(&queue.device)), queue.properties))
    }

    unsafe fn native_stream(&self, queue: RawQueue) -> Option<usize> {
        // SAFETY: O1: the handle is live.
        Some(unsafe { CudaQueue::get(queue) }.stream_address())
    }

    unsafe fn is_stream_idle(&self, queue: RawQueue) -> Option<bool> {
        // SAFETY: O1: the handle is live.
        unsafe { CudaQueue::get(queue) }.is_idle()
    }

    unsafe fn queue_on_stream(&self, device: RawDevice, stream: usize) -> Result<RawQueue> {
        // SAFETY: O1: the handle is live.
        let device = unsafe { CudaDevice::clone_raw(device) };
        let context = self.position(&device).and_then(|position| self.contexts.get(position));
        let context = context.ok_or(Error::Backend { backend: BackendId::Cuda, call: "queue_on_stream" })?;
        // SAFETY: the caller's promise 2.
        let queue = unsafe { CudaQueue::on_stream(Arc::clone(context), device, stream) }?;
        Ok(CudaQueue::into_raw(Arc::new(queue)))
    }

    unsafe fn capture(&self, queue: RawQueue) -> Result<Option<u64>> {
        // SAFETY: O1: the handle is live.
        let queue = unsafe { CudaQueue::get(queue) };
        Ok(queue.capture_now()?.map(|capture| capture.id))
    }

    unsafe fn keep_in_graph(&self, queue: RawQueue, value: Box<dyn Any + Send>) -> Result<RawEvent> {
        // SAFETY: O1: the handle is live.
        let queue = unsafe { CudaQueue::get(queue) };
        let current = queue.device().enter()?;
        let capture = queue.capture(&current)?;
        let capture = capture.ok_or(Error::Backend { backend: BackendId::Cuda, call: "keep_in_graph" })?;
        capture.keep(&current, value)?;
        Ok(CudaEvent::into_raw(Arc::new(CudaEvent::permit(queue.device(), capture.id))))
    }

    unsafe fn event_capture(&self, event: RawEvent) -> Option<u64> {
        // SAFETY: O1: the handle is live.
        unsafe { CudaEvent::get(event) }.capture()
    }

    unsafe fn order_after_stream(&self, queue: RawQueue, stream: usize) -> Result<()> {
        // SAFETY: O1: the handle is live.
        let queue = unsafe { CudaQueue::get(queue) };
        // SAFETY: the caller's promise 2.
        unsafe { queue.order_after(stream) }
    }

    unsafe fn release(&self, handle: RawHandle) {
        match handle {
            // SAFETY: O1: the caller gives the count of the handle back.
            RawHandle::Platform(raw) => unsafe { CudaPlatform::release_raw(raw) },
            // SAFETY: O1: the caller gives the count of the handle back.
            RawHandle::Device(raw) => unsafe { CudaDevice::release_raw(raw) },
            // SAFETY: O1: the caller gives the count of the handle back.
            RawHandle::Context(raw) => unsafe { CudaContext::release_raw(raw) },
            // SAFETY: O1: the caller gives the count of the handle back.
            RawHandle::Queue(raw) => unsafe { CudaQueue::release_raw(raw) },
            // SAFETY: O1: the caller gives the count of the handle back.
            RawHandle::Event(raw) => unsafe { CudaEvent::release_raw(raw) },
            // SAFETY: O1: the caller gives the count of the handle back.
            RawHandle::Bundle(raw) => unsafe { CudaBundle::release_raw(raw) },
            // SAFETY: O1: the caller gives the count of the handle back.
            RawHandle::Kernel(raw) => unsafe { CudaKernel::release_raw(raw) },
        }
    }

    unsafe fn allocate(
        &self,
        queue: RawQueue,
        kind: UsmKind,
        len_bytes: usize,
        _align_bytes: usize,
    ) -> Option<NonNull<u8>> {
        // SAFETY: O1: the handle is live.
        memory::allocate(unsafe { CudaQueue::get(queue) }.device(), kind, len_bytes)
    }

    unsafe fn trim(&self, queue: RawQueue, kind: UsmKind) -> bool {
        // SAFETY: O1: the handle is live.
        memory::trim(unsafe { CudaQueue::get(queue) }.device(), &[kind])
    }

    fn trim_all(&self) {
        for device in self.devices.iter().filter(|device| device.is_used()) {
            memory::trim(device, &UsmKind::ALL);
        }
    }

    unsafe fn free(&self, context: RawContext, block: NonNull<u8>) {
        // SAFETY: O1: the handle is live.
        let context = unsafe { CudaContext::get(context) };
        // SAFETY: the caller's promises 1 and 2.
        unsafe { memory::free(context, block) };
    }

    unsafe fn shares_in_place(&self, _queue: RawQueue, kind: UsmKind) -> bool {
        kind == UsmKind::Device
    }

    unsafe fn share(
        &self,
        queue: RawQueue,
        kind: UsmKind,
        start: NonNull<u8>,
        len_bytes: usize,
        _range: SharedRange,
    ) -> Result<SharedMemory> {
        // SAFETY: O1: the handle is live.
        processes::share(unsafe { CudaQueue::get(queue) }.device(), kind, start, len_bytes)
    }

    unsafe fn open_shared(&self, queue: RawQueue, memory: &SharedMemory, _: bool) -> Result<NonNull<u8>> {
        // SAFETY: O1: the handle is live.
        processes::open(unsafe { CudaQueue::get(queue) }, memory)
    }

    unsafe fn unshare(&self, queue: RawQueue, start: NonNull<u8>) -> bool {
        // SAFETY: O1: the handle is live.
        processes::unshare(unsafe { CudaQueue::get(queue) }.device(), start)
    }

    unsafe fn is_open_elsewhere(&self, queue: RawQueue, start: NonNull<u8>) -> bool {
        // SAFETY: O1: the handle is live.
        processes::is_open_elsewhere(unsafe { CudaQueue::get(queue) }.device(), start)
    }

    unsafe fn memory_figures(&self, device: RawDevice) -> Option<MemoryFigures> {
        // SAFETY: O1: the handle is live.
        memory::figures(unsafe { CudaDevice::get(device) })
    }

    unsafe fn check_device(&self, device: RawDevice) -> Result<()> {
        // SAFETY: O1: the handle is live.
        let device = unsafe { CudaDevice::get(device) };
        let driver = self.platform.entry.enter()?;
        device.check_lost(&driver)
    }

    unsafe fn pointer_info(&self, context: RawContext, address: usize) -> Option<PointerInfo> {
        // SAFETY: O1: the handle is live.
        let context = unsafe { CudaContext::get(context) };
        let found = context.find(address)?;
        Some(PointerInfo::new(found.kind, found.block))
    }

    unsafe fn pointer_device(&self, context: RawContext, address: usize) -> Result<RawDevice> {
        // SAFETY: O1: the handle is live.
        let context = unsafe { CudaContext::get(context) };
        let device = context.find(address).and_then(|found| context.device(found.ordinal));
        let device = device.ok_or(Error::Backend { backend: BackendId::Cuda, call: "pointer_device" })?;
        Ok(CudaDevice::into_raw(Arc::clone(device)))
    }

    unsafe fn memcpy(
        &self,
        queue: RawQueue,
        dst: *mut u8,
        src: *const u8,
        len_bytes: usize,
        dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        // SAFETY: O1: the promises of the method are those of the function.
        unsafe { submit::memcpy(queue, dst, src, len_bytes, dependencies) }
    }

    unsafe fn fill(
        &self,
        queue: RawQueue,
        dst: *mut u8,
        pattern: &[u8],
        count: usize,
        dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        // SAFETY: O1: the promises of the method are those of the function.
        unsafe { submit::fill(queue, dst, pattern, count, dependencies) }
    }

    unsafe fn prefetch(
        &self,
        queue: RawQueue,
        address: usize,
        len_bytes: usize,
        dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        // SAFETY: O1: the promises of the method are those of the function.
        unsafe { submit::prefetch(queue, address, len_bytes, dependencies) }
    }

    unsafe fn mem_advise(
        &self,
        queue: RawQueue,
        address: usize,
        len_bytes: usize,
        advice: i32,
        dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        // SAFETY: O1: the promises of the method are those of the function.
        unsafe { submit::mem_advise(queue, address, len_bytes, advice, dependencies) }
    }

    unsafe fn barrier(&self, queue: RawQueue, events: &[RawEvent]) -> Result<RawEvent> {
        // SAFETY: O1: the promises of the method are those of the function.
        unsafe { submit::barrier(queue, events) }
    }

    unsafe fn wait(&self, event: RawEvent) -> Result<()> {
        // SAFETY: O1: the handle is live.
        unsafe { CudaEvent::get(event) }.wait()
    }

    unsafe fn event_status(&self, event: RawEvent) -> EventStatus {
        // SAFETY: O1: the handle is live.
        unsafe { CudaEvent::get(event) }.status()
    }

    unsafe fn event_times(&self, event: RawEvent) -> Result<ProfilingTimes> {
        // SAFETY: O1: the handle is live.
        unsafe { CudaEvent::get(event) }.times()
    }

    unsafe fn create_bundle(
        &self,
        _context: RawContext,
        device: RawDevice,
        code: KernelCode<'_>,
        options: &CStr,
    ) -> Result<RawBundle> {
        // SAFETY: O1: the handle is live.
        let device = unsafe { CudaDevice::clone_raw(device) };
        Ok(CudaBundle::into_raw(Arc::new(CudaBundle::build(device, code, options)?)))
    }

    unsafe fn bundle_kernel(&self, bundle: RawBundle, name: &CStr) -> Result<Option<RawKernel>> {
        // SAFETY: O1: the handle is live.
        let bundle = unsafe { CudaBundle::clone_raw(bundle) };
        let kernel = CudaKernel::find(bundle, name)?;
        Ok(kernel.map(|kernel| CudaKernel::into_raw(Arc::new(kernel))))
    }

    unsafe fn kernel_info(&self, kernel: RawKernel, _device: RawDevice) -> Result<KernelInfo> {
        // SAFETY: O1: the handle is live.
        Ok(unsafe { CudaKernel::get(kernel) }.info())
    }

    unsafe fn submit_kernel(
        &self,
        queue: RawQueue,
        kernel: RawKernel,
        arguments: &[KernelArgument],
        range: &ExecutionRange,
        dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        // SAFETY: O1: the promises of the method are those of the function.
        unsafe { kernel::submit(queue, kernel, arguments, range, dependencies) }
    }

    // The driver does not list them, and complete ones may be missing.
    unsafe fn event_dependencies(&self, _event: RawEvent) -> Result<Vec<RawEvent>> {
        Ok(Vec::new())
    }
}

/// The driver, entered for one call.
type Entered<'a> = Inside<'a, Driver>;
