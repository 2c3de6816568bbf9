//! Allocation while very many buffers are live, and the memory they take.

use std::process::Command;
use std::sync::Arc;

use usm_memory::resource::{DirectResource, PoolOptions, PoolResource};
use usm_memory::usm_core::UsmKind;
use usm_memory::{MemoryResource, UsmBuffer};

use super::stage::{Case, Contender, OURS, queue};

/// A small generator: the same sizes and the same order in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }

    /// 64 B … 4 KiB, each doubling as likely as the others.
    fn bytes(&mut self) -> usize {
        let low = 64 << self.below(6);
        low + self.below(low) + 1
    }
}

/// One of `count` things goes, whichever it is, and another one of another size takes its place.
fn replacing<T: 'static>(
    name: &'static str,
    count: usize,
    mut new: impl FnMut(usize) -> T + 'static,
) -> Contender {
    let mut random = Random(1);
    let mut live: Vec<T> = (0..count).map(|_| new(random.bytes())).collect();
    Contender::timed(name, move || {
        let index = random.below(count);
        live[index] = new(random.bytes());
    })
}

fn from_a_pool(count: usize) -> Contender {
    let (queue, pool) = (queue(), PoolResource::new(Arc::new(DirectResource), PoolOptions::new()));
    let pool: Arc<dyn MemoryResource> = Arc::new(pool);
    replacing(OURS, count, move |bytes| {
        UsmBuffer::allocate_in(&*pool, &queue, UsmKind::Shared, bytes).unwrap()
    })
}

/// A block of the C library, which has its record in front of it.
struct Block(*mut libc::c_void);

impl Drop for Block {
    fn drop(&mut self) {
        unsafe { libc::free(self.0) };
    }
}

fn by_malloc(count: usize) -> Contender {
    replacing("malloc", count, |bytes| {
        let block = unsafe { libc::malloc(bytes) };
        assert!(!block.is_null(), "malloc has no memory");
        Block(block)
    })
}

/// The least that takes part in it where records do not lie in the blocks: one record for each handle, in one piece, and a list of free
/// ones for each size. No lock, no statistics, no slabs, no memory.
fn by_hand(count: usize) -> Contender {
    /// As large as a record of a pool, 48 bytes.
    #[derive(Default)]
    struct Record {
        holders: u32,
        class: u32,
        _rest: [usize; 5],
    }
    let (mut random, mut records, mut free) = (Random(1), Vec::<Record>::new(), vec![Vec::<u32>::new(); 64]);
    let new = |random: &mut Random, records: &mut Vec<Record>, free: &mut [Vec<u32>]| {
        let len_bytes = random.bytes();
        // Eight classes for each doubling.
        let log = len_bytes.ilog2();
        let class = 8 * (log - 6) + ((len_bytes >> (log - 3)) & 7) as u32;
        let record = free[class as usize].pop().unwrap_or_else(|| {
            records.push(Record::default());
            records.len() as u32 - 1
        });
        records[record as usize] = Record { holders: 1, class, ..Record::default() };
        record
    };
    // As large as a buffer.
    let mut live: Vec<[usize; 2]> =
        (0..count).map(|_| [new(&mut random, &mut records, &mut free) as usize, 0]).collect();
    Contender::timed("records by hand", move || {
        let index = random.below(count);
        let next = new(&mut random, &mut records, &mut free);
        let [old, _] = std::mem::replace(&mut live[index], [next as usize, 0]);
        let old_record = &mut records[old];
        old_record.holders -= 1;
        if old_record.holders == 0 {
            free[old_record.class as usize].push(old as u32);
        }
    })
}

/// Resident bytes of a process full of buffers for each byte asked for: this program with an argument.
fn resident() -> Contender {
    Contender::value(OURS, |_| {
        let program = std::env::current_exe().unwrap();
        let output = Command::new(program).args(["resident", "1000000"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
    })
}

fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    1024 * line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap()
}

/// Prints the resident memory of live buffers of mixed sizes from a pool, for each byte asked for, after frees in any order.
pub(crate) fn print_resident(count: usize) {
    let (queue, pool) = (queue(), PoolResource::new(Arc::new(DirectResource), PoolOptions::new()));
    let allocate = |bytes| UsmBuffer::allocate_in(&pool, &queue, UsmKind::Host, bytes).unwrap();
    let mut random = Random(1);
    let mut live: Vec<UsmBuffer> = Vec::with_capacity(count);
    drop(allocate(1));
    let (before, mut asked_bytes) = (resident_bytes(), 0);
    for round in 0..2 * count {
        let len_bytes = random.bytes();
        let buffer = allocate(len_bytes);
        buffer.write_range(0..len_bytes).unwrap().as_mut_slice().unwrap().fill(1);
        asked_bytes += len_bytes;
        if round < count {
            live.push(buffer);
        } else {
            let index = random.below(count);
            asked_bytes -= live[index].len_bytes();
            live[index] = buffer;
        }
    }
    println!("{:.3}", (resident_bytes() - before) as f64 / asked_bytes as f64);
}

pub(crate) fn cases() -> Vec<Case> {
    type Replacing = fn(usize) -> Contender;
    let series: [(_, Replacing); 3] = [
        ("replace one of many", from_a_pool),
        ("the same by malloc", by_malloc),
        ("the same with records by hand", by_hand),
    ];
    // Each in a case of its own, since it would find the caches full of another's million.
    let by_name = |(series, replacing): (&str, Replacing)| {
        [100, 10_000, 1_000_000_usize].map(|count| {
            let case = Case::new(format!("live/{series}/{count}"), move || vec![replacing(count)]);
            Case { x: Some(count as f64), ..case.long_if(count > 10_000).over_processes() }
        })
    };
    let resident = Case::new("live/resident bytes for each byte asked for", || vec![resident()]);
    let resident = Case { unit: "×", ..resident.long_if(true) };
    series.into_iter().flat_map(by_name).chain([resident]).collect()
}
