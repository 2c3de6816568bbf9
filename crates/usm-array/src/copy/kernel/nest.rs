//! From the loops of a copy to the kernel that does it and the numbers it takes; only arithmetic

use usm_memory::usm_core::bulk::Machine;

use super::variant::{Family, Variant};
use crate::copy::plan::Loop;

/// How many loops a kernel has.
pub(super) const MAX_LOOPS: usize = 8;

const ONE: Loop = Loop { count: 1, dst: 0, src: 0 };

/// About so many elements make a work-item, or a work-group of many, worth its start.
const GROUP_ELEMENTS: usize = 16 << 10;

/// So many elements of 8 bytes make the whole lines of a row worth looking for.
const LONG_ROW: usize = 128;

/// What a processor reads and writes at once.
pub(crate) const LINE_BYTES: usize = 64;

/// How work is shared out on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sharing {
    /// A block belongs to one work-item, as processors with caches and vectors of their own like it.
    Items,
    /// A block belongs to a work-group, whose items take neighbouring elements.
    Groups,
}

/// What is done with each pair of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Job {
    Copy,
    /// A piece of a copy whose results no cache holds.
    CopyPiece,
    Fill,
}

/// A copy as a kernel takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Nest {
    pub(super) variant: Variant,
    /// Displacement of the first element, in elements.
    pub(super) dst_start: isize,
    pub(super) src_start: isize,
    /// N1. The loops together visit the pairs that were asked for, each once; `loops[0]` are the columns and `loops[1]` the rows
    ///     of the plane that is cut into blocks. No count is 0.
    pub(super) loops: [Loop; MAX_LOOPS],
    pub(super) block_cols: usize,
    pub(super) block_rows: usize,
    /// N2. `groups * per_group >= blocks > (groups - 1) * per_group`, all at least 1.
    pub(super) blocks: usize,
    pub(super) per_group: usize,
    pub(super) groups: usize,
}

/// Why a copy is not one for a kernel.
pub(super) type Reason = &'static str;

impl Nest {
    /// Chooses kernel, blocks and order of loops. The loops may be in any order and of any signs.
    pub(super) fn new(
        loops: &[Loop],
        item_bytes: usize,
        job: Job,
        sharing: Sharing,
        compute_units: usize,
    ) -> Result<Self, Reason> {
        if ![1, 2, 4, 8, 16].contains(&item_bytes) {
            return Err("no kernel has elements of this size");
        }
        if loops.iter().any(|axis| axis.count == 0) {
            return Err("a loop without steps");
        }
        let mut starts = (0, 0);
        let mut rest: Vec<Loop> = loops.iter().copied().filter(|axis| axis.count > 1).collect();
        if rest.len() > MAX_LOOPS {
            return Err("kernels have at most 8 loops");
        }
        for axis in rest.iter_mut().filter(|axis| axis.dst < 0) {
            turn(axis, &mut starts)?;
        }
        let cols = take(&mut rest, |axis| axis.dst);
        // A loop along which the source is denser than along the columns makes the copy a transpose.
        let denser = |axis: &Loop| axis.src != 0 && axis.src.unsigned_abs() < cols.src.unsigned_abs();
        let crossing = job != Job::Fill && rest.iter().any(denser);
        let rows = if crossing { take_nearest(&mut rest) } else { take(&mut rest, |axis| axis.dst) };
        let mut nest = Self {
            variant: Variant { family: Family::Rows, item_bytes },
            dst_start: 0,
            src_start: 0,
            loops: [ONE; MAX_LOOPS],
            block_cols: 1,
            block_rows: 1,
            blocks: 1,
            per_group: 1,
            groups: 1,
        };
        nest.loops[0] = cols;
        nest.loops[1] = rows;
        // The kernel steps the third loop first. In a transpose the next one is where the source goes on, so that what a device
        // keeps of both sides' pages is used again.
        for (number, place) in nest.loops[2..].iter_mut().enumerate() {
            *place = if crossing && number == 1 {
                take_nearest(&mut rest)
            } else {
                take(&mut rest, |axis| axis.dst)
            };
        }
        match sharing {
            Sharing::Items => nest.for_items(job, crossing, &mut starts)?,
            Sharing::Groups => nest.for_groups(job, crossing),
        }
        (nest.dst_start, nest.src_start) = starts;
        nest.share(compute_units)?;
        Ok(nest)
    }

    /// The kernel for a device of [`Sharing::Items`]. Blocks are of sizes that were measured, see `kernels/README.md`.
    fn for_items(&mut self, job: Job, crossing: bool, starts: &mut (isize, isize)) -> Result<(), Reason> {
        let [cols, rows] = [self.loops[0], self.loops[1]];
        let item_bytes = self.variant.item_bytes;
        let side = if item_bytes == 8 { 8 } else { 16 };
        let has_squares = item_bytes < 16 && cols.count >= side && rows.count >= side;
        if crossing && has_squares && cols.dst == 1 && rows.src.unsigned_abs() == 1 {
            if rows.src < 0 {
                turn(&mut self.loops[1], starts)?;
            }
            let rows_are_lines =
                side * item_bytes == LINE_BYTES && rows.dst.unsigned_abs().is_multiple_of(side);
            let streams = rows_are_lines && self.is_large(job);
            self.variant.family = if streams { Family::StreamTranspose } else { Family::Transpose };
            self.cut(64, 256);
        } else if crossing && cols.count >= 16 {
            // Lines of the source stay in the cache until all their elements are taken.
            self.cut(16, 128);
        } else if cols.count < 16 && rows.count > cols.count {
            // A long inner loop for short rows, few enough of them for the cache.
            self.loops.swap(0, 1);
            self.variant.family = if job == Job::Fill { Family::Fill } else { Family::Rows };
            self.cut(1024, 16);
        } else {
            let is_large = self.is_large(job);
            self.variant.family = match (job, cols.dst, cols.src) {
                (Job::Fill, ..) => Family::Fill,
                (_, 1, _) if item_bytes == 8 && is_large && cols.count >= LONG_ROW => Family::Stream,
                (_, 1, 1) => Family::Dense,
                (_, 1, -1) => Family::Reversed,
                (_, 1, 0) => Family::Repeated,
                (_, 1, 2) if item_bytes <= 4 => Family::Even,
                _ => Family::Rows,
            };
            self.cut(GROUP_ELEMENTS, GROUP_ELEMENTS / cols.count.min(GROUP_ELEMENTS));
        }
        Ok(())
    }

    /// Whether no cache holds the results.
    fn is_large(&self, job: Job) -> bool {
        let counts = self.loops.iter().map(|axis| axis.count);
        let size_bytes = counts.chain([self.variant.item_bytes]).try_fold(1_usize, usize::checked_mul);
        job == Job::CopyPiece
            || size_bytes.is_none_or(|size_bytes| size_bytes >= Machine::this().copy_stream_bytes())
    }

    /// The kernel for a device of [`Sharing::Groups`]. The elements of a block are counted in 32 bits.
    fn for_groups(&mut self, job: Job, crossing: bool) {
        self.variant.family = if job == Job::Fill { Family::FillLanes } else { Family::Lanes };
        let cols = self.loops[0].count.min(if crossing { 32 } else { 1024 });
        self.cut(cols, 1024 / cols);
    }

    fn cut(&mut self, block_cols: usize, block_rows: usize) {
        self.block_cols = block_cols.min(self.loops[0].count);
        self.block_rows = block_rows.min(self.loops[1].count);
    }

    /// How many blocks there are, and how many a work-group takes: enough work for each, and enough groups for the device.
    fn share(&mut self, compute_units: usize) -> Result<(), Reason> {
        let too_many = "more elements than memory has";
        let plane =
            [self.loops[0].count.div_ceil(self.block_cols), self.loops[1].count.div_ceil(self.block_rows)];
        let outer = self.loops[2..].iter().map(|axis| axis.count);
        let blocks = plane.into_iter().chain(outer).try_fold(1_usize, usize::checked_mul).ok_or(too_many)?;
        let wanted = GROUP_ELEMENTS.div_ceil(self.block_cols * self.block_rows);
        self.blocks = blocks;
        self.per_group = wanted.min(blocks.div_ceil(compute_units.saturating_mul(8).max(1))).max(1);
        self.groups = blocks.div_ceil(self.per_group);
        Ok(())
    }
}

/// Takes the loop with the least key out; the later one of two, which planners put inside.
fn take(rest: &mut Vec<Loop>, key: impl Fn(&Loop) -> isize) -> Loop {
    let least = (0..rest.len()).rev().min_by_key(|&i| key(&rest[i]));
    least.map_or(ONE, |i| rest.remove(i))
}

/// Takes the loop out along which the source's elements are nearest to each other.
fn take_nearest(rest: &mut Vec<Loop>) -> Loop {
    take(rest, |axis| if axis.src == 0 { isize::MAX } else { axis.src.saturating_abs() })
}

/// Walks a loop from its other end.
fn turn(axis: &mut Loop, (dst_start, src_start): &mut (isize, isize)) -> Result<(), Reason> {
    let too_far = "displacements that no address has";
    let last = isize::try_from(axis.count - 1).map_err(|_| too_far)?;
    let moved = |start: isize, stride: isize| last.checked_mul(stride)?.checked_add(start);
    *dst_start = moved(*dst_start, axis.dst).ok_or(too_far)?;
    *src_start = moved(*src_start, axis.src).ok_or(too_far)?;
    axis.dst = axis.dst.checked_neg().ok_or(too_far)?;
    axis.src = axis.src.checked_neg().ok_or(too_far)?;
    Ok(())
}
