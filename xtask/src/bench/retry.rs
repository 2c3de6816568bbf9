//! Another try for what missed its goal, or was not measured: other programs on the machine make some cases of any run slow, and a
//! neighbour may hang.

use super::goals::Goals;
use super::judge;
use super::measure::{Bench, Measured};
use super::record::{Case, State, Verdict};
use crate::report::say;

/// So often a goal has to be missed until that counts.
const TRIES: usize = 3;

/// Measures cases again that miss a goal or were not measured, and keeps what misses fewer.
pub(super) fn misses(bench: &mut Bench, goals: &Goals, measured: &mut Measured) {
    for _ in 1..TRIES {
        let again = needed(&missed(goals, measured));
        if again.is_empty() {
            return;
        }
        say(&format!("once more, since a goal was missed or not measured: {} cases", again.len()));
        better(goals, measured, bench.again(&again));
    }
}

fn missed(goals: &Goals, measured: &Measured) -> Vec<Verdict> {
    let mut verdicts = judge::all(goals, measured);
    verdicts.retain(|verdict| matches!(verdict.state, State::Missed | State::Unmeasured));
    verdicts
}

/// How bad it is: what was not measured is worse than what was missed.
fn faults(goals: &Goals, measured: &Measured) -> usize {
    missed(goals, measured).iter().map(|verdict| 1 + usize::from(verdict.state == State::Unmeasured)).sum()
}

/// The cases that the verdicts come from, each once.
fn needed(verdicts: &[Verdict]) -> Vec<String> {
    let mut names: Vec<String> = vec![];
    for name in verdicts.iter().flat_map(|verdict| &verdict.needed) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// Takes each new case in with which fewer goals are missed. A series that grew too much is taken as a whole, since its ends were
/// measured together.
fn better(goals: &Goals, measured: &mut Measured, found: Vec<Case>) {
    let mut groups: Vec<(String, Vec<Case>)> = vec![];
    for case in found {
        let key = case.series().unwrap_or(&case.name).to_owned();
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, cases)) => cases.push(case),
            None => groups.push((key, vec![case])),
        }
    }
    for (_, cases) in groups {
        let before = faults(goals, measured);
        let former = exchange(measured, cases);
        if faults(goals, measured) >= before {
            exchange(measured, former);
        }
    }
}

/// Puts cases in the places of those with their names, which it gives back.
fn exchange(measured: &mut Measured, cases: Vec<Case>) -> Vec<Case> {
    let mut former = vec![];
    for case in cases {
        if let Some(place) = measured.cases.iter_mut().find(|known| known.name == case.name) {
            former.push(std::mem::replace(place, case));
        }
    }
    former
}

#[cfg(test)]
mod tests {
    use super::super::record::Contender;
    use super::*;

    fn case(name: &str, x: Option<f64>, took: f64) -> Case {
        let contender =
            |name: &str, took| Contender { name: name.to_owned(), samples: vec![took], missing: None };
        let contenders = vec![contender("usm", took), contender("C", 10.0)];
        Case { name: name.to_owned(), bytes: 0, unit: "ns".to_owned(), x, contenders }
    }

    fn run(cases: Vec<Case>) -> Measured {
        Measured { known: cases.iter().map(|case| case.name.clone()).collect(), cases }
    }

    fn took(measured: &Measured, name: &str) -> f64 {
        measured.cases.iter().find(|case| case.name == name).unwrap().contenders[0].samples[0]
    }

    const GOALS: &str = r#"
        [[goal]]
        row = "calls"
        cases = ["a/b", "a/c"]
        at_most = "1.5 × C"
        [[growth]]
        row = "series"
        series = ["s/x"]
        contender = "usm"
        from = "1"
        to = "2"
        at_most = 2.0
    "#;

    #[test]
    fn what_misses_fewer_goals_is_kept() {
        let goals: Goals = toml::from_str(GOALS).unwrap();
        let mut measured = run(vec![
            case("a/b", None, 20.0),
            case("a/c", None, 12.0),
            case("s/x/1", Some(1.0), 10.0),
            case("s/x/2", Some(2.0), 30.0),
        ]);
        assert_eq!(needed(&missed(&goals, &measured)), ["a/b", "s/x/1", "s/x/2"]);

        // Still a miss: the first measurement stays.
        better(&goals, &mut measured, vec![case("a/b", None, 18.0)]);
        assert_eq!(took(&measured, "a/b"), 20.0);
        better(&goals, &mut measured, vec![case("a/b", None, 14.0)]);
        assert_eq!(took(&measured, "a/b"), 14.0);
        // Both ends of a series come from the same try.
        better(&goals, &mut measured, vec![case("s/x/1", Some(1.0), 20.0), case("s/x/2", Some(2.0), 31.0)]);
        assert_eq!((took(&measured, "s/x/1"), took(&measured, "s/x/2")), (20.0, 31.0));
        assert!(missed(&goals, &measured).is_empty());
    }

    #[test]
    fn a_miss_is_better_than_no_measurement() {
        let goals: Goals = toml::from_str(GOALS).unwrap();
        let hung = |name: &str| {
            let mut case = case(name, None, 0.0);
            for contender in &mut case.contenders {
                contender.samples.clear();
                contender.missing = Some("no answer".to_owned());
            }
            case
        };
        let mut measured = run(vec![hung("a/b"), case("a/c", None, 12.0)]);
        assert_eq!(needed(&missed(&goals, &measured))[..1], ["a/b"]);
        better(&goals, &mut measured, vec![case("a/b", None, 18.0)]);
        assert_eq!(took(&measured, "a/b"), 18.0);
        better(&goals, &mut measured, vec![hung("a/b")]);
        assert_eq!(took(&measured, "a/b"), 18.0);
    }
}
