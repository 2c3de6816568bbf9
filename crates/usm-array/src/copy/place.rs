//! Where the two sides of a copy are, and the access to them

use std::ops::Range;

use usm_memory::usm_core::{Aspects, DeviceType, Queue};
use usm_memory::{Operand, OperandAccess};

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
}

/// A side of a copy that nobody else uses in another way meanwhile.
pub(super) struct Locked<'a> {
    place: Place<'a>,
    // Invariant K1: Where a plan counts from. The memory of an array, from its lowest element to its highest one, is live. Nobody writes its
    //     elements, or if it is a target touches them, as long as the access lives, which is `_access` or the caller's; nor the bytes between
    //     them where `lock_for_queue` made this.
    pub(super) start: *mut u8,
    _access: Option<OperandAccess>,
}

impl<'a> Locked<'a> {
    fn own(place: Place<'a>, access: OperandAccess) -> Self {
        Self { place, start: access.as_ptr(), _access: Some(access) }
    }

    fn of_caller(place: Place<'a>, start: *mut u8) -> Self {
        Self { place, start, _access: None }
    }

    /// The same place for a part of the copy.
    pub(super) fn place(&self) -> Place<'a> {
        match self.place {
            Place::Array(array) => Place::Guarded(array, self.start),
            place => place,
        }
    }
}

/// Access to both sides, or none, for what a queue does. It waits before it has any. The bytes between elements are moved with them, so that
/// nobody else may write them.
pub(super) fn lock_for_queue<'a>(to: Place<'a>, from: Place<'a>) -> Result<(Locked<'a>, Locked<'a>)> {
    from.wait_before_submit()?;
    to.wait_before_submit()?;
    lock_operands(to, from, UsmArray::spanned)
}

/// Access to the elements of both sides, or none, for host code. It touches no byte between them.
pub(super) fn lock<'a>(to: Place<'a>, from: Place<'a>) -> Result<(Locked<'a>, Locked<'a>)> {
    lock_operands(to, from, UsmArray::elements)
}

fn lock_operands<'a>(
    to: Place<'a>,
    from: Place<'a>,
    operand: impl Fn(&'a UsmArray, bool) -> Operand<'a>,
) -> Result<(Locked<'a>, Locked<'a>)> {
    use Place::{Array, Guarded, Host};
    Ok(match (to, from) {
        (Array(target), Array(source)) => {
            let [written, read] = OperandAccess::all([&operand(target, true), &operand(source, false)])?;
            (Locked::own(to, written), Locked::own(from, read))
        }
        (Array(target), Guarded(_, src) | Host(src)) => {
            let [written] = OperandAccess::all([&operand(target, true)])?;
            (Locked::own(to, written), Locked::of_caller(from, src))
        }
        (Guarded(_, dst) | Host(dst), Array(source)) => {
            let [read] = OperandAccess::all([&operand(source, false)])?;
            (Locked::of_caller(to, dst), Locked::own(from, read))
        }
        (Guarded(_, dst) | Host(dst), Guarded(_, src) | Host(src)) => {
            (Locked::of_caller(to, dst), Locked::of_caller(from, src))
        }
    })
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
