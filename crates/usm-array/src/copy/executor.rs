//! Who carries a plan out

use std::ops::Range;

use super::cast::Cast;
use super::plan::CopyPlan;
use crate::array::UsmArray;

/// The means of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Executor {
    /// Host code, in the memory of both sides.
    Host,
    /// One operation of a queue: both sides are the bytes they span.
    QueueCopy,
    /// Host code in a task of a queue, where that reaches both sides; else a kernel, for all of it or for the pieces of memory that host
    /// code cannot reach; else host code in copies of such pieces.
    Indirect,
}

impl Executor {
    /// For a plan whose sides host code reaches or not.
    pub(super) fn choose(plan: &CopyPlan, cast: Cast, dst_reachable: bool, src_reachable: bool) -> Self {
        if dst_reachable && src_reachable {
            Self::Host
        } else if cast.run().is_none() && plan.is_one_run() {
            Self::QueueCopy
        } else {
            Self::Indirect
        }
    }
}

/// Whether the copy engine may follow pointers into the memory of an array.
pub(super) fn is_reachable(array: &UsmArray) -> bool {
    array.is_host_reachable()
}

/// Bytes up to which planning a copy takes longer than the copy.
const SMALL_BYTES: usize = 16 << 10;

/// True for a few elements side by side in row-major order, from the one with index zero on.
pub(super) fn is_small_in_order(array: &UsmArray) -> bool {
    (1..=SMALL_BYTES).contains(&array.size_bytes()) && array.is_c_contiguous()
}

/// The bytes of a few elements without gaps between them, in any order of the axes: to be copied as they are, by whoever reaches
/// them.
pub(super) fn small_run(array: &UsmArray) -> Option<Range<usize>> {
    let len_bytes = array.size_bytes();
    let is_small = (1..=SMALL_BYTES).contains(&len_bytes);
    is_small.then(|| array.byte_range()).filter(|range| range.len() == len_bytes)
}

/// The addresses that the elements of an array span.
pub(super) fn addresses(array: &UsmArray) -> Range<usize> {
    let range = array.byte_range();
    let start = array.buffer().address();
    start + range.start..start + range.end // inside the buffer, by A1
}

/// True when two ranges of addresses have a byte in common. Addresses tell, and not buffers: the same foreign memory may be
/// borrowed twice.
pub(super) fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}
