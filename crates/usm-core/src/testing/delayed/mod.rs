//! A backend whose operations complete late and out of order.

mod schedule;

use std::num::NonZeroUsize;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::schedule::{DelayedOperation, Schedule};
pub use self::schedule::{EarlyRelease, Released};
use super::Call;
use super::call::signatures::*;
use crate::Error;

/// Default of the most calls that an operation is held back.
const MAX_DELAY_CALLS: usize = 16;

/// A backend that holds operations back and runs them later, in a random order that depends on the seed.
///
/// - `memcpy`, `fill`, `prefetch`, `mem_advise`, `barrier`, `host_task` and `submit_kernel` only record the work. An operation
///   runs after its dependencies. On an in-order queue it also runs after all earlier operations. A barrier runs after all earlier
///   operations of its queue, and before all later ones.
/// - An operation runs at a wait for it, where other operations may run first. Without a wait it runs after a random number of other
///   calls of the backend, at [`flush`](Self::flush), or when the backend is dropped.
/// - An operation that has run is complete, as [`event_status`](Backend::event_status) reports. The first `wait` returns its error.
/// - Memory freed while an operation that uses it is held back is a fault. [`faults`](Self::faults) lists it. The operation never
///   runs, since it could do harm.
/// - A queue, kernel or bundle that is released while an operation that uses it is held back is a fault, too. It is kept until the
///   operation has run.
///
/// The backend does not watch host memory, USM that others allocated, and memory that a kernel reaches otherwise than by an address
/// inside of its block, given as an argument.
/// Work that other libraries submit to a queue is not ordered after operations that are held back.
#[derive(Debug)]
pub struct DelayedBackend {
    inner: Arc<dyn Backend>,
    /// Invariant D2: operations run under this lock. An operation outside of the schedule is complete.
    schedule: Mutex<Schedule>,
}

impl DelayedBackend {
    /// Delays the operations of `inner`, each by at most 16 calls. The same seed gives the same order to the same calls.
    #[must_use]
    pub fn new(inner: Arc<dyn Backend>, seed: u64) -> Self {
        Self { inner, schedule: Mutex::new(Schedule::new(seed, MAX_DELAY_CALLS)) }
    }

    /// The same with another bound: an operation runs before the `calls`-th other call, or when it is waited for. 0 means 1.
    #[must_use]
    pub fn with_max_delay(self, calls: usize) -> Self {
        self.lock().set_max_delay(calls);
        self
    }

    /// Number of operations that are held back now.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.lock().pending()
    }

    /// What was released too early, in order.
    #[must_use]
    pub fn faults(&self) -> Vec<EarlyRelease> {
        self.lock().faults().to_vec()
    }

    /// Runs all that is held back.
    pub fn flush(&self) {
        let mut schedule = self.lock();
        while let Some(operation) = schedule.take_any() {
            self.run(&mut schedule, operation);
        }
        self.release_idle(&mut schedule);
    }

    fn lock(&self) -> MutexGuard<'_, Schedule> {
        // The schedule is whole wherever a panic may happen.
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, call: &'static str) -> Error {
        Error::Backend { backend: self.inner.id(), call }
    }

    /// Runs one operation and waits for its completion.
    fn run(&self, schedule: &mut Schedule, operation: DelayedOperation) {
        let queue = operation.queue;
        let submitted = match operation.call {
            Call::Memcpy { dst, src, len_bytes, .. } => {
                let dst = ptr::with_exposed_provenance_mut(dst);
                let src = ptr::with_exposed_provenance(src);
                // SAFETY: the queue is live: its release waits for its operations (D1). The ranges are valid: the submitter promised
                // them until completion (promise 2). Dependencies are complete (D2).
                unsafe { self.inner.memcpy(queue, dst, src, len_bytes, &[]) }
            }
            Call::Fill { dst, pattern, count, .. } => {
                let dst = ptr::with_exposed_provenance_mut(dst);
                // SAFETY: the queue is live (D1), the range valid until completion (promise 2), dependencies complete (D2).
                unsafe { self.inner.fill(queue, dst, &pattern, count, &[]) }
            }
            // SAFETY: the queue is live (D1), the range USM until completion (promise 2), dependencies complete (D2).
            Call::Prefetch { address, len_bytes, .. } => unsafe {
                self.inner.prefetch(queue, address, len_bytes, &[])
            },
            // SAFETY: the queue is live (D1), the range USM until completion (promise 2), dependencies complete (D2).
            Call::MemAdvise { address, len_bytes, advice, .. } => unsafe {
                self.inner.mem_advise(queue, address, len_bytes, advice, &[])
            },
            Call::SubmitKernel { kernel, arguments, range, .. } => {
                // SAFETY: queue and kernel are live (D1), dependencies complete (D2); the rest are promises 1 to 3 of the submitter.
                unsafe { self.inner.submit_kernel(queue, kernel, &arguments, &range, &[]) }
            }
            Call::HostTask { memory, .. } => {
                let Some(task) = operation.task else { return };
                let range = |(start, len_bytes)| TaskMemory {
                    start: ptr::with_exposed_provenance_mut(start),
                    len_bytes,
                };
                let memory: Vec<_> = memory.into_iter().map(range).collect();
                // SAFETY: the queue is live (D1), dependencies complete (D2); the rest are promises 2 and 3 of the submitter.
                unsafe { self.inner.host_task(queue, &memory, task, &[]) }
            }
            // The others are barriers.
            // SAFETY: the queue is live (D1).
            _ => unsafe { self.inner.barrier(queue, &[]) },
        };
        let outcome = submitted.and_then(|event| {
            // SAFETY: a fresh event of `inner` (promise 1 of `Backend`).
            let outcome = unsafe { self.inner.wait(event) };
            if operation.profiling {
                // SAFETY: a fresh event of `inner` (promise 1 of `Backend`).
                schedule.keep_times(operation.number, unsafe { self.inner.event_times(event) });
            }
            // SAFETY: our own handle (promise 1 of `Backend`), without a later use.
            unsafe { self.inner.release(RawHandle::Event(event)) };
            outcome
        });
        if let Err(error) = outcome {
            schedule.fail(operation.number, error);
        }
    }

    /// Runs operations, in any allowed order, until one is complete.
    fn run_until(&self, schedule: &mut Schedule, number: usize) {
        while schedule.is_pending(number) {
            let Some(operation) = schedule.take_any() else { break };
            self.run(schedule, operation);
        }
        self.release_idle(schedule);
    }

    fn release_idle(&self, schedule: &mut Schedule) {
        for handle in schedule.idle() {
            // SAFETY: D1: a reference that its owner gave back and that nothing uses any more.
            unsafe { self.inner.release(handle) };
        }
    }

    /// Counts a call. Delays are counted in calls.
    fn tick(&self) {
        let mut schedule = self.lock();
        for number in schedule.tick() {
            self.run_until(&mut schedule, number);
        }
    }

    fn around<R>(&self, _call: Call, run: impl FnOnce() -> R) -> R {
        self.tick();
        run()
    }

    /// # Safety
    /// 1. The conditions of the method of [`Backend`] that makes this call.
    unsafe fn submit(&self, call: Call, task: Option<HostTask>) -> Result<RawEvent> {
        self.tick();
        let (queue, dependencies) = match &call {
            Call::Memcpy { queue, dependencies, .. }
            | Call::Fill { queue, dependencies, .. }
            | Call::Prefetch { queue, dependencies, .. }
            | Call::MemAdvise { queue, dependencies, .. }
            | Call::HostTask { queue, dependencies, .. }
            | Call::SubmitKernel { queue, dependencies, .. }
            | Call::Barrier { queue, events: dependencies } => (*queue, dependencies),
            other => return Err(self.failed(other.method().name())),
        };
        // SAFETY: the queue is live (promise 1).
        let (context, device, properties) = unsafe { self.inner.queue_parts(queue) }?;
        // SAFETY: our own handle (promise 1 of `Backend`), without a later use.
        unsafe { self.inner.release(RawHandle::Context(context)) };
        // SAFETY: our own handle (promise 1 of `Backend`), without a later use.
        unsafe { self.inner.release(RawHandle::Device(device)) };
        let is_same = |other| {
            // SAFETY: both are live: the caller's, and one with pending operations (D1).
            other == queue || unsafe { self.inner.same(RawHandle::Queue(queue), RawHandle::Queue(other)) }
        };
        let dependencies = dependencies.iter().map(|&event| number(event)).collect();
        let event = self.lock().submit(queue, properties, call, task, dependencies, is_same);
        Ok(handle(event))
    }
}

/// The handle of the event with that number.
fn handle(number: NonZeroUsize) -> RawEvent {
    RawEvent::new(NonNull::without_provenance(number))
}

/// The number of the event with that handle.
fn number(event: RawEvent) -> usize {
    event.as_ptr().addr()
}

impl Drop for DelayedBackend {
    fn drop(&mut self) {
        self.flush();
    }
}

// SAFETY: 1. An event's handle is a number that is never given out twice, good on any thread; other handles are `inner`'s,
// and a queue or kernel is released when its last operation is complete (D1). 2. and 3. are `inner`'s promises. 4. `wait` returns when
// the operation has run and `inner` has waited for it, or when the operation was given up and will never run (D2). 5. Nothing panics.
#[deny(clippy::missing_trait_methods, reason = "a default would hide the method of the backend below")]
unsafe impl Backend for DelayedBackend {
    forward!(
        processes,
        id,
        root_devices,
        device_info,
        default_context,
        create_context,
        context_id,
        context_devices,
        create_queue,
        queue_parts,
        pointer_info,
        pointer_device,
        import_external,
        export_external,
        delete_external,
        create_bundle,
        kernel_info,
        platforms,
        platform_info,
        platform_devices,
        device_platform,
        composites,
        parent_device,
        sub_devices,
        runs_host_tasks,
        can_access_peer,
        set_peer_access,
        facts,
        strict,
    );

    forward!(held_back: memcpy, fill, prefetch, mem_advise, barrier, submit_kernel);

    unsafe fn same(&self, a: RawHandle, b: RawHandle) -> bool {
        self.tick();
        match (a, b) {
            // Our own numbers, which `inner` does not know.
            (RawHandle::Event(a), RawHandle::Event(b)) => a == b,
            (RawHandle::Event(_), _) | (_, RawHandle::Event(_)) => false,
            // SAFETY: both are live handles of `inner` (promise 1).
            _ => unsafe { self.inner.same(a, b) },
        }
    }

    unsafe fn hash(&self, handle: RawHandle) -> u64 {
        self.tick();
        match handle {
            RawHandle::Event(_) => handle.address(),
            // SAFETY: a live handle of `inner` (promise 1).
            _ => unsafe { self.inner.hash(handle) },
        }
    }

    // The call is not counted before the check, since counting would let pending operations complete.
    unsafe fn release(&self, handle: RawHandle) {
        let is_released = match handle {
            RawHandle::Event(event) => {
                self.lock().release_event(number(event));
                false
            }
            handle => self.lock().release(handle),
        };
        if is_released {
            // SAFETY: the caller gives its reference away (promise 1), and no operation needs the handle.
            unsafe { self.inner.release(handle) };
        }
        self.tick();
    }

    unsafe fn bundle_kernel(&self, bundle: RawBundle, name: &CStr) -> Result<Option<RawKernel>> {
        self.tick();
        // SAFETY: the caller's promise 1 is the same.
        let kernel = unsafe { self.inner.bundle_kernel(bundle, name) }?;
        if let Some(kernel) = kernel {
            self.lock().add_kernel(kernel, bundle);
        }
        Ok(kernel)
    }

    unsafe fn allocate(
        &self,
        queue: RawQueue,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: usize,
    ) -> Option<NonNull<u8>> {
        self.tick();
        // SAFETY: promises 1 and 2 of `allocate`.
        let block = unsafe { self.inner.allocate(queue, kind, len_bytes, align_bytes) }?;
        self.lock().add_block(block.addr().get(), len_bytes);
        Some(block)
    }

    // The call is not counted before the check, since counting would let pending operations complete.
    unsafe fn free(&self, context: RawContext, block: NonNull<u8>) {
        let mut schedule = self.lock();
        schedule.remove_block(block.addr().get(), |method| self.failed(method.name()));
        self.release_idle(&mut schedule);
        // SAFETY: promises 1 and 2 of `free`: pending operations on the block have just been given up.
        unsafe { self.inner.free(context, block) };
    }

    unsafe fn host_task(
        &self,
        queue: RawQueue,
        memory: &[TaskMemory],
        task: HostTask,
        dependencies: &[RawEvent],
    ) -> Result<RawEvent> {
        if !self.inner.runs_host_tasks() {
            // SAFETY: promises 1 to 3 of `host_task`.
            return unsafe { self.inner.host_task(queue, memory, task, dependencies) }; // it says why not
        }
        let memory = memory.iter().map(|range| (range.start.expose_provenance(), range.len_bytes)).collect();
        let call = Call::HostTask { queue, memory, dependencies: dependencies.to_vec() };
        // SAFETY: promises 1 to 3 of `host_task`.
        unsafe { self.submit(call, Some(task)) }
    }

    unsafe fn wait(&self, event: RawEvent) -> Result<()> {
        self.tick();
        let mut schedule = self.lock();
        self.run_until(&mut schedule, number(event));
        schedule.take_error(number(event)).map_or(Ok(()), Err)
    }

    unsafe fn event_status(&self, event: RawEvent) -> EventStatus {
        self.tick();
        if self.lock().is_pending(number(event)) { EventStatus::Submitted } else { EventStatus::Complete }
    }

    unsafe fn event_times(&self, event: RawEvent) -> Result<ProfilingTimes> {
        self.tick();
        let mut schedule = self.lock();
        self.run_until(&mut schedule, number(event));
        schedule.times(number(event)).ok_or(Error::NoProfiling)
    }

    unsafe fn event_dependencies(&self, event: RawEvent) -> Result<Vec<RawEvent>> {
        self.tick();
        let events = self.lock().dependencies(number(event));
        Ok(events.into_iter().map(handle).collect())
    }

    // Work on a stream would not come after the operations that are held back.

    unsafe fn native_stream(&self, _queue: RawQueue) -> Option<usize> {
        None
    }

    unsafe fn queue_on_stream(&self, _device: RawDevice, _stream: usize) -> Result<RawQueue> {
        Err(Error::NotSupported { backend: self.id(), what: "queues on CUDA streams" })
    }

    unsafe fn order_after_stream(&self, _queue: RawQueue, _stream: usize) -> Result<()> {
        Err(Error::NotSupported { backend: self.id(), what: "queues on CUDA streams" })
    }

    // An operation that is held back is in no capture.

    unsafe fn capture(&self, _queue: RawQueue) -> Result<Option<u64>> {
        Ok(None)
    }

    unsafe fn keep_in_graph(&self, _queue: RawQueue, _value: Box<dyn Any + Send>) -> Result<RawEvent> {
        Err(Error::NotSupported { backend: self.id(), what: "captures into graphs" })
    }

    unsafe fn event_capture(&self, _event: RawEvent) -> Option<u64> {
        None
    }
}
