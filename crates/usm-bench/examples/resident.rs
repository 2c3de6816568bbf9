//! Resident memory of live buffers of mixed sizes from a pool, against the bytes asked for, after frees in any order.
//!
//! Arguments: the backend (`host`, `sycl`), the number of buffers, and over how many doublings from 64 bytes the sizes go.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss)]

use std::sync::Arc;

use usm_memory::UsmBuffer;
use usm_memory::resource::{DirectResource, PoolOptions, PoolResource};
use usm_memory::usm_core::UsmKind;

fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    1024 * line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap()
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let only = arguments.next().unwrap_or_else(|| "host".to_owned());
    let mut number = |default: usize| arguments.next().map_or(default, |text| text.parse().unwrap());
    let (count, doublings) = (number(1_000_000), number(6));
    for (place, queue) in usm_bench::queues().into_iter().filter(|(place, _)| *place == only) {
        let pool = PoolResource::new(Arc::new(DirectResource), PoolOptions::new());
        let mut state = 1_u64;
        let mut random = |end: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as usize % end
        };
        let mut live: Vec<UsmBuffer> = Vec::with_capacity(count);
        drop(UsmBuffer::allocate_in(&pool, &queue, UsmKind::Host, 1).unwrap());
        let (before, mut asked_bytes) = (resident_bytes(), 0);
        for round in 0..2 * count {
            // From 64 B on, each doubling as likely as the others.
            let low = 64 << random(doublings);
            let len_bytes = low + random(low) + 1;
            let buffer = UsmBuffer::allocate_in(&pool, &queue, UsmKind::Host, len_bytes).unwrap();
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
            "{place}: {count} buffers, {asked_bytes} bytes asked for, slabs {:.3}, resident {:.3} of that",
            slabs as f64 / asked_bytes as f64,
            resident as f64 / asked_bytes as f64
        );
    }
}
