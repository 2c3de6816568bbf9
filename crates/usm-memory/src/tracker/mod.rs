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
    use usm_core::Runtime;

    use super::operation::{LEAST_CAPACITY, Operation, OperationsOfSlots};

    #[test]
    fn capacity_for_operations_goes_with_them() {
        let runtime = Runtime::global();
        let queue = runtime.default_queue(runtime.host_device()).unwrap();
        let event = queue.barrier(&[]).unwrap();
        let mut operations = OperationsOfSlots::default();
        let operation = || Operation::new(&event, &queue, true, 0);
        for slot in 0..128 {
            assert!(operations.with(slot, |list| drop(list.add(operation()))).1);
        }
        assert!(operations.lists.capacity() >= 128);
        for slot in 0..128 {
            assert_eq!(operations.take(slot).len(), 1);
            let (len, capacity) = (operations.lists.len(), operations.lists.capacity());
            assert_eq!(len, 127 - usize::from(slot));
            assert!(capacity <= LEAST_CAPACITY.max(4 * len + 3), "{len} of {capacity}");
        }
    }
}
