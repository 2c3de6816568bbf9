//! A case, who competes in it, and the stage on which they appear.

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
}

impl<'n> Case<'n> {
    pub(crate) fn new(name: &'n str, bytes: usize) -> Self {
        Self { name, bytes, unit: "ns", x: None, long: false }
    }

    pub(crate) fn at(self, x: f64) -> Self {
        Self { x: Some(x), ..self }
    }

    pub(crate) fn long_if(self, long: bool) -> Self {
        Self { long, ..self }
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

/// Seconds of the quickest of three calls.
pub(crate) fn quickest(run: impl Fn()) -> f64 {
    let time = |()| {
        let start = std::time::Instant::now();
        run();
        start.elapsed().as_secs_f64()
    };
    [(); 3].map(time).into_iter().fold(f64::INFINITY, f64::min)
}

/// The loop that is fastest here, as the limit.
pub(crate) fn limit<'a>(candidates: Vec<Box<dyn Fn() + 'a>>) -> Contender<'a> {
    let best = candidates.into_iter().map(|run| (quickest(&run), run)).min_by(|a, b| a.0.total_cmp(&b.0));
    match best {
        Some((_, run)) => Contender::timed(LIMIT, run),
        None => Contender::missing(LIMIT, "no loop is written for this case"),
    }
}
