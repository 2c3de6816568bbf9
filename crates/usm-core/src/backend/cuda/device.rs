//! The driver as a platform, and its GPUs with their primary contexts.

use std::ffi::c_int;
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::driver::{
    Attribute, CAPTURE_MODE_RELAXED, Code, ContextHandle, Driver, EVENT_DISABLE_TIMING, EventHandle,
    FILE_DESCRIPTOR, Function, Location, MemoryPool, Ordinal, POOL_RELEASE_THRESHOLD, PoolAccess,
    PoolProperties, STREAM_NON_BLOCKING, Stream,
};
use super::pinned::PinnedBlocks;
use super::shares::Shares;
use super::{Entered, NAME};
use crate::backend::entry::{Entry, Loaded};
use crate::fork::ForkOnce;
use crate::{Error, Result};

/// What all devices of a driver have in common.
pub(super) struct CudaPlatform {
    pub(super) entry: Entry<Driver>,
    /// `cuDriverGetVersion`: 1000 × major + 10 × minor.
    pub(super) version: i32,
    pub(super) pinned: PinnedBlocks,
}

impl fmt::Debug for CudaPlatform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaPlatform({})", self.version_text())
    }
}

impl fmt::Debug for CudaDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaDevice({})", self.filter_string())
    }
}

impl CudaPlatform {
    pub(super) fn version(&self) -> [u32; 2] {
        [self.version / 1000, self.version % 1000 / 10].map(|number| u32::try_from(number).unwrap_or(0))
    }

    pub(super) fn version_text(&self) -> String {
        let [major, minor] = self.version();
        format!("{major}.{minor}")
    }
}

/// A GPU.
pub(super) struct CudaDevice {
    pub(super) platform: Arc<CudaPlatform>,
    pub(super) ordinal: Ordinal,
    /// Number in filter strings.
    pub(super) number: usize,
    /// The context, from the first use on.
    primary: ForkOnce<Primary>,
    /// Held while a thread makes the context or the kernel, so that no second one is made and lost.
    opening: Mutex<()>,
    /// The error that made the context unusable; 0 for none.
    lost: AtomicU32,
    /// Events that no operation uses, without times and with times.
    events: [Mutex<Vec<EventHandle>>; 2],
    fill_kernel: ForkOnce<Function>,
    shares: Mutex<Shares>,
}

/// The primary context of a device and what this backend keeps in it until the process ends.
#[derive(Debug)]
struct Primary {
    /// Invariant PC1: a retained primary context, never released.
    context: ContextHandle,
    /// Device memory, which the pool keeps when blocks are freed; `None` where the device has no pools.
    pool: Option<MemoryPool>,
    /// Allocations and frees of the pool are ordered on it. It has no other work, so that none of them waits.
    allocations: Stream,
}

impl CudaDevice {
    pub(super) fn new(platform: Arc<CudaPlatform>, ordinal: Ordinal, number: usize) -> Self {
        Self {
            platform,
            ordinal,
            number,
            primary: ForkOnce::new(),
            opening: Mutex::default(),
            lost: AtomicU32::new(0),
            events: Default::default(),
            fill_kernel: ForkOnce::new(),
            shares: Mutex::default(),
        }
    }

    pub(super) fn filter_string(&self) -> String {
        self.filter_string_of(self.ordinal)
    }

    /// Filter string of a device of the same driver.
    pub(super) fn filter_string_of(&self, ordinal: Ordinal) -> String {
        let numbers = |ordinal| usize::try_from(ordinal).unwrap_or(0);
        format!("{NAME}:gpu:{}", self.number + numbers(ordinal) - numbers(self.ordinal))
    }

    /// Whether the device has a context.
    pub(super) fn is_used(&self) -> bool {
        self.primary.get().is_some()
    }

    /// Enters the driver with the context of the device as the current one of the thread.
    pub(super) fn enter(&self) -> Result<Current<'_>> {
        let driver = self.platform.entry.enter()?;
        self.make_current(driver)
    }

    /// [`enter`](Self::enter) for a wait for work on the caller's memory, see [`Entry::enter_to_wait`].
    pub(super) fn enter_to_wait(&self) -> Result<Current<'_>> {
        let driver = self.platform.entry.enter_to_wait()?;
        self.make_current(driver)
    }

    fn make_current<'a>(&'a self, driver: Entered<'a>) -> Result<Current<'a>> {
        self.check_lost(&driver)?;
        let primary = match self.primary.get() {
            Some(primary) => primary,
            None => {
                let _lock = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
                self.primary.get_or_try_init(|| self.open(&driver))?
            }
        };
        let mut current = ContextHandle::NULL;
        // SAFETY: DR1; the pointer is writable.
        self.check(&driver, "cuCtxGetCurrent", unsafe { (driver.cuCtxGetCurrent)(&raw mut current) })?;
        let is_pushed = current != primary.context;
        if is_pushed {
            // SAFETY: DR1; PC1.
            let code = unsafe { (driver.cuCtxPushCurrent_v2)(primary.context) };
            self.check(&driver, "cuCtxPushCurrent", code)?;
        }
        match self.relax(&driver) {
            Ok(mode) => Ok(Current { driver, device: self, primary, is_pushed, mode }),
            Err(error) => {
                if is_pushed {
                    pop(&driver);
                }
                Err(error)
            }
        }
    }

    /// Puts the thread into the mode for captures of streams that permits all calls but those about captured work, and returns its former
    /// mode. In the other modes a capture forbids to ask about work, to allocate and to build kernels, and a forbidden call invalidates
    /// the capture.
    fn relax(&self, driver: &Driver) -> Result<c_int> {
        let mut mode = CAPTURE_MODE_RELAXED;
        // SAFETY: DR1; the pointer is writable and leads to a mode, for which the former one comes back.
        let code = unsafe { (driver.cuThreadExchangeStreamCaptureMode)(&raw mut mode) };
        self.check(driver, "cuThreadExchangeStreamCaptureMode", code)?;
        Ok(mode)
    }

    /// The error of a lost device.
    pub(super) fn check_lost(&self, driver: &Driver) -> Result<()> {
        match self.lost.load(Ordering::Acquire) {
            0 => Ok(()),
            code => Err(self.loss(driver, Code(code))),
        }
    }

    #[cold]
    fn loss(&self, driver: &Driver, code: Code) -> Error {
        let (name, text) = driver.describe(code);
        Error::DeviceLost { device: self.filter_string(), name, text }
    }

    /// The error of a call in the context of this device. Remembers an error after which the context is unusable.
    pub(super) fn check(&self, driver: &Driver, call: &'static str, code: Code) -> Result<()> {
        if code == Code::SUCCESS { Ok(()) } else { Err(self.error(driver, call, code)) }
    }

    #[cold]
    fn error(&self, driver: &Driver, call: &'static str, code: Code) -> Error {
        if code.is_sticky() { self.lose(driver, code) } else { driver.error(call, code) }
    }

    /// Gives the device up: no work is submitted from now on, and no memory is freed.
    fn lose(&self, driver: &Driver, code: Code) -> Error {
        self.lost.store(code.0, Ordering::Release);
        self.loss(driver, code)
    }

    /// Retains the primary context and makes what this backend keeps in it.
    fn open(&self, driver: &Driver) -> Result<Primary> {
        let mut context = ContextHandle::NULL;
        // SAFETY: DR1; the pointer is writable, and the driver gave the ordinal.
        let code = unsafe { (driver.cuDevicePrimaryCtxRetain)(&raw mut context, self.ordinal) };
        self.check(driver, "cuDevicePrimaryCtxRetain", code)?;
        self.platform.entry.wait_at_exit(Loaded::CudaContext);
        // SAFETY: DR1; the context was just retained.
        self.check(driver, "cuCtxPushCurrent", unsafe { (driver.cuCtxPushCurrent_v2)(context) })?;
        let opened = self.relax(driver).and_then(|mode| {
            let opened = self.open_current(driver, context);
            restore(driver, mode);
            opened
        });
        pop(driver);
        opened
    }

    fn open_current(&self, driver: &Driver, context: ContextHandle) -> Result<Primary> {
        let mut allocations = Stream::NULL;
        // SAFETY: DR1; the pointer is writable, and the context is current.
        let code = unsafe { (driver.cuStreamCreate)(&raw mut allocations, STREAM_NON_BLOCKING) };
        self.check(driver, "cuStreamCreate", code)?;
        let has_pools = driver.attribute(Attribute::MEMORY_POOLS_SUPPORTED, self.ordinal) != 0;
        let pool = has_pools.then(|| self.create_pool(driver)).transpose()?;
        Ok(Primary { context, pool, allocations })
    }

    /// A pool of this backend alone, so that its options change nothing for other libraries.
    fn create_pool(&self, driver: &Driver) -> Result<MemoryPool> {
        let mut pool = MemoryPool::NULL;
        let handle_types =
            FILE_DESCRIPTOR & driver.attribute(Attribute::MEMPOOL_SUPPORTED_HANDLE_TYPES, self.ordinal);
        let properties = PoolProperties::of_device(self.ordinal, handle_types);
        // SAFETY: DR1; the pointers lead to a writable handle and to properties, which the driver copies.
        let code = unsafe { (driver.cuMemPoolCreate)(&raw mut pool, &raw const properties) };
        self.check(driver, "cuMemPoolCreate", code)?;
        // The pool gives memory back when it is trimmed, not at each synchronisation.
        let mut threshold = u64::MAX;
        let value = (&raw mut threshold).cast();
        // SAFETY: DR1; the pool is live, and the value of this attribute is a `u64`.
        let code = unsafe { (driver.cuMemPoolSetAttribute)(pool, POOL_RELEASE_THRESHOLD, value) };
        self.check(driver, "cuMemPoolSetAttribute", code)?;
        Ok(pool)
    }

    /// Keeps an event for the next operation, without a call of the driver. A wait of a stream for it stays what it was at the call.
    pub(super) fn return_event(&self, event: EventHandle, has_times: bool) {
        const MOST: usize = 1024;
        // Elsewhere the event is not this process's any more.
        if self.platform.entry.is_forked() {
            return;
        }
        let mut unused = self.events[usize::from(has_times)].lock().unwrap_or_else(PoisonError::into_inner);
        if unused.len() < MOST {
            unused.push(event);
            return;
        }
        drop(unused);
        if let Ok(current) = self.enter() {
            // SAFETY: DR1; our own event, used no more. The driver destroys a pending one when it is complete.
            let _ = unsafe { (current.cuEventDestroy_v2)(event) };
        }
    }

    /// What this device shares with other processes. Callers have [entered](Self::enter) the driver before, so that no forked child waits here.
    pub(super) fn shares(&self) -> MutexGuard<'_, Shares> {
        self.shares.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn can_access(&self, peer: &Self) -> bool {
        let Ok(driver) = self.platform.entry.enter() else { return false };
        let mut can = 0;
        // SAFETY: DR1; the pointer is writable, and the driver gave the ordinals.
        let code = unsafe { (driver.cuDeviceCanAccessPeer)(&raw mut can, self.ordinal, peer.ordinal) };
        code == Code::SUCCESS && can != 0
    }

    /// Changes the access of this device to the memory of `peer`. `false` when the state was the same before.
    pub(super) fn set_peer_access(&self, peer: &Self, enabled: bool) -> Result<bool> {
        let context = peer.enter()?.context();
        let current = self.enter()?;
        let code = if enabled {
            // SAFETY: DR1; PC1 of the peer; the flags must be 0.
            unsafe { (current.cuCtxEnablePeerAccess)(context, 0) }
        } else {
            // SAFETY: DR1; PC1 of the peer.
            unsafe { (current.cuCtxDisablePeerAccess)(context) }
        };
        // Another library may have changed the access of the contexts before.
        let was_so = matches!(code, Code::PEER_ACCESS_ALREADY_ENABLED | Code::PEER_ACCESS_NOT_ENABLED);
        if !was_so {
            current.check(if enabled { "cuCtxEnablePeerAccess" } else { "cuCtxDisablePeerAccess" }, code)?;
        }
        // A context over both devices has asked for access to the pool alone: a refused change leaves that as it is.
        if enabled || !was_so {
            self.set_pool_access(peer, enabled)?;
        }
        Ok(!was_so)
    }

    /// Changes the access of this device to the pool of `peer`, which the access of contexts does not cover.
    pub(super) fn set_pool_access(&self, peer: &Self, enabled: bool) -> Result<()> {
        let current = peer.enter()?;
        let Some(pool) = current.pool() else { return Ok(()) };
        self.access_pool(&current, pool, enabled)
    }

    /// Changes the access of this device to a live pool of the current one.
    pub(super) fn access_pool(&self, current: &Current<'_>, pool: MemoryPool, enabled: bool) -> Result<()> {
        const READ_WRITE: i32 = 3;
        let flags = if enabled { READ_WRITE } else { 0 };
        let access = PoolAccess { location: Location::device(self.ordinal), flags };
        // SAFETY: DR1; the pool is live, and the driver copies the one description.
        let code = unsafe { (current.cuMemPoolSetAccess)(pool, &raw const access, 1) };
        current.check("cuMemPoolSetAccess", code)
    }
}

/// The driver, entered for one call with the context of a device as the current one, and [relaxed](CudaDevice::relax). The thread's own context and mode
/// come back with the drop.
pub(super) struct Current<'a> {
    driver: Entered<'a>,
    device: &'a CudaDevice,
    primary: &'a Primary,
    is_pushed: bool,
    /// How the thread got on with captures of streams before.
    mode: c_int,
}

impl Current<'_> {
    pub(super) fn device(&self) -> &CudaDevice {
        self.device
    }

    pub(super) fn context(&self) -> ContextHandle {
        self.primary.context
    }

    pub(super) fn pool(&self) -> Option<MemoryPool> {
        self.primary.pool
    }

    pub(super) fn allocations(&self) -> Stream {
        self.primary.allocations
    }

    /// The error of a call in this context.
    pub(super) fn check(&self, call: &'static str, code: Code) -> Result<()> {
        self.device.check(&self.driver, call, code)
    }

    /// Gives the device up because of an error after which the state of its work is unknown.
    pub(super) fn lose(&self, code: Code) -> Error {
        self.device.lose(&self.driver, code)
    }

    /// An event that no operation uses.
    pub(super) fn take_event(&self, has_times: bool) -> Result<EventHandle> {
        let unused = &self.device.events[usize::from(has_times)];
        if let Some(event) = unused.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            return Ok(event);
        }
        let mut event = EventHandle::NULL;
        let flags = if has_times { 0 } else { EVENT_DISABLE_TIMING };
        // SAFETY: DR1; the pointer is writable, and the context is current.
        self.check("cuEventCreate", unsafe { (self.cuEventCreate)(&raw mut event, flags) })?;
        Ok(event)
    }

    /// The kernel for fills, which is loaded once.
    pub(super) fn fill_kernel(&self, load: impl Fn() -> Result<Function>) -> Result<Function> {
        if let Some(function) = self.device.fill_kernel.get() {
            return Ok(*function);
        }
        let _lock = self.device.opening.lock().unwrap_or_else(PoisonError::into_inner);
        let load = || {
            let function = load();
            self.device.platform.entry.wait_at_exit(Loaded::CudaKernels);
            function
        };
        self.device.fill_kernel.get_or_try_init(load).copied()
    }
}

impl Deref for Current<'_> {
    type Target = Driver;

    fn deref(&self) -> &Driver {
        &self.driver
    }
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        restore(&self.driver, self.mode);
        if self.is_pushed {
            pop(&self.driver);
        }
    }
}

/// Gives the thread its former mode back.
fn restore(driver: &Driver, mut mode: c_int) {
    // SAFETY: DR1; the pointer is writable and leads to a mode that the driver gave.
    let _ = unsafe { (driver.cuThreadExchangeStreamCaptureMode)(&raw mut mode) };
}

/// Gives the thread the context back that it had before a push.
fn pop(driver: &Driver) {
    let mut popped = ContextHandle::NULL;
    // SAFETY: DR1; the pointer is writable. A failure means that the stack is empty, so that nothing is left to do.
    let _ = unsafe { (driver.cuCtxPopCurrent_v2)(&raw mut popped) };
}
