//! Whether tests notice that the code is wrong: cargo-mutants changes functions one at a time, and runs the tests of their crate.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use anyhow::{Result, ensure};

use super::tools::{self, CARGO_MUTANTS};
use crate::commands::test::rust;
use crate::project::{Project, openly_for_long, quietly};
use crate::python::{SYCL, Venv};
use crate::report::{Steps, say};

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
    let venv = Venv::with(project, "venv", &[SYCL])?;
    rust::build_stand_ins(project)?;
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
        openly_for_long(rust::with_devices(project, command, &venv)).or_else(|error| {
            say(&format!("    {}", error.to_string().lines().next().unwrap_or_default()));
            Ok(())
        })
    })?;
    let outcomes = ledger.finish(&all)?;
    let count = |outcome: &str| outcomes.values().filter(|of| **of == outcome).count();
    let (caught, missed) = (count("caught") + count("timeout"), count("missed"));
    let viable = caught + missed;
    ensure!(caught > 0, "cargo-mutants caught nothing: see {}", ledger.folder.display());
    let survivors = outcomes.iter().filter(|(_, outcome)| **outcome == "missed");
    let survivors: String = survivors.map(|(change, _)| format!("{change}\n")).collect();
    project.shell.write_file(project.root.join(SURVIVORS), survivors)?;
    steps.figure(format!(
        "{caught} of {viable} changes noticed ({:.1} %), {} of {} tried, the others in `{SURVIVORS}`",
        100.0 * caught as f64 / viable as f64,
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
