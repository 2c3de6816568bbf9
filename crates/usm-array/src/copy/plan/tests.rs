//! The pairs of a plan, and of all that is made of it, against brute force

use proptest::prelude::*;

use super::pieces::{LARGE_PACKED_BYTES, SPAN_BYTES};
use super::*;
use crate::layout::Order;
use crate::layout::brute_force::{displacements, small_layouts};

type Pairs = Vec<(i128, i128)>;

fn pairs_of<'a>(start: (isize, isize), loops: impl Iterator<Item = &'a Loop>) -> Pairs {
    let mut pairs = vec![(start.0 as i128, start.1 as i128)];
    for axis in loops {
        let steps = |(dst, src): (i128, i128)| {
            (0..axis.count as i128).map(move |i| (dst + i * axis.dst as i128, src + i * axis.src as i128))
        };
        pairs = pairs.into_iter().flat_map(steps).collect();
    }
    pairs
}

fn pairs(plan: &CopyPlan) -> Pairs {
    pairs_of((plan.dst_start, plan.src_start), plan.loops.iter())
}

fn sorted(mut pairs: Pairs) -> Pairs {
    pairs.sort();
    pairs
}

fn layout(shape: &[usize], strides: &[isize]) -> Layout {
    Layout::new(shape, Some(strides), 0, Order::C).expect("small")
}

fn plan(shape: &[usize], dst: &[isize], src: &[isize]) -> CopyPlan {
    CopyPlan::new(&layout(shape, dst), &layout(shape, src)).expect("not empty")
}

/// Two layouts of one shape.
pub(crate) fn layout_pairs() -> impl Strategy<Value = (Layout, Layout)> {
    small_layouts().prop_flat_map(|dst| {
        let axes: Vec<usize> = (0..dst.ndim()).collect();
        let strides = prop_oneof![
            prop::collection::vec(-12_isize..=12, dst.ndim()),
            // Transposed ones, which random strides hardly ever are.
            Just(axes).prop_shuffle().prop_map({
                let shape = dst.shape().to_vec();
                move |order| {
                    let mut strides = vec![0; shape.len()];
                    let mut step = 1;
                    for axis in order {
                        strides[axis] = step;
                        step *= shape[axis].max(1) as isize;
                    }
                    strides
                }
            }),
        ];
        (Just(dst), strides, any::<bool>(), -60_isize..60).prop_map(|(dst, strides, dense, offset)| {
            let src = Layout::new(dst.shape(), Some(&strides), offset, Order::C).expect("small");
            let dst = if dense { Layout::contiguous(dst.shape(), Order::C).expect("small") } else { dst };
            (dst, src)
        })
    })
}

#[test]
fn equal_dense_layouts_are_one_run() {
    for strides in [&[12, 4, 1][..], &[1, 2, 6], &[4, 8, 1]] {
        let plan = plan(&[2, 3, 4], strides, strides);
        assert!(plan.is_one_run(), "{strides:?}: {plan:?}");
        assert_eq!(plan.size(), 24);
    }
    let plan = plan(&[4], &[-1], &[-1]);
    assert!(plan.is_one_run());
    assert_eq!((plan.dst_start, plan.src_start), (-3, -3));
}

#[test]
fn rows_of_a_submatrix_are_dense() {
    let plan = plan(&[2, 3], &[3, 1], &[8, 1]);
    assert_eq!(*plan.loops, [Loop { count: 2, dst: 3, src: 8 }, Loop { count: 3, dst: 1, src: 1 }]);
    assert_eq!(plan.dense_target_loops(), 2);
}

#[test]
fn one_element_is_one_run_and_none_is_nothing() {
    let one = layout(&[1, 1], &[7, -9]);
    assert!(CopyPlan::new(&one, &one).expect("not empty").is_one_run());
    let none = layout(&[3, 0], &[1, 1]);
    assert_eq!(CopyPlan::new(&none, &none), None);
}

#[test]
fn transposes_have_tiles_and_rows_have_none() {
    let tiles = Tiles::new(&plan(&[100, 50], &[50, 1], &[1, 100]), 8, 32).expect("transposed");
    assert_eq!(*tiles.across, [Loop { count: 100, dst: 50, src: 1 }]);
    assert_eq!(*tiles.along, [Loop { count: 50, dst: 1, src: 100 }]);
    assert!(tiles.outer.is_empty());
    for (dst, src) in [([50, 1], [50, 1]), ([50, 1], [100, 2]), ([50, 1], [0, 1]), ([50, 1], [1, 0])] {
        assert_eq!(Tiles::new(&plan(&[100, 50], &dst, &src), 8, 32), None, "{src:?}");
    }
    // Short axes are taken together.
    let reversed = plan(&[2, 3, 4, 5], &[60, 20, 5, 1], &[1, 2, 6, 24]);
    let tiles = Tiles::new(&reversed, 8, 6).expect("transposed");
    assert_eq!((tiles.across.len(), tiles.along.len(), tiles.outer.len()), (2, 2, 0));
}

#[test]
fn pieces_leave_large_gaps_out_and_small_ones_in() {
    for (step, num_pieces) in [(1 << 14, 1), (1 << 16, 4)] {
        let rows = plan(&[4, 100], &[100, 1], &[step, 1]);
        assert_eq!(rows.clone().span_pieces(Side::Source, 4).len(), num_pieces, "{step}");
        assert_eq!(rows.span_pieces(Side::Target, 4).len(), 1);
    }
}

#[test]
fn long_runs_are_not_packed() {
    for (count, is_packed) in [(1 << 9, true), (1 << 10, false)] {
        let rows = plan(&[4, count], &[count as isize, 1], &[1 << 12, 1]);
        for side in [Side::Target, Side::Source] {
            assert_eq!(rows.packed_pieces(side, 4).is_some(), is_packed, "{count}");
        }
    }
}

#[test]
fn parts_cover_long_runs_at_whole_pages() {
    let one_run = plan(&[100_000], &[1], &[1]);
    let parts = one_run.parts(4, 1000, &|_| 0);
    let sizes: Vec<usize> = parts.iter().map(CopyPlan::size).collect();
    assert_eq!(sizes, [28672, 28672, 28672, 13984]);
}

#[test]
fn parts_of_a_transpose_begin_at_whole_lines() {
    let transpose = plan(&[2700, 3000], &[3000, 1], &[1, 2700]);
    for (wanted, each) in [(1, 3000), (2, 1536), (16, 192), (128, 32), (1000, 4)] {
        let parts = transpose.clone().parts(wanted, 1, &|_| 1);
        let starts: Vec<isize> = parts.iter().map(|part| part.dst_start).collect();
        let expected: Vec<isize> = (0..3000).step_by(each).collect();
        assert_eq!(starts, expected, "{wanted} parts");
    }
}

proptest! {
    #[test]
    fn every_pair_is_visited_once((dst, src) in layout_pairs()) {
        let expected = displacements(&dst).into_iter().zip(displacements(&src)).collect();
        let found = CopyPlan::new(&dst, &src).map_or(vec![], |plan| pairs(&plan));
        prop_assert_eq!(sorted(found), sorted(expected));
    }

    #[test]
    fn steps_are_the_pairs_in_order((dst, src) in layout_pairs()) {
        let Some(plan) = CopyPlan::new(&dst, &src) else { return Ok(()) };
        let mut found = vec![];
        for_each_step(&plan.loops, |dst, src| {
            found.push(((plan.dst_start + dst) as i128, (plan.src_start + src) as i128));
        });
        prop_assert_eq!(&found, &pairs(&plan));
        if plan.is_ascending() {
            prop_assert!(found.windows(2).all(|pair| pair[0].0 < pair[1].0));
        }
        let dense = plan.dense_target_loops();
        let run: usize = plan.loops[plan.loops.len() - dense..].iter().map(|axis| axis.count).product();
        for run in found.chunks(run) {
            prop_assert!(run.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0));
        }
    }

    #[test]
    fn tiles_and_parts_have_the_pairs_of_their_plan(
        (dst, src) in layout_pairs(),
        itemsize in prop::sample::select(vec![1_usize, 4, 16]),
        (wanted, min_size) in (1_usize..12, 1_usize..9),
    ) {
        let Some(plan) = CopyPlan::new(&dst, &src) else { return Ok(()) };
        let expected = sorted(pairs(&plan));
        if let Some(tiles) = Tiles::new(&plan, itemsize, wanted) {
            let loops = tiles.outer.iter().chain(tiles.across.iter()).chain(tiles.along.iter());
            prop_assert_eq!(&sorted(pairs_of((tiles.dst_start, tiles.src_start), loops)), &expected);
            for (group, side) in [(&tiles.across, Side::Source), (&tiles.along, Side::Target)] {
                let strides: Vec<_> = group.iter().map(|axis| (axis.stride(side), axis.count as isize)).collect();
                prop_assert!(strides.windows(2).all(|pair| pair[0].0 == pair[1].0 * pair[1].1));
                prop_assert!(strides.last().expect("not empty").0 > 0);
            }
        }
        if let Some([first, second]) = plan.halves(Side::Source) {
            prop_assert_eq!(&sorted([pairs(&first), pairs(&second)].concat()), &expected);
        }
        if let Some(steps) = plan.steps(Side::Target) {
            prop_assert_eq!(&sorted(steps.iter().flat_map(pairs).collect()), &expected);
        }
        for order in [Side::Source, Side::Target] {
            let packed_parts = plan.clone().packed_parts(order, min_size);
            let mut through = Vec::new();
            for part in &packed_parts {
                let (pack, unpack) = part.through_packed(order);
                prop_assert!(packed_parts.len() == 1 || pack.size() <= min_size.max(1));
                let source_of: std::collections::HashMap<i128, i128> = pairs(&pack).into_iter().collect();
                prop_assert_eq!(source_of.len(), pack.size());
                prop_assert!(source_of.keys().all(|&at| 0 <= at && at < pack.size() as i128));
                through.extend(pairs(&unpack).into_iter().map(|(dst, at)| (dst, source_of[&at])));
            }
            prop_assert_eq!(&sorted(through), &expected);
        }
        let backwards = plan.clone().reversed();
        prop_assert_eq!(&sorted(pairs(&backwards)), &expected);
        for (axis, (before, after)) in plan.loops.iter().zip(backwards.loops.iter()).enumerate() {
            let is_dense_row = axis + 1 == plan.loops.len() && (before.dst, before.src) == (1, 1);
            let sign = if is_dense_row { 1 } else { -1 };
            prop_assert_eq!(*after, Loop { count: before.count, dst: sign * before.dst, src: sign * before.src });
        }
        let inside = min_size % 3;
        let upwards = plan.clone().upwards_in_source(inside);
        prop_assert_eq!(&sorted(pairs(&upwards)), &expected);
        for (i, (before, after)) in plan.loops.iter().zip(upwards.loops.iter()).rev().enumerate() {
            let up = if i >= inside { before.src.abs() } else { before.src };
            prop_assert_eq!((after.count, after.src), (before.count, up));
        }
        let parts = plan.clone().parts(wanted, min_size, &|_| 0);
        prop_assert_eq!(&sorted(parts.iter().flat_map(pairs).collect()), &expected);
        // No two parts write the same element.
        let mut spans: Vec<_> = parts.iter().map(|part| part.span(Side::Target)).collect();
        spans.sort_by_key(|span| span.start);
        prop_assert!(spans.windows(2).all(|pair| pair[0].end <= pair[1].start));
    }

    #[test]
    fn pieces_have_the_pairs_of_their_plan(
        (dst, src) in layout_pairs(),
        // Elements so large that small plans have several pieces.
        itemsize in prop::sample::select(vec![4_usize, 1 << 15, 1 << 18, 1 << 20, 1 << 24]),
    ) {
        let Some(plan) = CopyPlan::new(&dst, &src) else { return Ok(()) };
        let expected = sorted(pairs(&plan));
        let has_all = |pieces: &[CopyPlan]| sorted(pieces.iter().flat_map(pairs).collect()) == expected;
        for side in [Side::Target, Side::Source] {
            let spans = plan.clone().span_pieces(side, itemsize);
            prop_assert!(has_all(&spans));
            for piece in &spans {
                prop_assert!(piece.span(side).len() * itemsize <= SPAN_BYTES || piece.halves(side).is_none());
            }
            // What is packed lies in the order of the other side.
            let order = if side == Side::Source { Side::Target } else { Side::Source };
            if let Some(packed) = plan.packed_pieces(side, itemsize) {
                prop_assert!(has_all(&packed));
                for piece in packed {
                    let (pack, _) = piece.through_packed(order);
                    prop_assert!(pack.size() == 1 || pack.size() * itemsize <= LARGE_PACKED_BYTES);
                }
            }
        }
        prop_assert!(has_all(&plan.pieces_through_host(itemsize)));
    }

    #[test]
    fn parts_along_any_loop_have_the_pairs_of_their_plan((dst, src) in layout_pairs(), along in any::<usize>(), wanted in 1_usize..12) {
        let Some(plan) = CopyPlan::new(&dst, &src) else { return Ok(()) };
        let parts = plan.clone().parts(wanted, 1, &|plan| along % plan.loops.len());
        let found: Pairs = parts.iter().flat_map(pairs).collect();
        prop_assert_eq!(&sorted(found.clone()), &sorted(pairs(&plan)));
        if parts.len() > 1 {
            // Several parts only where every element of the target is in one of them.
            for (i, part) in parts.iter().enumerate() {
                let others = parts.iter().enumerate().filter(|&(j, _)| j != i).flat_map(|(_, other)| pairs(other));
                let others: std::collections::HashSet<i128> = others.map(|(dst, _)| dst).collect();
                prop_assert!(pairs(part).iter().all(|(dst, _)| !others.contains(dst)));
            }
        }
    }

    #[test]
    fn spans_reach_from_the_lowest_to_the_highest((dst, src) in layout_pairs()) {
        let Some(plan) = CopyPlan::new(&dst, &src) else { return Ok(()) };
        for (side, layout) in [(Side::Target, &dst), (Side::Source, &src)] {
            let all = displacements(layout);
            let span = plan.span(side);
            prop_assert_eq!(Some(&(span.start as i128)), all.iter().min());
            prop_assert_eq!(Some(&(span.end as i128 - 1)), all.iter().max());
        }
    }
}
