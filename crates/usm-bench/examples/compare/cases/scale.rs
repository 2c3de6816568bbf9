//! Copies of ever more bytes, and of equal bytes in ever more axes.

use usm_array::usm_core::UsmKind;
use usm_array::{Casting, Dtype, Order, SliceItem, UsmArray};

use super::copies::{HALF, TRIM};
use super::loops::Transpose;
use super::stage::{Case, Contender, OURS, queue};

/// Loops that are not tuned for each size, as those of a limit are.
const BY_HAND: &str = "loop by hand";

/// Written once: pages that never were are one page of zeros, which any cache holds.
fn array(shape: &[usize], dtype: Dtype) -> UsmArray {
    let array = UsmArray::empty(&queue(), UsmKind::Shared, shape, dtype).unwrap();
    array.buffer().fill(&[1]).unwrap();
    array
}

/// Target and source of a copy, of which the target has `bytes` bytes, or nearly.
fn operands(series: &str, bytes: usize) -> (UsmArray, UsmArray) {
    let numbers = bytes / 8;
    // 1 MiB and each fourfold: twice as many rows and columns.
    let columns = numbers.isqrt();
    let rows = numbers / columns;
    let f8 = |shape: &[usize]| array(shape, Dtype::F64);
    match series {
        "contiguous u1" => (array(&[bytes], Dtype::U8), array(&[bytes], Dtype::U8)),
        "a[::2] f8" => (f8(&[numbers]), f8(&[2 * numbers]).slice(&[HALF]).unwrap()),
        "transpose f8" => (f8(&[columns, rows]), f8(&[rows, columns]).transpose()),
        "a[1:-1, 1:-1] f8" => {
            (f8(&[rows, columns]), f8(&[rows + 2, columns + 2]).slice(&[TRIM, TRIM]).unwrap())
        }
        "row into a matrix f8" => (f8(&[rows, columns]), f8(&[columns])),
        _ => (f8(&[numbers]), array(&[numbers], Dtype::F32)),
    }
}

/// The best of some loops by hand for a transpose of numbers.
fn transpose_by_hand(dst: &UsmArray, src: &UsmArray) -> Contender {
    let loops = Transpose::of(dst.shape()[1], dst.shape()[0]);
    Contender::fastest(BY_HAND, loops.loops(&[32, 64], 8, dst.address(), src.buffer().address()))
}

/// Bytes that can be had without swapping.
fn available_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<usize>().ok()).map_or(0, |kib| kib << 10)
}

pub(crate) fn cases() -> Vec<Case> {
    let series = [
        "contiguous u1",
        "a[::2] f8",
        "transpose f8",
        "a[1:-1, 1:-1] f8",
        "row into a matrix f8",
        "cast f4 to f8",
    ];
    let sizes = [1, 4, 16, 64, 256, 1024, 4096];
    let of_bytes = series.into_iter().flat_map(|series| sizes.map(|mib| of_bytes(series, mib)));
    of_bytes.chain((1..=8).map(of_rank)).collect()
}

fn of_bytes(series: &'static str, mib: usize) -> Case {
    let bytes = mib << 20;
    let case = Case::new(format!("bytes/{series}/{mib} MiB"), move || {
        // The source of a[::2] is twice as long as the result.
        let (needed, there) = (3 * bytes + bytes / 4, available_bytes());
        if needed > there {
            let reason = format!("{} MiB of memory are needed, {} free", needed >> 20, there >> 20);
            return vec![Contender::missing(OURS, reason)];
        }
        let (dst, src) = operands(series, bytes);
        let by_hand = (series == "transpose f8").then(|| transpose_by_hand(&dst, &src));
        let ours = Contender::timed(OURS, move || dst.assign_cast(&src, Casting::Unsafe).unwrap());
        [ours].into_iter().chain(by_hand).collect()
    });
    Case { x: Some(bytes as f64), bytes, ..case.long_if(mib > 16) }
}

/// `a[..., ::2]` of 32 MiB: whatever the rank, the axes before merge into one. Beside it the same copy of the same memory as one axis.
fn of_rank(rank: usize) -> Case {
    let numbers = 4 << 20;
    let case = Case::new(format!("rank/a[..., ::2] f8/{rank}"), move || {
        let (shape, items) =
            ([vec![4; rank - 1], vec![-1]].concat(), [vec![SliceItem::FULL; rank - 1], vec![HALF]].concat());
        let [all, half] = [2 * numbers, numbers].map(|len| array(&[len], Dtype::F64));
        let one_axis = (half.clone(), all.slice(&[HALF]).unwrap());
        let axes = |array: &UsmArray| array.reshape_view(&shape, Order::C).unwrap();
        let (dst, src) = (axes(&half), axes(&all).slice(&items).unwrap());
        vec![
            Contender::timed(OURS, move || dst.assign(&src).unwrap()),
            Contender::timed("one axis", move || one_axis.0.assign(&one_axis.1).unwrap()),
        ]
    });
    Case { x: Some(rank as f64), bytes: 8 * numbers, ..case }
}
