//! A case, who competes in it, and the stage on which they appear.

use std::time::Instant;

use usm_array::usm_core::Queue;

/// What is measured.
pub(crate) enum Run<'a> {
    /// The time of each call.
    Timed(Box<dyn FnMut() + 'a>),
    /// What the call returns.
    Value(Box<dyn FnMut() -> f64 + 'a>),
    /// Nothing, for this reason.
    Missing(String),
}

pub(crate) struct Contender<'a> {
    pub(crate) name: &'static str,
    pub(crate) run: Run<'a>,
}

impl<'a> Contender<'a> {
    pub(crate) fn timed(name: &'static str, run: impl FnMut() + 'a) -> Self {
        Self { name, run: Run::Timed(Box::new(run)) }
    }

    pub(crate) fn missing(name: &'static str, reason: impl Into<String>) -> Self {
        Self { name, run: Run::Missing(reason.into()) }
    }
}

/// The name is `group/case`, or `group/series/x`.
pub(crate) struct Case<'n> {
    pub(crate) name: &'n str,
    /// The size of the result; 0 where it does not count.
    pub(crate) bytes: usize,
    /// "ns" for times.
    pub(crate) unit: &'static str,
    /// The place on the axis of a series.
    pub(crate) x: Option<f64>,
    /// Too long for a quick run.
    pub(crate) long: bool,
    /// By so many processes of each program it is measured, one after the other.
    pub(crate) processes: usize,
}

impl<'n> Case<'n> {
    pub(crate) fn new(name: &'n str, bytes: usize) -> Self {
        Self { name, bytes, unit: "ns", x: None, long: false, processes: 1 }
    }

    pub(crate) fn at(self, x: f64) -> Self {
        Self { x: Some(x), ..self }
    }

    pub(crate) fn long_if(self, long: bool) -> Self {
        Self { long, ..self }
    }

    /// Where what it takes depends on where code and memory of the process happen to lie.
    pub(crate) fn over_processes(self) -> Self {
        Self { processes: 5, ..self }
    }
}

/// Where cases are announced, and where those that are wanted perform.
pub(crate) trait Stage {
    /// Announces the case; true if it is to be set up and performed.
    fn announce(&self, case: &Case<'_>) -> bool;

    /// Runs the contenders as they are asked for, until the case is closed.
    fn perform(&self, case: &Case<'_>, contenders: Vec<Contender<'_>>);

    /// Announces the case and performs what `set_up` makes, if it is wanted.
    fn case<'a>(&self, case: &Case<'_>, set_up: impl FnOnce() -> Vec<Contender<'a>>)
    where
        Self: Sized,
    {
        if self.announce(case) {
            self.perform(case, set_up());
        }
    }
}

/// The name of our own contender; `usm` alone is the Python package.
pub(crate) const OURS: &str = "usm in Rust";
/// The fastest loop by hand.
pub(crate) const LIMIT: &str = "limit";

/// The queue of a SYCL device where there is one, since that is the memory Python uses by default, too.
pub(crate) fn queue() -> Queue {
    let mut queues = usm_bench::queues();
    let sycl = queues.iter().position(|(name, _)| *name == "sycl").unwrap_or_default();
    queues.swap_remove(sycl).1
}

fn seconds(run: impl Fn()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64()
}

/// The loop that is fastest here, as the limit: each runs twice, the four best seven times in turn, and the best median wins.
pub(crate) fn limit<'a>(candidates: Vec<Box<dyn Fn() + 'a>>) -> Contender<'a> {
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
        Some((_, (_, run))) => Contender::timed(LIMIT, run),
        None => Contender::missing(LIMIT, "no loop is written for this case"),
    }
}
