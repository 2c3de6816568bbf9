//! Where the two sides of a copy are, and the guards over them

use std::ops::Range;

use usm_memory::usm_core::{Aspects, DeviceType, Queue};
use usm_memory::{ReadGuard, WriteGuard};

use super::plan::Side;
use crate::array::UsmArray;
use crate::error::Result;

/// The memory of one side of a copy, and where a plan counts from.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    /// An array, from its lowest element on.
    Array(&'a UsmArray),
    /// An array, under a guard that the caller holds, from the first byte of the guard on.
    Guarded(&'a UsmArray, *mut u8),
    /// Memory that host code reaches, from this address on. Nothing is written there if it is a source.
    Host(*mut u8),
}

impl<'a> Place<'a> {
    fn array(self) -> Option<&'a UsmArray> {
        match self {
            Self::Array(array) | Self::Guarded(array, _) => Some(array),
            Self::Host(_) => None,
        }
    }

    /// The array, if host code does not reach its memory.
    pub(super) fn device(self) -> Option<&'a UsmArray> {
        self.array().filter(|array| !array.is_host_reachable())
    }

    /// Where a plan counts from.
    pub(super) fn address(self) -> usize {
        match self {
            Self::Array(array) => addresses(array).start,
            Self::Guarded(_, start) | Self::Host(start) => start.addr(),
        }
    }

    /// Whether host tasks of a queue reach the memory.
    pub(super) fn is_for_tasks_of(self, queue: &Queue) -> bool {
        self.device().is_none_or(|array| array.buffer().context() == queue.context())
    }

    /// Whether kernels of a queue reach the memory. Kernels of a CPU may reach all memory of the process, as their own. A device with
    /// memory of its own would move pages one by one when they are first touched; nobody has measured that.
    pub(super) fn is_for_kernels_of(self, queue: &Queue) -> bool {
        let info = queue.device().info();
        let reaches_all = info.device_type == DeviceType::Cpu && info.has(Aspects::USM_SYSTEM_ALLOCATIONS);
        self.array().is_some_and(|array| array.buffer().is_reachable_by(queue))
            || (reaches_all && self.device().is_none())
    }

    /// Waits for the turn of what is submitted to the queue of device memory.
    fn wait_before_submit(self) -> Result<()> {
        match self {
            Self::Array(array) if !array.is_host_reachable() => Ok(array.buffer().wait_before_submit()?),
            _ => Ok(()),
        }
    }

    fn lock(self, side: Side) -> Result<Locked<'a>> {
        let (start, guard) = match (self, side) {
            (Self::Guarded(_, start) | Self::Host(start), _) => (start, Guard::Caller),
            (Self::Array(array), Side::Source) => {
                let guard = array.buffer().read_range(array.byte_range())?;
                (guard.as_ptr().cast_mut(), Guard::Read(guard))
            }
            (Self::Array(array), Side::Target) => {
                // From the first byte to the last one, so that nobody else's write between the elements gets lost.
                let guard = array.buffer().write_range(array.byte_range())?;
                (guard.as_mut_ptr(), Guard::Write(guard))
            }
        };
        Ok(Locked { place: self, start, _guard: guard })
    }
}

/// A side of a copy that nobody else uses in another way meanwhile.
pub(super) struct Locked<'a> {
    place: Place<'a>,
    // Invariant K1: Where a plan counts from. The memory of an array, from its lowest element to its highest one, is live, and nobody writes it,
    //     or if it is a target touches it, as long as the guard lives, which is `_guard` or the caller's.
    pub(super) start: *mut u8,
    _guard: Guard,
}

impl<'a> Locked<'a> {
    /// The same place for a part of the copy.
    pub(super) fn place(&self) -> Place<'a> {
        match self.place {
            Place::Array(array) => Place::Guarded(array, self.start),
            place => place,
        }
    }
}

#[expect(dead_code, reason = "guards do their work when they drop")]
enum Guard {
    Read(ReadGuard),
    Write(WriteGuard),
    Caller,
}

/// Guards over both sides, or none, for what a queue does. They wait before they have any.
pub(super) fn lock_for_queue<'a>(to: Place<'a>, from: Place<'a>) -> Result<(Locked<'a>, Locked<'a>)> {
    from.wait_before_submit()?;
    to.wait_before_submit()?;
    lock(to, from)
}

/// Guards over both sides, or none.
pub(super) fn lock<'a>(to: Place<'a>, from: Place<'a>) -> Result<(Locked<'a>, Locked<'a>)> {
    let from = from.lock(Side::Source)?;
    Ok((to.lock(Side::Target)?, from))
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
    (is_small && array.layout().is_dense()).then(|| array.byte_range())
}

/// The addresses that the elements of an array span.
pub(super) fn addresses(array: &UsmArray) -> Range<usize> {
    let range = array.byte_range();
    let start = array.buffer().address();
    start + range.start..start + range.end // inside the buffer, by A1
}

/// True when two ranges of addresses have a byte in common. Addresses tell, and not buffers: the same external memory may be
/// borrowed twice.
pub(super) fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}
