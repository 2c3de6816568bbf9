//! What is known of the use of memory: by host code now, and by operations under way. Only `access/` and the records of blocks change it;
//! the page of `access/mod.rs` explains it.
//!
//! | file | job |
//! |---|---|
//! | `table.rs` | the addresses that host code uses, and the waits for each other |
//! | `stripes.rs` | which bytes of a range strided elements have |
//! | `thread.rs` | the number of a thread |
//! | `errand.rs` | threads that do something for another one |
//! | `process.rs` | what the process has once, and forks |
//! | `across_copies.rs` | the table for other copies of this library |
//! | `numbers.rs` | the numbers of operations |
//! | `operation.rs` | the operations under way on one block |
//! | `by_address.rs` | those on memory that several blocks stand for |
//! | `state.rs` | the flags of a block |
//! | `waits.rs` | waits for the work of others, which a program may replace |
//! | `capture.rs` | operations that are recorded in CUDA graphs |
//! | `sync.rs` | the means of threads |

#[cfg_attr(
    not(feature = "across-copies"),
    expect(dead_code, unreachable_pub, reason = "for other copies alone")
)]
pub(crate) mod across_copies;
pub(crate) mod by_address;
pub(crate) mod capture;
#[cfg_attr(
    not(feature = "interpreter"),
    expect(dead_code, unreachable_pub, reason = "for interpreters alone")
)]
pub(crate) mod errand;
pub(crate) mod numbers;
pub(crate) mod operation;
pub(crate) mod process;
pub(crate) mod state;
pub(crate) mod stripes;
mod sync;
pub(crate) mod table;
pub(crate) mod thread;
pub(crate) mod waits;

pub(crate) use self::operation::{OperationList, OperationsOfSlots, same_queue};
pub(crate) use self::state::{HOOKED, INHERITED, PUBLISHED, RELEASED, SHARED, SUBMITTED, State};

#[cfg(test)]
mod tests {
    use std::slice;

    use usm_core::{Context, Event, Queue, QueueProperties, Runtime};

    use super::by_address::ByAddress;
    use super::operation::{LEAST_CAPACITY, Operation, OperationList, OperationsOfSlots, is_over_after};
    use super::sync::{AtomicUsize, ForkMutex};
    use super::{INHERITED, PUBLISHED, RELEASED, State, waits};
    use crate::Error;

    /// A queue of the host that executes in order, and a complete operation of it.
    fn queue_with_event() -> (Queue, Event) {
        let runtime = Runtime::global();
        let context = Context::new(slice::from_ref(runtime.host_device())).unwrap();
        let queue = context.create_queue(runtime.host_device(), QueueProperties::IN_ORDER).unwrap();
        let event = queue.barrier(&[]).unwrap();
        (queue, event)
    }

    #[test]
    fn capacity_for_operations_goes_with_them() {
        let (queue, event) = queue_with_event();
        let mut operations = OperationsOfSlots::default();
        let operation = || Operation::new(&event, &queue, true, 0);
        for slot in 0..128 {
            assert!(operations.with(slot, |list| drop(list.add(operation()))).1);
        }
        assert!(operations.capacities().into_iter().all(|capacity| capacity >= 128));
        let mut before = operations.capacities();
        for slot in 0..128 {
            assert_eq!(operations.take(slot).len(), 1);
            let len = 127 - usize::from(slot);
            let capacities = operations.capacities();
            for capacity in capacities {
                assert!(capacity <= LEAST_CAPACITY.max(4 * len + 3), "{len} of {capacity}");
                // Some more operations need no memory.
                assert!(
                    capacities == before || capacity >= LEAST_CAPACITY.max(2 * len),
                    "{len} of {capacity}"
                );
            }
            before = capacities;
        }
    }

    #[test]
    fn operations_stand_for_earlier_ones_that_they_wait_for() {
        let [(queue, event), (other, _)] = [queue_with_event(), queue_with_event()];
        assert!(queue.properties().in_order);
        let [reads, writes] = [false, true];
        // An earlier operation, a later one that has or has not seen it, and how many are remembered then.
        for (earlier, earlier_on, later, later_on, has_seen, len) in [
            (writes, &queue, writes, &other, true, 1),
            (reads, &queue, writes, &other, true, 1),
            (writes, &queue, writes, &queue, false, 2),
            (writes, &queue, reads, &queue, true, 2),
            (reads, &queue, reads, &queue, true, 1),
            (reads, &queue, reads, &other, true, 2),
            (reads, &queue, reads, &queue, false, 2),
        ] {
            let seen = if has_seen { u64::MAX } else { 0 };
            let [first, second] = [(earlier, earlier_on, 0), (later, later_on, seen)]
                .map(|(writes, queue, seen)| Operation::new(&event, queue, writes, seen));
            let mut list = OperationList::default();
            assert_eq!(list.add(first).len(), 0);
            assert_eq!((list.add(second).len(), list.len()), (2 - len, len));
        }
    }

    #[test]
    fn operations_are_taken_out_wherever_they_are() {
        let (queue, event) = queue_with_event();
        for wanted in 0..6 {
            let mut list = OperationList::default();
            (0..6).for_each(|_| assert_eq!(list.add(Operation::new(&event, &queue, false, 0)).len(), 0));
            let numbers: Vec<_> = list.numbered_reads().into_iter().map(|(number, _)| number).collect();
            assert_eq!(list.remove(&numbers[wanted..=wanted]).len(), 1);
            assert_eq!((list.remove(&numbers).len(), list.len()), (5, 0));
        }
    }

    #[test]
    fn operations_on_addresses_stand_for_those_within() {
        let (queue, event) = queue_with_event();
        for (later, len) in [(10..20, 1), (0..30, 1), (11..20, 2), (10..19, 2), (15..30, 2), (0..15, 2)] {
            let list = ByAddress::over(ForkMutex::new(Vec::new()), AtomicUsize::new(0));
            list.add(&(10..20), Operation::new(&event, &queue, true, 0));
            list.add(&later, Operation::new(&event, &queue, true, u64::MAX));
            let mut found = Vec::new();
            list.numbered_events(&(0..100), true, &mut found);
            assert_eq!(found.len(), len, "{later:?}");
            // Addresses before and behind all of them.
            list.numbered_events(&(0..later.start.min(10)), true, &mut found);
            list.numbered_events(&(later.end.max(20)..100), true, &mut found);
            assert_eq!(found.len(), len, "{later:?}");
        }
    }

    #[test]
    fn an_operation_is_not_over_after_a_wait_that_was_left() {
        let (_, event) = queue_with_event();
        let failed = Error::from(usm_core::Error::ZeroSize);
        assert!(event.is_complete() && is_over_after(&failed, &event));
        assert!(!is_over_after(&Error::Interrupted, &event));
    }

    #[test]
    fn flags_go_one_by_one() {
        let state = State::default();
        state.reset(INHERITED | PUBLISHED);
        state.add(RELEASED);
        state.remove(INHERITED);
        assert_eq!(state.pending(), PUBLISHED | RELEASED);
    }

    #[test]
    fn a_look_that_fails_ends_soon() {
        assert!(waits::ends_soon(|| true) && !waits::ends_soon(|| false));
    }
}
