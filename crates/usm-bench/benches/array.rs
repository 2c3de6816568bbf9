//! Layouts, views, the interface and strided copies.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use usm_array::{Dtype, SliceItem, UsmArray};

const BACKWARDS: SliceItem = SliceItem::Slice { start: None, stop: None, step: -1 };
const EVERY_OTHER: SliceItem = SliceItem::Slice { start: None, stop: None, step: 2 };

fn views(c: &mut Criterion) {
    let (_, queue, kind) = usm_bench::places().swap_remove(0);
    let array = UsmArray::empty(&queue, kind, &[100, 100], Dtype::F64).unwrap();
    let mut group = c.benchmark_group("views");
    group.bench_function("a[::-1]", |b| b.iter(|| array.slice(black_box(&[BACKWARDS])).unwrap()));
    group.bench_function("a[3]", |b| b.iter(|| array.slice(black_box(&[SliceItem::Index(3)])).unwrap()));
    group.bench_function("a.T", |b| b.iter(|| black_box(&array).transpose()));
    group.bench_function("interface", |b| b.iter(|| black_box(&array).interface()));
    let interface = array.interface().unwrap();
    group.bench_function("validate", |b| b.iter(|| black_box(&interface).validate().unwrap()));
}

fn strided_copies(c: &mut Criterion) {
    let side = 2048_usize;
    for (name, queue, kind) in usm_bench::places() {
        let array = UsmArray::zeros(&queue, kind, &[side, side], Dtype::F64).unwrap();
        let mut group = c.benchmark_group("strided copy to the host");
        for (case, view) in [
            ("a", array.clone()),
            ("a[:, ::2]", array.slice(&[SliceItem::FULL, EVERY_OTHER]).unwrap()),
            ("a[::-1, ::-1]", array.slice(&[BACKWARDS, BACKWARDS]).unwrap()),
            ("a.T", array.transpose()),
        ] {
            let mut bytes = vec![0; view.size_bytes()];
            group.throughput(Throughput::Bytes(bytes.len() as u64));
            group.bench_function(BenchmarkId::new(case, &name), |b| {
                b.iter(|| view.copy_to_host_contiguous(&mut bytes).unwrap());
            });
        }
    }
}

criterion_group!(benches, views, strided_copies);
criterion_main!(benches);
