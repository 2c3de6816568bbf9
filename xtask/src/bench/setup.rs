//! What a comparison needs: a venv with the neighbours and our wheel, and the programs that measure.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::worker::Worker;
use crate::failure::Outcome;
use crate::project::{Project, openly, quietly};
use crate::python::{COMPARED, SYCL, Venv};
use crate::report::say;
use crate::wheel;

/// The Python cases and the Rust program, seen from the root and from the build directory.
const PYTHON: &str = "crates/usm-bench/python/worker.py";
const RUST: &str = "release/examples/compare";

/// Prints the folder that has dpctl's `lib`, which is another one than that of the Python where packages come from elsewhere.
const PREFIX: &str = "\
import importlib.util, pathlib, sys
spec = importlib.util.find_spec('dpctl')
print(pathlib.Path(spec.origin).parents[4] if spec else sys.prefix)
";

/// Everything is built and installed.
pub(super) struct Installation<'p> {
    project: &'p Project,
    python: PathBuf,
    /// Where the Rust cases look for SYCL.
    prefix: String,
}

/// Builds and installs what is missing.
pub(super) fn install<'p>(project: &'p Project, python: Option<&Path>) -> Outcome<Installation<'p>> {
    say("building the Rust cases");
    let build =
        project.cargo().args(["build", "--release", "--quiet", "--locked", "-p", "usm-bench", "--examples"]);
    openly(build.quiet())?;
    if let Some(python) = python {
        // Not canonical: the name of a link tells which venv is meant.
        let python = std::path::absolute(python).unwrap_or_else(|_| python.to_owned());
        return Installation::new(project, python);
    }
    // The venv of the tests, since these packages are big.
    let venv = Venv::ensure(project, "venv")?;
    venv.require(&[SYCL, COMPARED].concat())?;
    say("building the wheel (the first time some minutes)");
    venv.install_wheel(&wheel::build(project)?)?;
    Installation::new(project, venv.executable())
}

impl<'p> Installation<'p> {
    fn new(project: &'p Project, python: PathBuf) -> Outcome<Self> {
        let prefix = quietly(project.command(&python).args(["-P", "-c", PREFIX]))?.trim().to_owned();
        Ok(Self { project, python, prefix })
    }

    /// The Python that has everything.
    pub(super) fn python(&self) -> &Path {
        &self.python
    }

    /// The programs that measure; each process has its own SYCL runtime.
    pub(super) fn workers(&self) -> Vec<Worker> {
        // Starts no process until somebody asks.
        let python = |side: &str| {
            let script = self.project.root().join(PYTHON);
            Command::from(self.project.command(&self.python).arg("-B").arg(script).arg(side).quiet())
        };
        let mut queues = python("queues");
        queues.env("USM_STRICT_DEVICE", "1");
        let mut rust = Command::from(self.project.command(self.project.target().join(RUST)));
        rust.env("VIRTUAL_ENV", &self.prefix);
        vec![
            Worker::new(python("python")),
            Worker::new(python("alone")),
            Worker::new(queues),
            Worker::new(rust),
        ]
    }
}
