//! What the kernels would do with the arguments, against the pairs of the plan

use proptest::prelude::*;

use super::super::tests::reader::{Divisor, Reader, on_grid};
use super::*;
use crate::dtype::Dtype;
use crate::layout::{Layout, Order};

/// The inner axes of `i` or `j`.
struct Inner(Divisor, Divisor, i64, i64, i64);

impl Inner {
    /// As `along` of the source.
    fn along(&self, x: u64) -> i64 {
        let (rows, first) = self.0.split(x);
        let (planes, second) = self.1.split(rows);
        first as i64 * self.2 + second as i64 * self.3 + planes as i64 * self.4
    }
}

impl Reader<'_> {
    fn inner(&mut self, first: i64) -> Inner {
        Inner(self.divisor(), self.divisor(), first, self.stride(), self.stride())
    }
}

fn group_count(launch: &Planned<'_>) -> u64 {
    (launch.items / launch.group_items) as u64
}

/// The addresses of all pairs that a launch moves, as `kernels/src/tile.cl` finds them.
fn moved(launch: &Planned<'_>) -> Vec<(i64, i64)> {
    let KernelWork::Copy(Elements { from_bytes, item_bytes, pair }) = launch.work else {
        unreachable!("no fill")
    };
    let (source, item) = (from_bytes as i64, item_bytes as i64);
    let mut reader = Reader(launch.arguments.iter());
    let (dst, src) = (reader.pointer(), reader.pointer());
    if launch.kernel.starts_with("split") || launch.kernel.starts_with("join") {
        return moved_records(launch, item, dst, src, reader);
    }
    if let Some(pair) = pair {
        assert_eq!((launch.kernel, reader.count()), ("cast_tile", u64::from(pair)));
    }
    let j_first = reader.count() == 1;
    let (first_tiles, second_tiles) = (reader.divisor(), reader.divisor());
    let [count_i, count_j, skew_i, skew_j] = [(); 4].map(|()| reader.count().cast_signed());
    let (src_i, dst_j) = (reader.stride(), reader.stride());
    let is_box = launch.kernel.ends_with("_box");
    let is_window = launch.kernel.starts_with("window") || pair.is_some();
    let grid_axes = if is_box || pair.is_some() { 6 } else { 3 };
    let axes = reader.axes(grid_axes, grid_axes, true);
    let inner = is_box.then(|| (reader.inner(src_i), reader.inner(dst_j)));
    let shape = match pair {
        Some(_) => Some(cast_shape(from_bytes, item_bytes)),
        None if is_window => window_shape(item_bytes),
        None => tile_shape(item_bytes),
    };
    let shape = shape.expect("a size of elements");
    assert_eq!(launch.group_items, shape.items);
    let most_early =
        if pair.is_some() { reader.count().cast_signed() } else { WINDOW_BYTES as i64 / item - 1 };
    if is_window && !is_box && pair.is_none() {
        let pitch = reader.count().cast_signed();
        let row = shape.j as i64 * item;
        assert!((row + 16..row + 32).contains(&pitch), "{pitch}");
        assert_eq!((pitch - src_i).rem_euclid(16), 0);
    }
    reader.end();
    let source_at = |i: i64| inner.as_ref().map_or(i * src_i, |(inner, _)| inner.along(i.cast_unsigned()));
    let target_at = |j: i64| inner.as_ref().map_or(j * dst_j, |(_, inner)| inner.along(j.cast_unsigned()));
    let mut pairs = Vec::new();
    for group in 0..group_count(launch) {
        let (rest, first) = first_tiles.split(group);
        let (rest, second) = second_tiles.split(rest);
        let (tile_i, tile_j) = if j_first { (second, first) } else { (first, second) };
        let (tile_i, tile_j) =
            (tile_i as i64 * shape.i as i64 - skew_i, tile_j as i64 * shape.j as i64 - skew_j);
        let (to, from) = on_grid(&axes, rest);
        let (to, from) = (dst + to, src + from);
        for j in (tile_j..tile_j + shape.j as i64).filter(|j| (0..count_j).contains(j)) {
            let row = to + target_at(j);
            let early =
                if is_window { (row + tile_i * item).rem_euclid(WINDOW_BYTES as i64) / item } else { 0 };
            assert!(early <= most_early, "the tile does not have that row");
            assert_eq!((row + (tile_i - early) * item) % 16, 0, "vectors of the target are aligned");
            for i in (tile_i - early..tile_i - early + shape.i as i64).filter(|i| (0..count_i).contains(i)) {
                let from = from + source_at(i);
                assert!(is_window || (from + tile_j * item) % 16 == 0, "vectors of the source are aligned");
                pairs.push((row + i * item, from + j * source));
            }
        }
    }
    pairs
}

fn moved_records(launch: &Planned<'_>, item: i64, dst: i64, src: i64, mut reader: Reader) -> Vec<(i64, i64)> {
    let fields = i64::from(launch.kernel.as_bytes().last().expect("a name") - b'0');
    let groups = reader.divisor();
    let (count, plane) = (reader.count().cast_signed(), reader.stride());
    let axes = reader.axes(3, 3, true);
    reader.end();
    let mut pairs = Vec::new();
    for group in 0..group_count(launch) {
        let (rest, group) = groups.split(group);
        let (to, from) = on_grid(&axes, rest);
        assert_eq!(((dst + to) % 16, (src + from) % 16, plane % 16), (0, 0, 0));
        let per_group = 256 * 16 / item;
        let first = group.cast_signed() * per_group;
        for record in (first..first + per_group).take_while(|record| *record < count) {
            for field in 0..fields {
                let (packed, split) = ((record * fields + field) * item, field * plane + record * item);
                let (to_by, from_by) =
                    if launch.kernel.starts_with("split") { (split, packed) } else { (packed, split) };
                pairs.push((dst + to + to_by, src + from + from_by));
            }
        }
    }
    pairs
}

/// The addresses of all pairs of two layouts.
fn wanted(dst: &Layout, src: &Layout, elements: Elements, bases: (usize, usize)) -> Vec<(i64, i64)> {
    let (from, item) = (elements.from_bytes as i64, elements.item_bytes as i64);
    let steps = |layout: &Layout, item| {
        layout.strides().iter().map(|&stride| stride as i64 * item).collect::<Vec<_>>()
    };
    let (dst_steps, src_steps) = (steps(dst, item), steps(src, from));
    let mut pairs =
        vec![(bases.0 as i64 + dst.offset() as i64 * item, bases.1 as i64 + src.offset() as i64 * from)];
    for (axis, &count) in dst.shape().iter().enumerate() {
        let (dst, src) = (dst_steps[axis], src_steps[axis]);
        pairs = pairs
            .iter()
            .flat_map(|&(to, from)| (0..count as i64).map(move |k| (to + k * dst, from + k * src)))
            .collect();
    }
    pairs
}

const BASES: (usize, usize) = (1 << 30, 1 << 34);

fn launch(dst: &Layout, src: &Layout, item: usize, bases: (usize, usize)) -> Option<Planned<'static>> {
    super::launch(&CopyPlan::new(dst, src)?, Elements::of_size(item), bases.0, bases.1)
}

fn check(dst: &Layout, src: &Layout, elements: Elements, bases: (usize, usize)) -> Option<&'static str> {
    let launch = super::launch(&CopyPlan::new(dst, src)?, elements, bases.0, bases.1)?;
    let (mut moved, mut wanted) = (moved(&launch), wanted(dst, src, elements, bases));
    moved.sort_unstable();
    wanted.sort_unstable();
    assert!(moved == wanted, "{} moves {} pairs for {}", launch.kernel, moved.len(), wanted.len());
    Some(launch.kernel)
}

/// A contiguous target and a source of the same shape, whose axes lie in memory in an order, the outermost first.
fn permuted(shape: &[usize], order: &[usize], padding: &[usize], first: isize) -> (Layout, Layout) {
    let mut strides = vec![0; shape.len()];
    let mut step = 1;
    for &axis in order.iter().rev() {
        strides[axis] = step;
        step *= (shape[axis] + padding.get(axis).unwrap_or(&0)) as isize;
    }
    let dst = Layout::contiguous(shape, Order::C).expect("small");
    (dst, Layout::new(shape, Some(&strides), first, Order::C).expect("small"))
}

/// The kernel for a permute of elements of so many bytes.
fn kernel(shape: &[usize], order: &[usize], item: usize) -> Option<&'static str> {
    let (dst, src) = permuted(shape, order, &[], 0);
    check(&dst, &src, Elements::of_size(item), BASES)
}

#[test]
fn transposes_are_tiled() {
    for item in [1, 2, 4, 8, 16] {
        let even = if item == 16 { "window" } else { "tile" };
        assert_eq!(kernel(&[256, 512], &[1, 0], item), Some(even), "{item}");
        assert_eq!(kernel(&[256, 6, 256], &[2, 1, 0], item), Some(even), "{item}");
        // Rows of the target that begin at 16 bytes, but not at sectors: not for small elements, whose windows are slow.
        let halves = if item < 4 { "tile" } else { "window" };
        assert_eq!(kernel(&[256, 528 / item], &[1, 0], item), Some(halves), "{item}");
        assert_eq!(kernel(&[257, 511], &[1, 0], item), Some("window"), "{item}");
        // Off by an element, the rows still begin alike.
        let (dst, src) = permuted(&[256, 512], &[1, 0], &[], 1);
        let bases = (BASES.0 + item, BASES.1);
        assert_eq!(check(&dst, &src, Elements::of_size(item), bases), Some(even), "{item}");
    }
}

#[test]
fn casts_that_transpose_are_tiled() {
    // One dtype of each size on both sides.
    for from in [Dtype::I8, Dtype::I16, Dtype::F32, Dtype::F64, Dtype::C128] {
        for to in [Dtype::Bool, Dtype::F16, Dtype::I32, Dtype::C64, Dtype::C128] {
            let elements = Elements::of(from, to).unwrap();
            if elements.keeps_bits() {
                continue;
            }
            for (shape, order) in [
                (&[64, 128][..], &[1, 0][..]),
                (&[129, 67], &[1, 0]),
                (&[96, 2, 64], &[2, 1, 0]),
                (&[1, 2, 64, 2, 65], &[4, 3, 0, 1, 2]),
            ] {
                let (dst, src) = permuted(shape, order, &[0, 3, 2, 0, 1], 1);
                let bases = (BASES.0 + elements.item_bytes, BASES.1);
                assert_eq!(check(&dst, &src, elements, bases), Some("cast_tile"), "{from:?} {to:?}");
                if elements.item_bytes > 1 {
                    assert_eq!(check(&dst, &src, elements, (BASES.0 + 1, BASES.1)), None, "misaligned");
                }
            }
            // Tiles would be nearly empty.
            let (dst, src) = permuted(&[4; 6], &[5, 4, 3, 2, 1, 0], &[], 0);
            assert_eq!(check(&dst, &src, elements, BASES), None);
        }
    }
}

#[test]
fn short_axes_make_boxes() {
    assert_eq!(kernel(&[8, 16, 8, 16], &[3, 2, 1, 0], 4), Some("tile_box"));
    assert_eq!(kernel(&[7, 19, 15, 11], &[3, 2, 1, 0], 4), Some("window_box"));
    assert_eq!(kernel(&[4; 6], &[5, 4, 3, 2, 1, 0], 8), Some("tile_box"));
    assert_eq!(kernel(&[5, 6, 7, 5, 6, 7], &[5, 4, 3, 2, 1, 0], 2), Some("window_box"));
}

#[test]
fn small_elements_in_one_bank_make_boxes() {
    for (item, columns) in [(1, 512), (1, 520), (2, 512)] {
        assert_eq!(kernel(&[columns, 511], &[1, 0], item), Some("window_box"), "{item}");
        assert_eq!(kernel(&[columns + 4, 511], &[1, 0], item), Some("window"), "{item}");
    }
}

#[test]
fn pixels_and_planes_are_records() {
    for (item, fields) in [(1, 3), (1, 4), (2, 3), (4, 3), (8, 2)] {
        let split = ["split2", "split3", "split4"][fields - 2];
        let join = ["join2", "join3", "join4"][fields - 2];
        assert_eq!(kernel(&[fields, 48, 64], &[1, 2, 0], item), Some(split));
        assert_eq!(kernel(&[48, 64, fields], &[2, 0, 1], item), Some(join));
        assert_eq!(kernel(&[5, fields, 4800], &[0, 2, 1], item), Some(split));
        // Planes that begin anywhere in a vector: tiles would be nearly empty.
        assert_eq!(kernel(&[fields, 3, 17], &[1, 2, 0], item), None);
    }
}

#[test]
fn copies_along_one_axis_are_for_others() {
    assert_eq!(kernel(&[64, 64], &[0, 1], 4), None);
    assert_eq!(kernel(&[8, 64, 64], &[1, 0, 2], 4), None);
    // Every second element of the source.
    let dst = Layout::contiguous(&[64, 64], Order::C).expect("small");
    let src = Layout::new(&[64, 64], Some(&[2, 128]), 0, Order::C).expect("small");
    assert_eq!(launch(&dst, &src, 4, BASES), None);
    let (dst, src) = permuted(&[64, 64], &[1, 0], &[], 0);
    assert_eq!(launch(&dst, &src, 3, BASES), None);
    // Halves of elements of 16 bytes may be aligned to 8.
    assert_eq!(launch(&dst, &src, 16, (BASES.0, BASES.1 + 8)), None);
}

#[test]
fn more_elements_than_32_bits_are_counted_in_tiles() {
    let (dst, src) = permuted(&[1 << 17, 1 << 16], &[1, 0], &[], 0);
    let large = launch(&dst, &src, 1, BASES).expect("tiles");
    assert_eq!(group_count(&large), 1 << (33 - 15));
    let (dst, src) = permuted(&[1 << 34, 64], &[1, 0], &[], 0);
    assert_eq!(launch(&dst, &src, 1, BASES), None);
}

prop_compose! {
    fn copies()(rank in 2_usize..=6)(
        order in Just((0..rank).collect::<Vec<_>>()).prop_shuffle(),
        shape in prop::collection::vec(1_usize..[0, 0, 150, 30, 12, 8, 6][rank], rank),
        rounded in any::<bool>(),
        padding in prop::collection::vec(prop_oneof![3 => Just(0_usize), 1 => 0..6_usize, 1 => Just(16)], rank),
        flips in prop::collection::vec(prop::bool::weighted(0.2), rank),
        elements in prop_oneof![
            prop::sample::select(vec![1, 2, 4, 8, 16]).prop_map(Elements::of_size),
            (prop::sample::select(Dtype::ALL.to_vec()), prop::sample::select(Dtype::ALL.to_vec()))
                .prop_filter_map("no kernel casts the pair", |(from, to)| Elements::of(from, to)),
        ],
        offsets in (0_usize..20, 0_usize..20),
    ) -> (Layout, Layout, Elements, (usize, usize)) {
        let (from, item) = (elements.from_bytes, elements.item_bytes);
        let round = |count: usize| if rounded { count.next_multiple_of(16 / item) } else { count };
        let shape: Vec<usize> = shape.into_iter().map(round).collect();
        let (dst, src) = permuted(&shape, &order, &padding, 1 << 20);
        let strides = src.strides().iter().zip(&flips).map(|(stride, flip)| if *flip { -stride } else { *stride });
        let src = Layout::new(&shape, Some(&strides.collect::<Vec<_>>()), 1 << 20, Order::C).expect("small");
        (dst, src, elements, (BASES.0 + offsets.0 * item, BASES.1 + offsets.1 * from))
    }
}

proptest! {
    #[test]
    fn a_launch_moves_the_pairs_of_its_plan((dst, src, elements, bases) in copies()) {
        prop_assume!(dst.size() < 200_000);
        check(&dst, &src, elements, bases);
    }
}
