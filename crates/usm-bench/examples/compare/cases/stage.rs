//! Cases, their contenders, and who runs them: criterion; or the comparison, whose requests come from standard input.
//!
//! Requests are lines, words apart by tabs; each is answered by one line of JSON: `list`; `open CASE`; `run CONTENDER COUNT`, which
//! gives nanoseconds for all of the runs, or a value; `close`.

use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};
use serde_json::{Value, json};
use usm_array::usm_core::Queue;

use super::loops::Loops;

/// The name of our own contender; `usm` alone is the Python package.
pub(crate) const OURS: &str = "usm in Rust";
/// The fastest loop by hand.
pub(crate) const LIMIT: &str = "limit";

/// Gives nanoseconds for so many calls, or a value.
type Run = Box<dyn FnMut(u64) -> f64>;

pub(crate) struct Contender {
    name: &'static str,
    /// The error is the reason why there is nothing to run.
    run: Result<Run, String>,
}

impl Contender {
    pub(crate) fn timed<T>(name: &'static str, mut call: impl FnMut() -> T + 'static) -> Self {
        // One call of the loop for all cases, which no case is inlined into.
        let mut call: Box<dyn FnMut()> = Box::new(move || drop(black_box(call())));
        Self::value(name, move |count| {
            let start = Instant::now();
            for _ in 0..count {
                black_box(&mut call)();
            }
            start.elapsed().as_nanos() as f64
        })
    }

    pub(crate) fn value(name: &'static str, run: impl FnMut(u64) -> f64 + 'static) -> Self {
        Self { name, run: Ok(Box::new(run)) }
    }

    pub(crate) fn missing(name: &'static str, reason: impl Into<String>) -> Self {
        Self { name, run: Err(reason.into()) }
    }

    /// The loop that is fastest here: each runs twice, the four best seven times in turn, and the best median wins.
    pub(crate) fn fastest(name: &'static str, candidates: Loops) -> Self {
        let seconds = |run: &dyn Fn()| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64()
        };
        let mut best: Vec<_> =
            candidates.into_iter().map(|run| (seconds(&run).min(seconds(&run)), run)).collect();
        best.sort_by(|a, b| a.0.total_cmp(&b.0));
        best.truncate(4);
        let mut rounds = vec![vec![]; best.len()];
        for _ in 0..7 {
            rounds.iter_mut().zip(&best).for_each(|(times, (_, run))| times.push(seconds(run)));
        }
        let medians = rounds.into_iter().map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        match medians.zip(best).min_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((_, (_, run))) => Self::timed(name, run),
            None => Self::missing(name, "no loop is written for this case"),
        }
    }

    /// Runs it once, and takes it out if its result is wrong.
    pub(crate) fn checked(mut self, is_right: impl FnOnce() -> bool) -> Self {
        if let Ok(run) = &mut self.run {
            run(1);
            if !is_right() {
                return Self::missing(self.name, "its result is wrong");
            }
        }
        self
    }

    /// The same with an owner of the memory whose address it has.
    pub(crate) fn keeping(self, owner: impl Sized + 'static) -> Self {
        let keep = |mut run: Run| -> Run {
            Box::new(move |count| {
                let _alive = &owner;
                run(count)
            })
        };
        Self { run: self.run.map(keep), ..self }
    }
}

/// The name is `group/case`, or `group/series/x`.
pub(crate) struct Case {
    pub(crate) name: String,
    /// "ns" for times.
    pub(crate) unit: &'static str,
    /// The place on the axis of a series, and the size of the result where it counts.
    pub(crate) x: Option<f64>,
    pub(crate) bytes: usize,
    /// Too long for a quick run.
    pub(crate) long: bool,
    /// By so many processes of each program it is measured, one after the other.
    pub(crate) processes: usize,
    pub(crate) set_up: Box<dyn Fn() -> Vec<Contender>>,
}

impl Case {
    pub(crate) fn new(name: impl Into<String>, set_up: impl Fn() -> Vec<Contender> + 'static) -> Self {
        let set_up = Box::new(set_up);
        Self { name: name.into(), unit: "ns", x: None, bytes: 0, long: false, processes: 1, set_up }
    }

    pub(crate) fn long_if(self, long: bool) -> Self {
        Self { long, ..self }
    }

    /// Where what it takes depends on where code and memory of the process happen to lie.
    pub(crate) fn over_processes(self) -> Self {
        Self { processes: 5, ..self }
    }

    fn described(&self) -> Value {
        json!({
            "case": self.name,
            "bytes": self.bytes,
            "unit": self.unit,
            "x": self.x,
            "long": self.long,
            "processes": self.processes,
            "once": self.unit != "ns",
        })
    }
}

/// Answers requests until there are no more.
pub(crate) fn serve(cases: &[Case]) {
    let mut open: Vec<Contender> = vec![];
    for line in io::stdin().lines().map_while(Result::ok) {
        let answer = match line.split('\t').collect::<Vec<_>>()[..] {
            ["list"] => cases.iter().map(Case::described).collect(),
            ["open", name] => match cases.iter().find(|case| case.name == name) {
                None => json!({ "error": format!("no such case: {name}") }),
                Some(case) => {
                    open = (case.set_up)();
                    let missing = |one: &Contender| one.run.as_ref().err().cloned();
                    open.iter().map(|one| json!({ "name": one.name, "missing": missing(one) })).collect()
                }
            },
            ["run", name, count] => {
                match open.iter_mut().find(|one| one.name == name).map(|one| &mut one.run) {
                    None => json!({ "error": format!("no such contender: {name}") }),
                    Some(Err(reason)) => json!({ "error": reason }),
                    Some(Ok(run)) => json!(run(count.parse().unwrap_or(1))),
                }
            }
            ["close"] => {
                open.clear();
                json!({})
            }
            _ => json!({ "error": format!("no such request: {line}") }),
        };
        println!("{answer}");
    }
}

/// A group for each case whose name contains the pattern; criterion reads its options from the arguments.
pub(crate) fn by_criterion(cases: impl Iterator<Item = Case>, pattern: &str) {
    let mut criterion = Criterion::default().configure_from_args().with_filter("");
    for case in cases.filter(|case| case.unit == "ns" && case.name.contains(pattern)) {
        let mut group = criterion.benchmark_group(&case.name);
        if case.bytes > 0 {
            group.throughput(Throughput::Bytes(case.bytes as u64));
        }
        for contender in (case.set_up)() {
            if let Ok(mut run) = contender.run {
                group.bench_function(contender.name, |bencher| {
                    bencher.iter_custom(|count| Duration::from_nanos(run(count) as u64));
                });
            }
        }
    }
    criterion.final_summary();
}

/// The queue of a SYCL device where there is one, since that is the memory Python uses by default, too.
pub(crate) fn queue() -> Queue {
    let mut queues = usm_bench::queues();
    let sycl = queues.iter().position(|(name, _)| *name == "sycl").unwrap_or_default();
    queues.swap_remove(sycl).1
}
