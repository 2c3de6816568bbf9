//! A queue: where operations are submitted and through which USM is allocated.

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::mem::{self, ManuallyDrop};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
#[cfg(feature = "sycl")]
use std::thread;
#[cfg(feature = "sycl")]
use std::time::{Duration, Instant};

#[cfg(feature = "sycl")]
use crate::backend::entry;
use crate::backend::{
    Backend, BackendId, ExternalObject, HostTask, MAX_PATTERN_BYTES, RawEvent, RawHandle, RawQueue,
    TaskMemory,
};
use crate::fork::{ForkMutex, ForkOnce, PerProcess, is_forked_child};
use crate::pending::{Dropped, Pending};
use crate::{
    Allocation, Context, Device, Error, Event, PeerAccess, QueueProperties, Result, UsmKind, capture, retired,
};

owned_handle!(
    /// Owner of a raw queue.
    QueueHandle, RawQueue, Queue
);

/// The queues of SYCL that are alive, whose work the end of the process waits for.
static LIVE: PerProcess<Mutex<Vec<Weak<Inner>>>> = PerProcess::new(Mutex::new(Vec::new()));

/// The number of the next queue.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

/// The number of CUDA's legacy default stream, whose handle is null in older libraries.
const LEGACY_STREAM: usize = 1;
/// The number of the default stream of the calling thread.
pub(crate) const THREAD_STREAM: usize = 2;

#[cfg(feature = "sycl")]
/// The pause between two looks at an operation at the end of the process.
const PAUSE: Duration = Duration::from_micros(100);

/// The queues whose own stream other code knows, by that stream. Queues that are gone stay until the next one comes.
static NATIVE_STREAMS: ForkMutex<Vec<(NativeStream, Weak<Inner>)>> = ForkMutex::new(Vec::new());

/// The address of a backend, and a stream of it.
type NativeStream = (usize, usize);

#[derive(Debug)]
struct Inner {
    /// Invariant Q3: taken by the destructor alone.
    handle: ManuallyDrop<QueueHandle>,
    /// No other queue of this copy of the library has it.
    number: u64,
    context: Context,
    device: Device,
    properties: QueueProperties,
    /// Whether other code made the queue.
    is_imported: bool,
    /// Whether other code has the queue, too, and may submit to it.
    is_known_elsewhere: AtomicBool,
    /// The newest operation that was submitted through this value or a clone. Invariant Q1: the lock is held from before the
    /// submission until the event is stored, so that no older event replaces a newer one. A forked child has no pending operation.
    last: PerProcess<Mutex<Last>>,
    /// Whether another library owns the stream.
    is_external_stream: AtomicBool,
    /// Whether the queue is one of [`NATIVE_STREAMS`].
    is_listed: AtomicBool,
    /// Whether a runtime returned it as a default queue.
    is_default: AtomicBool,
    /// The queue that has [taken over](Queue::go_over_to). Invariant Q2: set under the lock of Q1, so that nothing is submitted to this
    /// queue afterwards.
    successor: ForkOnce<Queue>,
    attached: ForkOnce<Box<dyn Any + Send + Sync>>,
    /// The queues that [`Queue::with_peer`] returned, by the other device.
    with_peers: PerProcess<Mutex<Vec<(Device, Queue)>>>,
}

/// The operation that completes after all others of a queue.
#[derive(Debug, Default)]
enum Last {
    /// No operation was submitted.
    #[default]
    Nothing,
    /// The newest operation of an in-order queue, or a barrier that is the newest operation of an out-of-order queue.
    Event(Event),
    /// Any of these operations of an out-of-order queue may complete last.
    OneOf(Pending),
    /// Work of another stream that the queue waits for.
    Unknown,
}

impl Last {
    fn is_complete(&self) -> bool {
        match self {
            Self::Nothing => true,
            Self::Event(event) => event.is_complete(),
            Self::OneOf(_) | Self::Unknown => false,
        }
    }

    /// Adds a newer operation of the queue with that number. `is_last`: it completes after all others. What it replaces is for the caller
    /// to drop without the lock.
    fn add(&mut self, number: u64, event: &Event, is_last: bool) -> Replaced {
        if is_last {
            return Replaced { _last: mem::replace(self, Self::Event(event.clone())), _complete: None };
        }
        if let Self::OneOf(pending) = self {
            let complete = pending.add(number, event.clone(), false);
            return Replaced { _last: Self::Nothing, _complete: Some(complete) };
        }
        let earlier = mem::take(self);
        let mut pending = Pending::default();
        if let Self::Event(earlier) = &earlier {
            drop(pending.add(number, earlier.clone(), false)); // nothing was there
        }
        let complete = pending.add(number, event.clone(), false);
        *self = Self::OneOf(pending);
        Replaced { _last: earlier, _complete: Some(complete) }
    }
}

/// Events that a newer operation has replaced.
struct Replaced {
    _last: Last,
    _complete: Option<Dropped>,
}

impl Inner {
    /// The operations that may be under way when the last value of the queue drops.
    fn work_left(&self) -> Vec<Event> {
        let backend = self.handle.backend();
        // A queue on an external stream destroys nothing.
        if backend.keeps_released() || self.is_external_stream.load(Ordering::Acquire) {
            return Vec::new();
        }
        // Other code may have submitted to a queue of ours. What it does with a queue of its own is its own affair, and CUDA completes
        // all work of a destroyed stream. Where the barrier is refused, the operations of this library count.
        let is_shared = self.is_known_elsewhere.load(Ordering::Acquire) && !self.is_imported;
        if is_shared && backend.id() == BackendId::Sycl {
            // SAFETY: the handle is live (H1).
            let barrier = unsafe { backend.barrier(self.handle.raw(), &[]) };
            if let Ok(barrier) = barrier {
                // SAFETY: a fresh handle of this backend (promise 1 of `Backend`).
                return vec![unsafe { Event::from_raw(&self.context, barrier) }];
            }
        }
        match mem::take(&mut *self.lock()) {
            Last::Nothing | Last::Unknown => Vec::new(),
            Last::Event(event) => vec![event],
            Last::OneOf(pending) => pending.into_events(),
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let left = self.work_left();
        // SAFETY: Q3: this is the destructor.
        let handle = unsafe { ManuallyDrop::take(&mut self.handle) };
        retired::release_after((handle, self.context.clone()), left);
    }
}

/// A SYCL queue: one device within one context. Clones name the same queue.
///
/// A runtime's own default queue may become another one, once: see [`Runtime::default_queues_from`](crate::Runtime::default_queues_from).
#[derive(Clone)]
pub struct Queue {
    inner: Arc<Inner>,
}

fn native_stream_of(backend: &Arc<dyn Backend>, stream: usize) -> NativeStream {
    (Arc::as_ptr(backend).addr(), stream)
}

impl Queue {
    /// The caller has checked that the context has the device, and that both have one backend.
    pub(crate) fn new(context: &Context, device: &Device, properties: QueueProperties) -> Result<Self> {
        retired::sweep();
        let backend = context.backend();
        let properties = backend.queue_properties(properties);
        // SAFETY: both handles are live (H1) on this backend.
        let raw = unsafe { backend.create_queue(context.raw(), device.raw(), properties) }?;
        // SAFETY: a fresh handle of this backend (promise 1 of `Backend`).
        let handle = unsafe { QueueHandle::from_raw(Arc::clone(backend), raw) };
        Ok(Self::of_parts(handle, context.clone(), device.clone(), properties, false))
    }

    fn of_parts(
        handle: QueueHandle,
        context: Context,
        device: Device,
        properties: QueueProperties,
        is_imported: bool,
    ) -> Self {
        let inner = Inner {
            handle: ManuallyDrop::new(handle),
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            context,
            device,
            properties,
            is_imported,
            is_known_elsewhere: AtomicBool::new(is_imported),
            last: PerProcess::default(),
            is_external_stream: AtomicBool::new(false),
            is_listed: AtomicBool::new(false),
            is_default: AtomicBool::new(false),
            successor: ForkOnce::new(),
            attached: ForkOnce::new(),
            with_peers: PerProcess::default(),
        };
        let queue = Self { inner: Arc::new(inner) };
        if queue.backend_id() == BackendId::Sycl {
            queue.remember();
        }
        queue
    }

    fn remember(&self) {
        let mut live = LIVE.get().lock().unwrap_or_else(PoisonError::into_inner);
        if live.len() == live.capacity() {
            #[cfg(feature = "sycl")]
            entry::finish_with(finish);
            live.retain(|queue| queue.strong_count() > 0);
            let len = live.len();
            live.reserve(len + 1);
        }
        live.push(Arc::downgrade(&self.inner));
    }

    /// The completion of all that was submitted to queues of SYCL so far, where it may be under way: that runtime must not shut down before.
    #[doc(hidden)]
    #[must_use]
    pub fn all_under_way() -> Vec<Event> {
        let live = LIVE.get().lock().unwrap_or_else(PoisonError::into_inner);
        let queues: Vec<_> = live.iter().filter_map(Weak::upgrade).map(|inner| Self { inner }).collect();
        drop(live);
        let busy = queues.iter().filter(|queue| !queue.is_surely_idle());
        let barriers = busy.filter_map(|queue| queue.barrier(&[]).ok());
        barriers.chain(retired::under_way()).collect()
    }

    /// A queue from an external `sycl::queue*`. The object is copied; the producer keeps it.
    ///
    /// # Safety
    /// 1. `pointer` is a live heap `sycl::queue`, or no SYCL object at all. Unreadable memory, and readable memory that does not
    ///    look like a queue, are refused. A freed queue looks like a live one.
    ///
    /// # Errors
    /// [`Error::InvalidExternalHandle`], [`Error::NoExternalHandle`] from a backend without SYCL objects.
    pub unsafe fn from_external(backend: &Arc<dyn Backend>, pointer: *mut c_void) -> Result<Self> {
        // SAFETY: the caller's promise 1.
        let RawHandle::Queue(raw) = unsafe { backend.import_external(ExternalObject::Queue, pointer) }?
        else {
            return Err(Error::Backend { backend: backend.id(), call: "import_external" });
        };
        // SAFETY: a fresh handle of this backend (promise 1 of `Backend`).
        unsafe { Self::from_raw(backend, raw) }
    }

    /// # Safety
    /// 1. `raw` is a live handle of `backend` whose reference the caller gives away.
    pub(crate) unsafe fn from_raw(backend: &Arc<dyn Backend>, raw: RawQueue) -> Result<Self> {
        // SAFETY: the caller's promise 1.
        let handle = unsafe { QueueHandle::from_raw(Arc::clone(backend), raw) };
        // SAFETY: the handle is live (H1).
        let (context, device, properties) = unsafe { backend.queue_parts(raw) }?;
        // SAFETY: a fresh handle of this backend (promise 1 of `Backend`).
        let context = unsafe { Context::from_raw(Arc::clone(backend), context) };
        // SAFETY: a fresh handle of this backend (promise 1 of `Backend`).
        let device = unsafe { Device::from_raw(Arc::clone(backend), device) };
        Ok(Self::of_parts(handle, context, device, properties, true))
    }

    /// A heap `sycl::queue` of its own for another SYCL library.
    ///
    /// # Errors
    /// [`Error::NoExternalHandle`] from a backend without SYCL objects.
    pub fn to_external(&self) -> Result<ExternalHandle> {
        ExternalHandle::new(self.backend(), RawHandle::Queue(self.raw_for_others()), self.clone())
    }

    /// A queue on a CUDA stream of another library, in the default context of the device. Both submit to the stream in one order. It is
    /// not destroyed with the queue.
    ///
    /// # Safety
    /// 1. `stream` is a live `CUstream`, or 0 or 1 for the legacy default stream, or 2 for the default stream of the calling thread.
    /// 2. It stays live as long as the queue and its clones. A queue on stream 2 stays with its thread.
    ///
    /// # Errors
    /// [`Error::NotSupported`] where queues are no streams; [`Error::InvalidExternalHandle`] for a stream of another context;
    /// [`Error::DeviceLost`].
    pub unsafe fn from_cuda_stream(device: &Device, stream: usize) -> Result<Self> {
        let backend = device.backend();
        // SAFETY: the handle is live (H1); the caller's promises 1 and 2.
        let raw = unsafe { backend.queue_on_stream(device.raw(), stream.max(LEGACY_STREAM)) }?;
        // SAFETY: a fresh handle of this backend (promise 1 of `Backend`).
        let queue = unsafe { Self::from_raw(backend, raw) }?;
        queue.inner.is_external_stream.store(true, Ordering::Release);
        Ok(queue)
    }

    /// As [`from_cuda_stream`](Self::from_cuda_stream), for a queue that all threads use.
    ///
    /// # Safety
    /// 1. As for [`from_cuda_stream`](Self::from_cuda_stream).
    ///
    /// # Errors
    /// [`Error::ThreadStream`] for stream 2; those of [`from_cuda_stream`](Self::from_cuda_stream).
    pub unsafe fn from_shared_cuda_stream(device: &Device, stream: usize) -> Result<Self> {
        if stream == THREAD_STREAM {
            return Err(Error::ThreadStream);
        }
        // SAFETY: the caller's promise 1.
        unsafe { Self::from_cuda_stream(device, stream) }
    }

    /// Whether the queue is [on a stream of another library](Self::from_cuda_stream), so that nothing may keep it longer than its memory.
    #[must_use]
    pub fn is_external_stream(&self) -> bool {
        self.now().is_external_stream.load(Ordering::Acquire)
    }

    /// The `CUstream` of the queue for code that submits to it, as long as the queue lives; `None` where queues are no streams.
    #[must_use]
    pub fn native_stream(&self) -> Option<usize> {
        let raw = self.raw();
        // SAFETY: the handle is live (H1).
        let stream = unsafe { self.backend().native_stream(raw) }?;
        self.now().is_known_elsewhere.store(true, Ordering::Release);
        if !self.is_external_stream() && !self.inner.is_listed.swap(true, Ordering::Relaxed) {
            let mut known = NATIVE_STREAMS.lock();
            known.retain(|(_, queue)| queue.strong_count() > 0);
            known.push((native_stream_of(self.backend(), stream), Arc::downgrade(&self.inner)));
        }
        Some(stream)
    }

    /// The queue of a device whose own stream this is, if other code has got to know that by [`native_stream`](Self::native_stream).
    #[must_use]
    pub fn with_native_stream(device: &Device, stream: usize) -> Option<Self> {
        let wanted = native_stream_of(device.backend(), stream);
        let known = NATIVE_STREAMS.lock();
        // The number of a queue that is gone may be that of a later one.
        let inner = known.iter().filter(|(found, _)| *found == wanted).find_map(|(_, queue)| queue.upgrade());
        drop(known);
        inner.map(|inner| Self { inner }).filter(|queue| queue.device() == device)
    }

    /// A queue of this queue's device whose copies also reach device memory of `peer` in any context; `None` where there is none, as on all
    /// backends but CUDA, whose pointers are good in each context of a device. What is submitted to the two queues is in no order.
    #[must_use]
    pub fn with_peer(&self, peer: &Device) -> Option<Self> {
        let device = self.device();
        if self.backend_id() != BackendId::Cuda || !device.can_access_peer(peer, PeerAccess::AccessSupported)
        {
            return None;
        }
        let mut known = self.inner.with_peers.get().lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, queue)) = known.iter().find(|(of, _)| of == peer) {
            return Some(queue.clone());
        }
        let context = Context::new(&[device.clone(), peer.clone()]).ok()?;
        let queue = context.create_queue(device, QueueProperties::IN_ORDER).ok()?;
        known.push((peer.clone(), queue.clone()));
        Some(queue)
    }

    /// What is submitted to a CUDA stream of the device from now on starts after all that was submitted to this queue. Does not wait.
    ///
    /// # Safety
    /// 1. `stream` is as for [`from_cuda_stream`](Self::from_cuda_stream), live during the call.
    ///
    /// # Errors
    /// As [`from_cuda_stream`](Self::from_cuda_stream).
    pub unsafe fn order_cuda_stream(&self, stream: usize) -> Result<()> {
        // SAFETY: the caller's promise 1; this value ends with the call.
        let consumer = unsafe { Self::from_cuda_stream(self.device(), stream) }?;
        // Other code knows the stream of its own, which is in order.
        if self.is_known_elsewhere() && self.native_stream() == consumer.native_stream() {
            return Ok(());
        }
        if !self.is_surely_idle() {
            consumer.barrier(&[self.barrier(&[])?])?;
        }
        Ok(())
    }

    /// What is submitted to this queue from now on starts after all that was submitted to a CUDA stream of the device. Does not wait.
    ///
    /// # Safety
    /// 1. As for [`order_cuda_stream`](Self::order_cuda_stream).
    ///
    /// # Errors
    /// As [`from_cuda_stream`](Self::from_cuda_stream).
    pub unsafe fn order_after_cuda_stream(&self, stream: usize) -> Result<()> {
        // Q1.
        let mut last = self.last();
        // SAFETY: the handle is live (H1); the caller's promise 1.
        unsafe { self.backend().order_after_stream(self.raw(), stream.max(LEGACY_STREAM)) }?;
        // The queue is idle only when the work of the stream is complete, of which there is no event.
        let replaced = mem::replace(&mut *last, Last::Unknown);
        drop(last);
        drop(replaced);
        Ok(())
    }

    /// The newest operation that was submitted through this value or a clone, where that is complete after all others. Operations that
    /// were recorded in a graph do not count.
    #[must_use]
    pub fn newest(&self) -> Option<Event> {
        match &*self.last() {
            Last::Event(event) => Some(event.clone()),
            Last::Nothing | Last::OneOf(_) | Last::Unknown => None,
        }
    }

    /// The event of an operation of this queue.
    ///
    /// # Safety
    /// 1. `raw` is a fresh handle of the queue's backend.
    pub(crate) unsafe fn event(&self, raw: RawEvent) -> Event {
        // SAFETY: the handle is live (promise 1).
        match unsafe { self.backend().event_capture(raw) } {
            // SAFETY: the caller's promise 1.
            None => unsafe { Event::from_raw(self.context(), raw) },
            // SAFETY: the caller's promise 1.
            Some(capture) => unsafe { Event::recorded(self, raw, capture) },
        }
    }

    /// A number that no other queue of this copy of the library has, for as long as the process.
    pub(crate) fn number(&self) -> u64 {
        self.now().number
    }

    /// The handle for code that may submit by other means than this value.
    pub(crate) fn raw_for_others(&self) -> RawQueue {
        self.now().is_known_elsewhere.store(true, Ordering::Release);
        self.raw()
    }

    /// The queue's context.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.now().context
    }

    /// The queue's device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.now().device
    }

    /// The queue's properties.
    #[must_use]
    pub fn properties(&self) -> QueueProperties {
        self.now().properties
    }

    /// Largest alignment that a longer block provides. No program needs more, and the skipped bytes are lost.
    const MAX_PADDING_BYTES: usize = 16 << 20;

    /// Allocates `len_bytes` bytes of USM, aligned for every element type. The content is undefined.
    ///
    /// # Errors
    /// As [`allocate_aligned`](Self::allocate_aligned).
    pub fn allocate(&self, kind: UsmKind, len_bytes: usize) -> Result<Allocation> {
        self.allocate_checked(kind, len_bytes, 0)
    }

    /// Allocates `len_bytes` bytes of USM at a multiple of `align_bytes`. The content is undefined.
    ///
    /// If the runtime refuses or ignores the alignment, the block is longer by one alignment, and the allocation starts inside of
    /// it.
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

    /// Allocates like [`allocate_aligned`](Self::allocate_aligned) with `align_bytes`, or like [`allocate`](Self::allocate) with
    /// `None`. The memory starts at a multiple of `preferred_bytes` if the runtime provides that without a longer block.
    ///
    /// # Errors
    /// As [`allocate_aligned`](Self::allocate_aligned).
    pub fn allocate_preferring(
        &self,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: Option<usize>,
        preferred_bytes: usize,
    ) -> Result<Allocation> {
        let align_bytes = align_bytes.unwrap_or(0);
        for align_bytes in [align_bytes.max(1), preferred_bytes] {
            if !align_bytes.is_power_of_two() {
                return Err(Error::InvalidAlignment { align_bytes });
            }
        }
        if preferred_bytes > align_bytes {
            self.check_request(kind, len_bytes)?;
            if let Some(allocation) = self.allocate_at(kind, len_bytes, preferred_bytes, align_bytes) {
                return Ok(allocation);
            }
        }
        self.allocate_checked(kind, len_bytes, align_bytes)
    }

    /// Host memory of other code as USM of this context, without a copy. The memory is left alone when the allocation drops. `None` where
    /// the backend cannot do that, and where it knows a part of the memory as another block. Only the host backend can, for the kinds
    /// that host code reaches.
    ///
    /// # Safety
    /// 1. The memory is valid, for writes too unless nobody writes to it, as long as the allocation lives.
    #[must_use]
    pub unsafe fn register_host_memory(
        &self,
        kind: UsmKind,
        start: NonNull<u8>,
        len_bytes: usize,
    ) -> Option<Allocation> {
        self.check_request(kind, len_bytes).ok()?;
        // SAFETY: the handle is live (H1), and the caller's promise 1, since the allocation frees it.
        let is_known = unsafe { self.backend().register_host_memory(self.raw(), kind, start, len_bytes) };
        // SAFETY: A1: a block of that length and kind, which is known until the allocation drops.
        is_known.then(|| unsafe { Allocation::from_raw(self, start, 0, len_bytes, kind) })
    }

    // With 0 the runtime chooses the alignment.
    fn allocate_checked(&self, kind: UsmKind, len_bytes: usize, align_bytes: usize) -> Result<Allocation> {
        self.check_request(kind, len_bytes)?;
        let mut allocated = self.allocate_once(kind, len_bytes, align_bytes)?;
        // SAFETY: the handle is live (H1).
        if allocated.is_none() && unsafe { self.backend().trim(self.raw(), kind) } {
            allocated = self.allocate_once(kind, len_bytes, align_bytes)?;
        }
        allocated.ok_or_else(|| self.out_of_memory(kind, len_bytes))
    }

    /// One request to the runtime, or two where it does not align the memory; `None` when the runtime has none.
    fn allocate_once(
        &self,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: usize,
    ) -> Result<Option<Allocation>> {
        if let Some(allocation) = self.allocate_at(kind, len_bytes, align_bytes, align_bytes) {
            return Ok(Some(allocation));
        }
        // SAFETY: the handle is live (H1).
        unsafe { self.backend().check_device(self.device().raw()) }?;
        if align_bytes <= 1 {
            return Ok(None);
        }
        // OpenCL on some CPUs ignores large alignments, and CUDA refuses those above its own.
        let max_bytes = self.device().info().max_alloc_bytes;
        let padding_bytes = Some(align_bytes).filter(|align| *align <= Self::MAX_PADDING_BYTES);
        let padded_bytes = padding_bytes.and_then(|padding| len_bytes.checked_add(padding));
        match padded_bytes.filter(|len| u64::try_from(*len).is_ok_and(|len| len <= max_bytes)) {
            None => Err(Error::AlignmentNotHonoured { kind, align_bytes }),
            Some(padded_bytes) => Ok(self.allocate_padded(kind, len_bytes, align_bytes, padded_bytes)),
        }
    }

    #[cold]
    fn out_of_memory(&self, kind: UsmKind, len_bytes: usize) -> Error {
        let device = self.device();
        Error::OutOfMemory {
            len_bytes,
            kind,
            device: device.filter_string(),
            figures: device.memory_figures(),
        }
    }

    // Runtimes answer a failed allocation with a null pointer and no reason, so the causes are checked beforehand.
    pub(crate) fn check_request(&self, kind: UsmKind, len_bytes: usize) -> Result<()> {
        let device = || self.device().filter_string();
        if len_bytes == 0 {
            return Err(Error::ZeroSize);
        }
        self.backend().check_process()?;
        if self.capture()?.is_some() {
            return Err(Error::StreamCapture { reason: capture::NO_ALLOCATION });
        }
        let info = self.device().info();
        if !info.supports(kind) {
            return Err(Error::KindNotSupported { kind, device: device() });
        }
        let max_bytes = info.max_alloc_bytes;
        if u64::try_from(len_bytes).map_or(true, |len| len > max_bytes) {
            return Err(Error::TooLarge { len_bytes, max_bytes, kind, device: device() });
        }
        Ok(())
    }

    /// Memory that the runtime aligns to `asked_bytes`, if it starts at a multiple of `needed_bytes`.
    fn allocate_at(
        &self,
        kind: UsmKind,
        len_bytes: usize,
        asked_bytes: usize,
        needed_bytes: usize,
    ) -> Option<Allocation> {
        retired::sweep();
        // SAFETY: the handle is live (H1) and the length was checked: it is not 0.
        let block = unsafe { self.backend().allocate(self.raw(), kind, len_bytes, asked_bytes) }?;
        // SAFETY: a fresh block of this queue's context, of that kind and length (promise 2 of `Backend`).
        let allocation = unsafe { Allocation::from_raw(self, block, 0, len_bytes, kind) };
        (needed_bytes == 0 || allocation.address().is_multiple_of(needed_bytes)).then_some(allocation)
    }

    /// The part at a multiple of `align_bytes` of a block of `padded_bytes`, which is `len_bytes` and one alignment.
    fn allocate_padded(
        &self,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: usize,
        padded_bytes: usize,
    ) -> Option<Allocation> {
        // SAFETY: the handle is live (H1), and the length is more than an alignment, which is not 0.
        let block = unsafe { self.backend().allocate(self.raw(), kind, padded_bytes, 0) }?;
        let address = block.addr().get();
        // Less than an alignment, so that the length fits behind it.
        let lead_bytes = address.wrapping_neg() & (align_bytes - 1);
        // SAFETY: a fresh block of this queue's context, of that kind, that is as long as both together (promise 2 of
        // `Backend`).
        Some(unsafe { Allocation::from_raw(self, block, lead_bytes, len_bytes, kind) })
    }

    /// Checks that this process maps USM of that kind, allocated on this queue. A forked child does not have the mappings of a GPU's
    /// driver: a read of shared or host memory would end the process.
    ///
    /// # Errors
    /// [`Error::ForkedRuntime`].
    #[inline]
    pub fn check_mapped(&self, kind: UsmKind) -> Result<()> {
        if is_forked_child() { self.check_mapped_in_child(kind) } else { Ok(()) }
    }

    #[cold]
    fn check_mapped_in_child(&self, kind: UsmKind) -> Result<()> {
        match self.backend().check_process() {
            Err(_) if self.device().is_in_process(kind) => Ok(()),
            checked => checked,
        }
    }

    /// Copies `len_bytes` bytes after the `dependencies`. Either side is USM of this context or host memory. Host and shared USM of
    /// another context counts as host memory.
    ///
    /// A copy between device or shared USM of two devices of one OpenCL context may never complete in the SYCL runtime. Copy through
    /// host USM there, like the copies of `usm-memory`.
    ///
    /// # Safety
    /// 1. Both ranges are valid for the copy, do not overlap, and stay valid and unshared until the event is complete.
    ///
    /// # Errors
    /// [`Error::Unreachable`], [`Error::OtherContext`] and [`Error::Backend`] when the copy cannot be submitted. No submitted
    /// part touches the ranges any more.
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
    /// Patterns of 1, 2, 4, 8 and 16 bytes at an address that is a multiple of their length are one operation of the runtime.
    /// Other patterns take several copies, each of all bytes that were written before.
    ///
    /// # Safety
    /// 1. The range is USM of this context, and stays valid and unshared until the event is complete.
    ///
    /// # Errors
    /// [`Error::PatternLength`]; [`Error::Unreachable`], [`Error::OtherContext`] and [`Error::Backend`] when the operation cannot
    /// be submitted. A part of the range may have been written; no more follows.
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
        // SAFETY: promise 1 of `fill`; a single byte needs no alignment.
        unsafe { self.fill(dst, &[value], len_bytes, dependencies) }
    }

    /// Hints that the queue's device will soon use `len_bytes` bytes of USM. Only shared USM moves.
    ///
    /// # Safety
    /// 1. The allocation stays until the event is complete.
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

    /// Advises the device about the use of `len_bytes` bytes of USM. The device's backend defines the numbers of `advice`; 0 resets
    /// earlier advice.
    ///
    /// # Safety
    /// 1. The allocation stays until the event is complete.
    ///
    /// # Errors
    /// [`Error::Unreachable`] when an end of the range is not USM of this context; [`Error::Backend`], for instance when
    /// the device does not know the advice.
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

    /// The address of a range, after a check that both ends are USM of this context.
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
    /// a `sycl::interop_handle`. Host code reaches the bytes there while the task runs, not later. Host and shared USM of another
    /// context counts as host memory.
    ///
    /// The task runs on a thread of the backend, or on a thread that waits. A task that returns an error or panics is complete:
    /// dependent operations run, and a wait for its event returns [`Error::HostTask`].
    ///
    /// # Safety
    /// 1. Each range is valid for what the task does with it, and stays valid and, where the task writes, unshared until the event is
    ///    complete.
    /// 2. The task uses the addresses for these ranges only, and not after it has returned.
    /// 3. The task, and the drop of its values, use no object of the queue's backend and drop no last handle of one.
    ///
    /// # Errors
    /// [`Error::NotSupported`] where the backend cannot do this; [`Error::Unreachable`], [`Error::OtherContext`] and
    /// [`Error::Backend`] when the task cannot be submitted. Then it never runs.
    pub unsafe fn host_task(
        &self,
        memory: &[TaskMemory],
        task: HostTask,
        dependencies: &[Event],
    ) -> Result<Event> {
        self.submit(dependencies, |backend, raw| {
            // SAFETY: handles are live (H1); the rest are the caller's promises 1 to 3.
            unsafe { backend.host_task(self.raw(), memory, task, raw) }
        })
    }

    /// An event that completes when all `events` are complete; with none, when all that was submitted to this queue before is complete.
    /// Later operations of this queue start after it.
    ///
    /// # Errors
    /// [`Error::Backend`] when the barrier cannot be submitted. The method waits for events of another backend and returns their errors.
    pub fn barrier(&self, events: &[Event]) -> Result<Event> {
        if let Some(former) = self.shared_former().filter(|_| events.is_empty()) {
            self.submit_barrier(&[former.barrier_for_others(&[])?])?;
        }
        let event = self.submit_barrier(events)?;
        if let Some(former) = self.shared_former().filter(|_| !events.is_empty()) {
            former.barrier_for_others(std::slice::from_ref(&event))?;
        }
        Ok(event)
    }

    fn submit_barrier(&self, events: &[Event]) -> Result<Event> {
        let is_last = events.is_empty() || self.properties().in_order;
        let barrier = |backend: &dyn Backend, raw: &[RawEvent]| {
            // SAFETY: handles are live (H1).
            unsafe { backend.barrier(self.raw(), raw) }
        };
        self.submit_as(is_last, events, barrier, |_| None)
    }

    /// Whether a CUDA stream of ours that external code has, too, has no work, as the driver says. `None` for other queues, and where the
    /// driver has no answer, such as during a capture.
    #[must_use]
    pub fn is_shared_stream_idle(&self) -> Option<bool> {
        if !self.is_known_elsewhere() || self.shared_former().is_some() {
            return None;
        }
        // SAFETY: the handle is live (H1).
        unsafe { self.backend().is_stream_idle(self.raw()) }
    }

    /// Whether the queue surely has no work, so that a wait is unnecessary. `false` for a queue of SYCL that external code has, too; for an
    /// out-of-order queue after an operation, until a later [`barrier`](Self::barrier) or [`wait`](Self::wait) completes; for other
    /// values of the same queue; and while another thread submits.
    #[must_use]
    pub fn is_surely_idle(&self) -> bool {
        if self.is_known_elsewhere() {
            return self.is_shared_stream_idle() == Some(true);
        }
        match self.now().last.get().try_lock() {
            Ok(last) => last.is_complete(),
            Err(TryLockError::Poisoned(last)) => last.into_inner().is_complete(),
            Err(TryLockError::WouldBlock) => false,
        }
    }

    /// An event that completes when all that was submitted to this queue before is complete: that of the newest operation where it says
    /// so, else that of a new [`barrier`](Self::barrier).
    ///
    /// # Errors
    /// As [`barrier`](Self::barrier).
    pub fn completion(&self) -> Result<Event> {
        // A host task may fail, and its error is for those who wait for its own event.
        if !self.is_known_elsewhere() && !self.runs_host_tasks() {
            let last = self.last();
            if let Last::Event(event) = &*last {
                return Ok(event.clone());
            }
        }
        self.barrier(&[])
    }

    /// Waits until all that was submitted before is complete.
    ///
    /// # Errors
    /// [`Error::Asynchronous`], [`Error::Backend`].
    pub fn wait(&self) -> Result<()> {
        let waited = if self.is_shared_stream_idle() == Some(true) {
            Ok(()) // without an event of our own behind the work of others
        } else {
            self.completion()?.wait()
        };
        retired::sweep();
        waited
    }

    pub(crate) fn submit(
        &self,
        dependencies: &[Event],
        operation: impl FnOnce(&dyn Backend, &[RawEvent]) -> Result<RawEvent>,
    ) -> Result<Event> {
        self.submit_as(self.properties().in_order, dependencies, operation, |_| None)
    }

    /// Submits an operation, and tells `note` its event before a later operation of the queue is submitted.
    pub(crate) fn submit_noted(
        &self,
        dependencies: &[Event],
        operation: impl FnOnce(&dyn Backend, &[RawEvent]) -> Result<RawEvent>,
        note: impl FnOnce(&Event) -> Option<Dropped>,
    ) -> Result<Event> {
        self.submit_as(self.properties().in_order, dependencies, operation, note)
    }

    /// Whether the event can be a dependency of this queue's operations without a wait of the host: it is of the same context, or of the
    /// same CUDA driver.
    #[must_use]
    pub fn takes(&self, event: &Event) -> bool {
        // A backend does not know events of another one, and dependencies across contexts crash the SYCL runtime (2026.2) sooner or
        // later.
        event.context() == self.context()
            || (self.backend_id() == BackendId::Cuda
                && Arc::ptr_eq(self.backend(), event.context().backend()))
    }

    /// `is_last`: the operation completes after all that were submitted before it.
    fn submit_as(
        &self,
        is_last: bool,
        dependencies: &[Event],
        operation: impl FnOnce(&dyn Backend, &[RawEvent]) -> Result<RawEvent>,
        note: impl FnOnce(&Event) -> Option<Dropped>,
    ) -> Result<Event> {
        let backend = self.backend();
        let mut raw = Vec::with_capacity(dependencies.len());
        // What was recorded in a capture that is over is no work under way.
        for event in dependencies.iter().filter(|event| event.capture().is_none() || !event.is_complete()) {
            if self.takes(event) {
                raw.push(event.raw());
            } else {
                event.wait()?;
            }
        }
        // Dropped after the lock, like the values that it replaces.
        let _noted;
        let _replaced;
        // Q1.
        let mut last = self.last();
        let event = operation(&**backend, &raw)?;
        // SAFETY: a fresh handle of this backend (promise 1 of `Backend`).
        let event = unsafe { self.event(event) };
        if event.capture().is_some() {
            return Ok(event); // it runs when the graph is launched, and the graph keeps what it uses
        }
        _noted = note(&event);
        _replaced = last.add(self.number(), &event, is_last);
        Ok(event)
    }

    /// Keeps `object`, the queue's object in a language binding, as long as this queue and its clones. The first one stays.
    pub fn attach(&self, object: impl Any + Send + Sync) {
        // A later object is dropped with its box.
        let _ = self.now().attached.set(Box::new(object));
    }

    /// The first object of that type that was [attached](Self::attach).
    #[must_use]
    pub fn attached<T: Any>(&self) -> Option<&T> {
        self.now().attached.get()?.downcast_ref()
    }

    pub(crate) fn mark_default(&self) {
        self.now().is_default.store(true, Ordering::Release);
    }

    /// Whether a runtime returned it as a default queue.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.now().is_default.load(Ordering::Acquire)
    }

    /// Whether an operation can take arrays of both queues: they are equal, or both are default queues of one device and context.
    ///
    /// A device has several default queues when [`Runtime::default_queues_from`](crate::Runtime::default_queues_from) changed the
    /// answer. They count as one queue here.
    #[must_use]
    pub fn computes_with(&self, other: &Self) -> bool {
        self == other
            || (self.is_default()
                && other.is_default()
                && self.context() == other.context()
                && self.device() == other.device())
    }

    /// What this value and its clones stand for: the queue itself, or the one that has taken over.
    fn now(&self) -> &Inner {
        self.inner.successor.get().map_or(&self.inner, |successor| &successor.inner)
    }

    fn handle(&self) -> &QueueHandle {
        &self.now().handle
    }

    /// The newest operation, under the lock of Q1.
    fn last(&self) -> MutexGuard<'_, Last> {
        loop {
            let inner = self.now();
            let last = inner.lock();
            // Another queue may have taken over while this thread waited for the lock (Q2).
            if ptr::eq(inner, self.now()) {
                return last;
            }
        }
    }

    /// Lets `successor` take over: from now on this value and its clones stand for it. All that was submitted to this queue comes before
    /// all that is submitted to `successor` afterwards. Only the first one takes over, and only a queue of the same context and device.
    ///
    /// # Errors
    /// [`Error::Backend`] when that order cannot be made; then nothing changes.
    pub(crate) fn go_over_to(&self, successor: &Self) -> Result<()> {
        let successor = successor.inner.successor.get().unwrap_or(successor);
        let is_fit =
            self != successor && self.context() == successor.context() && self.device() == successor.device();
        if !is_fit || self.inner.successor.get().is_some() {
            return Ok(());
        }
        // Dropped after the lock.
        let mut replaced = None;
        // Q1: a thread that waits for the lock submits to the successor afterwards.
        let mut last = self.inner.lock();
        if self.inner.successor.get().is_none() {
            let may_have_work = self.inner.is_known_elsewhere.load(Ordering::Acquire) || !last.is_complete();
            // Nothing that the parent of a forked child submitted runs in the child.
            if may_have_work && self.backend().check_process().is_ok() {
                let event;
                (event, replaced) =
                    self.inner.own_barrier(&mut last, &[]).map(|(event, old)| (event, Some(old)))?;
                successor.barrier(&[event])?;
            }
            self.inner.successor.set(successor.clone()); // Q2
        }
        drop(last);
        drop(replaced);
        Ok(())
    }

    /// The queue that this value stood for before another one took over, if other code has that, too, and may still submit to it.
    fn shared_former(&self) -> Option<&Inner> {
        let is_shared = || self.inner.is_known_elsewhere.load(Ordering::Acquire);
        (self.inner.successor.get().is_some() && is_shared()).then_some(&self.inner)
    }

    /// Whether other code may submit what a wait for this queue has to wait for.
    pub(crate) fn is_known_elsewhere(&self) -> bool {
        self.now().is_known_elsewhere.load(Ordering::Acquire) || self.shared_former().is_some()
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, Last> {
        self.last.get().lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`Queue::barrier`], on the queue itself, whichever has taken over. The events are of its context. `last` is its own, under the
    /// lock of Q1; its value before is for the caller to drop without the lock.
    fn own_barrier(&self, last: &mut Last, events: &[Event]) -> Result<(Event, Replaced)> {
        let raw: Vec<_> = events.iter().map(Event::raw).collect();
        // SAFETY: handles are live (H1).
        let event = unsafe { self.handle.backend().barrier(self.handle.raw(), &raw) }?;
        // SAFETY: a fresh handle of this backend (promise 1 of `Backend`).
        let event = unsafe { Event::from_raw(&self.context, event) };
        let is_last = events.is_empty() || self.properties.in_order;
        let replaced = last.add(self.number, &event, is_last);
        Ok((event, replaced))
    }

    /// As [`own_barrier`](Self::own_barrier), with the lock.
    fn barrier_for_others(&self, events: &[Event]) -> Result<Event> {
        let _replaced;
        let mut last = self.lock();
        let event;
        (event, _replaced) = self.own_barrier(&mut last, events)?;
        Ok(event)
    }
}

#[cfg(feature = "sycl")]
/// At the end of the process: waits for work under way, but not for kernels that run for ever.
fn finish(patience: Duration) {
    let begin = Instant::now();
    for event in Queue::all_under_way() {
        while !event.is_complete() {
            if begin.elapsed() > patience {
                return;
            }
            thread::sleep(PAUSE);
        }
        // There is nobody left to be told of an error.
        let _ = event.wait();
    }
}

identity!(Queue, RawQueue, "queue");

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Queue({:?}, {:?})", self.device(), self.properties())
    }
}

impl fmt::Display for Queue {
    /// Its device and order, as errors name it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = if self.properties().in_order { "in order" } else { "out of order" };
        write!(f, "{}, {order}", self.device().filter_string())
    }
}

/// A heap SYCL object for another library, deleted when this is dropped. Capsules carry its pointer.
#[derive(Debug)]
pub struct ExternalHandle {
    backend: Arc<dyn Backend>,
    kind: ExternalObject,
    /// Invariant E1: from `backend.export_external`, of `kind`, not deleted.
    pointer: NonNull<c_void>,
    /// The object of ours that the handle is a copy of. Dropped after the deletion, which is not the release of the last handle then.
    _original: Box<dyn Any + Send + Sync>,
}

// SAFETY: E1: a heap SYCL object, which any thread may use and delete (the backend's promise 1).
unsafe impl Send for ExternalHandle {}
// SAFETY: E1; shared access only reads the pointer value.
unsafe impl Sync for ExternalHandle {}

impl ExternalHandle {
    pub(crate) fn new(
        backend: &Arc<dyn Backend>,
        handle: RawHandle,
        original: impl Any + Send + Sync,
    ) -> Result<Self> {
        let kind = match handle {
            RawHandle::Context(_) => ExternalObject::Context,
            _ => ExternalObject::Queue,
        };
        // SAFETY: callers pass the live handle (H1) of an object they borrow.
        let pointer = unsafe { backend.export_external(handle) }?;
        Ok(Self { backend: Arc::clone(backend), kind, pointer, _original: Box::new(original) })
    }

    /// The `sycl::context*` or `sycl::queue*`.
    #[must_use]
    pub fn as_ptr(&self) -> NonNull<c_void> {
        self.pointer
    }
}

impl Drop for ExternalHandle {
    fn drop(&mut self) {
        // SAFETY: E1; this is its only deletion.
        unsafe { self.backend.delete_external(self.kind, self.pointer) };
    }
}
