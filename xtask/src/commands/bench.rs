//! `cargo xtask bench`: builds and installs what the comparison needs, and starts it. The programs are in `crates/usm-bench`.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::device::{self, Kind};
use super::test::python::CUDA;
use super::test::rust::{DRIVER, STAND_IN};
use crate::project::{Project, absolute, openly, quietly};
use crate::python::{COMPARED, CUDA_PEERS, DASK, ML_DTYPES, NUMPY, REPORT, SYCL, Venv};
use crate::report::say;
use crate::wheel;

/// The comparison, seen from the root, and the Rust cases, seen from the build directory.
const COMPARISON: &str = "crates/usm-bench/python/compare";
const RUST: &str = "release/examples/compare";

/// What the cases on a device need, seen from the root: their goals, and the programs.
const DEVICE_PARTS: [&str; 2] = ["crates/usm-bench/goals-cuda.toml", "crates/usm-bench/python"];
/// Starts the packed comparison, seen from the root, and the folder, in the build directory.
const RUNNER: &str = "tests/packed/bench.py";
const FOLDER: &str = "packed-bench";

/// What the command line asks for.
#[derive(Args)]
pub(crate) struct Options {
    /// In place of the cases on the CPU, the ones on a GPU of this machine, whose absence is a failure, or on the stand-in of the driver
    #[arg(long, conflicts_with_all = ["installed", "criterion"])]
    device: Option<Kind>,
    /// With --device: leave an archive for a machine without network and toolchain, and measure nothing
    #[arg(long, requires = "device")]
    pack: bool,
    /// With --device: one round with few elements, which shows that everything runs; always so on the stand-in
    #[arg(long, requires = "device")]
    smoke: bool,
    /// Only cases whose name contains this
    #[arg(long, value_name = "PATTERN")]
    case: Option<String>,
    /// Few samples and no long cases: under three minutes once everything is built
    #[arg(long)]
    quick: bool,
    /// Tell what changed since a saved report.json
    #[arg(long, value_name = "FILE", value_parser = absolute)]
    compare: Option<PathBuf>,
    /// Fail if a goal of goals.toml that belongs to this run is missed three times, or cannot be measured
    #[arg(long)]
    check: bool,
    /// Write guide/performance.md, or with --device guide/performance-cuda.md; only after a whole run on a quiet machine
    #[arg(long, conflicts_with_all = ["quick", "case"])]
    page: bool,
    /// Measure nothing: judge a saved report.json by the goals as they are now, and write the files again
    #[arg(long, value_name = "FILE", value_parser = absolute, conflicts_with_all = ["quick", "case", "installed"])]
    judge: Option<PathBuf>,
    /// A Python that has usm, NumPy, dpctl and dpnp, in place of a venv with a new wheel
    #[arg(long, value_name = "PYTHON", value_parser = absolute)]
    installed: Option<PathBuf>,
    /// Measure the Rust cases whose name contains this by criterion, with the options that follow
    #[arg(last = true)]
    criterion: Vec<String>,
}

/// Runs what the options ask for.
pub(crate) fn run(project: &Project, options: &Options) -> Result<()> {
    if !options.criterion.is_empty() {
        return openly(project.command(rust(project)?).arg("--bench").args(&options.criterion));
    }
    if options.pack {
        let folder = device::start(project, FOLDER, &wheel::build_native(project)?, RUNNER, &DEVICE_PARTS)?;
        return device::compress(project, &folder);
    }
    let measured = if options.judge.is_some() {
        Vec::new()
    } else if let Some(kind) = options.device {
        on_device(project, kind)?
    } else {
        let (python, rust) = (python(project, options)?, rust(project)?);
        vec!["--python".into(), python.into(), "--rust".into(), rust.into()]
    };
    let report = Venv::with(project, "venv-report", &[REPORT])?;
    let folder = project.target.join(if options.device.is_some() { "bench-cuda" } else { "bench" });
    let compare = report.python().args(["-B", "-u"]).arg(project.root.join(COMPARISON));
    // What is measured is compiled at the first import, as for users.
    let compare = compare.env_remove("PYTHONDONTWRITEBYTECODE");
    let mut compare = compare.arg("--folder").arg(folder).args(measured);
    for (wanted, words) in [
        (options.quick, &["--quick"][..]),
        (options.check, &["--check"]),
        (options.page, &["--page"]),
        (options.smoke || options.device == Some(Kind::CudaStandIn), &["--smoke"]),
        (options.device.is_some(), &["--device", "cuda"]),
    ] {
        compare = compare.args(words.iter().filter(|_| wanted));
    }
    for (name, file) in [("--compare", &options.compare), ("--judge", &options.judge)] {
        compare = compare.args(file.iter().flat_map(|file| [name.as_ref(), file.as_os_str()]));
    }
    compare = compare.args(options.case.iter().flat_map(|pattern| ["--case", pattern]));
    if options.device == Some(Kind::CudaStandIn) {
        compare = compare.env(DRIVER, stand_in(project)).env(CUDA, "1");
    }
    openly(compare)
}

/// The arguments for the cases on a device. Looks for the device before it installs the other libraries, which are several gigabytes.
fn on_device(project: &Project, kind: Kind) -> Result<Vec<OsString>> {
    let venv = Venv::with(project, "venv-bench-cuda", &[])?;
    install(project, &venv)?;
    let arguments = vec!["--python".into(), venv.executable.clone().into()];
    let look = venv.python().arg("-B").arg(project.root.join(COMPARISON)).arg("--look").args(&arguments);
    let (look, peers) = match kind {
        Kind::Cuda => (look, CUDA_PEERS.to_vec()),
        Kind::CudaStandIn => {
            openly(project.cargo("build --quiet --locked -p cuda-loopback"))?;
            (look.env(DRIVER, stand_in(project)).env(CUDA, "1"), [NUMPY, &[ML_DTYPES]].concat())
        }
    };
    say(&format!("comparing on {}", quietly(look)?.trim()));
    venv.require(&peers, &[])?;
    Ok(arguments)
}

/// The stand-in of the driver.
fn stand_in(project: &Project) -> PathBuf {
    project.target.join("debug").join(STAND_IN)
}

/// The Python of the cases. The tests use the same venv, since these packages are big.
fn python(project: &Project, options: &Options) -> Result<PathBuf> {
    if let Some(python) = &options.installed {
        return Ok(python.clone());
    }
    let venv = Venv::with(project, "venv", &[SYCL, DASK, COMPARED])?;
    install(project, &venv)?;
    Ok(venv.executable)
}

fn install(project: &Project, venv: &Venv<'_>) -> Result<()> {
    say("building the wheel (the first time some minutes)");
    venv.install_wheel(&wheel::build_native(project)?)
}

/// The program with the Rust cases.
fn rust(project: &Project) -> Result<PathBuf> {
    say("building the Rust cases");
    openly(project.cargo("build --release --quiet --locked -p usm-bench --examples"))?;
    Ok(project.target.join(RUST))
}
