//! The schedule: operations that are held back, their dependencies, and their order. It touches no memory.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroUsize;
use std::ops::Range;

use crate::backend::{HostTask, ProfilingTimes, QueueProperties, RawBundle, RawHandle, RawKernel, RawQueue};
use crate::testing::random::Random;
use crate::testing::{Call, Method};
use crate::{Error, KernelArgument, Result};

/// Something was released while an operation that uses it was pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EarlyRelease {
    /// The operation. If its memory was freed, it never runs, and a wait for it returns an error.
    pub operation: Method,
    /// What it uses.
    pub released: Released,
}

/// What was released too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Released {
    /// Memory.
    Block {
        /// Its address.
        address: usize,
        /// Its length, in bytes.
        len_bytes: usize,
    },
    /// A queue, kernel or bundle.
    Handle(RawHandle),
}

/// Whether a call that is held back uses a block.
fn uses(call: &Call, block: &Range<usize>) -> bool {
    let overlaps = |start: usize, len_bytes: usize| {
        len_bytes != 0 && start < block.end && block.start < start.saturating_add(len_bytes)
    };
    match call {
        Call::Memcpy { dst, src, len_bytes, .. } => overlaps(*dst, *len_bytes) || overlaps(*src, *len_bytes),
        Call::Fill { dst, pattern, count, .. } => overlaps(*dst, pattern.len().saturating_mul(*count)),
        Call::Prefetch { address, len_bytes, .. } | Call::MemAdvise { address, len_bytes, .. } => {
            overlaps(*address, *len_bytes)
        }
        Call::HostTask { memory, .. } => memory.iter().any(|&(start, len_bytes)| overlaps(start, len_bytes)),
        // The reach of a kernel from its pointers is unknown, so the whole blocks count.
        Call::SubmitKernel { arguments, .. } => {
            arguments.iter().filter_map(KernelArgument::address).any(|address| block.contains(&address))
        }
        _ => false,
    }
}

/// A submitted operation that has not run. It needs its queue, and its kernel if it has one, with the bundle.
#[derive(Debug)]
pub(super) struct DelayedOperation {
    /// Also the value of its event's handle.
    pub(super) number: usize,
    pub(super) queue: RawQueue,
    pub(super) call: Call,
    /// The task of a `Call::HostTask`.
    pub(super) task: Option<HostTask>,
    /// Numbers of the held-back operations that run before.
    after: Vec<usize>,
    /// Most calls of the backend until it runs.
    delay: usize,
    /// Whether the queue records times.
    pub(super) profiling: bool,
}

/// The state of a live event.
#[derive(Debug, Default)]
struct State {
    handles: usize,
    /// The result of the first wait for it.
    error: Option<Error>,
    times: Option<ProfilingTimes>,
}

impl DelayedOperation {
    fn kernel(&self) -> Option<RawKernel> {
        match self.call {
            Call::SubmitKernel { kernel, .. } => Some(kernel),
            _ => None,
        }
    }

    fn needs(&self, handle: RawHandle, bundles: &HashMap<RawKernel, RawBundle>) -> bool {
        match handle {
            RawHandle::Queue(queue) => self.queue == queue,
            RawHandle::Kernel(kernel) => self.kernel() == Some(kernel),
            RawHandle::Bundle(bundle) => {
                self.kernel().and_then(|kernel| bundles.get(&kernel)) == Some(&bundle)
            }
            _ => false,
        }
    }
}

/// The state of a delayed backend.
#[derive(Debug)]
pub(super) struct Schedule {
    random: Random,
    max_delay: usize,
    numbers: NonZeroUsize,
    /// In the order of submission.
    pending: Vec<DelayedOperation>,
    /// Live events by their numbers.
    events: HashMap<usize, State>,
    /// Lengths of live blocks in bytes, by address.
    blocks: BTreeMap<usize, usize>,
    /// The bundles of live kernels.
    bundles: HashMap<RawKernel, RawBundle>,
    /// Invariant D1: handles whose owner gave them back while operations were pending on them, one reference each.
    released: Vec<RawHandle>,
    faults: Vec<EarlyRelease>,
}

impl Schedule {
    pub(super) fn new(seed: u64, max_delay: usize) -> Self {
        Self {
            random: Random::new(seed),
            max_delay,
            numbers: NonZeroUsize::MIN,
            pending: Vec::new(),
            events: HashMap::new(),
            blocks: BTreeMap::new(),
            bundles: HashMap::new(),
            released: Vec::new(),
            faults: Vec::new(),
        }
    }

    pub(super) fn set_max_delay(&mut self, calls: usize) {
        self.max_delay = calls;
    }

    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    pub(super) fn faults(&self) -> &[EarlyRelease] {
        &self.faults
    }

    /// Holds an operation back; its number names its event. `is_same_queue` compares with the queues of pending operations.
    pub(super) fn submit(
        &mut self,
        queue: RawQueue,
        properties: QueueProperties,
        call: Call,
        task: Option<HostTask>,
        dependencies: Vec<usize>,
        is_same_queue: impl Fn(RawQueue) -> bool,
    ) -> NonZeroUsize {
        let is_barrier = |call: &Call| matches!(call, Call::Barrier { .. });
        let mut after = dependencies;
        // An in-order operation runs after all earlier ones of its queue, like a barrier without events. Later ones follow a barrier.
        let waits_for_all = properties.in_order || is_barrier(&call) && after.is_empty();
        let before = self.pending.iter().filter(|operation| {
            (waits_for_all || is_barrier(&operation.call)) && is_same_queue(operation.queue)
        });
        after.extend(before.map(|operation| operation.number));
        let event = self.numbers;
        self.numbers = event.saturating_add(1);
        let delay = 1 + self.random.below(self.max_delay);
        let profiling = properties.profiling;
        self.pending.push(DelayedOperation {
            number: event.get(),
            queue,
            call,
            task,
            after,
            delay,
            profiling,
        });
        self.events.insert(event.get(), State { handles: 1, ..State::default() });
        event
    }

    pub(super) fn is_pending(&self, number: usize) -> bool {
        self.pending.iter().any(|operation| operation.number == number)
    }

    /// Takes out one of the operations that could run now, at random; `None` when no operation is held back.
    pub(super) fn take_any(&mut self) -> Option<DelayedOperation> {
        let ready: Vec<_> = (0..self.pending.len())
            .filter(|&index| !self.pending[index].after.iter().any(|&number| self.is_pending(number)))
            .collect();
        let index = *ready.get(self.random.below(ready.len()))?;
        Some(self.pending.remove(index))
    }

    /// Counts one call of the backend. Returns the first operation whose delay is over, if there is one.
    pub(super) fn tick(&mut self) -> Vec<usize> {
        for operation in &mut self.pending {
            operation.delay = operation.delay.saturating_sub(1);
        }
        self.pending
            .iter()
            .filter(|operation| operation.delay == 0)
            .map(|operation| operation.number)
            .collect()
    }

    /// Keeps the error for a wait for the event, if its handle is still live.
    pub(super) fn fail(&mut self, number: usize, error: Error) {
        if let Some(event) = self.events.get_mut(&number) {
            event.error = Some(error);
        }
    }

    pub(super) fn take_error(&mut self, number: usize) -> Option<Error> {
        self.events.get_mut(&number)?.error.take()
    }

    /// Keeps the times of an operation that has run, if its event's handle is still live.
    pub(super) fn keep_times(&mut self, number: usize, times: Result<ProfilingTimes>) {
        if let Some(event) = self.events.get_mut(&number) {
            event.times = times.ok();
        }
    }

    pub(super) fn times(&self, number: usize) -> Option<ProfilingTimes> {
        self.events.get(&number)?.times
    }

    /// The operations that a pending one runs after and that are pending themselves, each with a new handle of its event.
    pub(super) fn dependencies(&mut self, number: usize) -> Vec<NonZeroUsize> {
        let operation = self.pending.iter().find(|operation| operation.number == number);
        let after = operation.map(|operation| operation.after.clone()).unwrap_or_default();
        let pending: Vec<_> = after.into_iter().filter(|&number| self.is_pending(number)).collect();
        for &number in &pending {
            self.events.entry(number).or_default().handles += 1;
        }
        pending.into_iter().filter_map(NonZeroUsize::new).collect()
    }

    pub(super) fn release_event(&mut self, number: usize) {
        if let Entry::Occupied(mut event) = self.events.entry(number) {
            event.get_mut().handles -= 1;
            if event.get().handles == 0 {
                event.remove();
            }
        }
    }

    pub(super) fn add_block(&mut self, address: usize, len_bytes: usize) {
        self.blocks.insert(address, len_bytes);
    }

    /// Gives up the operations that use a block that is about to be freed. Each is a fault.
    pub(super) fn remove_block(&mut self, address: usize, mut error: impl FnMut(Method) -> Error) {
        let len_bytes = self.blocks.remove(&address).unwrap_or(1);
        let block = address..address.saturating_add(len_bytes);
        for operation in self.pending.extract_if(.., |operation| uses(&operation.call, &block)) {
            let operation_is = operation.call.method();
            let released = Released::Block { address, len_bytes };
            self.faults.push(EarlyRelease { operation: operation_is, released });
            if let Some(event) = self.events.get_mut(&operation.number) {
                event.error = Some(error(operation_is));
            }
        }
    }

    pub(super) fn add_kernel(&mut self, kernel: RawKernel, bundle: RawBundle) {
        self.bundles.insert(kernel, bundle);
    }

    /// Whether the reference to a queue, kernel or bundle can be given back now. If not, that is a fault, and it is kept until
    /// [`idle`](Self::idle).
    pub(super) fn release(&mut self, handle: RawHandle) -> bool {
        let user = self.pending.iter().find(|operation| operation.needs(handle, &self.bundles));
        let user = user.map(|operation| operation.call.method());
        if let Some(operation) = user {
            self.faults.push(EarlyRelease { operation, released: Released::Handle(handle) });
            self.released.push(handle);
        } else if let RawHandle::Kernel(kernel) = handle {
            self.bundles.remove(&kernel);
        }
        user.is_none()
    }

    /// Kept references (D1) that no pending operation needs any more; the caller takes them over.
    pub(super) fn idle(&mut self) -> Vec<RawHandle> {
        let (pending, bundles) = (&self.pending, &self.bundles);
        let is_idle =
            |handle: &mut RawHandle| !pending.iter().any(|operation| operation.needs(*handle, bundles));
        self.released.extract_if(.., is_idle).collect()
    }
}
