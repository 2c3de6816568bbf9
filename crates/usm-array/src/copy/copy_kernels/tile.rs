//! From a plan to a launch of the kernels that transpose; only arithmetic
//!
//! These kernels are for copies whose targets are dense along another axis than their sources. They are OpenCL C in `kernels/src/tile.cl`,
//! where the words are explained: `i` counts the elements of a dense run of the target, `j` those of a dense run of the source, and
//! either may run through several axes.
//!
//! # Order of the arguments
//!
//! All strides are bytes. A divisor is three numbers of 32 bits: the number, then the factor and the shift that divide by it.
//!
//! | kernels | arguments |
//! |---|---|
//! | `tile`, `window` | target, source, head, 3 axes; `window` also the pitch in local memory (u32) |
//! | `tile_box`, `window_box` | target, source, head, 6 axes, the inner axes of `i`, those of `j` |
//! | `cast_tile` | target, source, the pair of dtypes (u32), head, 6 axes, elements that a row of a tile may begin early (u32) |
//! | `split2` to `split4`, `join2` to `join4` | target, source, the divisor of the groups along the records, number of records (u32), stride from plane to plane (i64), 3 axes |
//!
//! | part | numbers |
//! |---|---|
//! | target, source | pointers to the element that comes first along all loops |
//! | head | 1 if tiles follow each other along `j` first (u32); divisors of the tiles along the first axis and along the second one; elements along `i`, along `j`; elements of the first tile that come before the first element, along `i`, along `j` (u32 each); stride of the source along `i`, of the target along `j` (i64 each) |
//! | axis | divisor of its steps; stride in the target, in the source (i64 each) |
//! | inner axes | divisors of the steps of the innermost axis and of the next one; stride of the second axis, of the third one, on the side where they are not dense (i64 each) |

use super::elements::Elements;
use super::planned::{Arguments, KernelWork, LINE_BYTES, POINT, Planned, VECTOR_BYTES};
use crate::copy::plan::{CopyPlan, Loop};
use crate::layout::Axes;

/// The shape of tiles: elements along `i` and `j`, and work-items. As in `kernels/src/tile.cl`.
#[derive(Clone, Copy, Debug)]
struct TileShape {
    i: usize,
    j: usize,
    items: usize,
}

/// Rows of the target are written in pieces that begin at multiples of so many bytes, by `window` and `window_box`.
const WINDOW_BYTES: usize = 32;

/// The most local memory of a work-group of any of the kernels, whose work-items are at most 1,024.
pub(crate) const TILE_LOCAL_BYTES: usize = 32 << 10;

/// Work-items of the kernels for records.
const RECORD_ITEMS: usize = 256;

/// Axes over the grid, without boxes and with them; casts have as many as boxes.
const GRID_AXES: usize = 3;
const BOX_GRID_AXES: usize = 6;

/// Axes that make up `i` or `j` in a box.
const BOX_AXES: usize = 3;

/// So many tiles side by side are at work at the same time as those of the next rows of tiles.
const FEW_TILES: usize = 32;

/// Elements along `i` and along `j`: kernels count them in 32 bits with a sign, a tile further.
const MOST: usize = (1 << 31) - (1 << 16);

/// Elements of all records: kernels count them in 32 bits, a work-group further.
const MOST_IN_RECORDS: usize = (1 << 32) - (1 << 16);

/// Tiles of `tile` and `tile_box`.
fn tile_shape(item_bytes: usize) -> Option<TileShape> {
    let (i, j, items) = match item_bytes {
        1 => (128, 256, 1024),
        2 => (128, 128, 1024),
        4 => (64, 64, 512),
        8 => (64, 32, 512),
        _ => return None,
    };
    Some(TileShape { i, j, items })
}

/// Tiles of `window` and `window_box`.
fn window_shape(item_bytes: usize) -> Option<TileShape> {
    let (i, j, items) = match item_bytes {
        1 => (128, 128, 512),
        2 => (64, 128, 512),
        4 => (64, 64, 512),
        8 => (64, 32, 512),
        16 => (32, 32, 512),
        _ => return None,
    };
    Some(TileShape { i, j, items })
}

/// Tiles of `cast_tile`, for elements of so many bytes in the source and in the target.
fn cast_shape(from_bytes: usize, item_bytes: usize) -> TileShape {
    let i = match item_bytes {
        1 => 128,
        2 | 4 => 64,
        _ => 256 / item_bytes,
    };
    let elements = (32768 / from_bytes).min(16384 / item_bytes);
    TileShape { i, j: elements / i, items: 512 }
}

/// The launch that carries out a plan whose displacements count from two addresses; `None` where these kernels cannot, or where others are
/// better.
///
/// Every element of the target must be visited once.
pub(super) fn launch(
    plan: &CopyPlan,
    elements: Elements,
    dst: usize,
    src: usize,
) -> Option<Planned<'static>> {
    let copy = Crossing::new(plan, elements, dst, src)?;
    copy.records().or_else(|| copy.tiles())
}

/// The inner axes of a group, by their strides on the other side.
fn inner(arguments: &mut Arguments, axes: &[Loop], stride: impl Fn(&Loop) -> isize) -> Option<()> {
    let axis = |place| axes.get(place).copied().unwrap_or(POINT);
    arguments.divisor(axis(0).count)?;
    arguments.divisor(axis(1).count)?;
    arguments.stride(stride(&axis(1)));
    arguments.stride(stride(&axis(2)));
    Some(())
}

/// A copy that is dense along one axis of the target and along another one of the source.
#[derive(Debug)]
struct Crossing {
    /// Outermost first, in bytes. The target is dense along the last one.
    axes: Axes<Loop>,
    /// Along which the source is dense, upwards.
    dense_source: usize,
    /// Of the first elements.
    dst: usize,
    src: usize,
    elements: Elements,
}

impl Crossing {
    fn new(plan: &CopyPlan, elements: Elements, dst: usize, src: usize) -> Option<Self> {
        let (from, item) = (elements.from_bytes.cast_signed(), elements.item_bytes.cast_signed());
        let bytes = |axis: &Loop| Loop { count: axis.count, dst: axis.dst * item, src: axis.src * from }; // within the memory
        let mut axes: Axes<Loop> = plan.loops.iter().map(bytes).collect();
        let (mut dst_start, mut src_start) = (plan.dst_start * item, plan.src_start * from);
        let row = *axes.last()?;
        if row.dst != item || row.src.unsigned_abs() == elements.from_bytes {
            return None;
        }
        let dense_source = axes.iter().position(|axis| axis.src.unsigned_abs() == elements.from_bytes)?;
        if axes[dense_source].src < 0 {
            axes[dense_source].reverse(&mut dst_start, &mut src_start);
        }
        let (dst, src) = (dst.wrapping_add_signed(dst_start), src.wrapping_add_signed(src_start));
        Some(Self { axes, dense_source, dst, src, elements })
    }

    fn dense_target(&self) -> usize {
        self.axes.len() - 1
    }

    /// The axes that are in neither list, innermost first.
    fn others(&self, i: &[usize], j: &[usize]) -> Axes<Loop> {
        let others = (0..self.axes.len()).rev().filter(|axis| !i.contains(axis) && !j.contains(axis));
        others.map(|axis| self.axes[axis]).collect()
    }

    /// Records of two to four elements to planes, or planes to records, if both are aligned to vectors.
    fn records(&self) -> Option<Planned<'static>> {
        let (i, j) = (self.axes[self.dense_target()], self.axes[self.dense_source]);
        let item = self.elements.item_bytes;
        if !self.elements.keeps_bits() {
            return None;
        }
        let follow = |fields: usize, stride: isize| stride == (fields * item).cast_signed();
        let split = follow(j.count, i.src).then(|| record_kernels(j.count, item)).flatten();
        let join = || follow(i.count, j.dst).then(|| record_kernels(i.count, item)).flatten();
        let (kernel, count, plane) = match split {
            Some([split, _]) => (split, i.count, j.dst),
            None => (join()?[1], j.count, i.src),
        };
        let fields = i.count.min(j.count);
        let others = self.others(&[self.dense_target()], &[self.dense_source]);
        let steps = others.iter().flat_map(|axis| [axis.dst, axis.src]).chain([plane]);
        if !self.is_aligned() || !steps.into_iter().all(is_whole_vectors) {
            return None;
        }
        let groups = count.div_ceil(RECORD_ITEMS * VECTOR_BYTES / item);
        let mut arguments = self.arguments();
        arguments.divisor(groups)?;
        arguments.count((count <= MOST_IN_RECORDS / fields).then_some(count)?)?;
        arguments.stride(plane);
        arguments.axes(&others, GRID_AXES, GRID_AXES)?;
        self.planned(kernel, arguments, grid_groups(groups, &others)?, RECORD_ITEMS)
    }

    fn arguments(&self) -> Arguments {
        Arguments::new(KernelWork::Copy(self.elements), self.dst, self.src)
    }

    fn planned(
        &self,
        kernel: &'static str,
        arguments: Arguments,
        groups: usize,
        group_items: usize,
    ) -> Option<Planned<'static>> {
        let (work, arguments) = (KernelWork::Copy(self.elements), arguments.into_list());
        let items = groups.checked_mul(group_items)?;
        Some(Planned { kernel, work, arguments, items, group_items, is_whole: true })
    }

    /// The largest power of two, up to that of windows, that all strides of rows of the target are multiples of.
    fn target_step(&self) -> usize {
        let strides = (0..self.dense_target()).map(|axis| self.axes[axis].dst.unsigned_abs());
        1 << strides.fold(WINDOW_BYTES, |bits, stride| bits | stride).trailing_zeros()
    }

    /// Whether both first elements are at whole vectors.
    fn is_aligned(&self) -> bool {
        self.dst.is_multiple_of(VECTOR_BYTES) && self.src.is_multiple_of(VECTOR_BYTES)
    }

    /// Any other copy.
    fn tiles(&self) -> Option<Planned<'static>> {
        let Elements { from_bytes: from, item_bytes: item, pair } = self.elements;
        let step = self.target_step();
        if !self.dst.is_multiple_of(item) || !self.src.is_multiple_of(from) {
            return None;
        }
        // Tiles need rows that begin at one place of a vector, on both sides. Windows are faster for the larger elements where that
        // leaves parts of sectors, and as fast for the largest.
        let mut sources = (0..self.axes.len()).filter(|&axis| axis != self.dense_source);
        let is_even_source = sources.all(|axis| is_whole_vectors(self.axes[axis].src));
        let is_even = step >= VECTOR_BYTES && is_even_source;
        let is_tile = pair.is_none() && is_even && item < VECTOR_BYTES && (item < 4 || step >= WINDOW_BYTES);
        let shape = match pair {
            Some(_) => cast_shape(from, item),
            None if is_tile => tile_shape(item)?,
            None => window_shape(item)?,
        };
        let (i_axes, j_axes) = self.groups(shape)?;
        let others = self.others(&i_axes, &j_axes);
        let loops = |axes: &[usize]| axes.iter().map(|&axis| self.axes[axis]).collect::<Axes<Loop>>();
        let (i_axes, j_axes) = (loops(&i_axes), loops(&j_axes));
        let (count_i, count_j) = (elements(&i_axes)?, elements(&j_axes)?);
        // Elements of the first tile that come before the first element, or before that of some row.
        let whole = (self.dst % LINE_BYTES / item, 0);
        let windows = (0, (self.dst % step + WINDOW_BYTES - step) / item);
        let is_lined_target = is_tile || (pair.is_some() && step == WINDOW_BYTES);
        let (skew_i, early) = if is_lined_target { whole } else { windows };
        let is_lined_source = is_tile || (pair.is_some() && is_even_source);
        let skew_j = if is_lined_source { self.src % LINE_BYTES / from } else { 0 };
        let tiles_i = (count_i + skew_i + early).div_ceil(shape.i);
        let tiles_j = (count_j + skew_j).div_ceil(shape.j);
        // Tiles that follow each other along `i` share sectors of the target, along `j` those of the source. Both matter less where
        // few others come between.
        let is_lined = i_axes.iter().all(|axis| axis.src.unsigned_abs().is_multiple_of(LINE_BYTES));
        let j_first = !is_lined && tiles_j <= FEW_TILES && tiles_j <= tiles_i / 4;
        // With such rows the columns of small elements are in one bank of local memory, unless they are in a box.
        let is_in_bank = !is_tile
            && pair.is_none()
            && item < 4
            && i_axes.first()?.src.unsigned_abs().is_multiple_of(8 * item);
        let has_boxes = pair.is_none();
        let is_box =
            has_boxes && (is_in_bank || i_axes.len() > 1 || j_axes.len() > 1 || others.len() > GRID_AXES);

        let grid_axes = if is_box || pair.is_some() { BOX_GRID_AXES } else { GRID_AXES };
        let mut arguments = self.arguments();
        arguments.count(usize::from(j_first))?;
        let (first, second) = if j_first { (tiles_j, tiles_i) } else { (tiles_i, tiles_j) };
        arguments.divisor(first)?;
        arguments.divisor(second)?;
        arguments.counts([count_i, count_j, skew_i, skew_j])?;
        arguments.stride(i_axes.first()?.src);
        arguments.stride(j_axes.first()?.dst);
        arguments.axes(&others, grid_axes, grid_axes)?;
        if pair.is_some() {
            arguments.count(early)?;
        } else if is_box {
            inner(&mut arguments, &i_axes, |axis| axis.src)?;
            inner(&mut arguments, &j_axes, |axis| axis.dst)?;
        } else if !is_tile {
            arguments.count(pitch(shape.j * item, i_axes.first()?.src))?;
        }
        let kernel = match (is_tile, is_box) {
            _ if pair.is_some() => "cast_tile",
            (true, false) => "tile",
            (true, true) => "tile_box",
            (false, false) => "window",
            (false, true) => "window_box",
        };
        let groups = grid_groups(tiles_i.checked_mul(tiles_j)?, &others)?;
        self.planned(kernel, arguments, groups, shape.items)
    }

    /// Which axes are `i` and which are `j`, innermost first: as many of either as leave the tiles fullest, and few.
    fn groups(&self, shape: TileShape) -> Option<(Axes<usize>, Axes<usize>)> {
        let Elements { from_bytes, item_bytes, .. } = self.elements;
        let i = self.chain(self.dense_target(), self.dense_source, item_bytes, |axis| axis.dst);
        let j = self.chain(self.dense_source, self.dense_target(), from_bytes, |axis| axis.src);
        let mut best: Option<(u64, &[usize], &[usize])> = None;
        for i in (1..=i.len()).map(|axes| &i[..axes]) {
            for j in (1..=j.len()).map(|axes| &j[..axes]) {
                if i.iter().any(|axis| j.contains(axis)) {
                    continue;
                }
                let elements = |axes: &[usize]| axes.iter().map(|&axis| self.axes[axis].count).product(); // at most the size
                let (Some(i_cost), Some(j_cost)) = (cost(elements(i), shape.i), cost(elements(j), shape.j))
                else {
                    continue;
                };
                if i_cost * j_cost > MOST_EMPTY << 20 {
                    continue;
                }
                let cost = i_cost * j_cost * (100 + AXIS_PERCENT * (i.len() + j.len()) as u64);
                if best.is_none_or(|(least, ..)| cost < least) {
                    best = Some((cost, i, j));
                }
            }
        }
        best.map(|(_, i, j)| (i.into(), j.into()))
    }

    /// Axes that are one dense run together on a side, where elements have so many bytes, innermost first, without the axis that is
    /// dense on the other one. Casts have no boxes, so one axis.
    fn chain(
        &self,
        first: usize,
        other: usize,
        bytes: usize,
        stride: impl Fn(&Loop) -> isize,
    ) -> Axes<usize> {
        let most = if self.elements.keeps_bits() { BOX_AXES } else { 1 };
        let mut chain = Axes::from(&[first][..]);
        let mut run = Some(bytes);
        while let Some(&last) = chain.last().filter(|_| chain.len() < most) {
            run = run.and_then(|run| run.checked_mul(self.axes[last].count));
            let follows = |axis: &usize| {
                !chain.contains(axis)
                    && *axis != other
                    && usize::try_from(stride(&self.axes[*axis])).ok() == run
            };
            match (0..self.axes.len()).find(follows) {
                Some(next) => chain.push(next),
                None => break,
            }
        }
        chain
    }
}

/// The kernels for records of so many elements of so many bytes: to planes, and from planes.
fn record_kernels(fields: usize, item_bytes: usize) -> Option<[&'static str; 2]> {
    match (fields, item_bytes) {
        (2, 4 | 8) => Some(["split2", "join2"]),
        (3, 1 | 2 | 4 | 8) => Some(["split3", "join3"]),
        (4, 1 | 4) => Some(["split4", "join4"]),
        _ => None,
    }
}

/// Where tiles are so many times as large as what is in them, simpler kernels are faster.
const MOST_EMPTY: u64 = 8;

/// What one more axis costs in the arithmetic of tiles, in percent of a copy.
const AXIS_PERCENT: u64 = 3;

/// How much larger the tiles along so many elements are than these, in 1024ths; `None` where there are too many.
fn cost(elements: usize, tile: usize) -> Option<u64> {
    let elements = elements as u64;
    let covered = elements.div_ceil(tile as u64) * tile as u64;
    (elements <= MOST as u64).then(|| covered * 1024 / elements)
}

fn elements(axes: &[Loop]) -> Option<usize> {
    let count = axes.iter().map(|axis| axis.count).product(); // at most the size
    (count <= MOST).then_some(count)
}

fn is_whole_vectors(stride: isize) -> bool {
    stride.unsigned_abs().is_multiple_of(VECTOR_BYTES)
}

/// The work-groups of a grid; `None` if the kernels could not count them.
fn grid_groups(tiles: usize, axes: &[Loop]) -> Option<usize> {
    let groups = axes.iter().try_fold(tiles, |groups, axis| groups.checked_mul(axis.count))?;
    (groups < 1 << 31).then_some(groups)
}

/// From row to row in local memory: space for a row that begins anywhere in a vector, congruent to the source's stride.
fn pitch(row_bytes: usize, stride: isize) -> usize {
    let least = row_bytes + VECTOR_BYTES;
    let off = stride.wrapping_sub_unsigned(least).rem_euclid(VECTOR_BYTES.cast_signed());
    least + off.unsigned_abs()
}

#[cfg(test)]
mod tests;
