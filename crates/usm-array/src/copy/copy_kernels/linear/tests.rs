//! The launches of random plans, with the arithmetic of the kernels, and the pairs of the plans
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;

use proptest::prelude::ProptestConfig;

use super::super::tests::reader::{Reader, on_grid};
use super::*;
use crate::dtype::Dtype;
use crate::layout::brute_force::displacements;
use crate::layout::{Layout, Order};

/// Numbers that look random, the same in each run.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % below
    }
}

/// Where each written element comes from, by addresses; nothing is written twice.
type Pairs = HashMap<usize, usize>;

fn add(pairs: &mut Pairs, dst: usize, src: usize) {
    assert_eq!(pairs.insert(dst, src), None, "{dst:#x} is written twice");
}

/// What `kernels/src/linear.cl` does with the arguments of a launch.
fn simulate(launch: &Planned<'_>, pairs: &mut Pairs) {
    let work = launch.work;
    let (item, has_source) = (work.item_bytes() as i64, matches!(work, KernelWork::Copy(_)));
    let mut reader = Reader(launch.arguments.iter());
    let dst = reader.pointer();
    let src = match work {
        KernelWork::Copy(_) => reader.pointer(),
        KernelWork::Fill(element) => {
            let value = [(); 2].map(|()| reader.half().to_le_bytes()).concat();
            assert!(value.chunks(element.len()).all(|place| place == element));
            0
        }
    };
    if let Some(pair) = work.pair() {
        assert_eq!(reader.count(), u64::from(pair));
    }
    let mut moves = |to: i64, from: i64| add(pairs, (dst + to) as usize, (src + from) as usize);
    let mut row_vector = |to: i64, from: i64, byte: i64, direction: i64, row_bytes: i64, span: [i64; 2]| {
        assert_eq!((dst + to + byte) % 16, 0);
        for element in (byte..byte + 16).step_by(item as usize) {
            if (0..row_bytes).contains(&element) {
                let from = from + element * direction;
                assert!(span[0] <= from && from + item <= span[1]);
                moves(to + element, from);
            }
        }
    };
    let ids = 0..launch.items as u64;
    assert!(launch.items < 1 << 31);
    // The loops around, and what lies inside of a row.
    let (grid, inner) = (GRID_AXES, GRID_AXES - 1);
    match launch.kernel {
        "long_rows" => {
            let (direction, span) = (reader.direction(), [reader.stride(), reader.stride()]);
            assert_eq!(reader.count(), ids.end);
            let (row_bytes, items) = (reader.stride(), reader.divisor());
            let axes = reader.axes(grid, inner, has_source);
            for id in ids {
                let (rest, place) = items.split(id);
                let (to, from) = on_grid(&axes, rest);
                let place = place as i64;
                let byte = (place - place % 8) * 32 + place % 8 * 16 - (dst + to) % 128;
                for byte in [byte, byte + 128] {
                    row_vector(to, from, byte, direction, row_bytes, span);
                }
            }
        }
        "rows" => {
            let (mut direction, mut span) = (0, [i64::MIN, i64::MAX]);
            if has_source {
                (direction, span) = (reader.direction(), [reader.stride(), reader.stride()]);
            }
            assert_eq!(reader.count(), ids.end);
            let (row_bytes, line_mask, vectors) = (reader.stride(), reader.count() as i64, reader.divisor());
            let (repeats, each, repeat_groups) = (reader.count(), reader.count(), reader.divisor());
            let (repeat_step, row_step) = (reader.stride(), reader.stride());
            let axes = reader.axes(grid, inner, has_source);
            for id in ids {
                let (group, vector) = vectors.split(id);
                let (rest, repeat) = repeat_groups.split(group);
                let repeat = repeat * each;
                let (mut to, from) = on_grid(&axes, rest);
                to += repeat as i64 * repeat_step;
                let mut byte = vector as i64 * 16 - ((dst + to) & line_mask);
                for _ in 0..(repeats - repeat).min(each) {
                    row_vector(to, from, byte, direction, row_bytes, span);
                    to += repeat_step;
                    byte += row_step;
                }
            }
        }
        "short_rows" => {
            assert_eq!((launch.is_whole, launch.group_items), (true, 128));
            let span = [reader.stride(), reader.stride()];
            let (len, groups, row) = (reader.count() as i64, reader.divisor(), reader.divisor());
            let (pitch, axes) = (reader.count() as i64, reader.axes(grid, inner, has_source));
            for id in ids {
                let (rest, group) = groups.split(id / 128);
                let (to, from) = on_grid(&axes, rest);
                let count = 16 / item;
                let first = group as i64 * 256 * count - (dst + to) % 128 / item;
                // What the group has in local memory.
                let place = |x: i64| {
                    let (in_row, i) = row.split(x as u64);
                    from + i as i64 * item + in_row as i64 * pitch
                };
                let end = len.min(first + 256 * count);
                for vector in 0..2 {
                    let x = first + (vector * 128 + (id % 128) as i64) * count;
                    assert_eq!((dst + to + x * item) % 16, 0);
                    for x in (x..x + count).filter(|x| (0..len).contains(x)) {
                        let lowest = place(first.max(0));
                        let lowest = lowest - (src + lowest) % 16;
                        let from = place(x);
                        assert!(lowest <= from && from + 8 <= lowest + 2 * 4096 + 64);
                        assert!(from <= place(end - 1), "behind what was loaded");
                        assert!(span[0] <= from && from + item <= span[1]);
                        moves(to + x * item, from);
                    }
                }
            }
        }
        "select" => {
            let (step, each) =
                if work.pair().is_some() { (reader.stride(), reader.count()) } else { (item, 1) };
            assert_eq!(reader.count(), ids.end);
            let (len, line_mask, chunks) = (reader.count() as i64, reader.count() as i64, reader.divisor());
            let (first_loop, first_step) = (reader.divisor(), reader.stride());
            let (second_loop, second_step) = (reader.divisor(), reader.stride());
            let third_step = reader.stride();
            let axes = if work.pair().is_some() { CAST_AXES } else { GRID_AXES };
            let axes = reader.axes(axes, axes - 1, has_source);
            let count = elements_of_chunk(work) as i64;
            if each > 1 {
                let KernelWork::Copy(elements) = work else { panic!("{launch:?}") };
                assert_eq!(each, pieces_of_item(elements) as u64);
                assert_eq!((step, first_step), (item, work.source_bytes() as i64));
                assert_eq!(first_loop.number as i64, len);
            }
            for id in ids {
                let (rest, mut chunk) = chunks.split(id);
                let (to, from) = on_grid(&axes, rest);
                let lanes = LANES as u64;
                if each > 1 {
                    chunk = chunk / lanes * (lanes * each) + chunk % lanes;
                }
                let first = chunk as i64 * count - ((dst + to) & line_mask) / item;
                let starts = (0..each as i64).map(|piece| first + piece * LANES as i64 * count);
                let places = starts.flat_map(|start| start..start + count);
                for x in places.filter(|x| (0..len).contains(x)) {
                    let (row, i) = first_loop.split(x as u64);
                    let (plane, j) = second_loop.split(row);
                    let within = i as i64 * first_step + j as i64 * second_step + plane as i64 * third_step;
                    moves(to + x * step, from + within);
                }
            }
        }
        _ => {
            let (elements, axes) = (reader.count(), reader.axes(MAX_LOOPS, MAX_LOOPS - 1, has_source));
            assert_eq!(launch.items, (elements as usize).div_ceil(elements_of_item(work)));
            for element in 0..elements {
                let (to, from) = on_grid(&axes, element);
                moves(to, from);
            }
        }
    }
    reader.end();
}

fn plan(axes: &[(usize, isize, isize)]) -> ([Layout; 2], CopyPlan) {
    let shape: Vec<usize> = axes.iter().map(|axis| axis.0).collect();
    let strides = [axes.iter().map(|axis| axis.1).collect(), axes.iter().map(|axis| axis.2).collect()];
    let layouts = strides
        .map(|strides: Vec<isize>| Layout::with_automatic_offset(&shape, Some(&strides), Order::C).unwrap());
    let plan = CopyPlan::new(&layouts[0], &layouts[1]).unwrap();
    (layouts, plan)
}

/// The names of the kernels that carry out a plan, which they do.
fn check(
    axes: &[(usize, isize, isize)],
    work: KernelWork<'_>,
    dst: usize,
    src: usize,
    limit: usize,
) -> Vec<&'static str> {
    let ([to, from], plan) = plan(axes);
    let launches = with_limit(&plan, work, dst, src, limit).unwrap();
    let mut found = Pairs::new();
    launches.iter().for_each(|launch| simulate(launch, &mut found));
    let unit = launches[0].work.item_bytes();
    let mut expected = Pairs::new();
    for (to, from) in displacements(&to).into_iter().zip(displacements(&from)) {
        let (to, from) = (to as usize * work.item_bytes(), from as usize * work.source_bytes());
        for byte in (0..work.item_bytes()).step_by(unit) {
            let skipped = if work.source_bytes() == 0 || work.pair().is_some() { 0 } else { byte };
            expected.insert(dst + to + byte, src + from + skipped);
        }
    }
    assert!(found == expected, "{axes:?} {work:?} {dst:#x} {src:#x} {launches:?}");
    launches.iter().map(|launch| launch.kernel).collect()
}

const BASE: usize = 1 << 20;

#[test]
fn launches_visit_the_pairs_of_their_plan() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let dtypes = Dtype::ALL;
    for round in 0..ProptestConfig::default().cases as usize / 2 {
        let rank = 1 + round % 9;
        let longest = [2000, 60, 16, 8, 5, 4, 3, 3, 2][rank - 1];
        let mut next = 1 + random.next(3).cast_signed() / 2;
        let mut axes: Vec<_> = (0..rank)
            .map(|_| {
                let count = 1 + random.next(longest);
                let dst = if random.next(4) == 0 { -next } else { next };
                next *= count.cast_signed() + random.next(2).cast_signed();
                next += [0, 0, 0, 16][random.next(4)];
                (count, dst, [0, 1, -1, 2, 3, 7, -2, 16][random.next(8)])
            })
            .collect();
        for i in (1..rank).rev() {
            axes.swap(i, random.next(i + 1));
        }
        let size = 1 << random.next(5);
        let fill = [7; 16];
        let [from, to] = [(); 2].map(|()| dtypes[random.next(dtypes.len())]);
        let (work, dst, src) = match random.next(4) {
            0 => (KernelWork::Fill(&fill[..size]), BASE + random.next(40) * size, 0),
            1 => {
                let (dst, src) =
                    (random.next(40) * to.itemsize_bytes(), random.next(40) * from.itemsize_bytes());
                let Some(elements) = Elements::of(from, to) else { continue };
                (KernelWork::Copy(elements), BASE + dst, 4 * BASE + src)
            }
            2 => (
                KernelWork::Copy(Elements::of_size(size)),
                BASE + random.next(40),
                4 * BASE + random.next(40),
            ),
            _ => {
                let (dst, src) = (random.next(40) * size, random.next(40) * size);
                (KernelWork::Copy(Elements::of_size(size)), BASE + dst, 4 * BASE + src)
            }
        };
        let limit = if random.next(3) == 0 { 300 } else { LAUNCH_ELEMENTS };
        check(&axes, work, dst, src, limit);
    }
}

#[test]
fn families_are_chosen_by_shape() {
    let copy = |axes: &[_], bytes| {
        check(axes, KernelWork::Copy(Elements::of_size(bytes)), BASE, 4 * BASE, LAUNCH_ELEMENTS)
    };
    assert_eq!(copy(&[(30, 100, 102), (100, 1, 1)], 1), ["rows"]);
    assert_eq!(copy(&[(30, 100, 102), (100, 1, -1)], 8), ["rows"]);
    assert_eq!(copy(&[(5, 600, 602), (600, 1, -1)], 8), ["long_rows"]);
    assert_eq!(copy(&[(5, 4099, 4097), (4097, 1, 1)], 1), ["long_rows"]);
    assert_eq!(copy(&[(5, 600, 0), (600, 1, 1)], 8), ["rows"]);
    assert_eq!(copy(&[(600, 1, 0)], 8), ["rows"]);
    assert_eq!(copy(&[(600, 1, 1)], 16), ["rows"]);
    assert_eq!(copy(&[(30, 100, 0), (100, 1, 1)], 4), ["rows"]);
    assert_eq!(copy(&[(30, 100, 1), (100, 1, 0)], 4), ["rows"]);
    assert_eq!(copy(&[(300, 3, 4), (3, 1, 1)], 8), ["select"]);
    for bytes in [1, 2] {
        assert_eq!(copy(&[(3000, 4, 5), (4, 1, 1)], bytes), ["short_rows"]);
        assert_eq!(copy(&[(3, 9001, 12000), (3000, 3, 6), (3, 1, 1)], bytes), ["short_rows"]);
        assert_eq!(copy(&[(3000, 3, 7), (3, 1, 1)], bytes), ["select"], "too far apart");
        assert_eq!(copy(&[(3000, 4, -5), (4, 1, 1)], bytes), ["select"], "backwards");
        assert_eq!(copy(&[(1000 / bytes, 4, 5), (4, 1, 1)], bytes), ["select"], "too few");
    }
    assert_eq!(copy(&[(3000, 4, 5), (4, 1, 1)], 4), ["select"]);
    assert_eq!(copy(&[(3000, 1, 2)], 4), ["select"]);
    assert_eq!(copy(&[(3000, 2, 1)], 4), ["elements"]);
    assert_eq!(copy(&[], 16), ["rows"]);
    let fill = |axes: &[_], element: &[u8]| check(axes, KernelWork::Fill(element), BASE, 0, LAUNCH_ELEMENTS);
    assert_eq!(fill(&[(30, 100, 0), (90, 1, 0)], &[1, 2]), ["rows"]);
    assert_eq!(fill(&[(300, 2, 0)], &[1, 2]), ["elements"]);
}

#[test]
fn long_casts_share_work_items() {
    let each = |axes: &[_], work: KernelWork<'_>| {
        let (_, plan) = plan(axes);
        let launches = launches(&plan, work, BASE, 4 * BASE).unwrap();
        let [launch] = &launches[..] else { panic!("{launches:?}") };
        assert_eq!(launch.kernel, "select");
        let mut reader = Reader(launch.arguments.iter());
        let _ends_and_pair = (reader.pointer(), reader.pointer(), reader.count());
        let _step = reader.stride();
        reader.count() as usize
    };
    for from in [Dtype::U8, Dtype::F16, Dtype::F32, Dtype::F64, Dtype::C128] {
        for to in [Dtype::Bool, Dtype::I16, Dtype::I32, Dtype::C64, Dtype::C128] {
            let elements = Elements::of(from, to).unwrap();
            let work = KernelWork::Copy(elements);
            if elements.keeps_bits() {
                continue;
            }
            let pieces = pieces_of_item(elements);
            let block = LANES * pieces * elements_of_chunk(work);
            let (long, len) = (LONG_BLOCKS * block, (LONG_BLOCKS * block).cast_signed());
            assert_eq!(each(&[(long, 1, 1)], work), pieces, "{from:?} {to:?}");
            assert_eq!(each(&[(long - block, 1, 1)], work), 1, "{from:?} {to:?}");
            assert_eq!(each(&[(5, len + 1, len + 3), (long, 1, 1)], work), pieces, "{from:?} {to:?}");
            assert_eq!(each(&[(long, 1, 2)], work), 1);
            assert_eq!(each(&[(long, 2, 1)], work), 1);
            assert_eq!(each(&[(1000, 33, 34), (33, 1, 1)], work), 1);
            let dst = BASE + to.itemsize_bytes();
            if long < 40_000 {
                check(&[(2, len + 2, len + 3), (long + 1, 1, 1)], work, dst, 4 * BASE, LAUNCH_ELEMENTS);
            }
        }
    }
}

#[test]
fn plans_of_any_size_have_launches() {
    let huge = |axes: &[(usize, isize, isize)]| {
        let (_, plan) = plan(axes);
        launches(&plan, KernelWork::Copy(Elements::of_size(1)), BASE, 0).map(|launches| launches.len())
    };
    assert!(huge(&[(1 << 33, 1, 2)]).unwrap() >= 8);
    assert!(huge(&[(1 << 20, 1 << 21, 1 << 21), (1 << 20, 2, 1)]).unwrap() >= 1 << 10);
    assert_eq!(huge(&[(1 << 43, 1 << 4, 1 << 8), (3, 1, 5)]), None, "thousands of launches");
}
