//! Memory resources: what an allocation costs directly, from a pool and with adaptors, few and very many buffers being live.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use usm_memory::resource::{DirectResource, PoolOptions, PoolResource, StatisticsResource};
use usm_memory::usm_core::{Queue, UsmKind};
use usm_memory::{MemoryResource, UsmBuffer};

type Resource = Arc<dyn MemoryResource>;

fn pool() -> Resource {
    Arc::new(PoolResource::new(Arc::new(DirectResource), PoolOptions::new()))
}

fn resources() -> [(&'static str, Resource); 3] {
    [
        ("direct", Arc::new(DirectResource)),
        ("pool", pool()),
        ("statistics over a pool", Arc::new(StatisticsResource::new(pool()))),
    ]
}

fn one(c: &mut Criterion) {
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

/// A small generator: the same sizes and the same order in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or_default() % end
    }

    /// 64 B … 4 KiB, each doubling as likely as the others.
    fn bytes(&mut self) -> usize {
        let low = 64 << self.below(6);
        low + self.below(low) + 1
    }
}

fn fill(
    resource: &Resource,
    queue: &Queue,
    kind: UsmKind,
    count: usize,
    random: &mut Random,
) -> Vec<UsmBuffer> {
    (0..count).map(|_| UsmBuffer::allocate_in(&**resource, queue, kind, random.bytes()).unwrap()).collect()
}

/// One buffer goes, whichever it is, and another one of another size takes its place.
fn many(c: &mut Criterion) {
    let mut group = c.benchmark_group("replace one of many");
    group.sample_size(20);
    for (place, queue, kind) in
        usm_bench::places().into_iter().filter(|(_, _, kind)| *kind == UsmKind::Shared)
    {
        for count in [100_usize, 10_000, 1_000_000] {
            let (resource, mut random) = (pool(), Random(1));
            let mut live = fill(&resource, &queue, kind, count, &mut random);
            group.bench_function(BenchmarkId::new(format!("{place}/pool"), count), |b| {
                b.iter(|| {
                    let index = random.below(count);
                    live[index] = UsmBuffer::allocate_in(&*resource, &queue, kind, random.bytes()).unwrap();
                });
            });
        }
    }
}

criterion_group!(benches, one, many);
criterion_main!(benches);
