//! Allocation while very many buffers are live, and the memory they take.

use std::hint::black_box;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use usm_memory::resource::{DirectResource, PoolOptions, PoolResource};
use usm_memory::usm_core::UsmKind;
use usm_memory::{MemoryResource, UsmBuffer};

use super::contender::{Case, Contender, OURS, Run, Stage, queue};
use super::serve::Server;

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

/// One buffer goes, whichever it is, and another one of another size takes its place.
fn replace<'a>(count: usize) -> Contender<'a> {
    let queue = queue();
    let pool: Arc<dyn MemoryResource> =
        Arc::new(PoolResource::new(Arc::new(DirectResource), PoolOptions::new()));
    let mut random = Random(1);
    let new = move |random: &mut Random| {
        UsmBuffer::allocate_in(&*pool, &queue, UsmKind::Shared, random.bytes()).unwrap()
    };
    let mut live: Vec<UsmBuffer> = (0..count).map(|_| new(&mut random)).collect();
    Contender::timed(OURS, move || {
        let index = random.below(count);
        live[index] = new(&mut random);
    })
}

/// The same by the C library, whose blocks have their records in front of them.
fn replace_by_malloc<'a>(count: usize) -> Contender<'a> {
    let mut random = Random(1);
    let new = |random: &mut Random| {
        let block = unsafe { libc::malloc(random.bytes()) };
        assert!(!block.is_null(), "malloc has no memory");
        CBlock(block)
    };
    let mut live: Vec<CBlock> = (0..count).map(|_| new(&mut random)).collect();
    Contender::timed("malloc", move || {
        let index = random.below(count);
        live[index] = new(&mut random);
    })
}

/// The least that takes part in it where records do not lie in the blocks: one record for each handle, in one piece, and a list of free
/// ones for each size. No lock, no statistics, no slabs, no memory.
fn replace_by_hand<'a>(count: usize) -> Contender<'a> {
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

/// The same without memory: what the loop and its vector take themselves.
fn replace_nothing<'a>(count: usize) -> Contender<'a> {
    let mut random = Random(1);
    let mut live: Vec<[usize; 2]> = (0..count).map(|_| [random.bytes(); 2]).collect();
    Contender::timed("no memory", move || {
        let index = random.below(count);
        black_box(std::mem::replace(&mut live[index], [random.bytes(); 2]));
    })
}

/// A block of the C library.
struct CBlock(*mut libc::c_void);

impl Drop for CBlock {
    fn drop(&mut self) {
        unsafe { libc::free(self.0) };
    }
}

/// Resident bytes of a process full of buffers for each byte asked for, by the example `resident`.
fn resident() -> Result<f64, String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let example: PathBuf = this.with_file_name("resident");
    let output = Command::new(&example).args(["sycl", "1000000", "6"]).output();
    let output = output.map_err(|error| format!("{}: {error}", example.display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let number = text.split("resident ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
    number.ok_or_else(|| format!("the example `resident` said: {text}"))
}

pub(crate) fn all(stage: &Server) {
    // Each in a case of its own, since it would find the caches full of another's million.
    let replacing = |series: &str, contender: fn(usize) -> Contender<'static>| {
        for count in [100, 10_000, 1_000_000_usize] {
            let name = format!("live/{series}/{count}");
            let case = Case::new(&name, 0).at(count as f64).long_if(count > 10_000).over_processes();
            stage.case(&case, || vec![contender(count)]);
        }
    };
    replacing("replace one of many", replace);
    replacing("the same by malloc", replace_by_malloc);
    replacing("the same with records by hand", replace_by_hand);
    replacing("the same with no memory", replace_nothing);
    let case = Case { unit: "×", ..Case::new("live/resident bytes for each byte asked for", 0) };
    stage.case(&case.long_if(true), || {
        vec![match resident() {
            Ok(first) => {
                // Measured anew each time, the first one is not lost.
                let mut first = Some(first);
                let value = move || first.take().or_else(|| resident().ok()).unwrap_or(f64::NAN);
                Contender { name: OURS, run: Run::Value(Box::new(value)) }
            }
            Err(reason) => Contender::missing(OURS, reason),
        }]
    });
}
