//! Fuzzers over the paths on which numbers and texts of others come in: the programs in `fuzz/`, by cargo-fuzz.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use xshell::Cmd;

use super::sanitize;
use super::tools::{self, CARGO_FUZZ};
use crate::project::{Project, quietly};

/// Starts the fuzzers, seen from the root.
pub(super) const RUNNER: &str = "tests/packed/fuzzers.py";
/// Corpus and dictionaries, seen from the root.
pub(super) const FOLDER: &str = "fuzz";

/// Where cargo-fuzz leaves the programs, in its build directory.
const PROGRAMS: &str = "release";

const IS_MISSING: &str = "a fuzzer needs a nightly toolchain: rustup toolchain install nightly";

/// The programs.
pub(super) struct Fuzzers {
    /// The folder of the programs with AddressSanitizer.
    pub(super) programs: PathBuf,
    /// The folder of the programs without AddressSanitizer, which are several times as fast.
    pub(super) plain: PathBuf,
    pub(super) names: Vec<String>,
}

impl Fuzzers {
    /// Builds them, each with AddressSanitizer and without.
    pub(super) fn build(project: &Project) -> Result<Self> {
        ensure!(sanitize::has_nightly(project), IS_MISSING);
        let tool = tools::installed(project, CARGO_FUZZ)?;
        // By rustup, which sets the toolchain for the cargo that it starts.
        let fuzz = |word| project.command("rustup").args(["run", "nightly"]).arg(&tool).arg(word);
        let host = sanitize::host(project)?;
        let build = |folder, sanitizer| {
            let target = project.target.join(folder);
            let command = fuzz("build").args(["--sanitizer", sanitizer]);
            quietly(command.env("CARGO_TARGET_DIR", &target))?;
            Ok::<_, anyhow::Error>(target.join(&host).join(PROGRAMS))
        };
        let names = quietly(fuzz("list"))?.lines().map(str::to_owned).collect();
        Ok(Self { programs: build("fuzz", "address")?, plain: build("fuzz-plain", "none")?, names })
    }

    /// Runs each of them for some minutes, and leaves new inputs in the corpus.
    pub(super) fn run<'p>(&self, project: &'p Project, python: &Path, minutes: u32) -> Cmd<'p> {
        let runner = project.command(python).arg(project.root.join(RUNNER));
        let runner = runner.args([&self.programs, &self.plain]);
        let runner = runner.arg(project.root.join(FOLDER)).args(&self.names);
        runner.args(["--minutes", &minutes.to_string()])
    }
}
