//! Operations on memory that several blocks may stand for: published memory, and imports of it. There they meet, by address.

use std::ops::Range;

use usm_core::{Event, Queue};

use super::numbers::take_number;
use super::operation::Operation;
use super::sync::{AtomicUsize, ForkMutex, Ordering};

#[derive(Debug)]
pub(crate) struct ByAddress {
    operations: ForkMutex<Vec<(Range<usize>, Operation)>>,
    /// As many as there are, for a look without the lock.
    len: AtomicUsize,
}

/// Operations from which on complete ones are looked for.
pub(crate) const MANY: usize = 32;

impl ByAddress {
    pub(crate) const fn over(
        operations: ForkMutex<Vec<(Range<usize>, Operation)>>,
        len: AtomicUsize,
    ) -> Self {
        Self { operations, len }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len.load(Ordering::Acquire) == 0
    }

    fn with<T>(&self, job: impl FnOnce(&mut Vec<(Range<usize>, Operation)>) -> T) -> T {
        let mut operations = self.operations.lock();
        let result = job(&mut operations);
        self.len.store(operations.len(), Ordering::Release);
        result
    }

    /// As [`OperationList::add`], for an operation on these addresses.
    pub(crate) fn add(&self, addresses: &Range<usize>, mut operation: Operation) {
        operation.number = take_number();
        // Dropped without the lock.
        let (_replaced, len) = self.with(|operations| {
            let is_replaced = |(range, earlier): &mut (Range<usize>, Operation)| {
                let is_within = addresses.start <= range.start && range.end <= addresses.end;
                is_within && operation.replaces(earlier)
            };
            let replaced: Vec<_> = operations.extract_if(.., is_replaced).collect();
            operations.push((addresses.clone(), operation));
            (replaced, operations.len())
        });
        if len.is_power_of_two() && len >= MANY {
            self.forget(&(0..usize::MAX), Event::is_complete);
        }
    }

    /// Forgets the wanted operations on these addresses.
    pub(crate) fn forget(&self, addresses: &Range<usize>, is_wanted: impl Fn(&Event) -> bool) {
        let mut found = Vec::new();
        self.numbered_events(addresses, true, &mut found);
        found.retain(|(_, event)| is_wanted(event));
        let numbers: Vec<_> = found.iter().map(|(number, _)| *number).collect();
        self.remove(&numbers);
    }

    pub(crate) fn remove(&self, numbers: &[u64]) {
        if numbers.is_empty() || self.is_empty() {
            return;
        }
        let is_wanted = |one: &mut (Range<usize>, Operation)| numbers.contains(&one.1.number);
        let _removed: Vec<_> =
            self.with(|operations| operations.extract_if(.., is_wanted).collect::<Vec<_>>());
    }

    /// As [`OperationList::events_before`].
    pub(crate) fn events_before(
        &self,
        addresses: &Range<usize>,
        queue: Option<&Queue>,
        writes: bool,
        events: &mut Vec<Event>,
    ) {
        let is_before = |earlier: &Operation| queue.is_some_and(|queue| earlier.is_before(queue));
        self.each(addresses, |earlier| {
            if (writes || earlier.writes) && !is_before(earlier) {
                events.push(earlier.event.clone());
            }
        });
    }

    /// As [`OperationList::numbered_events`].
    pub(crate) fn numbered_events(
        &self,
        addresses: &Range<usize>,
        writes: bool,
        events: &mut Vec<(u64, Event)>,
    ) {
        self.each(addresses, |earlier| {
            if writes || earlier.writes {
                events.push((earlier.number, earlier.event.clone()));
            }
        });
    }

    /// As [`OperationList::has_some_of_parent`].
    pub(crate) fn has_some_of_parent(&self, addresses: &Range<usize>) -> bool {
        let mut found = false;
        self.each(addresses, |earlier| found |= earlier.is_of_parent());
        found
    }

    fn each(&self, addresses: &Range<usize>, mut job: impl FnMut(&Operation)) {
        if !self.is_empty() {
            let overlaps = |range: &Range<usize>| range.start < addresses.end && addresses.start < range.end;
            let operations = self.operations.lock();
            operations.iter().filter(|(range, _)| overlaps(range)).for_each(|(_, one)| job(one));
        }
    }
}
