//! goals.toml: what is wanted of which case.

use std::fs;

use serde::Deserialize;

use super::bound::Bound;
use super::pace::Yardstick;
use crate::failure::{Failure, Outcome};
use crate::project::Project;

/// The file, seen from the root.
pub(super) const FILE: &str = "crates/usm-bench/goals.toml";

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Goals {
    #[serde(rename = "goal")]
    pub(super) goals: Vec<Goal>,
    pub(super) growth: Vec<Growth>,
    /// What tells how much longer bounds that are times are on this machine.
    pub(super) pace: Option<Yardstick>,
}

/// A row: each of its contenders has to keep within `at_most` in each of its cases.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Goal {
    pub(super) row: String,
    pub(super) cases: Vec<String>,
    #[serde(default = "package")]
    pub(super) contenders: Vec<String>,
    pub(super) at_most: Bound,
    /// Why it is not reached, where that is known.
    #[serde(default)]
    pub(super) why: String,
    /// What is reached instead, of the same kind as `at_most`, where `why` says why no more can be.
    pub(super) floor: Option<Bound>,
}

/// A row about a series: how much more `to` may cost than `from`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Growth {
    pub(super) row: String,
    /// Names without their last part.
    pub(super) series: Vec<String>,
    pub(super) contender: String,
    pub(super) from: String,
    pub(super) to: String,
    /// Compares times for each byte.
    #[serde(default)]
    pub(super) per_byte: bool,
    pub(super) at_most: f64,
    #[serde(default)]
    pub(super) why: String,
    pub(super) floor: Option<f64>,
}

/// Who is meant where nobody is named.
fn package() -> Vec<String> {
    vec!["usm".to_owned()]
}

impl Goals {
    /// Reads the committed file.
    pub(super) fn read(project: &Project) -> Outcome<Self> {
        let text = fs::read_to_string(project.root().join(FILE))
            .map_err(|error| Failure::new(format!("{FILE}: {error}")))?;
        toml::from_str(&text).map_err(|error| Failure::new(format!("{FILE}: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_file_is_read() {
        let goals: Goals = toml::from_str(include_str!("../../../crates/usm-bench/goals.toml")).unwrap();
        assert!(goals.goals.iter().all(|goal| !goal.cases.is_empty()));
        assert!(goals.growth.iter().all(|growth| !growth.series.is_empty()));
        for goal in &goals.goals {
            let Some(floor) = &goal.floor else { continue };
            assert_eq!(floor.against, goal.at_most.against, "{}", goal.row);
            assert!(floor.value > goal.at_most.value && !goal.why.is_empty(), "{}", goal.row);
        }
        for growth in goals.growth {
            assert!(growth.floor.is_none_or(|floor| floor > growth.at_most && !growth.why.is_empty()));
        }
    }
}
