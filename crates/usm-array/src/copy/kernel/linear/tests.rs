//! The launches of random plans, with the arithmetic of the kernels, and the pairs of the plans
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;

use super::*;
use crate::dtype::Dtype;
use crate::layout::brute_force::{campaign, displacements};
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

/// The loops around, from what is left of the number of a work-item.
fn around(axes: &[GridAxis], mut rest: u32) -> (isize, isize) {
    let (mut to, mut from) = (0, 0);
    for (place, axis) in axes.iter().enumerate() {
        let next = if place + 1 < axes.len() { axis.steps.quotient(rest) } else { 0 };
        let index = (rest - next * axis.steps.number) as isize;
        (to, from, rest) = (to + index * axis.dst, from + index * axis.src, next);
    }
    (to, from)
}

impl LinearLaunch<'_> {
    /// What `kernels/linear.cl` does with the numbers.
    fn simulate(&self, pairs: &mut Pairs) {
        let item = self.work.item_bytes().cast_signed();
        let at = |address: usize, skipped: isize| address.wrapping_add_signed(skipped);
        assert!(self.total < 1 << 31);
        for id in 0..self.total as u32 {
            match &self.numbers {
                Numbers::LongRows { direction, span, row_bytes, items, axes } => {
                    let rest = items.quotient(id);
                    let (to, from) = around(axes, rest);
                    let place = (id - rest * items.number) as isize;
                    let byte = (place - place % 8) * 32 + place % 8 * 16;
                    let byte = byte - (at(self.dst, to) % 128).cast_signed();
                    for byte in [byte, byte + 128] {
                        assert_eq!(at(self.dst, to + byte) % 16, 0);
                        for element in (byte..byte + 16).step_by(item as usize) {
                            if (0..row_bytes.cast_signed()).contains(&element) {
                                let from = from + element * *direction as isize;
                                assert!(span[0] <= from && from + item <= span[1]);
                                add(pairs, at(self.dst, to + element), at(self.src, from));
                            }
                        }
                    }
                }
                Numbers::Rows {
                    direction,
                    span,
                    row_bytes,
                    line_mask,
                    vectors,
                    repeats,
                    each,
                    repeat_groups,
                    repeat_step,
                    row_step,
                    axes,
                } => {
                    let group = vectors.quotient(id);
                    let rest = repeat_groups.quotient(group);
                    let repeat = (group - rest * repeat_groups.number) as usize * each;
                    let (mut to, from) = around(axes, rest);
                    to += repeat.cast_signed() * repeat_step;
                    let mut byte = (id - group * vectors.number) as isize * 16;
                    byte -= (at(self.dst, to) & line_mask).cast_signed();
                    for _ in 0..(repeats - repeat).min(*each) {
                        assert_eq!(at(self.dst, to + byte) % 16, 0);
                        for element in (byte..byte + 16).step_by(item as usize) {
                            if (0..row_bytes.cast_signed()).contains(&element) {
                                let from = from + element * *direction as isize;
                                if !matches!(self.work, Work::Fill(_)) {
                                    assert!(span[0] <= from && from + item <= span[1]);
                                }
                                add(pairs, at(self.dst, to + element), at(self.src, from));
                            }
                        }
                        to += repeat_step;
                        byte += row_step.cast_signed();
                    }
                }
                Numbers::ShortRows { span, len, groups, row, pitch, axes } => {
                    let group = id / 128;
                    let rest = groups.quotient(group);
                    let (to, from) = around(axes, rest);
                    let count = 16 / item;
                    let first = (group - rest * groups.number) as isize * 256 * count;
                    let first = first - (at(self.dst, to) % 128).cast_signed() / item;
                    let len = len.cast_signed();
                    // What the group has in local memory.
                    let place = |x: isize| {
                        let in_row = row.quotient(x as u32);
                        let i = x - (in_row * row.number) as isize;
                        from + i * item + (in_row as usize * pitch).cast_signed()
                    };
                    let end = len.min(first + 256 * count);
                    for vector in 0..2 {
                        let x = first + (vector * 128 + (id % 128) as isize) * count;
                        assert_eq!(at(self.dst, to + x * item) % 16, 0);
                        for x in (x..x + count).filter(|x| (0..len).contains(x)) {
                            let lowest = place(first.max(0));
                            let lowest = lowest - (at(self.src, lowest) % 16).cast_signed();
                            let from = place(x);
                            assert!(lowest <= from && from + 8 <= lowest + 2 * 4096 + 64);
                            assert!(from <= place(end - 1), "behind what was loaded");
                            assert!(span[0] <= from && from + item <= span[1]);
                            add(pairs, at(self.dst, to + x * item), at(self.src, from));
                        }
                    }
                }
                Numbers::Select { step, each, len, line_mask, chunks, run, axes } => {
                    let rest = chunks.quotient(id);
                    let (to, from) = around(axes, rest);
                    let count = elements_of_chunk(self.work).cast_signed();
                    let mut chunk = (id - rest * chunks.number) as usize;
                    if *each > 1 {
                        let Work::Copy(elements) = self.work else { panic!("{self:?}") };
                        assert_eq!(*each, pieces_of_item(elements));
                        assert_eq!((*step, run[0].src), (item, self.work.source_bytes().cast_signed()));
                        assert_eq!(run[0].steps.number as usize, *len);
                        chunk = chunk / LANES * (LANES * each) + chunk % LANES;
                    }
                    let mut first = chunk.cast_signed() * count;
                    first -= (at(self.dst, to) & line_mask).cast_signed() / item;
                    let starts =
                        (0..each.cast_signed()).map(|piece| first + piece * LANES.cast_signed() * count);
                    let places = starts.flat_map(|start| start..start + count);
                    for x in places.filter(|x| (0..len.cast_signed()).contains(x)) {
                        let (row, column) = (run[0].steps.quotient(x as u32), x);
                        let plane = run[1].steps.quotient(row);
                        let i = column - (row * run[0].steps.number) as isize;
                        let j = (row - plane * run[1].steps.number) as isize;
                        let from = from + i * run[0].src + j * run[1].src + plane as isize * run[2].src;
                        add(pairs, at(self.dst, to + x * step), at(self.src, from));
                    }
                }
                Numbers::Elements { axes } => {
                    let (to, from) = around(axes, id);
                    add(pairs, at(self.dst, to), at(self.src, from));
                }
            }
        }
    }
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
    work: Work<'_>,
    dst: usize,
    src: usize,
    limit: usize,
) -> Vec<&'static str> {
    let ([to, from], plan) = plan(axes);
    let launches = LinearLaunch::with_limit(&plan, work, dst, src, limit).unwrap();
    let mut found = Pairs::new();
    launches.iter().for_each(|launch| launch.simulate(&mut found));
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
    launches.iter().map(LinearLaunch::kernel).collect()
}

const BASE: usize = 1 << 20;

#[test]
fn launches_visit_the_pairs_of_their_plan() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let dtypes = Dtype::ALL;
    for round in 0..campaign().cases as usize / 2 {
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
            0 => (Work::Fill(&fill[..size]), BASE + random.next(40) * size, 0),
            1 => {
                let (dst, src) =
                    (random.next(40) * to.itemsize_bytes(), random.next(40) * from.itemsize_bytes());
                (Work::Copy(Elements::of(from, to)), BASE + dst, 4 * BASE + src)
            }
            2 => (Work::Copy(Elements::of_size(size)), BASE + random.next(40), 4 * BASE + random.next(40)),
            _ => {
                let (dst, src) = (random.next(40) * size, random.next(40) * size);
                (Work::Copy(Elements::of_size(size)), BASE + dst, 4 * BASE + src)
            }
        };
        let limit = if random.next(3) == 0 { 300 } else { LAUNCH_ELEMENTS };
        check(&axes, work, dst, src, limit);
    }
}

#[test]
fn families_are_chosen_by_shape() {
    let copy = |axes: &[_], bytes| {
        check(axes, Work::Copy(Elements::of_size(bytes)), BASE, 4 * BASE, LAUNCH_ELEMENTS)
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
    let fill = |axes: &[_], element: &[u8]| check(axes, Work::Fill(element), BASE, 0, LAUNCH_ELEMENTS);
    assert_eq!(fill(&[(30, 100, 0), (90, 1, 0)], &[1, 2]), ["rows"]);
    assert_eq!(fill(&[(300, 2, 0)], &[1, 2]), ["elements"]);
}

#[test]
fn long_casts_share_work_items() {
    let each = |axes: &[_], work: Work<'_>| {
        let (_, plan) = plan(axes);
        let launches = LinearLaunch::of(&plan, work, BASE, 4 * BASE).unwrap();
        match &launches[0].numbers {
            Numbers::Select { each, .. } => *each,
            other => panic!("{other:?}"),
        }
    };
    for from in [Dtype::U8, Dtype::F16, Dtype::F32, Dtype::F64, Dtype::C128] {
        for to in [Dtype::Bool, Dtype::I16, Dtype::I32, Dtype::C64, Dtype::C128] {
            let elements = Elements::of(from, to);
            let work = Work::Copy(elements);
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
fn quotients_are_exact() {
    let mut random = Random(1);
    for round in 0..20_000 {
        let number = if round < 5000 { round + 1 } else { 1 + random.next((1 << 31) - 1) };
        let divisor = Divisor::new(number);
        let x = random.next(1 << 31);
        for x in [x, x / number * number, (x / number * number).saturating_sub(1), (1 << 31) - 1, 0] {
            assert_eq!(divisor.quotient(x as u32) as usize, x / number, "{x} / {number}");
        }
    }
}

#[test]
fn plans_of_any_size_have_launches() {
    let huge = |axes: &[(usize, isize, isize)]| {
        let (_, plan) = plan(axes);
        LinearLaunch::of(&plan, Work::Copy(Elements::of_size(1)), BASE, 0).map(|launches| launches.len())
    };
    assert!(huge(&[(1 << 33, 1, 2)]).unwrap() >= 8);
    assert!(huge(&[(1 << 20, 1 << 21, 1 << 21), (1 << 20, 2, 1)]).unwrap() >= 1 << 10);
    assert_eq!(huge(&[(1 << 43, 1 << 4, 1 << 8), (3, 1, 5)]), None, "thousands of launches");
}
