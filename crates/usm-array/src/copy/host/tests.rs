//! Plans carried out against brute force: all words, casts, streamed or not, in parts or not; nothing else is written

use proptest::prelude::*;

use super::*;
use crate::copy::plan::tests::layout_pairs;
use crate::dtype::Dtype;
use crate::layout::brute_force::displacements;
use crate::layout::{Layout, Order};

/// Writes what `cast` makes of one element.
fn cast_one(cast: Cast, to: &mut [u8], from: &[u8]) {
    match cast.run() {
        None => to.copy_from_slice(from),
        // SAFETY: one element on both sides.
        Some(run) => unsafe { run.call(from.as_ptr(), to.as_mut_ptr(), 1) },
    }
}

/// A layout that starts at the lowest element.
fn from_lowest(layout: &Layout) -> Layout {
    let lowest = layout.extent_with_offset().map_or(0, |extent| extent.min);
    layout.with_offset(layout.offset() - lowest).expect("small")
}

/// Memory for a layout, of arbitrary bytes, some elements longer than needed, and off its alignment by `skew_bytes`.
fn memory(layout: &Layout, dtype: Dtype, skew_bytes: usize, seed: usize) -> Vec<u8> {
    let len = (layout.required_len() + 3) * dtype.itemsize_bytes() + skew_bytes;
    (0..len).map(|i| (((i + seed) * 2_654_435_761) >> 7) as u8).collect()
}

fn check(dst: &Layout, src: &Layout, cast: Cast, stream: bool, skew_bytes: usize, parts: usize) {
    let (dst, src) = (from_lowest(dst), from_lowest(src));
    let (to_bytes, from_bytes) = (cast.dst.itemsize_bytes(), cast.src.itemsize_bytes());
    let source = memory(&src, cast.src, skew_bytes, 1);
    let mut found = memory(&dst, cast.dst, skew_bytes, 2);
    let mut expected = found.clone();
    for (to, from) in displacements(&dst).into_iter().zip(displacements(&src)) {
        let (to, from) = (skew_bytes + to as usize * to_bytes, skew_bytes + from as usize * from_bytes);
        cast_one(cast, &mut expected[to..to + to_bytes], &source[from..from + from_bytes]);
    }
    let Some(plan) = CopyPlan::new(&dst, &src) else { return };
    for part in plan.parts(parts, 1, &|plan| threads::axis_to_cut(plan, cast)) {
        let (to, from) = (found[skew_bytes..].as_mut_ptr(), source[skew_bytes..].as_ptr());
        // SAFETY: both memories were made for these layouts.
        unsafe { execute_part(&part, cast, stream, to, from) };
    }
    assert!(found == expected, "{cast:?} {dst:?} {src:?} stream {stream}, {parts} parts");
}

fn casts() -> impl Strategy<Value = Cast> {
    let dtype = prop::sample::select(&Dtype::ALL[..]);
    let any = (dtype.clone(), dtype.clone()).prop_map(|(src, dst)| Cast::new(src, dst));
    prop_oneof![any, dtype.prop_map(|dtype| Cast::new(dtype, dtype))]
}

/// Targets in which every element has one index, with other sources: small strides, transposes, broadcasts.
fn injective_pairs(sizes: std::ops::Range<usize>) -> impl Strategy<Value = (Layout, Layout)> {
    let axis = (sizes, 1_isize..3, any::<bool>(), -1_isize..4, any::<bool>());
    prop::collection::vec(axis, 0..4).prop_flat_map(|axes| {
        let order: Vec<usize> = (0..axes.len()).collect();
        let orders = (Just(order.clone()).prop_shuffle(), Just(order).prop_shuffle());
        (Just(axes), orders).prop_map(|(axes, (dst_order, src_order))| {
            let shape: Vec<usize> = axes.iter().map(|axis| axis.0).collect();
            let (mut dst, mut src) = (vec![0; shape.len()], vec![0; shape.len()]);
            let mut step = 1;
            for axis in dst_order {
                let (count, gap, backwards, ..) = axes[axis];
                let stride = step * gap;
                dst[axis] = if backwards { -stride } else { stride };
                step = stride * count.max(1) as isize;
            }
            let mut step = 1;
            for axis in src_order {
                let (count, .., gap, backwards) = axes[axis];
                let stride = step * gap.max(0);
                src[axis] = if backwards { -stride } else { stride };
                step = (step * gap.max(1)) * count.max(1) as isize;
            }
            let layout = |strides: &[isize]| {
                Layout::with_automatic_offset(&shape, Some(strides), Order::C).expect("small")
            };
            (layout(&dst), layout(&src))
        })
    })
}

proptest! {
    #[test]
    fn small_copies_equal_brute_force(
        (dst, src) in injective_pairs(0..6),
        cast in casts(),
        (stream, skew_bytes, parts) in (any::<bool>(), 0_usize..4, 1_usize..4),
    ) {
        check(&dst, &src, cast, stream, skew_bytes, parts);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(8)))]

    #[test]
    fn large_copies_equal_brute_force(
        (dst, src) in injective_pairs(1..40),
        cast in casts(),
        (stream, skew_bytes, parts) in (any::<bool>(), 0_usize..4, 1_usize..4),
    ) {
        prop_assume!(dst.size() <= 20_000);
        check(&dst, &src, cast, stream, skew_bytes, parts);
    }
}

/// Every pair of dtypes through rows, tiles and spread targets, longer than any block.
#[test]
fn every_cast_in_every_way() {
    let layout = |shape: &[usize], strides: &[isize]| {
        Layout::with_automatic_offset(shape, Some(strides), Order::C).expect("small")
    };
    let ways = [
        (layout(&[1500], &[1]), layout(&[1500], &[1])),
        (layout(&[1500], &[2]), layout(&[1500], &[-1])),
        (layout(&[1500], &[1]), layout(&[1500], &[0])),
        (layout(&[40, 35], &[35, 1]), layout(&[40, 35], &[1, 40])),
        (layout(&[40, 35], &[105, 3]), layout(&[40, 35], &[2, 80])),
        (layout(&[300, 3], &[3, 1]), layout(&[300, 3], &[4, 1])),
    ];
    for src in Dtype::ALL {
        for dst in Dtype::ALL {
            for (to, from) in &ways {
                for stream in [false, true] {
                    check(to, from, Cast::new(src, dst), stream, 0, 1);
                }
            }
        }
    }
}

/// Sizes around those where something else begins.
#[test]
fn sizes_around_every_threshold() {
    for bytes in [16_usize, 64, 256, 1024, store::BLOCK_BYTES] {
        for dtype in [Dtype::U8, Dtype::U16, Dtype::F32, Dtype::F64, Dtype::C128] {
            for len in [bytes / dtype.itemsize_bytes() - 1, bytes / dtype.itemsize_bytes(), bytes + 1] {
                let dense = Layout::contiguous(&[len], Order::C).expect("small");
                for stride in [-2, -1, 0, 1, 2, 3, 4, 5] {
                    let src =
                        Layout::with_automatic_offset(&[len], Some(&[stride]), Order::C).expect("small");
                    for stream in [false, true] {
                        check(&dense, &src, Cast::new(dtype, dtype), stream, 0, 1);
                    }
                }
            }
        }
    }
}

/// Rows of lengths around those where something else begins, several blocks of them, that go up or down in the source.
#[test]
fn rows_up_and_down_around_every_threshold() {
    let same = [Dtype::U8, Dtype::F64, Dtype::C128].map(|dtype| (dtype, dtype));
    let casts = same.into_iter().chain([(Dtype::F64, Dtype::F32)]);
    for (src, dst) in casts {
        let itemsize = dst.itemsize_bytes();
        let around = [64, 256, 1024, store::BLOCK_BYTES].map(|bytes| bytes / itemsize);
        let lengths = around.into_iter().flat_map(|len| [len - 1, len, len + 1]).chain([1, 2, 3, 5, 11]);
        for len in lengths {
            let rows = (5 * store::BLOCK_BYTES / 2 / itemsize / len).max(3);
            let to = Layout::contiguous(&[2, rows, len], Order::C).unwrap();
            let (row, plane) = ((2 * len + 1).cast_signed(), ((2 * len + 1) * rows + 3).cast_signed());
            for strides in [
                [plane, row, 1],
                [plane, row, 2],
                [plane, -row, 1],
                [-plane, row, 1],
                [-plane, -row, -1],
                [plane, -row, 2],
                [plane, -len.cast_signed(), 1],
            ] {
                let from = Layout::with_automatic_offset(to.shape(), Some(&strides), Order::C).unwrap();
                for (stream, skew_bytes) in [(true, 0), (true, 3), (false, 3)] {
                    check(&to, &from, Cast::new(src, dst), stream, skew_bytes, 1);
                }
            }
        }
    }
}

/// Between planes and rows: every number of planes, rows around the fewest, planes apart and backwards, off their alignment.
#[test]
fn planes_and_rows() {
    use crate::layout::SliceItem;
    let backwards = SliceItem::Slice { start: None, stop: None, step: -1 };
    for dtype in [Dtype::U8, Dtype::I16, Dtype::F32, Dtype::U64] {
        let cast = Cast::new(dtype, dtype);
        #[cfg(target_arch = "x86_64")]
        let blocks = [3, 8].map(|planes| (planes, 2 * narrow::PLANE_BYTES / dtype.itemsize_bytes() + 7));
        #[cfg(not(target_arch = "x86_64"))]
        let blocks = [];
        let few = (2..=9).flat_map(|planes| [63, 64, 83].map(|rows| (planes, rows)));
        for (planes, rows) in few.chain(blocks) {
            let packed = Layout::contiguous(&[2, rows, planes], Order::C).unwrap();
            let wide = Layout::contiguous(&[2, planes, rows + 5], Order::C).unwrap();
            let narrow = SliceItem::Slice { start: Some(3), stop: Some(rows as isize + 3), step: 1 };
            let apart = wide.slice(&[SliceItem::FULL, SliceItem::FULL, narrow]).unwrap();
            let reversed = apart.slice(&[SliceItem::FULL, backwards]).unwrap();
            for apart in [apart, reversed].map(|apart| apart.permute(&[0, 2, 1]).unwrap()) {
                for (stream, skew_bytes) in [(false, 1), (true, 0), (true, 3)] {
                    check(&packed, &apart, cast, stream, skew_bytes, 1);
                    // The rows of one part are several blocks.
                    let parts = if rows > 83 { 1 } else { 3 };
                    check(&apart, &packed, cast, stream, skew_bytes, parts);
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn few_planes_and_many_rows_are_narrow() {
    let is_narrow = |planes, rows| {
        let packed = Layout::contiguous(&[rows, planes], Order::C).unwrap();
        let apart = Layout::contiguous(&[planes, rows], Order::C).unwrap().transpose();
        [(&packed, &apart), (&apart, &packed)].map(|(dst, src)| {
            let plan = CopyPlan::new(dst, src).unwrap();
            let tiles = Tiles::new(&plan, 2, tiles::side(2)).unwrap();
            narrow::Narrow::of::<u16>(&tiles).is_some()
        })
    };
    for (planes, rows, expected) in [(2, 64, true), (8, 500, true), (9, 500, false), (3, 63, false)] {
        assert_eq!(
            is_narrow(planes, rows),
            [expected && bulk::has_avx2(); 2],
            "{planes} planes, {rows} rows"
        );
    }
}

/// Transposes around the ends of squares and of blocks, with a cast and without, streamed or not.
#[test]
fn transposes_around_every_threshold() {
    let same =
        [Dtype::U8, Dtype::U16, Dtype::F32, Dtype::F64, Dtype::C128].map(|dtype| Cast::new(dtype, dtype));
    for cast in same.into_iter().chain([Cast::new(Dtype::F32, Dtype::F64), Cast::new(Dtype::F64, Dtype::U8)])
    {
        let side = tiles::side(cast.src.itemsize_bytes());
        for along in [side - 1, side, side + 1, 2 * side + 9] {
            for across in [9, side + 3] {
                let dst = Layout::contiguous(&[across, along], Order::C).expect("small");
                let src = Layout::contiguous(&[across, along], Order::F).expect("small");
                for (stream, skew_bytes) in [(false, 0), (true, 3)] {
                    check(&dst, &src, cast, stream, skew_bytes, 1);
                }
            }
        }
    }
}

/// Parts are as good for blocks as the whole: short axes stay together.
#[test]
fn parts_keep_their_blocks() {
    for (rank, side) in [(2, 4096), (3, 256), (4, 64), (6, 16), (8, 8)] {
        let layout = Layout::contiguous(&vec![side; rank], Order::C).expect("fits");
        let cast = Cast::new(Dtype::F32, Dtype::F32);
        let plan = CopyPlan::new(&layout, &layout.transpose()).expect("not empty");
        let parts = plan.parts(16, 1, &|plan| threads::axis_to_cut(plan, cast));
        assert!((8..=64).contains(&parts.len()), "rank {rank}: {} parts", parts.len());
        for part in parts {
            let tiles = Tiles::new(&part, 4, tiles::side(4)).expect("transposed");
            for group in [tiles.across, tiles.along] {
                let size: usize = group.iter().map(|axis| axis.count).product();
                assert!(size >= 64, "rank {rank}: {group:?}");
            }
        }
    }
}

/// All of them together: threads, streamed, as large as it takes.
#[test]
fn large_copies_on_threads() {
    let side = 1500;
    let matrix = Layout::contiguous(&[side, side], Order::C).expect("small");
    let size = side * side;
    let source: Vec<u64> = (0..size as u64).collect();
    let mut target = vec![0_u64; size];
    let cast = Cast::new(Dtype::U64, Dtype::U64);
    assert!(size * 8 >= 8 << 20);
    for (view, expected) in [
        (matrix.clone(), (|i, j, side| i * side + j) as fn(usize, usize, usize) -> usize),
        (matrix.transpose(), |i, j, side| j * side + i),
    ] {
        for threads in [1, 2, 0] {
            bulk::set_num_threads(threads);
            target.fill(0);
            let plan = CopyPlan::new(&matrix, &view).expect("not empty");
            // SAFETY: both vectors are as large as the layouts.
            unsafe { execute(plan, cast, target.as_mut_ptr().cast(), source.as_ptr().cast()) };
            for i in 0..side {
                for j in 0..side {
                    assert_eq!(target[i * side + j], expected(i, j, side) as u64);
                }
            }
        }
    }
}

proptest! {
    /// Two arrays of one memory and equal strides, in the order that is safe.
    #[test]
    fn in_order_is_as_if_copied_first((layout, _) in layout_pairs(), shift in -7_isize..8) {
        let layout = from_lowest(&layout);
        let source = layout.with_offset(layout.offset() + 7 + shift).expect("small");
        let target = layout.with_offset(layout.offset() + 7).expect("small");
        let Some(plan) = CopyPlan::new(&target, &source) else { return Ok(()) };
        prop_assume!(plan.is_ascending());
        let mut memory: Vec<u32> = (0..layout.required_len() as u32 + 14).collect();
        let mut expected = memory.clone();
        for (to, from) in displacements(&target).into_iter().zip(displacements(&source)) {
            expected[to as usize] = from as u32;
        }
        let plan = if shift < 0 { plan.reversed() } else { plan };
        let start = memory.as_mut_ptr().cast::<u8>();
        // SAFETY: the memory holds the layout at all of these offsets.
        unsafe { execute_in_order(&plan, 4, start, start) };
        prop_assert_eq!(memory, expected);
    }
}
