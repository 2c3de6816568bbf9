//! What a comparison needs: a venv with the neighbours and our wheel, and the programs that measure.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::worker::Worker;
use crate::failure::Outcome;
use crate::project::{Project, openly};
use crate::python::{COMPARED, SYCL, Venv};
use crate::report::say;
use crate::wheel;

/// The Python cases and the Rust program, seen from the root and from the build directory.
const PYTHON: &str = "crates/usm-bench/python/worker.py";
const RUST: &str = "release/examples/compare";

/// Everything is built and installed.
pub(super) struct Installation<'p> {
    project: &'p Project,
    python: PathBuf,
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
        return Ok(Installation { project, python });
    }
    // The venv of the tests, since these packages are big.
    let venv = Venv::ensure(project, "venv")?;
    venv.require(&[SYCL, COMPARED].concat())?;
    say("building the wheel (the first time some minutes)");
    venv.install_wheel(&wheel::build(project)?)?;
    Ok(Installation { project, python: venv.executable() })
}

impl Installation<'_> {
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
        // The folder above `bin/python`, where the SYCL runtime is.
        let venv = self.python.parent().and_then(Path::parent).unwrap_or(&self.python);
        let mut rust = Command::from(self.project.command(self.project.target().join(RUST)));
        rust.env("VIRTUAL_ENV", venv);
        vec![Worker::new(python("python")), Worker::new(queues), Worker::new(rust)]
    }
}
