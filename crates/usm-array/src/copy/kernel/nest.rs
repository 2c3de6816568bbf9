//! From a plan to the numbers that a kernel takes; only arithmetic

use crate::copy::plan::{CopyPlan, Loop};

/// How many loops a kernel has.
pub(super) const MAX_LOOPS: usize = 8;

const ONE: Loop = Loop { count: 1, dst: 0, src: 0 };

/// About so many elements make a work-group worth its start.
const GROUP_ELEMENTS: usize = 16 << 10;

/// Elements of a block.
const BLOCK_ELEMENTS: usize = 1 << 10;

/// Columns of a block of a transpose: lines of the source stay in the cache until all their elements are taken.
const TRANSPOSE_COLS: usize = 32;

/// A plan as a kernel takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Nest {
    /// N1. The loops together visit the pairs of the plan, each once; `loops[0]` are the columns and `loops[1]` the rows of the plane
    ///     that is cut into blocks. No count is 0.
    pub(super) loops: [Loop; MAX_LOOPS],
    pub(super) block_cols: usize,
    pub(super) block_rows: usize,
    /// N2. `groups * per_group >= blocks > (groups - 1) * per_group`, all at least 1.
    pub(super) blocks: usize,
    pub(super) per_group: usize,
    pub(super) groups: usize,
    /// Work-items of a group.
    pub(super) lanes: usize,
}

impl Nest {
    /// For a device of so many compute units, whose work-groups have so many items; `None` for a plan with more loops than a kernel has.
    pub(super) fn new(plan: &CopyPlan, compute_units: usize, lanes: usize) -> Option<Self> {
        let mut loops = [ONE; MAX_LOOPS];
        let used = loops.get_mut(..plan.loops.len())?;
        used.iter_mut().zip(plan.loops.iter().rev()).for_each(|(to, axis)| *to = *axis);
        // A loop along which the source is denser than along the columns makes the copy a transpose, and the rows are that loop.
        let cols = loops[0];
        let denser = |axis: &Loop| axis.src != 0 && axis.src.unsigned_abs() < cols.src.unsigned_abs();
        let crossing = (1..MAX_LOOPS).filter(|&i| denser(&loops[i]));
        let crossing = crossing.min_by_key(|&i| loops[i].src.unsigned_abs());
        if let Some(rows) = crossing {
            loops[1..=rows].rotate_right(1);
        }
        let most_cols = if crossing.is_some() { TRANSPOSE_COLS } else { BLOCK_ELEMENTS };
        let block_cols = cols.count.min(most_cols);
        let block_rows = loops[1].count.min(BLOCK_ELEMENTS / block_cols);
        let plane = [cols.count.div_ceil(block_cols), loops[1].count.div_ceil(block_rows)];
        let outer = loops[2..].iter().map(|axis| axis.count);
        let blocks = plane.into_iter().chain(outer).product::<usize>(); // at most the size of the plan
        // Enough work for each group, and enough groups for the device.
        let wanted = GROUP_ELEMENTS.div_ceil(block_cols * block_rows);
        let per_group = wanted.min(blocks.div_ceil(compute_units.saturating_mul(8).max(1))).max(1);
        let groups = blocks.div_ceil(per_group);
        Some(Self { loops, block_cols, block_rows, blocks, per_group, groups, lanes })
    }

    /// The arguments behind the pointers, in the order of `kernels/strided.cl`.
    pub(super) fn numbers(&self) -> impl Iterator<Item = i64> + '_ {
        let counts = [self.blocks, self.per_group, self.block_cols, self.block_rows];
        let loops = self.loops.iter().flat_map(|axis| [axis.count.cast_signed(), axis.dst, axis.src]);
        counts.into_iter().map(usize::cast_signed).chain(loops).map(|number| number as i64)
    }
}
