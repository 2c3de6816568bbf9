//! Copies of ever more bytes, and of equal bytes in ever more axes.

use usm_array::usm_core::{Queue, UsmKind};
use usm_array::{Casting, Dtype, Order, SliceItem, UsmArray};

use super::copies::{HALF, TRIM};
use super::loops::Transpose;
use super::stage::{Case, Contender, OURS, Stage, queue};

/// Loops that are not tuned for each size, as those of a limit are.
const BY_HAND: &str = "loop by hand";

/// Written once: pages that never were are one page of zeros, which any cache holds.
fn array(queue: &Queue, shape: &[usize], dtype: Dtype) -> UsmArray {
    match dtype {
        Dtype::U8 => UsmArray::full(queue, UsmKind::Shared, shape, 1_u8),
        Dtype::F32 => UsmArray::full(queue, UsmKind::Shared, shape, 1.0_f32),
        _ => UsmArray::full(queue, UsmKind::Shared, shape, 1.0_f64),
    }
    .unwrap()
}

/// Target and source of a copy, of which the target has `bytes` bytes, or nearly.
fn operands(queue: &Queue, series: &str, bytes: usize) -> (UsmArray, UsmArray) {
    let numbers = bytes / 8;
    // 1 MiB and each fourfold: twice as many rows and columns.
    let side = numbers.isqrt();
    let (rows, columns) = (numbers / side, side);
    let matrix = |rows, columns| array(queue, &[rows, columns], Dtype::F64);
    match series {
        "contiguous u1" => (array(queue, &[bytes], Dtype::U8), array(queue, &[bytes], Dtype::U8)),
        "a[::2] f8" => {
            let all = array(queue, &[2 * numbers], Dtype::F64);
            (array(queue, &[numbers], Dtype::F64), all.slice(&[HALF]).unwrap())
        }
        "transpose f8" => (matrix(columns, rows), matrix(rows, columns).transpose()),
        "a[1:-1, 1:-1] f8" => {
            let trimmed = matrix(rows + 2, columns + 2).slice(&[TRIM, TRIM]).unwrap();
            (matrix(rows, columns), trimmed)
        }
        "row into a matrix f8" => (matrix(rows, columns), array(queue, &[columns], Dtype::F64)),
        _ => (array(queue, &[numbers], Dtype::F64), array(queue, &[numbers], Dtype::F32)),
    }
}

/// The best of some loops by hand for a transpose of numbers.
fn transpose_by_hand(dst: &UsmArray, src: &UsmArray) -> Contender {
    let (&[columns, rows], to, from) = (dst.shape(), dst.address(), src.buffer().address()) else {
        return Contender::missing(BY_HAND, "no matrix");
    };
    let loops = Transpose::of(rows, columns).loops(&[32, 64], 8, to, from, vec![(0, 0)]);
    Contender::fastest(BY_HAND, loops)
}

/// Bytes that can be had without swapping.
fn available_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<usize>().ok()).map_or(0, |kib| kib << 10)
}

pub(crate) fn all(stage: &Stage) {
    let series = [
        "contiguous u1",
        "a[::2] f8",
        "transpose f8",
        "a[1:-1, 1:-1] f8",
        "row into a matrix f8",
        "cast f4 to f8",
    ];
    for series in series {
        for mib in [1_usize, 4, 16, 64, 256, 1024, 4096] {
            let bytes = mib << 20;
            let case = Case::new(format!("bytes/{series}/{mib} MiB")).long_if(mib > 16);
            stage.case(Case { x: Some(bytes as f64), bytes, ..case }, || {
                // The source of a[::2] is twice as long as the result.
                let (needed, there) = (3 * bytes + bytes / 4, available_bytes());
                if needed > there {
                    let reason = format!("{} MiB of memory are needed, {} free", needed >> 20, there >> 20);
                    return vec![Contender::missing(OURS, reason)];
                }
                let (dst, src) = operands(&queue(), series, bytes);
                let by_hand = (series == "transpose f8").then(|| transpose_by_hand(&dst, &src));
                let ours = Contender::timed(OURS, move || dst.assign_cast(&src, Casting::Unsafe).unwrap());
                [ours].into_iter().chain(by_hand).collect()
            });
        }
    }
    (1..=8).for_each(|rank| of_rank(stage, rank));
}

/// `a[..., ::2]` of 32 MiB: whatever the rank, the axes before merge into one. Beside it the same copy of the same memory as one axis.
fn of_rank(stage: &Stage, rank: usize) {
    let numbers = 4 << 20;
    let case = Case::new(format!("rank/a[..., ::2] f8/{rank}"));
    stage.case(Case { x: Some(rank as f64), bytes: 8 * numbers, ..case }, || {
        let mut shape = vec![4_isize; rank - 1];
        shape.push(-1);
        let mut items = vec![SliceItem::FULL; rank - 1];
        items.push(HALF);
        let [all, half] = [2 * numbers, numbers].map(|len| array(&queue(), &[len], Dtype::F64));
        let one_axis = (half.clone(), all.slice(&[HALF]).unwrap());
        let axes = |array: &UsmArray| array.reshape_view(&shape, Order::C).unwrap();
        let (dst, src) = (axes(&half), axes(&all).slice(&items).unwrap());
        vec![
            Contender::timed(OURS, move || dst.assign(&src).unwrap()),
            Contender::timed("one axis", move || one_axis.0.assign(&one_axis.1).unwrap()),
        ]
    });
}
