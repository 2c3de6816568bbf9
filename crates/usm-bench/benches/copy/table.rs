//! The table of the copies' ratios, and what small copies and device memory cost.

use std::sync::atomic::Ordering;

use usm_array::usm_core::UsmKind;
use usm_array::{Casting, Dtype, SliceItem, UsmArray};

use super::cases::{self, Bench, Loop, Sink, fill};
use super::limit;

const HALF: SliceItem = SliceItem::Slice { start: None, stop: None, step: 2 };

type Run<'a> = Box<dyn FnMut() + 'a>;

struct Table {
    filter: Vec<String>,
    rounds: usize,
    clock: libc::clockid_t,
}

/// Seconds on a clock: those of the wall, or those that the processor worked for this thread.
fn seconds(clock: libc::clockid_t) -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(clock, &mut now) };
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

impl Sink for Table {
    fn wants(&self, name: &str) -> bool {
        self.filter.is_empty() || self.filter.iter().any(|filter| name.contains(filter))
    }

    /// Runs all in turn and prints the medians. The first one is ours, the second one a contiguous copy of as much.
    fn copy(&self, name: &str, dst: &UsmArray, src: &UsmArray, loops: Vec<Loop<'_>>) {
        let result_bytes = dst.size_bytes();
        let from = src.buffer().address();
        let new = || UsmArray::empty(dst.queue(), UsmKind::Shared, &[result_bytes], Dtype::U8).unwrap();
        let (spare, spare_from) = (new(), new());
        fill(&spare);
        fill(&spare_from);
        let to = spare.address();
        let mut runs: Vec<Run<'_>> = vec![
            Box::new(|| dst.assign_cast(src, Casting::Unsafe).unwrap()),
            Box::new(|| spare.assign(&spare_from).unwrap()),
        ];
        for run in loops {
            runs.push(Box::new(move || run(to, from)));
        }
        let mut times = vec![vec![]; runs.len()];
        for round in 0..=self.rounds {
            for (run, times) in runs.iter_mut().zip(&mut times) {
                let start = seconds(self.clock);
                run();
                if round > 0 {
                    times.push(seconds(self.clock) - start);
                }
            }
        }
        let medians: Vec<f64> = times.into_iter().map(median).collect();
        let limits = medians[2..].iter().copied().enumerate();
        let (best, limit) = limits.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        println!(
            "{name:34} {:8.3} ms {:6.1} GB/s  {:5.2} x limit (loop {best})  {:5.2} x contiguous",
            medians[0] * 1e3,
            result_bytes as f64 / medians[0] / 1e9,
            medians[0] / limit,
            medians[0] / medians[1],
        );
    }
}

pub(crate) fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let rounds = std::env::var("ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(15);
    // On a busy machine: one thread, and its own time.
    let busy = std::env::var_os("ONE_THREAD").is_some();
    let clock = if busy { libc::CLOCK_THREAD_CPUTIME_ID } else { libc::CLOCK_MONOTONIC };
    if busy {
        usm_array::set_num_threads(1);
        limit::ONE_THREAD.store(true, Ordering::Relaxed);
    }
    let (_, queue) = usm_bench::queues().into_iter().find(|(name, _)| *name == "host").unwrap();
    let table = Table { filter: arguments, rounds, clock };
    let bench = Bench { queue, sink: &table };
    cases::all(&bench);
    if table.wants("small") {
        small(&bench, &table);
    }
    if table.wants("device") {
        device();
    }
}

/// What a copy costs that is too small for its bytes to count.
fn small(bench: &Bench<'_>, table: &Table) {
    let time = |name: &str, mut run: Run<'_>| {
        let times = (0..31).map(|_| {
            let start = seconds(table.clock);
            (0..1000).for_each(|_| run());
            seconds(table.clock) - start
        });
        println!("small {name:28} {:8.1} ns", median(times.collect()) * 1e6);
    };
    let a = bench.new_array(&[4, 4], Dtype::F64);
    let b = bench.new_array(&[4, 4], Dtype::F64);
    let turned = a.transpose();
    let page = bench.new_array(&[512], Dtype::F64);
    let mut bytes = vec![0; 4096];
    time("copy (4, 4)", Box::new(|| drop(a.copy().unwrap())));
    time(
        "empty (4, 4)",
        Box::new(|| drop(UsmArray::empty(a.queue(), a.kind(), &[4, 4], Dtype::F64).unwrap())),
    );
    time("assign (4, 4)", Box::new(|| b.assign(&a).unwrap()));
    time("assign (4, 4) transposed", Box::new(|| b.assign(&turned).unwrap()));
    time("to_vec (4, 4)", Box::new(|| drop(a.to_vec::<f64>().unwrap())));
    time("4 KiB to the host", Box::new(|| page.copy_to_host_contiguous(&mut bytes).unwrap()));
}

/// Device memory that host code cannot touch: staged beside contiguous.
fn device() {
    for (name, queue) in usm_bench::queues() {
        let array = UsmArray::zeros(&queue, UsmKind::Device, &[2048, 2048], Dtype::F64).unwrap();
        let mut bytes = vec![0; 32 << 20];
        let mut time = |view: &UsmArray, write: bool| {
            let size = view.size_bytes();
            let times = (0..11).map(|_| {
                let start = seconds(libc::CLOCK_MONOTONIC);
                match write {
                    true => view.copy_from_host_contiguous(&bytes[..size]).unwrap(),
                    false => view.copy_to_host_contiguous(&mut bytes[..size]).unwrap(),
                }
                seconds(libc::CLOCK_MONOTONIC) - start
            });
            size as f64 / median(times.collect()) / 1e9
        };
        for write in [false, true] {
            let whole = time(&array, write);
            let turned = time(&array.transpose(), write);
            let halved = time(&array.slice(&[SliceItem::FULL, HALF]).unwrap(), write);
            let way = if write { "host to device" } else { "device to host" };
            println!(
                "device {name} {way}: {whole:.1} GB/s contiguous, {turned:.1} transposed, {halved:.1} of [:, ::2]"
            );
        }
    }
}
