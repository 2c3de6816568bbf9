//! The numbers of operations, in the order in which blocks remember them.

use super::sync::{AtomicU64, Ordering};

/// The number of the next operation.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A number that is above those of all operations that were recorded so far, and of which a later look at a block knows.
pub(crate) fn next_number() -> u64 {
    NEXT.load(Ordering::Acquire)
}

/// The number of an operation, whose block is marked: who reads a greater number sees the mark.
pub(crate) fn take_number() -> u64 {
    NEXT.fetch_add(1, Ordering::AcqRel)
}
