//! The order of work on a block: what host code waits for, and what operations of queues depend on.

use std::ops::Range;

use usm_core::{Event, Queue};

use crate::buffer::{Block, Ownership};
use crate::tracker::by_address::MANY;
use crate::tracker::operation::{Operation, is_over_after, same_queue};
use crate::tracker::process::by_address;
use crate::tracker::state::{INHERITED, PUBLISHED, RELEASED, SUBMITTED};
use crate::tracker::{capture, waits};
use crate::{Error, Result};

/// Work of which only the queue is known.
const EXTERNAL: u8 = PUBLISHED | INHERITED | RELEASED;

impl Block {
    /// The addresses of all of it.
    pub(crate) fn addresses(&self) -> Range<usize> {
        let start = self.start().addr().get();
        start..start + self.len_bytes()
    }

    /// Whether other blocks may stand for the memory.
    pub(crate) fn is_published(&self) -> bool {
        self.state().pending() & PUBLISHED != 0
    }

    /// The block that the memory was leased from.
    pub(crate) fn below(&self) -> Option<&Self> {
        match self.ownership() {
            Ownership::Leased(lease) => lease.below(),
            _ => None,
        }
    }

    /// Lets external code know the memory, after all work on it. An error where a forked child does not have the memory.
    pub(crate) fn publish(&self) -> Result<()> {
        self.queue().check_mapped(self.kind())?;
        self.wait_for_submitted(&self.addresses(), true)?;
        if self.state().pending() & INHERITED != 0 {
            self.wait_for_external()?;
        }
        if let Some(below) = self.below() {
            below.wait_for_others(&self.addresses(), true)?;
        }
        self.mark_published();
        // What was submitted meanwhile, here or on the memory below, is not in the list of shared memory.
        self.wait_for_submitted(&self.addresses(), true)?;
        match self.below() {
            Some(below) => below.wait_for_others(&self.addresses(), true),
            None => Ok(()),
        }
    }

    /// As [`publish`](Self::publish), if that has nothing to wait for. If it has, this says so, and waits for nothing.
    pub(crate) fn publish_at_once(&self) -> bool {
        let is_quiet =
            || self.state().pending() & INHERITED == 0 && self.has_no_submitted() && self.below().is_none();
        if !is_quiet() {
            return false;
        }
        self.mark_published();
        // What was submitted meanwhile is not in the list of shared memory.
        is_quiet()
    }

    /// Marks all blocks that stand for the memory: operations on imports of it are in the list of shared memory alone.
    fn mark_published(&self) {
        self.state().add(PUBLISHED);
        if let Some(below) = self.below() {
            below.mark_published();
        }
    }

    /// As [`publish`](Self::publish), without a wait: for external code whose work comes after what `queue` does from now on.
    pub(crate) fn publish_on(&self, queue: &Queue) -> Result<()> {
        self.mark_published();
        let mut events = Vec::new();
        self.order(&self.addresses(), Some(queue), true, &mut events)?;
        capture::come_after(queue, &mut events)
    }

    /// What was submitted to `queue`, of the same context, so far may use the memory until it is complete, even when all buffers
    /// are gone by then. May wait for that queue.
    pub(crate) fn release_on(&self, queue: &Queue) -> Result<()> {
        if !same_queue(queue, self.queue()) {
            // One queue is enough to remember when ours goes on after the other one.
            let ordered = queue.barrier(&[]).and_then(|event| self.queue().barrier(&[event]));
            if ordered.is_err() {
                return Ok(queue.wait()?);
            }
        }
        self.state().add(RELEASED);
        Ok(())
    }

    /// Whether neither external code nor an earlier owner surely has work on the memory. Takes no lock that others wait for; may ask the
    /// driver.
    #[inline]
    pub(crate) fn has_no_external(&self) -> bool {
        (self.state().pending() & EXTERNAL == 0 || self.queue().is_surely_idle())
            && self.below().is_none_or(Self::has_no_external)
    }

    /// Whether no operation was submitted through buffers that [`wait_for_others`](Self::wait_for_others) would wait for. Looks at flags
    /// alone.
    #[inline]
    pub(crate) fn has_no_submitted(&self) -> bool {
        let pending = self.state().pending();
        pending & SUBMITTED == 0
            && (pending & PUBLISHED == 0 || by_address().is_empty())
            && !usm_core::fork::is_forked_child()
            && self.below().is_none_or(Self::has_no_submitted)
    }

    /// Waits for all work on a range of addresses of which host code that `writes` it, or reads it, has to see the end. An error where a
    /// forked child does not have the memory.
    #[inline]
    pub(crate) fn wait_for_others(&self, addresses: &Range<usize>, writes: bool) -> Result<()> {
        self.queue().check_mapped(self.kind())?;
        let pending = self.state().pending();
        let mut waited = Ok(());
        if pending != 0 {
            waited = self.wait_for_submitted(addresses, writes);
            if waited.is_ok() && pending & EXTERNAL != 0 {
                waited = self.wait_for_external();
            }
        }
        self.and_below(waited, |below| below.wait_for_others(addresses, writes))
    }

    /// Waits for what is under way on the block below, too, which remembers the same operations: their errors are told once.
    fn and_below(&self, waited: Result<()>, wait: impl FnOnce(&Self) -> Result<()>) -> Result<()> {
        match self.below() {
            Some(below) if !matches!(waited, Err(Error::Interrupted)) => waited.and(wait(below)),
            _ => waited,
        }
    }

    /// As [`wait_for_others`](Self::wait_for_others), after such a wait: for the operations that were submitted through buffers since then.
    pub(crate) fn wait_for_later(&self, addresses: &Range<usize>, writes: bool) -> Result<()> {
        let waited =
            if self.has_no_submitted() { Ok(()) } else { self.wait_for_submitted(addresses, writes) };
        self.and_below(waited, |below| below.wait_for_later(addresses, writes))
    }

    /// Whether [`wait_for_later`](Self::wait_for_later) would have to wait.
    pub(crate) fn has_later(&self, addresses: &Range<usize>, writes: bool) -> bool {
        let is_under_way = |(_, event): &(u64, Event)| !event.is_complete();
        !self.has_no_submitted()
            && (self.submitted(addresses, writes).iter().any(is_under_way)
                || self.below().is_some_and(|below| below.has_later(addresses, writes)))
    }

    /// Waits for what others may have submitted to the queue, or earlier owners.
    fn wait_for_external(&self) -> Result<()> {
        waits::for_others(self.queue())?;
        self.state().remove(INHERITED);
        Ok(())
    }

    /// The operations under way, by number.
    fn submitted(&self, addresses: &Range<usize>, writes: bool) -> Vec<(u64, Event)> {
        let (mut found, pending) = (Vec::new(), self.state().pending());
        if pending & SUBMITTED != 0 {
            self.with_operations(|list| list.numbered_events(writes, &mut found));
        }
        if pending & PUBLISHED != 0 {
            by_address().numbered_events(addresses, writes, &mut found);
        }
        found
    }

    /// Waits for operations that were submitted through buffers. Their errors come out here, once.
    pub(crate) fn wait_for_submitted(&self, addresses: &Range<usize>, writes: bool) -> Result<()> {
        let found = self.submitted(addresses, writes);
        if found.is_empty() {
            return Ok(());
        }
        let (mut result, mut complete, mut failed) = (Ok(()), Vec::with_capacity(found.len()), Vec::new());
        for (number, event) in &found {
            let is_told = event.is_told_forked();
            match waits::for_event(event) {
                Ok(()) => complete.push(*number),
                Err(error) if is_told && error.is_forked() => complete.push(*number),
                Err(error) if is_over_after(&error, event) => {
                    failed.push(*number);
                    result = result.and(Err(error));
                }
                Err(error) => {
                    // The next wait tells the errors of operations.
                    (result, failed) = (Err(error), Vec::new());
                    break;
                }
            }
        }
        complete.append(&mut failed);
        self.forget(&complete);
        result
    }

    /// Takes an operation out of the lists that somebody has waited for, and who was told its error.
    pub(crate) fn forget_event(&self, addresses: &Range<usize>, event: &Event) {
        let mut found = self.submitted(addresses, true);
        found.retain(|(_, other)| other.is_same(event));
        let numbers: Vec<_> = found.iter().map(|(number, _)| *number).collect();
        self.forget(&numbers);
        if let Some(below) = self.below() {
            below.forget_event(addresses, event);
        }
    }

    /// Takes complete operations out of the lists.
    fn forget(&self, complete: &[u64]) {
        // Dropped without the lock.
        let _removed = self.with_operations(|list| list.remove(complete));
        by_address().remove(complete);
    }

    /// The operations under way that were submitted through buffers.
    pub(crate) fn events(&self) -> Vec<Event> {
        let mut found = self.submitted(&self.addresses(), true);
        found.retain(|(_, event)| !event.is_complete());
        let mut events: Vec<_> = found.into_iter().map(|(_, event)| event).collect();
        events.extend(self.below().map(Self::events).unwrap_or_default());
        events
    }

    /// Adds what an operation that uses a range of addresses has to depend on: without a `queue` all of it, else what the order of the queue
    /// does not say.
    pub(crate) fn order(
        &self,
        addresses: &Range<usize>,
        queue: Option<&Queue>,
        writes: bool,
        after: &mut Vec<Event>,
    ) -> Result<()> {
        self.queue().check_mapped(self.kind())?;
        let pending = self.state().pending();
        if pending != 0 {
            self.order_pending(pending, addresses, queue, writes, after)?;
        }
        match self.below() {
            Some(below) => below.order(addresses, queue, writes, after),
            None => Ok(()),
        }
    }

    fn order_pending(
        &self,
        pending: u8,
        addresses: &Range<usize>,
        queue: Option<&Queue>,
        writes: bool,
        after: &mut Vec<Event>,
    ) -> Result<()> {
        let has_some_of_parent = || {
            (pending & SUBMITTED != 0 && self.with_operations(|list| list.has_some_of_parent()))
                || (pending & PUBLISHED != 0 && by_address().has_some_of_parent(addresses))
        };
        if usm_core::fork::is_forked_child() && has_some_of_parent() {
            // An error, unless they were complete before the fork.
            self.wait_for_submitted(addresses, true)?;
        }
        if pending & SUBMITTED != 0 {
            self.with_operations(|list| list.events_before(queue, writes, after));
        }
        if pending & PUBLISHED != 0 {
            by_address().events_before(addresses, queue, writes, after);
        }
        let own = self.queue();
        let is_ordered = queue.is_some_and(|queue| queue.properties().in_order && same_queue(queue, own));
        if pending & EXTERNAL != 0 && !is_ordered && !own.is_surely_idle() {
            after.push(capture::barrier(own, &[])?);
        }
        Ok(())
    }

    /// Remembers an operation on a range of addresses, which was [ordered](Self::order) after all that were known at the number `seen`.
    pub(crate) fn record(
        &self,
        addresses: &Range<usize>,
        event: &Event,
        queue: &Queue,
        writes: bool,
        seen: u64,
    ) {
        let operation = Operation::new(event, queue, writes, seen);
        // Dropped without the lock.
        let (_replaced, len) = self.with_operations(|list| (list.add(operation), list.len()));
        if writes && self.state().pending() & INHERITED != 0 {
            // It comes after earlier work, and so does whoever waits for it.
            self.state().remove(INHERITED);
        }
        if self.state().pending() & PUBLISHED != 0 {
            by_address().add(addresses, Operation::new(event, queue, writes, seen));
            self.order_external(event, queue);
        }
        if len.is_power_of_two() && len >= MANY {
            self.prune();
        }
        if let Some(below) = self.below() {
            below.record(addresses, event, queue, writes, seen);
        }
        if event.capture().is_some() {
            // Who launches the graph is external code.
            self.mark_published();
        }
    }

    /// Lets external code come after an operation: it knows the queue of the memory, and no event.
    fn order_external(&self, event: &Event, queue: &Queue) {
        let own = self.queue();
        let is_ordered = own.properties().in_order && same_queue(own, queue);
        // All that is submitted to the queue later starts after a barrier.
        if !is_ordered && capture::barrier(own, std::slice::from_ref(event)).is_err() {
            // The error of the operation comes out of a wait for the memory.
            let _ = event.wait().or_else(|error| event.as_dependency(error));
        }
    }

    /// Forgets complete reads: queues out of order do not replace them. A write may have an error, for the next wait.
    #[cold]
    fn prune(&self) {
        let mut reads = self.with_operations(|list| list.numbered_reads());
        reads.retain(|(_, event)| event.is_complete());
        let complete: Vec<_> = reads.iter().map(|(number, _)| *number).collect();
        self.forget(&complete);
    }

    /// Takes operations of published memory that goes out of the list by address, which knows nothing of its end: all, or the complete
    /// ones where other blocks may stand for the memory.
    pub(crate) fn forget_shared(&self, is_alone: bool) {
        by_address().forget(&self.addresses(), |event| is_alone || event.is_complete());
    }

    /// Waits until an operation on a queue can start at once, as a guard of the memory has already done for external work.
    pub(crate) fn wait_before_submit(&self, queue: &Queue) -> Result<()> {
        let has_waited = self.state().pending() & EXTERNAL != 0 && same_queue(queue, self.queue());
        if has_waited { Ok(()) } else { waits::before_submit(queue) }
    }
}
