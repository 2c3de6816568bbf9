//! Operations under way on the memory of a block. They outlive the borrows under which they were submitted.

use std::mem;
use std::ptr;

use usm_core::{Event, Queue, Runtime, drops};

use super::numbers::take_number;
use crate::{Error, Result};

/// An operation that may not be complete.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) event: Event,
    /// `None` for a stream of another library: nothing may keep it longer than its memory.
    queue: Option<Queue>,
    pub(crate) writes: bool,
    pub(crate) number: u64,
    /// It was ordered after all that were known at this number, as far as one of the two writes.
    seen: u64,
    /// The process that submitted it.
    generation: u64,
}

impl Operation {
    pub(crate) fn new(event: &Event, queue: &Queue, writes: bool, seen: u64) -> Self {
        // The event of a recorded operation keeps the queue in any case, until its capture is over.
        let is_kept = !queue.is_external_stream() || event.capture().is_some();
        let queue = is_kept.then(|| queue.clone());
        let generation = Runtime::fork_generation();
        Self { event: event.clone(), queue, writes, number: 0, seen, generation }
    }

    /// Whether it was submitted by the parent of this forked child.
    pub(crate) fn is_of_parent(&self) -> bool {
        !Runtime::is_fork_generation(self.generation)
    }

    /// Whether what is submitted to a queue comes after this without a dependency.
    pub(crate) fn is_before(&self, queue: &Queue) -> bool {
        queue.properties().in_order && self.queue.as_ref().is_some_and(|own| same_queue(own, queue))
    }

    /// Whether this is complete only when an earlier operation is.
    fn follows(&self, earlier: &Self) -> bool {
        let is_in_order = || self.queue.as_ref().is_some_and(|queue| earlier.is_before(queue));
        earlier.number < self.seen && (self.writes || earlier.writes || is_in_order())
    }

    /// Whether nobody has to know of an earlier operation besides this one.
    pub(crate) fn replaces(&self, earlier: &Self) -> bool {
        // Readers wait for writes alone.
        (self.writes || !earlier.writes) && self.follows(earlier)
    }
}

/// Whether both name one queue. Asks the backend only when they are no clones of each other, as they mostly are.
pub(crate) fn same_queue(a: &Queue, b: &Queue) -> bool {
    // Clones share one context field; both being alive, the addresses of two do not coincide.
    ptr::eq(a.context(), b.context()) || a == b
}

/// The operations on one block. Most blocks have at most two: the last write, and the last read.
#[derive(Debug, Default)]
pub(crate) struct OperationList {
    few: [Option<Operation>; 2],
    more: Vec<Operation>,
}

impl OperationList {
    pub(crate) fn is_empty(&self) -> bool {
        self.few.iter().all(Option::is_none) && self.more.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.iter().count()
    }

    fn iter(&self) -> impl Iterator<Item = &Operation> + Clone {
        self.few.iter().flatten().chain(&self.more)
    }

    /// Whether some were submitted by the parent of this forked child.
    pub(crate) fn has_some_of_parent(&self) -> bool {
        self.iter().any(Operation::is_of_parent)
    }

    /// Adds an operation. Returns what nobody needs any more, to be dropped without a lock.
    pub(crate) fn add(&mut self, mut operation: Operation) -> Self {
        // After the block was marked: who reads a greater number sees the mark.
        operation.number = take_number();
        let replaced = self.extract(|earlier| operation.replaces(earlier));
        self.push(operation);
        replaced
    }

    /// Takes operations out.
    pub(crate) fn remove(&mut self, numbers: &[u64]) -> Self {
        self.extract(|operation| numbers.contains(&operation.number))
    }

    /// What an operation on `queue` has to be ordered after.
    pub(crate) fn events_before(&self, queue: Option<&Queue>, writes: bool, events: &mut Vec<Event>) {
        let is_before = |earlier: &Operation| queue.is_some_and(|queue| earlier.is_before(queue));
        let wanted = self.iter().filter(|earlier| (writes || earlier.writes) && !is_before(earlier));
        events.extend(wanted.map(|earlier| earlier.event.clone()));
    }

    /// What host code has to wait for.
    pub(crate) fn numbered_events(&self, writes: bool, events: &mut Vec<(u64, Event)>) {
        let wanted = self.iter().filter(|earlier| writes || earlier.writes);
        events.extend(wanted.map(|earlier| (earlier.number, earlier.event.clone())));
    }

    /// Those that only read.
    pub(crate) fn numbered_reads(&self) -> Vec<(u64, Event)> {
        let reads = self.iter().filter(|earlier| !earlier.writes);
        reads.map(|earlier| (earlier.number, earlier.event.clone())).collect()
    }

    /// The queue after whose work at the moment all operations are complete: that of the newest one, unless it has to be `queue`.
    /// Operations of other queues are ordered into that one, or waited for. An error where that failed: they may go on for ever.
    pub(crate) fn into_order_of(mut self, queue: Option<&Queue>) -> Result<Option<Queue>, ()> {
        drop(self.extract(Operation::is_of_parent)); // nothing of it runs here
        // What a later one has waited for in its queue is complete before that.
        let is_followed = |one: &&Operation| self.iter().any(|later| later.follows(one));
        let followed: Vec<_> = self.iter().filter(is_followed).map(|one| one.number).collect();
        drop(self.remove(&followed));
        let newest = self.iter().filter(|operation| operation.queue.is_some()).max_by_key(|one| one.number);
        let queue = queue.or(newest.and_then(|newest| newest.queue.as_ref())).cloned();
        let is_after = |operation: &Operation| match (&operation.queue, &queue) {
            (Some(of), Some(queue)) => same_queue(of, queue),
            _ => false,
        };
        drop(self.extract(is_after));
        if self.is_empty() {
            return Ok(queue);
        }
        let is_near =
            |operation: &Operation| queue.as_ref().is_some_and(|queue| queue.takes(&operation.event));
        let near: Vec<_> = self.iter().filter(|one| is_near(one)).map(|one| one.event.clone()).collect();
        if let Some(queue) = &queue
            && !near.is_empty()
            && queue.barrier(&near).is_ok()
        {
            drop(self.extract(is_near));
        }
        if self.wait_for_all() { Ok(queue) } else { Err(()) }
    }

    /// Waits in a drop. `false` where that failed: operations may go on for ever.
    pub(crate) fn wait_for_all(&self) -> bool {
        let under_way: Vec<_> =
            self.iter().map(|one| &one.event).filter(|event| !event.is_complete()).collect();
        drops::settle(under_way)
    }

    fn push(&mut self, operation: Operation) {
        match self.few.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(operation),
            None => self.more.push(operation),
        }
    }

    fn extract(&mut self, is_wanted: impl Fn(&Operation) -> bool) -> Self {
        let mut found = Self::default();
        for (to, from) in found.few.iter_mut().zip(&mut self.few) {
            *to = from.take_if(|operation| is_wanted(operation));
        }
        if !self.more.is_empty() {
            found.more.extend(self.more.extract_if(.., |operation| is_wanted(operation)));
        }
        found
    }
}

/// The capacity, in lists, that a slab does not give back.
pub(super) const LEAST_CAPACITY: usize = 8;

/// The operations on the slots of a slab.
#[derive(Default)]
pub(crate) struct OperationsOfSlots {
    /// Invariant O1: the slot of the list at the same place.
    slots: Vec<u8>,
    lists: Vec<OperationList>,
}

impl OperationsOfSlots {
    /// Does something with the operations on a slot. Also returns whether there are some afterwards.
    pub(crate) fn with<T>(&mut self, slot: u8, job: impl FnOnce(&mut OperationList) -> T) -> (T, bool) {
        let place = self.slots.iter().position(|of| *of == slot).unwrap_or_else(|| {
            self.slots.push(slot);
            self.lists.push(OperationList::default());
            self.slots.len() - 1
        });
        let list = &mut self.lists[place]; // O1
        let result = job(list);
        let is_empty = list.is_empty();
        if is_empty {
            self.slots.swap_remove(place);
            self.lists.swap_remove(place);
            self.give_back_capacity();
        }
        (result, !is_empty)
    }

    /// Frees the capacity that many operations needed: a slab stays for long. What stays is twice what is needed, so that this is rare.
    fn give_back_capacity(&mut self) {
        let (len, capacity) = (self.lists.len(), self.lists.capacity());
        if capacity > LEAST_CAPACITY && len < capacity / 4 {
            self.slots.shrink_to(LEAST_CAPACITY.max(2 * len));
            self.lists.shrink_to(LEAST_CAPACITY.max(2 * len));
        }
    }

    #[cfg(test)]
    pub(super) fn capacities(&self) -> [usize; 2] {
        [self.slots.capacity(), self.lists.capacity()]
    }

    /// Takes the operations on a slot.
    pub(crate) fn take(&mut self, slot: u8) -> OperationList {
        self.with(slot, mem::take).0
    }
}

/// Whether an operation is surely not under way any more after a failed wait for its event. An operation of the parent of a forked child
/// never runs in the child.
pub(crate) fn is_over_after(error: &Error, event: &Event) -> bool {
    !matches!(error, Error::Interrupted) && event.is_complete()
}
