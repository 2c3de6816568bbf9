//! The host backend's devices, contexts, queues and events, and how they travel as raw handles.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use super::simulated::HostDevice;
use crate::DeviceType;
use crate::backend::{ProfilingTimes, QueueProperties, RawContext, RawDevice, RawEvent, RawQueue};

/// A simulated device of the host backend.
#[derive(Debug)]
pub(super) struct SimulatedDevice {
    pub(super) device_type: DeviceType,
    /// Position among the devices of the same type.
    pub(super) number: usize,
    /// Of all live allocations together.
    pub(super) memory_bytes: u64,
    /// Of one allocation.
    pub(super) max_alloc_bytes: u64,
    used_bytes: AtomicU64,
}

impl SimulatedDevice {
    /// The device of a description, on a machine with `physical_bytes` bytes of memory.
    pub(super) fn new(described: &HostDevice, number: usize, physical_bytes: u64) -> Self {
        let memory_bytes = described.memory_bytes.unwrap_or(physical_bytes);
        Self {
            device_type: described.device_type,
            number,
            memory_bytes,
            max_alloc_bytes: described.max_alloc_bytes.unwrap_or(memory_bytes).min(memory_bytes),
            used_bytes: AtomicU64::new(0),
        }
    }

    /// Takes memory into account; false when the device has not that much left.
    pub(super) fn reserve(&self, len_bytes: u64) -> bool {
        let add = |used: u64| used.checked_add(len_bytes).filter(|&sum| sum <= self.memory_bytes);
        self.used_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }

    /// Gives back what `reserve` took.
    pub(super) fn unreserve(&self, len_bytes: u64) {
        self.used_bytes.fetch_sub(len_bytes, Ordering::Relaxed);
    }
}

/// A context: an identity that allocations are bound to.
#[derive(Debug)]
pub(super) struct HostContext {
    pub(super) id: u64,
    pub(super) devices: Vec<Arc<SimulatedDevice>>,
}

impl HostContext {
    pub(super) fn new(devices: Vec<Arc<SimulatedDevice>>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self { id: NEXT.fetch_add(1, Ordering::Relaxed), devices }
    }
}

/// A queue. Operations run on the submitting thread, at once.
#[derive(Debug)]
pub(super) struct HostQueue {
    pub(super) context: Arc<HostContext>,
    pub(super) device: Arc<SimulatedDevice>,
    pub(super) properties: QueueProperties,
}

/// An event. What it stands for has ended before it exists.
#[derive(Debug)]
pub(super) struct HostEvent {
    /// When it ran, on a queue that records times.
    pub(super) times: Option<ProfilingTimes>,
}

impl HostEvent {
    /// The event of an operation that started at a time of `now_ns` and ends now.
    ///
    /// # Safety
    /// 1. `queue` is live.
    pub(super) unsafe fn ended(queue: RawQueue, start_ns: u64) -> RawEvent {
        // SAFETY: the caller's promise.
        let queue = unsafe { HostQueue::clone_raw(queue) };
        let times = || ProfilingTimes { submit_ns: start_ns, start_ns, end_ns: now_ns() };
        Self::into_raw(Arc::new(Self { times: queue.properties.profiling.then(times) }))
    }
}

/// The clock of host events, in ns since its first use, which is 1: no time is 0.
pub(super) fn now_ns() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    1 + u64::try_from(START.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX - 1)
}

/// An object that travels as a raw handle: the pointer of an `Arc`, which owns one count.
pub(super) trait Handle: Sized {
    type Raw: Copy;

    fn wrap(pointer: NonNull<c_void>) -> Self::Raw;
    fn unwrap(raw: Self::Raw) -> *mut c_void;

    /// Gives one count away as a raw handle.
    fn into_raw(this: Arc<Self>) -> Self::Raw {
        // SAFETY: `Arc::into_raw` never gives null.
        Self::wrap(unsafe { NonNull::new_unchecked(Arc::into_raw(this).cast_mut().cast()) })
    }

    /// A count of its own to the object behind a handle.
    ///
    /// # Safety
    /// 1. `raw` came from `into_raw` of the same type and is live.
    unsafe fn clone_raw(raw: Self::Raw) -> Arc<Self> {
        let pointer = Self::unwrap(raw).cast_const().cast::<Self>();
        // SAFETY: the caller's promise: the pointer of a live `Arc`.
        unsafe { Arc::increment_strong_count(pointer) };
        // SAFETY: the count just added is ours.
        unsafe { Arc::from_raw(pointer) }
    }

    /// Takes the handle's own count back.
    ///
    /// # Safety
    /// 1. `raw` came from `into_raw` of the same type and is used no more.
    unsafe fn release_raw(raw: Self::Raw) {
        // SAFETY: the caller's promise.
        drop(unsafe { Arc::from_raw(Self::unwrap(raw).cast_const().cast::<Self>()) });
    }
}

macro_rules! handle {
    ($($object:ty => $raw:ident),+ $(,)?) => {$(
        impl Handle for $object {
            type Raw = $raw;

            fn wrap(pointer: NonNull<c_void>) -> $raw {
                $raw::new(pointer)
            }

            fn unwrap(raw: $raw) -> *mut c_void {
                raw.as_ptr()
            }
        }
    )+};
}

handle!(SimulatedDevice => RawDevice, HostContext => RawContext, HostQueue => RawQueue, HostEvent => RawEvent);
