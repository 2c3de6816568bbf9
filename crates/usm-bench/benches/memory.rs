//! Allocation, pointer queries and contiguous copies, on every backend and kind.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use usm_memory::UsmBuffer;

fn allocate(c: &mut Criterion) {
    let mut group = c.benchmark_group("allocate and free");
    for (name, queue, kind) in usm_bench::places() {
        for bytes in [64_usize, 4096, 1 << 20] {
            group.bench_function(BenchmarkId::new(&name, bytes), |b| {
                b.iter(|| black_box(queue.allocate(kind, bytes).unwrap()));
            });
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

criterion_group!(benches, allocate, query, copy);
criterion_main!(benches);
