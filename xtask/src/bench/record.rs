//! The contents of report.json.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::machine::Machine;
use super::statistics::Summary;
use crate::failure::{Failure, Outcome};

/// Counts up when a reader of older files would misunderstand.
const VERSION: u32 = 1;

/// Everything that one run found.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Report {
    pub(super) version: u32,
    pub(super) seconds_since_1970: u64,
    pub(super) quick: bool,
    pub(super) machine: Machine,
    pub(super) cases: Vec<Case>,
    pub(super) criterion: Vec<Criterion>,
    pub(super) verdicts: Vec<Verdict>,
}

/// One thing that all contenders do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Case {
    /// `group/case`, or `group/series/x`.
    pub(super) name: String,
    /// Size of the result; 0 where it does not count.
    pub(super) bytes: u64,
    /// "ns", "B" or "×".
    pub(super) unit: String,
    /// The place on the axis of a series.
    pub(super) x: Option<f64>,
    pub(super) contenders: Vec<Contender>,
}

/// What was found of one contender.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Contender {
    pub(super) name: String,
    /// One a round, for one call, in the unit of the case; the rounds of all contenders belong together.
    pub(super) samples: Vec<f64>,
    /// Why there are none.
    pub(super) missing: Option<String>,
}

/// A benchmark of criterion, in nanoseconds.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Criterion {
    pub(super) name: String,
    pub(super) median: f64,
    /// Ends of the confidence interval of the median.
    pub(super) low: f64,
    pub(super) high: f64,
}

/// How a case did by a goal.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Verdict {
    pub(super) row: String,
    pub(super) case: String,
    pub(super) contender: String,
    pub(super) at_most: String,
    pub(super) state: State,
    /// What was found as a share of what is allowed: 1 is just enough.
    pub(super) share: Option<Summary>,
    /// What was found in the words of the goal, or why nothing was.
    pub(super) found: String,
    /// What the file of goals says to it.
    #[serde(default)]
    pub(super) why: String,
    /// What it was found from.
    #[serde(skip)]
    pub(super) needed: Vec<String>,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    Reached,
    Missed,
    /// Missed, but by no more than the reason in the file of goals accounts for.
    AtFloor,
    /// It belongs to this run, and could not be measured.
    Unmeasured,
    /// The options left it out.
    LeftOut,
}

impl State {
    pub(super) const ALL: [Self; 5] =
        [Self::Missed, Self::Unmeasured, Self::AtFloor, Self::Reached, Self::LeftOut];

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Reached => "reached",
            Self::Missed => "missed",
            Self::AtFloor => "missed with a known reason",
            Self::Unmeasured => "not measured",
            Self::LeftOut => "not in this run",
        }
    }
}

impl Verdict {
    /// True if `--check` has to fail.
    pub(super) fn fails(&self) -> bool {
        matches!(self.state, State::Missed | State::Unmeasured)
    }
}

impl Case {
    /// The part before the first slash.
    pub(super) fn group(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }

    /// For members of a series: all but the last part.
    pub(super) fn series(&self) -> Option<&str> {
        self.x.and_then(|_| self.name.rsplit_once('/')).map(|(series, _)| series)
    }

    pub(super) fn contender(&self, name: &str) -> Option<&Contender> {
        self.contenders.iter().find(|contender| contender.name == name)
    }

    /// Our own: the Python package where it takes part, else the crates.
    pub(super) fn ours(&self) -> Option<&Contender> {
        let measured = |name| self.contender(name).filter(|contender| !contender.samples.is_empty());
        measured("usm").or_else(|| measured("usm in Rust"))
    }
}

impl Contender {
    pub(super) fn summary(&self) -> Option<Summary> {
        Summary::of(&self.samples)
    }
}

impl Report {
    pub(super) fn new(
        quick: bool,
        machine: Machine,
        cases: Vec<Case>,
        criterion: Vec<Criterion>,
        verdicts: Vec<Verdict>,
    ) -> Self {
        let seconds_since_1970 =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        Self { version: VERSION, seconds_since_1970, quick, machine, cases, criterion, verdicts }
    }

    /// Reads what an earlier run saved.
    pub(super) fn read(path: &Path) -> Outcome<Self> {
        let fail = |why: String| Failure::new(format!("{}: {why}", path.display()));
        let text = fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
        let report: Self = serde_json::from_str(&text).map_err(|error| fail(error.to_string()))?;
        if report.version == VERSION {
            return Ok(report);
        }
        Err(fail(format!("has version {}, this program reads {VERSION}", report.version)))
    }

    /// The day it ended, in UTC.
    pub(super) fn date(&self) -> String {
        date(self.seconds_since_1970 / 86400)
    }

    pub(super) fn json(&self) -> Outcome<String> {
        serde_json::to_string(self).map_err(|error| Failure::new(error.to_string()))
    }

    pub(super) fn count(&self, state: State) -> usize {
        self.verdicts.iter().filter(|verdict| verdict.state == state).count()
    }
}

/// A day as `YYYY-MM-DD`, by counting years and months from 1970 on.
fn date(mut days: u64) -> String {
    let mut year = 1970;
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", days + 1)
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn days_have_dates() {
        let days = [0, 58, 59, 11_016, 20_453, 20_778];
        let dates = ["1970-01-01", "1970-02-28", "1970-03-01", "2000-02-29", "2025-12-31", "2026-11-21"];
        assert_eq!(days.map(date), dates);
    }
}
