//! Cases, their contenders, and the requests of the comparison, from standard input to standard output.
//!
//! Requests are lines, words apart by tabs; each is answered by one line of JSON: `list`; `open CASE`; `run CONTENDER COUNT`, which
//! gives nanoseconds for all of the runs, or a value; `close`.

use std::cell::{Cell, RefCell};
use std::hint::black_box;
use std::io::{self, BufRead, Lines, StdinLock, Write};
use std::time::Instant;

use serde_json::{Value, json};
use usm_array::usm_core::Queue;

/// The name of our own contender; `usm` alone is the Python package.
pub(crate) const OURS: &str = "usm in Rust";
/// The fastest loop by hand.
pub(crate) const LIMIT: &str = "limit";

/// Candidates for a limit.
pub(crate) type Loops = Vec<Box<dyn Fn()>>;

/// What is measured of a contender.
enum Run {
    /// The time of each call.
    Timed(Box<dyn FnMut()>),
    /// What the call returns.
    Value(Box<dyn FnMut() -> Option<f64>>),
    /// Nothing, for this reason.
    Missing(String),
}

pub(crate) struct Contender {
    name: &'static str,
    run: Run,
}

impl Contender {
    pub(crate) fn timed(name: &'static str, run: impl FnMut() + 'static) -> Self {
        Self { name, run: Run::Timed(Box::new(run)) }
    }

    pub(crate) fn value(name: &'static str, run: impl FnMut() -> Option<f64> + 'static) -> Self {
        Self { name, run: Run::Value(Box::new(run)) }
    }

    pub(crate) fn missing(name: &'static str, reason: impl Into<String>) -> Self {
        Self { name, run: Run::Missing(reason.into()) }
    }

    /// The loop that is fastest here: each runs twice, the four best seven times in turn, and the best median wins.
    pub(crate) fn fastest(name: &'static str, candidates: Loops) -> Self {
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
        if let Run::Timed(run) = &mut self.run {
            run();
            if !is_right() {
                return Self::missing(self.name, "its result is wrong");
            }
        }
        self
    }

    /// The same with an owner of the memory whose address it has.
    pub(crate) fn keeping(mut self, owner: impl Sized + 'static) -> Self {
        if let Run::Timed(mut run) = self.run {
            self.run = Run::Timed(Box::new(move || {
                let _alive = &owner;
                run();
            }));
        }
        self
    }

    fn described(&self) -> Value {
        match &self.run {
            Run::Missing(reason) => json!({ "name": self.name, "missing": reason }),
            _ => json!({ "name": self.name }),
        }
    }

    /// Nanoseconds for `count` calls, or a value.
    fn run(&mut self, count: u64) -> Value {
        match &mut self.run {
            Run::Timed(call) => {
                let start = Instant::now();
                for _ in 0..count {
                    black_box(&mut *call)();
                }
                json!(start.elapsed().as_nanos() as f64)
            }
            Run::Value(value) => value().map_or_else(|| json!({ "error": "no value" }), |value| json!(value)),
            Run::Missing(reason) => json!({ "error": reason }),
        }
    }
}

fn seconds(run: impl Fn()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64()
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
}

impl Case {
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), unit: "ns", x: None, bytes: 0, long: false, processes: 1 }
    }

    pub(crate) fn long_if(self, long: bool) -> Self {
        Self { long, ..self }
    }

    /// Where what it takes depends on where code and memory of the process happen to lie.
    pub(crate) fn over_processes(self) -> Self {
        Self { processes: 5, ..self }
    }
}

/// Goes through all cases for one purpose.
pub(crate) struct Stage {
    purpose: Purpose,
    requests: RefCell<Lines<StdinLock<'static>>>,
}

enum Purpose {
    List(RefCell<Vec<Value>>),
    Open { wanted: String, found: Cell<bool> },
    Table { pattern: String },
}

/// Answers requests until there are no more.
pub(crate) fn serve(all: impl Fn(&Stage)) {
    let mut stage = Stage::new(Purpose::List(RefCell::default()));
    while let Some(Ok(line)) = stage.requests.get_mut().next() {
        stage.purpose = match line.split_once('\t') {
            Some(("open", name)) => Purpose::Open { wanted: name.to_owned(), found: Cell::new(false) },
            _ if line == "list" => Purpose::List(RefCell::default()),
            _ => {
                answer(&json!({ "error": format!("no case is open: {line}") }));
                continue;
            }
        };
        all(&stage);
        answer(&match &stage.purpose {
            Purpose::List(cases) => Value::Array(cases.take()),
            Purpose::Open { wanted, found } if !found.get() => {
                json!({ "error": format!("no such case: {wanted}") })
            }
            _ => json!({}),
        });
    }
}

fn answer(value: &Value) {
    let mut out = io::stdout().lock();
    writeln!(out, "{value}").and_then(|()| out.flush()).unwrap();
}

impl Stage {
    fn new(purpose: Purpose) -> Self {
        Self { purpose, requests: RefCell::new(io::stdin().lock().lines()) }
    }

    /// Prints a line for each case whose name contains the pattern.
    pub(crate) fn table(pattern: &str) -> Self {
        Self::new(Purpose::Table { pattern: pattern.to_owned() })
    }

    /// Lists the case; or sets it up if it is the wanted one, and runs its contenders until it is closed.
    pub(crate) fn case(&self, case: Case, set_up: impl FnOnce() -> Vec<Contender>) {
        match &self.purpose {
            Purpose::List(cases) => cases.borrow_mut().push(json!({
                "case": case.name,
                "bytes": case.bytes,
                "unit": case.unit,
                "x": case.x,
                "long": case.long,
                "processes": case.processes,
                "once": case.unit != "ns",
            })),
            Purpose::Open { wanted, found } if *wanted == case.name => {
                found.set(true);
                self.perform(set_up());
            }
            Purpose::Table { pattern } if case.name.contains(pattern) && case.unit == "ns" => {
                print(&case.name, set_up());
            }
            _ => {}
        }
    }

    fn perform(&self, mut contenders: Vec<Contender>) {
        answer(&contenders.iter().map(Contender::described).collect());
        while let Some(Ok(line)) = self.requests.borrow_mut().next() {
            let words: Vec<&str> = line.split('\t').collect();
            let ["run", name, count] = words[..] else { return };
            let count = count.parse().unwrap_or(1);
            answer(&match contenders.iter_mut().find(|contender| contender.name == name) {
                Some(contender) => contender.run(count),
                None => json!({ "error": format!("no such contender: {name}") }),
            });
        }
    }
}

/// Runs the contenders in turn, 15 rounds after the first, and prints the medians in microseconds.
fn print(case: &str, mut contenders: Vec<Contender>) {
    let mut samples = vec![vec![]; contenders.len()];
    for round in 0..16 {
        for (contender, samples) in contenders.iter_mut().zip(&mut samples) {
            let nanoseconds = contender.run(1).as_f64();
            samples.extend(nanoseconds.filter(|_| round > 0));
        }
    }
    let medians = contenders.iter().zip(samples).filter(|(_, samples)| !samples.is_empty());
    let words = medians.map(|(contender, mut samples)| {
        samples.sort_by(f64::total_cmp);
        format!("{} {:.1}", contender.name, samples[samples.len() / 2] / 1e3)
    });
    println!("{case:36} {}", words.collect::<Vec<_>>().join(", "));
}

/// The queue of a SYCL device where there is one, since that is the memory Python uses by default, too.
pub(crate) fn queue() -> Queue {
    let mut queues = usm_bench::queues();
    let sycl = queues.iter().position(|(name, _)| *name == "sycl").unwrap_or_default();
    queues.swap_remove(sycl).1
}
