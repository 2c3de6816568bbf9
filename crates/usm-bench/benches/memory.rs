//! Allocation directly, from a pool and with an adaptor; pointer queries; contiguous and strided copies: on every backend and kind.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use usm_array::{Dtype, SliceItem, UsmArray};
use usm_memory::resource::{DirectResource, PoolOptions, PoolResource, StatisticsResource};
use usm_memory::{MemoryResource, UsmBuffer};

const BACKWARDS: SliceItem = SliceItem::Slice { start: None, stop: None, step: -1 };
const EVERY_OTHER: SliceItem = SliceItem::Slice { start: None, stop: None, step: 2 };

fn resources() -> [(&'static str, Arc<dyn MemoryResource>); 3] {
    let pool = || Arc::new(PoolResource::new(Arc::new(DirectResource), PoolOptions::new()));
    [
        ("direct", Arc::new(DirectResource)),
        ("pool", pool()),
        ("statistics over a pool", Arc::new(StatisticsResource::new(pool()))),
    ]
}

fn allocate(c: &mut Criterion) {
    let mut group = c.benchmark_group("allocate and drop");
    for (place, queue, kind) in usm_bench::places() {
        for (name, resource) in resources() {
            for bytes in [64_usize, 4096, 1 << 20, 64 << 20] {
                group.bench_function(BenchmarkId::new(format!("{place}/{name}"), bytes), |b| {
                    b.iter(|| black_box(UsmBuffer::allocate_in(&*resource, &queue, kind, bytes).unwrap()));
                });
            }
        }
    }
}

fn query(c: &mut Criterion) {
    let mut group = c.benchmark_group("pointer query");
    for (name, queue, kind) in usm_bench::places() {
        let block = queue.allocate(kind, 4096).unwrap();
        group.bench_function(name, |b| b.iter(|| queue.context().pointer_info(black_box(block.address()))));
    }
}

fn copy(c: &mut Criterion) {
    let mut group = c.benchmark_group("copy from the host");
    for (name, queue, kind) in usm_bench::places() {
        for bytes in [4096_usize, 16 << 20] {
            let source = vec![1; bytes];
            let target = UsmBuffer::allocate(&queue, kind, bytes).unwrap();
            group.throughput(Throughput::Bytes(bytes as u64));
            group.bench_function(BenchmarkId::new(&name, bytes), |b| {
                b.iter(|| target.copy_from_host(black_box(&source), 0).unwrap());
            });
        }
    }
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

criterion_group!(benches, allocate, query, copy, strided_copies);
criterion_main!(benches);
