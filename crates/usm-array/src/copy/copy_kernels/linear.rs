//! From a plan to launches of the kernels whose work-items lie along the target: copies and casts but for transposes, fills; only arithmetic
//!
//! They are OpenCL C in `kernels/src/linear.cl`: `long_rows`, `rows` and `short_rows` move vectors of rows that are dense on both sides,
//! `select` writes vectors of dense rows, and `elements` does the rest. Casts are in `kernels/src/convert.h`.
//!
//! # Order of the arguments
//!
//! All strides are bytes. A divisor is three numbers of 32 bits: the number, then the factor and the shift that divide by it. A last
//! axis has no divisor, and the axes of a fill no stride in the source.
//!
//! | part | numbers |
//! |---|---|
//! | head | the target; the source, or the value of a fill in two halves (u64 each); of a cast the pair of dtypes (u32), the stride in the target from element to element of a run (i64), and the chunks of a work-item (u32) |
//! | `long_rows` | head; the direction (i32), the span of the source around its first element (two i64); work-items (u32), bytes of a row (i64), divisor of the work-items of a row; 4 axes |
//! | `rows` | head; but for fills the direction (i32), and the span of the source around its first element (two i64); work-items (u32), bytes of a row (i64), line - 1 (u32), divisor of the vectors of a row; repeats, those of a work-item (u32 each), divisor of the groups of repeats, from repeat to repeat the stride between rows and that within a row (i64 each); 4 axes |
//! | `short_rows` | head; the span of the source around its first element (two i64); elements of a run (u32), divisor of the work-groups of a run, divisor of the elements of a row, bytes from row to row in the source (u32); 4 axes |
//! | `select` | head; work-items, elements of a run, line - 1 (u32 each), divisor of the chunks of a run; divisor and stride in the source of the first loop of the run and of the second one, the stride of the third one (i64); 4 axes, of a cast 7 |
//! | `elements` | head; elements (u32); 8 axes |
//! | axis | divisor of its steps; stride in the target, in the source (i64 each) |

#[cfg(test)]
mod tests;

use super::elements::Elements;
use super::planned::{Arguments, KernelWork, LINE_BYTES, POINT, Planned, VECTOR_BYTES};
use crate::copy::plan::{CopyPlan, Loop};
use crate::layout::Axes;

/// Work-items of a group, unless the device has fewer.
const GROUP_ITEMS: usize = 128;

/// Rows from so many bytes on are long: they are cut at lines.
const LONG_BYTES: usize = 2 << 10;

/// Each work-item of `long_rows` has so many vectors, of as many lines.
const LONG_VECTORS: usize = 2;

/// Rows from so many bytes on are for `long_rows`.
const MANY_LINES_BYTES: usize = 4 << 10;

/// Shorter rows share vectors of the target, where it goes on without a gap.
const SHORT_BYTES: usize = 64;

/// The same of elements of one and two bytes.
const SHORT_BYTES_OF_SMALL: usize = 24;

/// Rows of fewer bytes are for no `short_rows`: a word of the target would have parts of three.
const LEAST_SHORT_BYTES: usize = 3;

/// The target bytes of a work-group of `short_rows`. Shorter runs would leave most of it idle.
const SHORT_GROUP_BYTES: usize = 4 << 10;

/// Places that a work-item stores one vector to.
const REPEATS: usize = 4;

/// Axes over the grid of `rows` and `select`.
const GRID_AXES: usize = 4;

/// The same of casts.
const CAST_AXES: usize = 7;

/// Adjacent work-items of a cast whose chunks are adjacent, too: as in the source.
const LANES: usize = 32;

/// So many blocks of chunks, one for each group of adjacent work-items, are a long run: its ends take longer.
const LONG_BLOCKS: usize = 100;

/// Loops of a run of `select`.
const RUN_LOOPS: usize = 3;

/// Loops of `elements`.
const MAX_LOOPS: usize = 8;

/// A launch has fewer elements, and at most twice as many work-items: kernels count in 31 bits.
const LAUNCH_ELEMENTS: usize = 1 << 30;

/// More launches are for nobody.
const MAX_LAUNCHES: usize = 1 << 12;

/// The work with smaller elements where these are not aligned; `None` where that cannot be.
fn aligned(work: KernelWork<'_>, dst: usize, src: usize) -> Option<KernelWork<'_>> {
    let is_aligned = |address: usize, bytes: usize| address.is_multiple_of(bytes.min(8));
    match work {
        KernelWork::Copy(elements @ Elements { pair: None, item_bytes, .. }) => {
            let unit = 1 << (dst | src | item_bytes).trailing_zeros();
            Some(KernelWork::Copy(Elements { from_bytes: unit, item_bytes: unit, ..elements }))
        }
        KernelWork::Copy(elements) => {
            (is_aligned(dst, elements.item_bytes) && is_aligned(src, elements.from_bytes)).then_some(work)
        }
        KernelWork::Fill(element) => is_aligned(dst, element.len()).then_some(work),
    }
}

/// The launches that carry out a plan whose displacements count from two addresses, one after the other or at the same time; `None` for
/// elements that are not aligned, and for a great many loops.
///
/// Every element of the target must be visited once.
pub(super) fn launches<'a>(
    plan: &CopyPlan,
    work: KernelWork<'a>,
    dst: usize,
    src: usize,
) -> Option<Vec<Planned<'a>>> {
    with_limit(plan, work, dst, src, LAUNCH_ELEMENTS)
}

fn with_limit<'a>(
    plan: &CopyPlan,
    work: KernelWork<'a>,
    dst: usize,
    src: usize,
    limit: usize,
) -> Option<Vec<Planned<'a>>> {
    let (item, from) = (work.item_bytes().cast_signed(), work.source_bytes().cast_signed());
    // The places of elements, by P2.
    let (dst, src) =
        (dst.wrapping_add_signed(plan.dst_start * item), src.wrapping_add_signed(plan.src_start * from));
    let at = aligned(work, dst, src)?;
    let mut loops: Axes<Loop> = Axes::new();
    let unit = at.item_bytes();
    if unit < work.item_bytes() {
        // Each element is so many smaller ones.
        let step = unit.cast_signed();
        loops.push(Loop { count: work.item_bytes() / unit, dst: step, src: step });
    }
    for axis in plan.loops.iter().rev() {
        let next = Loop { count: axis.count, dst: axis.dst * item, src: axis.src * from };
        match loops.last_mut() {
            Some(inner) if inner.is_continued_by(next) => inner.count *= next.count,
            _ => loops.push(next),
        }
    }
    if loops.is_empty() {
        loops.push(Loop { count: 1, dst: item, src: from });
    }
    let mut launches = Vec::with_capacity(1);
    ByteNest { work: at, loops, dst, src }.cut(limit, &mut launches).then_some(launches)
}

/// Elements of a work-item of `elements`, as in the source.
fn elements_of_item(work: KernelWork<'_>) -> usize {
    if work.item_bytes() == 16 { 1 } else { 2 }
}

/// Elements of a chunk of `select`, as in the source.
fn elements_of_chunk(work: KernelWork<'_>) -> usize {
    let is_cast = work.pair().is_some();
    match (work.source_bytes(), work.item_bytes()) {
        (4, 2) | (2, 1) if is_cast => 8,
        (4.., 1 | 2) if is_cast => 4,
        (_, item_bytes) => VECTOR_BYTES / item_bytes,
    }
}

/// Chunks of a work-item of a cast whose runs are long, and dense on both sides; as in the source.
const fn pieces_of_item(elements: Elements) -> usize {
    match (elements.from_bytes, elements.item_bytes) {
        // So many narrow numbers would be half of a module; the casts from and to binary32 are worth it.
        (1 | 2, 1 | 2) if elements.is_narrow() => 1,
        (1 | 2, 1 | 2) | (4, 1) => 4,
        (8, 2) => 2,
        (8, 1 | 4) | (16, 1..=8) => 1,
        _ => 2,
    }
}

/// The chunks of a work-item, `pieces` or 1, and how many work-items a run of so many chunks then has.
fn shared_chunks(chunks: usize, pieces: usize) -> (usize, usize) {
    let blocks = chunks.div_ceil(LANES * pieces);
    if blocks >= LONG_BLOCKS { (pieces, blocks * LANES) } else { (1, chunks) }
}

/// A run of a cast that is just long, and no whole number of chunks.
#[cfg(test)]
pub(super) fn long_run(elements: Elements) -> usize {
    LONG_BLOCKS * LANES * pieces_of_item(elements) * elements_of_chunk(KernelWork::Copy(elements)) + 3
}

fn size(loops: &[Loop]) -> usize {
    loops.iter().map(|axis| axis.count).product() // at most the size of the plan, in its smallest elements
}

/// Loops whose strides are bytes, the innermost first, from two addresses on.
#[derive(Clone)]
struct ByteNest<'a> {
    work: KernelWork<'a>,
    loops: Axes<Loop>,
    dst: usize,
    src: usize,
}

impl<'a> ByteNest<'a> {
    /// Adds the launches for all of it; false when they get too many.
    fn cut(&self, limit: usize, launches: &mut Vec<Planned<'a>>) -> bool {
        if launches.len() >= MAX_LAUNCHES {
            return false;
        }
        if let Some(launch) = self.launch(limit) {
            launches.push(launch);
            return true;
        }
        let counts = self.loops.iter().map(|axis| axis.count).enumerate();
        if self.loops.len() > MAX_LOOPS {
            let Some((axis, count)) = counts.min_by_key(|&(_, count)| count) else { return false };
            return (0..count).all(|step| self.part(axis, step, 1).cut(limit, launches));
        }
        let Some((axis, count)) = counts.max_by_key(|&(_, count)| count) else { return false };
        let half = count / 2;
        half > 0
            && self.part(axis, 0, half).cut(limit, launches)
            && self.part(axis, half, count - half).cut(limit, launches)
    }

    /// The steps `first .. first + count` of a loop, which has them.
    fn part(&self, axis: usize, first: usize, count: usize) -> Self {
        let (step, skipped) = (self.loops[axis], first.cast_signed());
        let mut part = self.clone();
        part.dst = self.dst.wrapping_add_signed(step.dst * skipped);
        part.src = self.src.wrapping_add_signed(step.src * skipped);
        part.loops[axis].count = count;
        if count == 1 && self.loops.len() > 1 {
            part.loops = self
                .loops
                .iter()
                .enumerate()
                .filter(|&(other, _)| other != axis)
                .map(|(_, step)| *step)
                .collect();
        }
        part
    }

    fn launch(&self, limit: usize) -> Option<Planned<'a>> {
        if size(&self.loops) >= limit {
            return None;
        }
        let families = [Self::rows, Self::short_rows, Self::select, Self::elements];
        let planned = families.into_iter().find_map(|family| family(self))?;
        (planned.items < 2 * limit).then_some(planned)
    }

    fn arguments(&self) -> Arguments {
        Arguments::new(self.work, self.dst, self.src)
    }

    fn planned(&self, kernel: &'static str, arguments: Arguments, items: usize) -> Option<Planned<'a>> {
        let (work, arguments, is_whole) = (self.work, arguments.into_list(), kernel == "short_rows");
        Some(Planned { kernel, work, arguments, items, group_items: GROUP_ITEMS, is_whole })
    }

    /// How many of the innermost loops together fill a dense run of the target.
    fn dense(&self) -> usize {
        let mut next = self.work.item_bytes().cast_signed();
        let dense = self.loops.iter().take_while(|axis| {
            let follows = axis.dst == next;
            next = axis.dst.saturating_mul(axis.count.cast_signed());
            follows
        });
        dense.count()
    }

    /// Pieces of so many bytes that cover each run of the target, and where they are cut; the runs begin where the axes lead.
    fn pieces(&self, run_bytes: usize, piece_bytes: usize, axes: &[Loop]) -> (usize, usize) {
        let line = if run_bytes >= LONG_BYTES { LINE_BYTES.max(piece_bytes) } else { piece_bytes };
        let is_same = axes.iter().all(|axis| axis.dst.unsigned_abs().is_multiple_of(line));
        // Elements are whole, so the first piece has no less of one.
        let most = if is_same { self.dst % line } else { line - self.work.item_bytes().min(piece_bytes) };
        let pieces = (most + run_bytes).div_ceil(piece_bytes);
        // No line is two groups'.
        let lines = if line > piece_bytes { line / piece_bytes } else { 1 };
        (pieces.next_multiple_of(lines), line - 1)
    }

    /// Rows that are dense on both sides, or of one element.
    fn rows(&self) -> Option<Planned<'a>> {
        let (row, item, is_fill) = (*self.loops.first()?, self.work.item_bytes(), self.is_fill());
        if row.dst != item.cast_signed() || self.work.pair().is_some() {
            return None;
        }
        let is_row = is_fill || row.src == 0 || row.src.unsigned_abs() == item;
        let row_bytes = row.count * item;
        let short_bytes = if item <= 2 { SHORT_BYTES_OF_SMALL } else { SHORT_BYTES };
        let is_long =
            row_bytes >= short_bytes || (row_bytes >= VECTOR_BYTES && (is_fill || self.dense() == 1));
        // Vectors hold whole elements.
        let is_whole = item < VECTOR_BYTES
            || (self.dst | if is_fill { 0 } else { self.src }).is_multiple_of(VECTOR_BYTES);
        if !is_row || !is_long || !is_whole {
            return None;
        }
        let mut outer: Vec<Loop> = self.loops[1..].to_vec();
        let repeated = outer.iter().position(|axis| {
            row.src != 0 && axis.src == 0 && axis.dst.unsigned_abs().is_multiple_of(VECTOR_BYTES)
        });
        let repeat = repeated.map(|axis| outer.remove(axis));
        if outer.len() > GRID_AXES {
            return None;
        }
        let (mut vectors, line_mask) = self.pieces(row_bytes, VECTOR_BYTES, &self.loops[1..]);
        let mut arguments = self.arguments();
        if !is_fill {
            arguments.direction(row.src.signum());
            self.span().into_iter().for_each(|end| arguments.stride(end));
        }
        if row_bytes >= MANY_LINES_BYTES && row.src != 0 && repeat.is_none() && item < VECTOR_BYTES {
            let lines = LINE_BYTES / VECTOR_BYTES;
            let items = vectors.div_ceil(LONG_VECTORS * lines) * lines;
            let total = items * size(&outer);
            arguments.count(total)?;
            arguments.stride(row_bytes.cast_signed());
            arguments.divisor(items)?;
            arguments.axes(&outer, GRID_AXES, GRID_AXES - 1)?;
            return self.planned("long_rows", arguments, total);
        }
        let (mut repeats, repeat_step) = repeat.map_or((1, 0), |axis| (axis.count, axis.dst));
        let mut row_step = 0;
        if row.src == 0 && vectors > REPEATS {
            // All vectors are alike: each work-item stores several.
            let lines = (line_mask + 1) / VECTOR_BYTES;
            (repeats, vectors) = (REPEATS, vectors.div_ceil(REPEATS).next_multiple_of(lines));
            row_step = vectors * VECTOR_BYTES;
        }
        let each = repeats.min(REPEATS);
        let repeat_groups = repeats.div_ceil(each);
        let items = vectors * repeat_groups * size(&outer);
        arguments.count(items)?;
        arguments.stride(row_bytes.cast_signed());
        arguments.count(line_mask)?;
        arguments.divisor(vectors)?;
        arguments.counts([repeats, each])?;
        arguments.divisor(repeat_groups)?;
        arguments.stride(repeat_step);
        arguments.stride(row_step.cast_signed());
        arguments.axes(&outer, GRID_AXES, GRID_AXES - 1)?;
        self.planned("rows", arguments, items)
    }

    /// The bytes of the source around its first element.
    fn span(&self) -> [isize; 2] {
        let reach = |axis: &Loop| axis.src * (axis.count - 1).cast_signed();
        let reaches = || self.loops.iter().map(reach);
        let above: isize = reaches().filter(|&reach| reach > 0).sum();
        [reaches().filter(|&reach| reach < 0).sum(), above + self.work.item_bytes().cast_signed()]
    }

    /// Runs of the target from short rows of small elements, which are half or more of what lies between them.
    fn short_rows(&self) -> Option<Planned<'a>> {
        let KernelWork::Copy(Elements { item_bytes: item @ (1 | 2), pair: None, .. }) = self.work else {
            return None;
        };
        let [row, rows, outer @ ..] = &self.loops[..] else { return None };
        let (row_bytes, len) = (row.count * item, row.count * rows.count);
        let is_dense = self.dense() > 1 && row.src == item.cast_signed();
        let is_close =
            usize::try_from(rows.src).is_ok_and(|pitch| (row_bytes..=2 * row_bytes).contains(&pitch));
        let is_short = (LEAST_SHORT_BYTES..SHORT_BYTES_OF_SMALL).contains(&row_bytes);
        if !is_dense || !is_close || !is_short || len * item < SHORT_GROUP_BYTES || outer.len() > GRID_AXES {
            return None;
        }
        // The first group of a run begins at a line.
        let is_same = outer.iter().all(|axis| axis.dst.unsigned_abs().is_multiple_of(LINE_BYTES));
        let most = if is_same { self.dst % LINE_BYTES } else { LINE_BYTES - item };
        let groups = (most + len * item).div_ceil(SHORT_GROUP_BYTES);
        let mut arguments = self.arguments();
        self.span().into_iter().for_each(|end| arguments.stride(end));
        arguments.count(len)?;
        arguments.divisor(groups)?;
        arguments.divisor(row.count)?;
        arguments.count(rows.src.unsigned_abs())?;
        arguments.axes(outer, GRID_AXES, GRID_AXES - 1)?;
        self.planned("short_rows", arguments, groups * GROUP_ITEMS * size(outer))
    }

    /// Dense runs of the target from anywhere; of casts any runs.
    fn select(&self) -> Option<Planned<'a>> {
        let is_cast = self.work.pair().is_some();
        let (dense, axes) = (self.dense().min(RUN_LOOPS), if is_cast { CAST_AXES } else { GRID_AXES });
        let loops = if is_cast { dense.max(1) } else { dense };
        if loops == 0 || self.is_fill() || self.loops.len() - loops > axes {
            return None;
        }
        let (run, outer) = self.loops.split_at(loops);
        let (item, len, count) = (self.work.item_bytes(), size(run), elements_of_chunk(self.work));
        if len < count && !is_cast {
            return None;
        }
        let (chunks, line_mask) = match dense {
            0 => (len.div_ceil(count), 0),
            _ => self.pieces(len * item, count * item, outer),
        };
        let (each, chunks) = match (self.work, run) {
            (KernelWork::Copy(elements @ Elements { pair: Some(_), from_bytes, item_bytes }), [only])
                if (only.dst, only.src) == (item_bytes.cast_signed(), from_bytes.cast_signed()) =>
            {
                shared_chunks(chunks, pieces_of_item(elements))
            }
            _ => (1, chunks),
        };
        let (mut arguments, items) = (self.arguments(), chunks * size(outer));
        if is_cast {
            arguments.stride(run[0].dst);
            arguments.count(each)?;
        }
        arguments.counts([items, len, line_mask])?;
        arguments.divisor(chunks)?;
        for place in 0..RUN_LOOPS {
            let one = run.get(place).unwrap_or(&POINT);
            if place + 1 < RUN_LOOPS {
                arguments.divisor(one.count)?;
            }
            arguments.stride(one.src);
        }
        arguments.axes(outer, axes, axes - 1)?;
        self.planned("select", arguments, items)
    }

    /// One element after the other.
    fn elements(&self) -> Option<Planned<'a>> {
        let (mut arguments, count) = (self.arguments(), size(&self.loops));
        arguments.count(count)?;
        arguments.axes(&self.loops, MAX_LOOPS, MAX_LOOPS - 1)?;
        self.planned("elements", arguments, count.div_ceil(elements_of_item(self.work)))
    }

    fn is_fill(&self) -> bool {
        matches!(self.work, KernelWork::Fill(_))
    }
}
