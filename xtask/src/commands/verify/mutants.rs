//! Whether tests notice that the code is wrong: cargo-mutants changes functions one at a time, and runs the tests of their crate,
//! on the host and on the stand-in of dpctl that they bring: with further devices a run takes several times as long.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

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

/// What became of a change: a file of cargo-mutants each, with a line per change.
const OUTCOMES: [&str; 4] = ["caught", "timeout", "missed", "unviable"];

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
    let files = || FILES.iter().flat_map(|files| ["--file", files]);
    let list = quietly(project.command(&tool).args(["mutants", "--list"]).args(files()))?;
    let all: BTreeSet<_> = list.lines().map(str::to_owned).collect();
    let ledger = Ledger { project, folder: project.target.join("mutants") };
    steps.step("tests of changed code", || {
        ledger.start()?;
        let limit = format!("{}m", minutes.unwrap_or(MINUTES));
        // At the end of the time the program writes down what it has, as after Ctrl-C.
        let command = project.command("timeout").args(["--signal=INT", &limit]).arg(&tool).arg("mutants");
        let command =
            command.args(files()).args(["--iterate", "--shuffle", "--no-times", "--cap-lints=true"]);
        let processors = available_parallelism().map_or(1, NonZero::get);
        let jobs = (processors / PROCESSORS_OF_A_JOB).max(1);
        let command = command.arg(format!("--jobs={jobs}")).arg("--output").arg(&ledger.folder);
        // nextest ends a test that hangs. The limit here is for builds.
        let command = command.args(["--test-tool=nextest", "--timeout=600"]);
        let command = command.env("NEXTEST_PROFILE", "mutants").env("CARGO_PROFILE_DEV_DEBUG", "0");
        let command = command.env("NEXTEST_TEST_THREADS", PROCESSORS_OF_A_JOB.to_string());
        // The status says that something was missed, or that the time is over. What was tried says more.
        openly_for_long(command).or_else(|error| {
            say(&format!("    {}", error.to_string().lines().next().unwrap_or_default()));
            Ok(())
        })
    })?;
    let outcomes = ledger.finish(&all)?;
    let count = |outcome: &str| outcomes.values().filter(|of| **of == outcome).count() as u64;
    let (caught, missed) = (count("caught") + count("timeout"), count("missed"));
    let viable = caught + missed;
    ensure!(caught > 0, "cargo-mutants caught nothing: see {}", ledger.folder.display());
    let survivors = outcomes.iter().filter(|(_, outcome)| **outcome == "missed");
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

/// The outcomes of all runs: cargo-mutants forgets what an earlier one missed, and counts what does not build as caught.
struct Ledger<'p> {
    project: &'p Project,
    folder: PathBuf,
}

impl Ledger<'_> {
    /// Makes the next run leave out what an earlier one tried.
    fn start(&self) -> Result<()> {
        self.take_results()?;
        let tried: String = OUTCOMES.iter().map(|outcome| self.read(&self.file(outcome))).collect();
        let results = self.results();
        self.project.shell.remove_path(&results)?;
        self.project.shell.create_dir(&results)?;
        Ok(self.project.shell.write_file(results.join("caught.txt"), tried)?)
    }

    /// What is known of the changes that the code of today can have.
    fn finish(&self, all: &BTreeSet<String>) -> Result<BTreeMap<String, &'static str>> {
        self.take_results()?;
        let of = |outcome: &'static str| {
            let text = self.read(&self.file(outcome));
            let changes = text.lines().filter(|change| all.contains(*change));
            changes.map(|change| (change.to_owned(), outcome)).collect::<Vec<_>>()
        };
        Ok(OUTCOMES.into_iter().flat_map(of).collect())
    }

    /// Moves what the last run wrote to the outcomes of all runs.
    fn take_results(&self) -> Result<()> {
        let results = self.results();
        // A run that did not start leaves what it was given.
        if !results.join("outcomes.json").exists() {
            return Ok(());
        }
        for outcome in OUTCOMES {
            let known = self.read(&self.file(outcome));
            let new = self.read(&results.join(format!("{outcome}.txt")));
            self.project.shell.write_file(self.file(outcome), known + &new)?;
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
    fn outcomes_of_all_runs_count_once() {
        let project = Project::open(None).unwrap();
        let folder = project.target.join("mutants-of-a-test");
        project.shell.remove_path(&folder).unwrap();
        project.shell.create_dir(&folder).unwrap();
        let ledger = Ledger { project: &project, folder };
        let write = |name: &str, text: &str| {
            project.shell.write_file(ledger.results().join(name), text).unwrap();
        };
        for (caught, missed, unviable) in [("a\n", "b\n", "c\n"), ("d\n", "gone\n", "")] {
            ledger.start().unwrap();
            assert!(!ledger.results().join("outcomes.json").exists());
            for (outcome, text) in [("caught", caught), ("missed", missed), ("unviable", unviable)] {
                write(&format!("{outcome}.txt"), text);
            }
            write("outcomes.json", "{}");
        }
        let all = ["a", "b", "c", "d", "e"].map(str::to_owned).into();
        let expected = [("a", "caught"), ("b", "missed"), ("c", "unviable"), ("d", "caught")];
        let expected: BTreeMap<_, _> = expected.map(|(change, outcome)| (change.to_owned(), outcome)).into();
        assert_eq!(ledger.finish(&all).unwrap(), expected);
        // The next run leaves out all of them.
        ledger.start().unwrap();
        let known = project.shell.read_file(ledger.results().join("caught.txt")).unwrap();
        assert_eq!(known, "a\nd\nb\ngone\nc\n");
        project.shell.remove_path(&ledger.folder).unwrap();
    }
}
