//! Cases of criterion alone, on each kind of memory of each backend: allocation by each memory resource, and pointer queries.

use std::hint::black_box;
use std::sync::Arc;

use usm_memory::resource::{DirectResource, PoolOptions, PoolResource, StatisticsResource};
use usm_memory::{MemoryResource, UsmBuffer};

use super::stage::{Case, Contender, OURS};

fn resources() -> [(&'static str, Arc<dyn MemoryResource>); 3] {
    let pool = || Arc::new(PoolResource::new(Arc::new(DirectResource), PoolOptions::new()));
    [
        ("direct", Arc::new(DirectResource)),
        ("pool", pool()),
        ("statistics over a pool", Arc::new(StatisticsResource::new(pool()))),
    ]
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![];
    for (place, queue, kind) in usm_bench::places() {
        for bytes in [64_usize, 4096, 1 << 20, 64 << 20] {
            let queue = queue.clone();
            cases.push(Case::new(format!("allocate and drop/{place}/{bytes}"), move || {
                let from = |(name, resource): (&'static str, Arc<dyn MemoryResource>)| {
                    let queue = queue.clone();
                    let allocate = move || UsmBuffer::allocate_in(&*resource, &queue, kind, bytes).unwrap();
                    Contender::timed(name, allocate)
                };
                resources().map(from).into()
            }));
        }
        cases.push(Case::new(format!("pointer query/{place}"), move || {
            let (context, block) = (queue.context().clone(), queue.allocate(kind, 4096).unwrap());
            vec![Contender::timed(OURS, move || context.pointer_info(black_box(block.address())))]
        }));
    }
    cases
}
