//! Judging what was measured by the goals. Every goal gets a verdict, also those of cases that could not be measured.

use super::bound::{Against, Bound};
use super::goals::{Goals, Growth};
use super::measure::Measured;
use super::record::{Case, Contender, State, Verdict};
use super::statistics::{Summary, digits, readable};

/// What was found as a share of what is allowed, and in words; or why not.
type Finding = Result<(Summary, String), String>;

/// One verdict for each case of each goal.
pub(super) fn all(goals: &Goals, measured: &Measured) -> Vec<Verdict> {
    let pace = |case: &str| {
        let case = measured.cases.iter().find(|measured| measured.name == case)?;
        goals.pace.as_ref()?.factors(case)
    };
    let of_goals = goals.goals.iter().flat_map(|goal| {
        let pairs = goal.cases.iter().flat_map(|case| goal.contenders.iter().map(move |name| (case, name)));
        pairs.map(move |(case, name)| {
            let factors = pace(case).filter(|_| goal.at_most.is_time);
            let median = factors.as_deref().and_then(Summary::of).map_or(1.0, |factors| factors.median);
            Verdict {
                at_most: goal.at_most.at_pace(median).text,
                why: goal.why.clone(),
                ..verdict(&goal.row, case, name, measured, &[case], |cases| {
                    by_goal(&goal.at_most, name, cases[0], factors.as_deref())
                })
                .with_floor(goal.floor.as_ref().map(|floor| floor.value / goal.at_most.value))
            }
        })
    });
    let of_growth = goals.growth.iter().flat_map(|growth| {
        growth.series.iter().map(|series| {
            let [from, to] = [&growth.from, &growth.to].map(|end| format!("{series}/{end}"));
            let ends = [from.as_str(), to.as_str()];
            let per_byte = if growth.per_byte { " for each byte" } else { "" };
            Verdict {
                at_most: format!("{} × that at {}{per_byte}", growth.at_most, growth.from),
                why: growth.why.clone(),
                ..verdict(&growth.row, &to, &growth.contender, measured, &ends, |cases| {
                    by_growth(growth, cases)
                })
                .with_floor(growth.floor.map(|floor| floor / growth.at_most))
            }
        })
    });
    of_goals.chain(of_growth).collect()
}

/// The verdicts of an earlier run by the goals of today.
pub(super) fn again(goals: &Goals, cases: &[Case]) -> Vec<Verdict> {
    let known = cases.iter().map(|case| case.name.clone()).collect();
    all(goals, &Measured { known, cases: cases.to_vec() })
}

/// Finds the cases that are needed and asks `judge`.
fn verdict<'m>(
    row: &str,
    case: &str,
    contender: &str,
    measured: &'m Measured,
    needed: &[impl AsRef<str>],
    judge: impl FnOnce(&[&'m Case]) -> Finding,
) -> Verdict {
    let find = |name: &str| measured.cases.iter().find(|case| case.name == name);
    let cases: Vec<&Case> = needed.iter().filter_map(|name| find(name.as_ref())).collect();
    let unknown = needed.iter().find(|name| !measured.known.iter().any(|known| known == name.as_ref()));
    let (state, share, found) = if let Some(unknown) = unknown {
        (State::Unmeasured, None, format!("there is no case {:?} yet", unknown.as_ref()))
    } else if cases.len() < needed.len() {
        (State::LeftOut, None, "left out by the options".to_owned())
    } else {
        match judge(&cases) {
            Ok((share, found)) if share.median <= 1.0 => (State::Reached, Some(share), found),
            Ok((share, found)) => (State::Missed, Some(share), found),
            Err(reason) => (State::Unmeasured, None, reason),
        }
    };
    Verdict {
        row: row.to_owned(),
        case: case.to_owned(),
        contender: contender.to_owned(),
        at_most: String::new(),
        state,
        share,
        found,
        why: String::new(),
        needed: needed.iter().map(|name| name.as_ref().to_owned()).collect(),
    }
}

impl Verdict {
    /// A miss within the floor, a share of what is allowed, is one with a known reason.
    fn with_floor(mut self, floor: Option<f64>) -> Self {
        let within = |share: Summary| floor.is_some_and(|floor| share.median <= floor);
        if self.state == State::Missed && self.share.is_some_and(within) {
            self.state = State::AtFloor;
        }
        self
    }
}

/// The samples of a contender, or why there are none.
fn samples<'c>(case: &'c Case, name: &str) -> Result<&'c Contender, String> {
    let contender = case.contender(name).ok_or_else(|| format!("{name} does not take part"))?;
    match &contender.missing {
        Some(reason) => Err(format!("{name}: {reason}")),
        None => Ok(contender),
    }
}

fn no_number(name: &str) -> String {
    format!("{name} gave no number")
}

/// `factors` are those of the rounds by which the bound is longer.
fn by_goal(at_most: &Bound, name: &str, case: &Case, factors: Option<&[f64]>) -> Finding {
    let ours = samples(case, name)?;
    let alone = ours.summary().ok_or_else(|| no_number(&ours.name))?;
    let allowed = at_most.value;
    match &at_most.against {
        Against::Nothing => {
            let shares = match factors {
                Some(factors) => Summary::of_ratios(&ours.samples, factors),
                None => Some(alone),
            };
            let shares = shares.ok_or_else(|| no_number(&ours.name))?;
            Ok((shares.scaled(1.0 / allowed), readable(alone.median, &case.unit)))
        }
        Against::Times(other) => {
            let other = samples(case, other)?;
            let ratio =
                Summary::of_ratios(&ours.samples, &other.samples).ok_or_else(|| no_number(&other.name))?;
            Ok((ratio.scaled(1.0 / allowed), format!("{} × {}", digits(ratio.median), other.name)))
        }
        Against::Over(other) => {
            let other = samples(case, other)?;
            let above: Vec<f64> = ours.samples.iter().zip(&other.samples).map(|(a, b)| a - b).collect();
            let above = Summary::of(&above).ok_or_else(|| no_number(&other.name))?;
            Ok((
                above.scaled(1.0 / allowed),
                format!("{} over {}", readable(above.median, &case.unit), other.name),
            ))
        }
    }
}

fn by_growth(growth: &Growth, cases: &[&Case]) -> Finding {
    let [from, to] = cases else { return Err("a series has two ends".to_owned()) };
    let summary = |case: &Case| {
        let summary = samples(case, &growth.contender)?.summary();
        summary.ok_or_else(|| no_number(&growth.contender))
    };
    let (from_time, to_time) = (summary(from)?, summary(to)?);
    #[expect(clippy::cast_precision_loss)]
    let bytes = if growth.per_byte { to.bytes as f64 / from.bytes as f64 } else { 1.0 };
    // The rounds of two cases do not belong together, so the noise of the start counts in full.
    let ratio = to_time.scaled(1.0 / (from_time.median * bytes));
    Ok((ratio.scaled(1.0 / growth.at_most), format!("{} × that at {}", digits(ratio.median), growth.from)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contender(name: &str, samples: &[f64]) -> Contender {
        Contender {
            name: name.to_owned(),
            samples: samples.to_vec(),
            missing: samples.is_empty().then(|| "no attribute".to_owned()),
        }
    }

    fn case(name: &str, bytes: u64, contenders: Vec<Contender>) -> Case {
        Case { name: name.to_owned(), bytes, unit: "ns".to_owned(), x: None, contenders }
    }

    fn judged(goals: &str, cases: Vec<Case>) -> Vec<Verdict> {
        let known = cases.iter().map(|case| case.name.clone()).chain(["left/out".to_owned()]).collect();
        all(&toml::from_str(goals).unwrap(), &Measured { known, cases })
    }

    const GOALS: &str = r#"
        [[goal]]
        row = "times"
        cases = ["a/b", "a/none", "a/unknown", "left/out"]
        at_most = "1 µs"
        [[goal]]
        row = "ratios"
        cases = ["a/b"]
        at_most = "1.5 × C"
        [[goal]]
        row = "differences"
        cases = ["a/b"]
        at_most = "900 ns over C"
        [[growth]]
        row = "series"
        series = ["s/x"]
        contender = "usm"
        from = "1"
        to = "4"
        per_byte = true
        at_most = 1.2
    "#;

    #[test]
    fn times_are_longer_where_python_takes_longer() {
        let goals = r#"
            growth = []
            [[goal]]
            row = "times"
            cases = ["a/b"]
            at_most = "1 µs"
            [[goal]]
            row = "ratios"
            cases = ["a/b"]
            at_most = "7 × NumPy"
            [pace]
            contender = "NumPy"
            took = "100 ns"
        "#;
        let of_rounds = |ours: &[f64], numpys: &[f64]| {
            judged(goals, vec![case("a/b", 0, vec![contender("usm", ours), contender("NumPy", numpys)])])
        };
        let judge = |took| of_rounds(&[1500.0], &[took]);
        let of = |verdict: &Verdict| (verdict.state, verdict.at_most.clone());
        let slow = judge(200.0);
        assert_eq!(of(&slow[0]), (State::Reached, "1 µs × 2.00".to_owned()));
        assert_eq!(of(&slow[1]), (State::Missed, "7 × NumPy".to_owned()));
        // What disturbs a round disturbs both.
        let disturbed = of_rounds(&[900.0, 9000.0, 9900.0], &[90.0, 1000.0, 1000.0]);
        assert_eq!(of(&disturbed[0]), (State::Reached, "1 µs × 10.0".to_owned()));
        // On a faster one they stay.
        assert_eq!(of(&judge(50.0)[0]), (State::Missed, "1 µs".to_owned()));
    }

    #[test]
    fn a_miss_within_the_floor_is_known() {
        let goals = |floor: &str, growth: &str| {
            format!(
                "[[goal]]\nrow = \"r\"\ncases = [\"s/x/1\"]\nat_most = \"1.5 × C\"\n{floor}\n\
                 [[growth]]\nrow = \"g\"\nseries = [\"s/x\"]\ncontender = \"usm\"\nfrom = \"1\"\nto = \"2\"\nat_most = 1.0\n{growth}"
            )
        };
        let judge = |floor, growth| {
            let case = |name, took| case(name, 0, vec![contender("usm", &[took]), contender("C", &[10.0])]);
            judged(&goals(floor, growth), vec![case("s/x/1", 20.0), case("s/x/2", 30.0)])
        };
        let states = |floor, growth| judge(floor, growth).iter().map(|one| one.state).collect::<Vec<_>>();
        assert_eq!(states("", ""), [State::Missed; 2]);
        assert_eq!(states("floor = \"2 × C\"", "floor = 1.5"), [State::AtFloor; 2]);
        assert_eq!(states("floor = \"1.9 × C\"", "floor = 1.4"), [State::Missed; 2]);
        assert_eq!(judge("", "")[1].needed, ["s/x/1", "s/x/2"]);
        assert!(judge("floor = \"2 × C\"", "").iter().filter(|one| one.fails()).count() == 1);
    }

    #[test]
    fn every_goal_has_a_verdict() {
        let cases = vec![
            case("a/b", 0, vec![contender("usm", &[900.0, 1800.0]), contender("C", &[450.0, 900.0])]),
            case("a/none", 0, vec![contender("usm", &[])]),
            case("s/x/1", 10, vec![contender("usm", &[10.0])]),
            case("s/x/4", 40, vec![contender("usm", &[44.0])]),
        ];
        let verdicts = judged(GOALS, cases);
        let states: Vec<State> = verdicts.iter().map(|verdict| verdict.state).collect();
        use State::{LeftOut, Missed, Reached, Unmeasured};
        assert_eq!(states, [Missed, Unmeasured, Unmeasured, LeftOut, Missed, Reached, Reached]);
        assert_eq!(verdicts[1].found, "usm: no attribute");
        assert_eq!(verdicts[4].found, "2.00 × C");
        assert_eq!(verdicts[6].at_most, "1.2 × that at 1 for each byte");
        assert!((verdicts[6].share.unwrap().median - 1.1 / 1.2).abs() < 1e-9);
    }
}
