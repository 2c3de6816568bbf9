//! Whether tests notice that the code is wrong: cargo-mutants changes functions one at a time, and runs the tests of their crate,
//! on the host and on the stand-in of dpctl that they bring: with further devices a run takes several times as long.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::tools::{self, CARGO_MUTANTS};
use crate::project::{Project, openly_for_long, quietly};
use crate::report::{Steps, percent, say};

/// What is changed: layouts, slices, imports and plans of copies; who may touch memory, and pools.
const FILES: [&str; 6] = [
    "crates/usm-array/src/layout/**",
    "crates/usm-array/src/interface/**",
    "crates/usm-array/src/copy/plan/**",
    "crates/usm-memory/src/access/**",
    "crates/usm-memory/src/tracker/**",
    "crates/usm-memory/src/resource/pool/**",
];

/// What becomes of a change: a file of cargo-mutants each, with a line per change.
const OUTCOMES: [&str; 4] = [MISSED, "unviable", "timeout", "caught"];

const MISSED: &str = "missed";

/// The file of changes that the first tests missed. The other tests come then.
const SUSPECTS: &str = "suspects";

/// Options of cargo for the first tests: most of a crate, in two programs. To link the others takes longer than their tests.
const FIRST: [&str; 2] = ["--cargo-arg=--lib", "--cargo-arg=--test=it"];

/// Changes that no test notices, for the next author of a test.
const SURVIVORS: &str = "docs/survivors.txt";

/// Minutes of a run, where nobody says how many.
const MINUTES: u32 = 24 * 60;

/// A copy of the sources builds and tests on this many processors.
const PROCESSORS_OF_A_JOB: usize = 2;

/// Goes on where the last run ended, in a random order, until the minutes are over or all changes have been tried.
///
/// The folder `mutants` of the build directory keeps the outcomes of all runs. Who has written a test for a survivor removes its
/// line from `missed.txt` there.
pub(super) fn run(project: &Project, minutes: Option<u32>, steps: &mut Steps) -> Result<()> {
    let tool = tools::installed(project, CARGO_MUTANTS)?;
    let list = quietly(project.command(&tool).args(["mutants", "--list"]).args(files()))?;
    let all: BTreeSet<_> = list.lines().map(str::to_owned).collect();
    let ledger = Ledger { project, folder: project.target.join("mutants") };
    let end = Instant::now() + Duration::from_secs(60 * u64::from(minutes.unwrap_or(MINUTES)));
    for (name, missed, options) in
        [("first tests", SUSPECTS, &FIRST[..]), ("other tests, of what is left", MISSED, &[])]
    {
        steps.step(name, || {
            let left_s = end.saturating_duration_since(Instant::now()).as_secs();
            if left_s == 0 || !ledger.start(&all, missed)? {
                return Ok(());
            }
            // At the end of the time the program writes down what it has, as after Ctrl-C.
            let command = project.command("timeout").args(["--signal=INT", &left_s.to_string()]).arg(&tool);
            let command = command.arg("mutants").args(files()).args(options);
            let command = command.args(["--iterate", "--shuffle", "--no-times", "--cap-lints=true"]);
            let processors = available_parallelism().map_or(1, NonZero::get);
            let jobs = (processors / PROCESSORS_OF_A_JOB).max(1);
            let command = command.arg(format!("--jobs={jobs}")).arg("--output").arg(&ledger.folder);
            // nextest ends a test that hangs. All tests of a change together take less than this.
            let command = command.args(["--test-tool=nextest", "--timeout=1800"]);
            let command = command.env("NEXTEST_PROFILE", "mutants").env("CARGO_PROFILE_DEV_DEBUG", "0");
            // No change leaves a failure for the tests of the next one.
            let command = command.env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1");
            let command = command.env("NEXTEST_TEST_THREADS", PROCESSORS_OF_A_JOB.to_string());
            // The status says that something was missed, or that the time is over. What was tried says more.
            if let Err(error) = openly_for_long(command) {
                say(&format!("    {}", error.to_string().lines().next().unwrap_or_default()));
            }
            ledger.take_results(missed)
        })?;
    }
    let outcomes = ledger.known(&all);
    let count = |outcome: &str| outcomes.values().filter(|of| **of == outcome).count() as u64;
    let caught = count("caught") + count("timeout");
    let viable = outcomes.len() as u64 - count("unviable");
    ensure!(caught > 0, "cargo-mutants caught nothing: see {}", ledger.folder.display());
    let survivors = outcomes.iter().filter(|(_, outcome)| [SUSPECTS, MISSED].contains(outcome));
    let survivors: String = survivors.map(|(change, _)| format!("{change}\n")).collect();
    project.shell.write_file(project.root.join(SURVIVORS), survivors)?;
    steps.figure(format!(
        "{caught} of {viable} changes noticed ({}), the others in `{SURVIVORS}`; {} of {} tried in all runs",
        percent(caught, viable),
        outcomes.len(),
        all.len()
    ));
    Ok(())
}

fn files() -> impl Iterator<Item = &'static str> {
    FILES.iter().flat_map(|files| ["--file", files])
}

/// The outcomes of all runs: cargo-mutants forgets what an earlier one missed, and counts what does not build as caught.
struct Ledger<'p> {
    project: &'p Project,
    folder: PathBuf,
}

impl Ledger<'_> {
    /// Prepares a run whose missed changes go to the file `missed`: it tries the changes that no run has tried, or the suspects where that
    /// is [`MISSED`]. False where there are none.
    fn start(&self, all: &BTreeSet<String>, missed: &str) -> Result<bool> {
        self.take_results(missed)?;
        let known = self.known(all);
        let (left, others): (Vec<_>, Vec<_>) = all.iter().partition(|change| match known.get(*change) {
            None => missed == SUSPECTS,
            Some(outcome) => missed == MISSED && *outcome == SUSPECTS,
        });
        let others: String = others.into_iter().map(|change| format!("{change}\n")).collect();
        let results = self.results();
        self.project.shell.remove_path(&results)?;
        self.project.shell.create_dir(&results)?;
        self.project.shell.write_file(results.join("caught.txt"), others)?;
        Ok(!left.is_empty())
    }

    /// What is known of the changes that the code of today can have.
    fn known(&self, all: &BTreeSet<String>) -> BTreeMap<String, &'static str> {
        let of = |outcome: &'static str| {
            let text = self.read(&self.file(outcome));
            let changes = text.lines().filter(|change| all.contains(*change));
            changes.map(|change| (change.to_owned(), outcome)).collect::<Vec<_>>()
        };
        // Suspects first: what came of the other tests counts.
        [SUSPECTS].into_iter().chain(OUTCOMES).flat_map(of).collect()
    }

    /// Moves what the last run wrote to the outcomes of all runs.
    fn take_results(&self, missed: &str) -> Result<()> {
        let results = self.results();
        // A run that did not start leaves what it was given.
        if !results.join("outcomes.json").exists() {
            return Ok(());
        }
        for outcome in OUTCOMES {
            let file = self.file(if outcome == MISSED { missed } else { outcome });
            let new = self.read(&results.join(format!("{outcome}.txt")));
            self.project.shell.write_file(&file, self.read(&file) + &new)?;
        }
        Ok(self.project.shell.remove_path(results)?)
    }

    fn results(&self) -> PathBuf {
        self.folder.join("mutants.out")
    }

    fn file(&self, outcome: &str) -> PathBuf {
        self.folder.join(format!("{outcome}.txt"))
    }

    fn read(&self, file: &Path) -> String {
        self.project.shell.read_file(file).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_tried_once_with_the_first_tests_and_once_with_the_others() {
        let project = Project::open(None).unwrap();
        let folder = project.target.join("mutants-of-a-test");
        project.shell.remove_path(&folder).unwrap();
        project.shell.create_dir(&folder).unwrap();
        let ledger = Ledger { project: &project, folder };
        let all = ["a", "b", "c", "d", "e", "f"].map(str::to_owned).into();
        for (stage, left_out, caught, missed, timeout) in [
            // Broken off.
            (SUSPECTS, "", "a\n", "b\nd\n", ""),
            (SUSPECTS, "a\nb\nd\n", "", "e\ngone\n", "f\n"),
            (SUSPECTS, "a\nb\nd\ne\nf\n", "c\n", "", ""),
            (MISSED, "a\nc\nf\n", "d\n", "b\n", ""),
        ] {
            assert!(ledger.start(&all, stage).unwrap());
            let results = ledger.results();
            assert_eq!(project.shell.read_file(results.join("caught.txt")).unwrap(), left_out);
            for (outcome, text) in [("caught", caught), ("missed", missed), ("timeout", timeout)] {
                project.shell.write_file(results.join(format!("{outcome}.txt")), text).unwrap();
            }
            project.shell.write_file(results.join("outcomes.json"), "{}").unwrap();
            ledger.take_results(stage).unwrap();
        }
        let expected = ["caught", MISSED, "caught", "caught", SUSPECTS, "timeout"];
        let expected: BTreeMap<_, _> = all.iter().cloned().zip(expected).collect();
        assert_eq!(ledger.known(&all), expected);
        // Nothing is left for the first tests, and one change for the others.
        assert!(!ledger.start(&all, SUSPECTS).unwrap() && ledger.start(&all, MISSED).unwrap());
        project.shell.remove_path(&ledger.folder).unwrap();
    }
}
