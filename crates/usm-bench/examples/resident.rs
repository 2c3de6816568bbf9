//! Resident memory of a million live buffers of mixed sizes from a pool, against the bytes asked for, after any order of frees.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss)]

use std::sync::Arc;
use std::time::Instant;

use usm_memory::UsmBuffer;
use usm_memory::resource::{DirectResource, PoolOptions, PoolResource};
use usm_memory::usm_core::UsmKind;

fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    1024 * line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap()
}

fn main() {
    let count: usize = std::env::args().nth(1).map_or(1_000_000, |count| count.parse().unwrap());
    for (place, queue) in usm_bench::queues() {
        let pool = PoolResource::new(Arc::new(DirectResource), PoolOptions::new());
        let mut state = 1_u64;
        let mut random = |end: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as usize % end
        };
        let mut live: Vec<UsmBuffer> = Vec::with_capacity(count);
        let (before, mut asked_bytes, mut seconds) = (resident_bytes(), 0, 0.0);
        for round in 0..2 * count {
            // 64 B to 4 KiB, each doubling as likely as the others.
            let low = 64 << random(6);
            let len_bytes = low + random(low) + 1;
            let start = Instant::now();
            let buffer = UsmBuffer::allocate_in(&pool, &queue, UsmKind::Host, len_bytes).unwrap();
            seconds += start.elapsed().as_secs_f64();
            buffer.write_range(0..len_bytes).unwrap().as_mut_slice().unwrap().fill(1);
            asked_bytes += len_bytes;
            if round < count {
                live.push(buffer);
            } else {
                let index = random(count);
                asked_bytes -= live[index].len_bytes();
                live[index] = buffer;
            }
        }
        let (resident, slabs) = (resident_bytes() - before, pool.statistics().slab_bytes);
        println!(
            "{place}: {count} buffers, {asked_bytes} bytes asked for, slabs {:.3}, resident {:.3} of that, {:.0} ns an allocation",
            slabs as f64 / asked_bytes as f64,
            resident as f64 / asked_bytes as f64,
            1e9 * seconds / (2 * count) as f64
        );
    }
}
