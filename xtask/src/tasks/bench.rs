//! `cargo xtask bench`: builds and installs what the comparison needs, and starts it. The programs are in `crates/usm-bench`.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::failure::Outcome;
use crate::project::{Project, openly};
use crate::python::{COMPARED, REPORT, SYCL, Venv};
use crate::report::say;
use crate::wheel;

/// The comparison, seen from the root, and the Rust cases, seen from the build directory.
const COMPARISON: &str = "crates/usm-bench/python/compare";
const RUST: &str = "release/examples/compare";

/// What the command line asks for.
#[derive(Args)]
pub(crate) struct Options {
    /// Only cases whose name contains this
    #[arg(long, value_name = "PATTERN")]
    case: Option<String>,
    /// Few samples and no long cases: under three minutes once everything is built
    #[arg(long)]
    quick: bool,
    /// Tell what changed since a saved report.json
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Fail if a goal of goals.toml that belongs to this run is missed three times, or cannot be measured
    #[arg(long)]
    check: bool,
    /// Write guide/performance.md; only after a whole run on a quiet machine
    #[arg(long, conflicts_with_all = ["quick", "case"])]
    page: bool,
    /// Measure nothing: judge a saved report.json by the goals as they are now, and write the files again
    #[arg(long, value_name = "FILE", conflicts_with_all = ["quick", "case", "installed"])]
    judge: Option<PathBuf>,
    /// A Python that has usm, NumPy, dpctl and dpnp, in place of a venv with a new wheel
    #[arg(long, value_name = "PYTHON")]
    installed: Option<PathBuf>,
    /// Measure the Rust cases whose name contains this by criterion, with the options that follow
    #[arg(last = true)]
    criterion: Vec<String>,
}

/// Runs what the options ask for.
pub(crate) fn run(project: &Project, options: &Options) -> Outcome<()> {
    if !options.criterion.is_empty() {
        return openly(project.command(rust(project)?).arg("--bench").args(&options.criterion));
    }
    let report = Venv::ensure(project, "venv-report")?;
    report.require(REPORT)?;
    let mut compare = report.python().args(["-B", "-u"]).arg(project.root().join(COMPARISON));
    compare = compare.arg("--folder").arg(project.target().join("bench"));
    for (name, wanted) in [("--quick", options.quick), ("--check", options.check), ("--page", options.page)] {
        compare = compare.args(wanted.then_some(name));
    }
    for (name, file) in [("--compare", &options.compare), ("--judge", &options.judge)] {
        compare = file.iter().fold(compare, |compare, file| compare.arg(name).arg(absolute(file)));
    }
    if options.judge.is_none() {
        compare = compare.args(options.case.iter().flat_map(|pattern| ["--case", pattern]));
        compare = compare.arg("--python").arg(python(project, options.installed.as_deref())?);
        compare = compare.arg("--rust").arg(rust(project)?);
    }
    openly(compare.quiet())
}

/// A path is seen from where the command was started; the program runs in the root. Links stay: the name of a link tells which venv
/// is meant.
fn absolute(file: &Path) -> PathBuf {
    std::path::absolute(file).unwrap_or_else(|_| file.to_owned())
}

/// The Python of the cases. The venv is that of the tests, since these packages are big.
fn python(project: &Project, installed: Option<&Path>) -> Outcome<PathBuf> {
    if let Some(python) = installed {
        return Ok(absolute(python));
    }
    let venv = Venv::ensure(project, "venv")?;
    venv.require(&[SYCL, COMPARED].concat())?;
    say("building the wheel (the first time some minutes)");
    venv.install_wheel(&wheel::build(project)?)?;
    Ok(venv.executable())
}

/// The program with the Rust cases.
fn rust(project: &Project) -> Outcome<PathBuf> {
    say("building the Rust cases");
    let build = ["build", "--release", "--quiet", "--locked", "-p", "usm-bench", "--examples"];
    openly(project.cargo().args(build).quiet())?;
    Ok(project.target().join(RUST))
}
