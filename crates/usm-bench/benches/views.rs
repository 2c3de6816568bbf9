//! Views, some beside those of ndarray with a dynamic number of dimensions; the interface; overlaps.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use ndarray::{ArcArray, ArrayD, ArrayViewD, IxDyn, SliceInfo, SliceInfoElem};
use usm_array::{Dtype, Layout, Order, Overlap, SliceItem, StridedBytes, UsmArray};

const SHAPE: [usize; 3] = [64, 65, 66];

/// `a[::-1, 1:-1, ::2]`
const ITEMS: [SliceItem; 3] = [
    SliceItem::Slice { start: None, stop: None, step: -1 },
    SliceItem::Slice { start: Some(1), stop: Some(-1), step: 1 },
    SliceItem::Slice { start: None, stop: None, step: 2 },
];

fn slice_of_three_axes(c: &mut Criterion) {
    let (_, queue, kind) = usm_bench::places().swap_remove(0);
    let array = UsmArray::zeros(&queue, kind, &SHAPE, Dtype::F64).unwrap();
    let items = [(0, None, -1), (1, Some(-1), 1), (0, None, 2)];
    let items = items.map(|(start, end, step)| SliceInfoElem::Slice { start, end, step });
    let info = SliceInfo::<_, IxDyn, IxDyn>::try_from(&items[..]).unwrap();
    let theirs = ArrayD::<f64>::zeros(IxDyn(&SHAPE));
    let theirs_shared: ArcArray<f64, IxDyn> = theirs.to_shared();
    let theirs: ArrayViewD<'_, f64> = theirs.view();

    let mut group = c.benchmark_group("a[::-1, 1:-1, ::2], 3 axes");
    group.bench_function("Layout::slice", |b| {
        b.iter(|| black_box(array.layout()).slice(black_box(&ITEMS)).unwrap())
    });
    group.bench_function("UsmArray::slice", |b| {
        b.iter(|| black_box(&array).slice(black_box(&ITEMS)).unwrap())
    });
    group.bench_function("ndarray ArrayViewD::slice", |b| {
        b.iter(|| black_box(&theirs).slice(black_box(info.as_ref())))
    });
    group.bench_function("ndarray ArcArray::slice_move", |b| {
        b.iter(|| black_box(&theirs_shared).clone().slice_move(black_box(info.as_ref())))
    });
}

fn other_views(c: &mut Criterion) {
    let (_, queue, kind) = usm_bench::places().swap_remove(0);
    let array = UsmArray::zeros(&queue, kind, &SHAPE, Dtype::F64).unwrap();
    let row = array.slice(&[SliceItem::Index(0), SliceItem::Index(0)]).unwrap();
    let mut group = c.benchmark_group("views of 3 axes");
    group.bench_function("reshape_view", |b| {
        b.iter(|| black_box(&array).reshape_view(black_box(&[8, 8, -1]), Order::C).unwrap())
    });
    group.bench_function("permute", |b| b.iter(|| black_box(&array).permute(black_box(&[2, 0, 1])).unwrap()));
    group.bench_function("broadcast_to", |b| {
        b.iter(|| black_box(&row).broadcast_to(black_box(&SHAPE)).unwrap())
    });
    group.bench_function("expand_dims", |b| {
        b.iter(|| black_box(&array).expand_dims(black_box(&[0])).unwrap())
    });
    group.bench_function("flip", |b| b.iter(|| black_box(&array).flip(black_box(None)).unwrap()));
}

fn views(c: &mut Criterion) {
    let (_, queue, kind) = usm_bench::places().swap_remove(0);
    let array = UsmArray::empty(&queue, kind, &[100, 100], Dtype::F64).unwrap();
    let mut group = c.benchmark_group("views");
    group.bench_function("a[::-1]", |b| b.iter(|| array.slice(black_box(&[ITEMS[0]])).unwrap()));
    group.bench_function("a[3]", |b| b.iter(|| array.slice(black_box(&[SliceItem::Index(3)])).unwrap()));
    group.bench_function("a.T", |b| b.iter(|| black_box(&array).transpose()));
    group.bench_function("interface", |b| b.iter(|| black_box(&array).interface()));
    let interface = array.interface().unwrap();
    group.bench_function("validate", |b| b.iter(|| black_box(&interface).validate().unwrap()));
}

fn overlaps(c: &mut Criterion) {
    let layout = |shape: &[usize], strides: &[isize], offset| {
        Layout::new(shape, Some(strides), offset, Order::C).unwrap()
    };
    let even = layout(&[64, 65, 66], &[65 * 132, 132, 2], 0);
    let odd = even.with_offset(1).unwrap();
    let strides: Vec<isize> = (0..20).map(|k: isize| (1 << 40) + k * k * k * 7919 + 14 * k).collect();
    let hard = layout(&[3; 20], &strides, 0);
    let bytes = |layout| StridedBytes { layout, itemsize_bytes: 8, address: 0 };
    let limit = Overlap::DEFAULT_WORK_LIMIT;
    let mut group = c.benchmark_group("overlap");
    group.bench_function("a[..., ::2] and a[..., 1::2]", |b| {
        b.iter(|| Overlap::between(black_box(bytes(&even)), black_box(bytes(&odd)), limit))
    });
    group.bench_function("internal, hardest up to the limit", |b| {
        b.iter(|| black_box(&hard).internal_overlap(limit))
    });
}

criterion_group!(benches, views, slice_of_three_axes, other_views, overlaps);
criterion_main!(benches);
