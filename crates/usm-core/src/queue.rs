//! A queue: where operations are submitted and through which USM is allocated.

use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::backend::{
    Backend, ForeignKind, HostTask, MAX_PATTERN_BYTES, RawEvent, RawHandle, RawQueue, TaskMemory,
};
use crate::{Allocation, BackendId, Context, Device, Error, Event, QueueProperties, Result, UsmKind};

owned_handle!(
    /// Owner of a raw queue.
    QueueHandle, RawQueue, Queue
);

#[derive(Debug)]
struct Inner {
    handle: QueueHandle,
    context: Context,
    device: Device,
    properties: QueueProperties,
    /// Whether others have it, too, and may submit to it.
    is_known_elsewhere: AtomicBool,
    /// Of the operations submitted through this value, which all clones share.
    last: Mutex<Option<Event>>,
}

/// A SYCL queue: one device within one context. Clones name the same queue.
#[derive(Clone)]
pub struct Queue {
    inner: Arc<Inner>,
}

impl Queue {
    /// Caller has checked that the device is of the context, and both of one backend.
    pub(crate) fn new(context: &Context, device: &Device, properties: QueueProperties) -> Result<Self> {
        let backend = context.backend();
        // SAFETY: both handles are live (H1) on this backend.
        let raw = unsafe { backend.create_queue(context.raw(), device.raw(), properties) }?;
        // SAFETY: a fresh handle of this backend.
        let handle = unsafe { QueueHandle::from_raw(Arc::clone(backend), raw) };
        Ok(Self::of_parts(handle, context.clone(), device.clone(), properties, false))
    }

    fn of_parts(
        handle: QueueHandle,
        context: Context,
        device: Device,
        properties: QueueProperties,
        is_known_elsewhere: bool,
    ) -> Self {
        let (is_known_elsewhere, last) = (AtomicBool::new(is_known_elsewhere), Mutex::new(None));
        Self { inner: Arc::new(Inner { handle, context, device, properties, is_known_elsewhere, last }) }
    }

    /// A queue behind a foreign `sycl::queue*`, which is copied and stays the producer's.
    ///
    /// # Safety
    /// 1. `pointer` is a live heap `sycl::queue`, or no SYCL object at all: unreadable memory, and readable memory that does not
    ///    look like one, are refused; a freed queue cannot be told from a live one.
    ///
    /// # Errors
    /// [`Error::InvalidForeignHandle`], [`Error::NoForeignHandle`] from a backend without SYCL objects.
    pub unsafe fn from_foreign(backend: &Arc<dyn Backend>, pointer: *mut c_void) -> Result<Self> {
        // SAFETY: the caller's promise 1.
        let RawHandle::Queue(raw) = unsafe { backend.import_foreign(ForeignKind::Queue, pointer) }? else {
            return Err(Error::Backend { backend: backend.id(), call: "import_foreign" });
        };
        // SAFETY: a fresh handle of this backend.
        unsafe { Self::from_raw(backend, raw) }
    }

    /// # Safety
    /// 1. `raw` is a live handle of `backend` whose reference the caller gives away.
    pub(crate) unsafe fn from_raw(backend: &Arc<dyn Backend>, raw: RawQueue) -> Result<Self> {
        // SAFETY: the caller's promise 1.
        let handle = unsafe { QueueHandle::from_raw(Arc::clone(backend), raw) };
        // SAFETY: the handle is live (H1).
        let (context, device, properties) = unsafe { backend.queue_parts(raw) }?;
        // SAFETY: a fresh handle of this backend.
        let context = unsafe { Context::from_raw(Arc::clone(backend), context) };
        // SAFETY: a fresh handle of this backend.
        let device = unsafe { Device::from_raw(Arc::clone(backend), device) };
        Ok(Self::of_parts(handle, context, device, properties, true))
    }

    /// A heap `sycl::queue` of its own for another SYCL library.
    ///
    /// # Errors
    /// [`Error::NoForeignHandle`] from a backend without SYCL objects.
    pub fn to_foreign(&self) -> Result<ForeignHandle> {
        ForeignHandle::new(self.backend(), RawHandle::Queue(self.raw_for_others()))
    }

    /// The handle for somebody who may submit by other means than this value.
    pub(crate) fn raw_for_others(&self) -> RawQueue {
        self.inner.is_known_elsewhere.store(true, Ordering::Release);
        self.raw()
    }

    pub(crate) fn raw(&self) -> RawQueue {
        self.inner.handle.raw()
    }

    pub(crate) fn backend(&self) -> &Arc<dyn Backend> {
        self.inner.handle.backend()
    }

    /// The backend that implements the queue.
    #[must_use]
    pub fn backend_id(&self) -> BackendId {
        self.backend().id()
    }

    /// The queue's context.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.inner.context
    }

    /// The queue's device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// The queue's properties.
    #[must_use]
    pub fn properties(&self) -> QueueProperties {
        self.inner.properties
    }

    /// Allocates `len_bytes` bytes of USM, aligned for every element type. The content is undefined.
    ///
    /// # Errors
    /// As [`allocate_aligned`](Self::allocate_aligned).
    pub fn allocate(&self, kind: UsmKind, len_bytes: usize) -> Result<Allocation> {
        self.allocate_checked(kind, len_bytes, 0)
    }

    /// Allocates `len_bytes` bytes of USM at a multiple of `align_bytes`. The content is undefined.
    ///
    /// # Errors
    /// [`Error::ZeroSize`], [`Error::InvalidAlignment`] unless a power of two, [`Error::KindNotSupported`],
    /// [`Error::TooLarge`] over the device's limit, [`Error::AlignmentNotHonoured`], [`Error::OutOfMemory`].
    pub fn allocate_aligned(
        &self,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: usize,
    ) -> Result<Allocation> {
        if !align_bytes.is_power_of_two() {
            return Err(Error::InvalidAlignment { align_bytes });
        }
        self.allocate_checked(kind, len_bytes, align_bytes)
    }

    // Runtimes answer a failed allocation with a null pointer and no reason, so the causes are checked beforehand.
    fn allocate_checked(&self, kind: UsmKind, len_bytes: usize, align_bytes: usize) -> Result<Allocation> {
        let device = || self.device().filter_string();
        if len_bytes == 0 {
            return Err(Error::ZeroSize);
        }
        self.backend().check_process()?;
        let info = self.device().info();
        if !info.supports(kind) {
            return Err(Error::KindNotSupported { kind, device: device() });
        }
        let max_bytes = info.max_alloc_bytes;
        if u64::try_from(len_bytes).map_or(true, |len| len > max_bytes) {
            return Err(Error::TooLarge { len_bytes, max_bytes, kind, device: device() });
        }
        // SAFETY: the handle is live (H1) and the length is not 0.
        let block = unsafe { self.backend().allocate(self.raw(), kind, len_bytes, align_bytes) };
        let Some(block) = block else {
            self.backend().check_process()?;
            return Err(Error::OutOfMemory { len_bytes, kind, device: device() });
        };
        // SAFETY: a fresh block of this queue's context, of that kind and length.
        let allocation = unsafe { Allocation::from_raw(self, block, len_bytes, kind) };
        if align_bytes != 0 && !allocation.address().is_multiple_of(align_bytes) {
            return Err(Error::AlignmentNotHonoured { kind, align_bytes });
        }
        Ok(allocation)
    }

    /// Copies `len_bytes` bytes after the `dependencies`; USM of this context or host memory on either side. Host
    /// and shared USM of another context is host memory here.
    ///
    /// Between device or shared USM of two devices of one OpenCL context the SYCL runtime may never end the copy: go through host
    /// USM there, as the copies of `usm-memory` do.
    ///
    /// # Safety
    /// 1. Both ranges are valid for the copy, do not overlap, and stay valid and unshared until the event has ended.
    ///
    /// # Errors
    /// [`Error::Unreachable`], [`Error::ForeignContext`] and [`Error::Backend`] when the copy cannot be submitted; then nothing is
    /// touched any more.
    pub unsafe fn memcpy(
        &self,
        dst: *mut u8,
        src: *const u8,
        len_bytes: usize,
        dependencies: &[Event],
    ) -> Result<Event> {
        self.submit(dependencies, |backend, raw| {
            // SAFETY: handles are live (H1); the ranges are the caller's promise 1.
            unsafe { backend.memcpy(self.raw(), dst, src, len_bytes, raw) }
        })
    }

    /// Writes `count` repetitions of `pattern`, 1 to 16 bytes long, at any address.
    ///
    /// Patterns of 1, 2, 4, 8 and 16 bytes at an address that is a multiple of their length are one operation of the runtime;
    /// others are copied from what is already written, which doubles each time.
    ///
    /// # Safety
    /// 1. The range is USM of this context, and stays valid and unshared until the event has ended.
    ///
    /// # Errors
    /// [`Error::PatternLength`]; [`Error::Unreachable`], [`Error::ForeignContext`] and [`Error::Backend`] when the operation cannot
    /// be submitted. Then nothing is written any more, but a part may have been.
    pub unsafe fn fill(
        &self,
        dst: *mut u8,
        pattern: &[u8],
        count: usize,
        dependencies: &[Event],
    ) -> Result<Event> {
        if !(1..=MAX_PATTERN_BYTES).contains(&pattern.len()) {
            return Err(Error::PatternLength { len_bytes: pattern.len() });
        }
        self.submit(dependencies, |backend, raw| {
            // SAFETY: handles are live (H1); the range is the caller's promise 1.
            unsafe { backend.fill(self.raw(), dst, pattern, count, raw) }
        })
    }

    /// Sets `len_bytes` bytes to `value`.
    ///
    /// # Safety
    /// As for [`fill`](Self::fill).
    ///
    /// # Errors
    /// As for [`fill`](Self::fill).
    pub unsafe fn memset(
        &self,
        dst: *mut u8,
        value: u8,
        len_bytes: usize,
        dependencies: &[Event],
    ) -> Result<Event> {
        // SAFETY: the caller's promise; a single byte needs no alignment.
        unsafe { self.fill(dst, &[value], len_bytes, dependencies) }
    }

    /// Hints that the queue's device will soon use `len_bytes` bytes of USM. Only shared USM moves.
    ///
    /// # Safety
    /// 1. The allocation stays until the event has ended.
    ///
    /// # Errors
    /// [`Error::Unreachable`] when an end of the range is not USM of this context; [`Error::Backend`].
    pub unsafe fn prefetch(&self, src: *const u8, len_bytes: usize, dependencies: &[Event]) -> Result<Event> {
        let address = self.usm_range("prefetch", src, len_bytes)?;
        self.submit(dependencies, |backend, raw| {
            // SAFETY: handles are live (H1); the range was checked and stays by the caller's promise 1.
            unsafe { backend.prefetch(self.raw(), address, len_bytes, raw) }
        })
    }

    /// Says how `len_bytes` bytes of USM will be used. What the numbers of `advice` mean is up to the device's backend; 0 takes
    /// earlier advice back.
    ///
    /// # Safety
    /// 1. The allocation stays until the event has ended.
    ///
    /// # Errors
    /// [`Error::Unreachable`] when an end of the range is not USM of this context; [`Error::Backend`], for instance since the
    /// device does not know the advice.
    pub unsafe fn mem_advise(
        &self,
        src: *const u8,
        len_bytes: usize,
        advice: i32,
        dependencies: &[Event],
    ) -> Result<Event> {
        let address = self.usm_range("mem_advise", src, len_bytes)?;
        self.submit(dependencies, |backend, raw| {
            // SAFETY: handles are live (H1); the range was checked and stays by the caller's promise 1.
            unsafe { backend.mem_advise(self.raw(), address, len_bytes, advice, raw) }
        })
    }

    /// The address of a range of which both ends are USM of this context.
    fn usm_range(&self, operation: &'static str, start: *const u8, len_bytes: usize) -> Result<usize> {
        let address = start.addr();
        let known = |address| self.context().pointer_info(address).is_some();
        let last = address.checked_add(len_bytes.max(1) - 1);
        if known(address) && last.is_some_and(known) {
            return Ok(address);
        }
        Err(Error::Unreachable { operation, address, len_bytes })
    }

    /// Whether [`host_task`](Self::host_task) is supported.
    #[must_use]
    pub fn runs_host_tasks(&self) -> bool {
        self.backend().runs_host_tasks()
    }

    /// Runs host code after the `dependencies`, `sycl::handler::host_task`. It gets the native address of each range of `memory`, as from
    /// a `sycl::interop_handle`: where host code reaches the bytes while the task runs, and only then. Host and shared USM of another
    /// context is host memory here.
    ///
    /// The task runs on a thread of the backend, or on one that waits. When it says that it failed, or panics, it has ended: what depends
    /// on it runs, and waiting for its event gives [`Error::HostTask`].
    ///
    /// # Safety
    /// 1. Each range is valid for what the task does with it, and stays valid and, where the task writes, unshared until the event has
    ///    ended.
    /// 2. The task uses the addresses for these ranges only, and not after it has returned.
    /// 3. Neither the task nor the drop of what it owns uses an object of the queue's backend, nor lets the last one go.
    ///
    /// # Errors
    /// [`Error::NotSupported`] where the backend cannot do this; [`Error::Unreachable`], [`Error::ForeignContext`] and
    /// [`Error::Backend`] when the task cannot be submitted. Then it never runs.
    pub unsafe fn host_task(
        &self,
        memory: &[TaskMemory],
        task: HostTask,
        dependencies: &[Event],
    ) -> Result<Event> {
        if !self.runs_host_tasks() {
            return Err(Error::NotSupported { backend: self.backend_id(), what: "host tasks" });
        }
        self.submit(dependencies, |backend, raw| {
            // SAFETY: handles are live (H1); the rest are the caller's promises.
            unsafe { backend.host_task(self.raw(), memory, task, raw) }
        })
    }

    /// An event that ends when all `events` have ended; with none, when all that was submitted to this queue before has ended.
    /// What is submitted to this queue afterwards starts after it.
    ///
    /// # Errors
    /// [`Error::Backend`] when the barrier cannot be submitted; errors of events of another backend, which are waited for.
    pub fn barrier(&self, events: &[Event]) -> Result<Event> {
        self.submit(events, |backend, raw| {
            // SAFETY: handles are live (H1).
            unsafe { backend.barrier(self.raw(), raw) }
        })
    }

    /// Whether what is submitted next to this in-order queue surely has nothing to wait for. Not known of queues that foreign code
    /// has, too, of those that are not in order, and of other values for the same queue.
    #[must_use]
    pub fn is_surely_idle(&self) -> bool {
        let last = self.inner.last.lock().unwrap_or_else(PoisonError::into_inner);
        self.properties().in_order
            && !self.inner.is_known_elsewhere.load(Ordering::Acquire)
            && last.as_ref().is_none_or(Event::is_complete)
    }

    /// Waits until all that was submitted before has ended.
    ///
    /// # Errors
    /// [`Error::Asynchronous`], [`Error::Backend`].
    pub fn wait(&self) -> Result<()> {
        self.barrier(&[])?.wait()
    }

    pub(crate) fn submit(
        &self,
        dependencies: &[Event],
        operation: impl FnOnce(&dyn Backend, &[RawEvent]) -> Result<RawEvent>,
    ) -> Result<Event> {
        let backend = self.backend();
        let mut raw = Vec::with_capacity(dependencies.len());
        for event in dependencies {
            if event.context() == self.context() {
                raw.push(event.raw());
            } else {
                // Another backend's events mean nothing here, and dependencies across contexts end the SYCL runtime (2026.2) in
                // a segmentation fault sooner or later: order by waiting.
                event.wait()?;
            }
        }
        let event = operation(&**backend, &raw)?;
        // SAFETY: a fresh handle of this backend.
        let event = unsafe { Event::from_raw(self.context(), event) };
        if self.properties().in_order {
            let last = Some(event.clone());
            // What is dropped here is a handle, after the lock.
            let _before =
                std::mem::replace(&mut *self.inner.last.lock().unwrap_or_else(PoisonError::into_inner), last);
        }
        Ok(event)
    }
}

impl PartialEq for Queue {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner) || self.inner.handle.same(&other.inner.handle)
    }
}

impl Eq for Queue {}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Queue({:?}, {:?})", self.device(), self.properties())
    }
}

/// A heap SYCL object made for another library, deleted when this is dropped. The pointer is what capsules carry.
#[derive(Debug)]
pub struct ForeignHandle {
    backend: Arc<dyn Backend>,
    kind: ForeignKind,
    /// Invariant F1: from `backend.export_foreign`, of `kind`, not deleted.
    pointer: NonNull<c_void>,
}

// SAFETY: F1: a heap SYCL object, which any thread may use and delete (the backend's promise 1).
unsafe impl Send for ForeignHandle {}
// SAFETY: as for Send; shared access only reads the pointer value.
unsafe impl Sync for ForeignHandle {}

impl ForeignHandle {
    pub(crate) fn new(backend: &Arc<dyn Backend>, handle: RawHandle) -> Result<Self> {
        let kind = match handle {
            RawHandle::Context(_) => ForeignKind::Context,
            _ => ForeignKind::Queue,
        };
        // SAFETY: callers pass the live handle (H1) of an object they borrow.
        let pointer = unsafe { backend.export_foreign(handle) }?;
        Ok(Self { backend: Arc::clone(backend), kind, pointer })
    }

    /// The `sycl::context*` or `sycl::queue*`.
    #[must_use]
    pub fn as_ptr(&self) -> NonNull<c_void> {
        self.pointer
    }
}

impl Drop for ForeignHandle {
    fn drop(&mut self) {
        // SAFETY: F1; this is its only deletion.
        unsafe { self.backend.delete_foreign(self.kind, self.pointer) };
    }
}
