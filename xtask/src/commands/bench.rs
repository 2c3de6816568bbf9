//! `cargo xtask bench`: builds and installs what the comparison needs, and starts it. The programs are in `crates/usm-bench`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use xshell::Cmd;

use super::device::{self, Kind};
use super::test::python::CUDA;
use super::test::rust::{DRIVER, STAND_IN};
use crate::project::{Project, openly, quietly};
use crate::python::{COMPARED, CUDA_PEERS, ML_DTYPES, NUMPY, REPORT, SYCL, Venv};
use crate::report::say;
use crate::wheel;

/// The comparison, seen from the root, and the Rust cases, seen from the build directory.
const COMPARISON: &str = "crates/usm-bench/python/compare";
const RUST: &str = "release/examples/compare";

/// What the cases on a device need, seen from the root: their goals, and the programs.
const DEVICE_PARTS: [&str; 2] = ["crates/usm-bench/goals-cuda.toml", "crates/usm-bench/python"];
/// Starts the packed comparison, seen from the root, and its name, the folder and the archive, in the build directory.
const RUNNER: &str = "tests/packed/bench.py";
const RUNNER_NAME: &str = "run.py";
const FOLDER: &str = "packed-bench";
const ARCHIVE: &str = "packed-bench.tar.xz";

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
    #[arg(long, visible_alias = "only", value_name = "PATTERN")]
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
    /// Write guide/performance.md, or with --device guide/performance-cuda.md; only after a whole run on a quiet machine
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
pub(crate) fn run(project: &Project, options: &Options) -> Result<()> {
    if !options.criterion.is_empty() {
        return openly(project.command(rust(project)?).arg("--bench").args(&options.criterion));
    }
    if options.pack {
        return pack(project);
    }
    let device = match options.device {
        Some(kind) if options.judge.is_none() => Some(on_device(project, kind)?),
        _ => None,
    };
    let report = Venv::with(project, "venv-report", &[])?;
    report.require(REPORT, &[])?;
    let mut compare = report.python().args(["-B", "-u"]).arg(project.root.join(COMPARISON));
    let folder = if options.device.is_some() { "bench-cuda" } else { "bench" };
    compare = compare.arg("--folder").arg(project.target.join(folder));
    let smoke = options.smoke || options.device == Some(Kind::CudaStandIn);
    let flags = [
        ("--quick", options.quick),
        ("--check", options.check),
        ("--page", options.page),
        ("--smoke", smoke),
    ];
    for (name, wanted) in flags {
        compare = compare.args(wanted.then_some(name));
    }
    if options.device.is_some() {
        compare = compare.args(["--device", "cuda"]);
    }
    for (name, file) in [("--compare", &options.compare), ("--judge", &options.judge)] {
        compare = file.iter().fold(compare, |compare, file| compare.arg(name).arg(absolute(file)));
    }
    if options.judge.is_none() {
        compare = compare.args(options.case.iter().flat_map(|pattern| ["--case", pattern]));
        compare = match device {
            Some(device) => device.env(compare).arg("--python").arg(device.python),
            None => {
                let python = python(project, options.installed.as_deref())?;
                compare.arg("--python").arg(python).arg("--rust").arg(rust(project)?)
            }
        };
    }
    openly(compare.quiet())
}

/// The Python of the cases on a device, and the stand-in of the driver in place of a GPU.
struct OnDevice {
    python: PathBuf,
    stand_in: Option<PathBuf>,
}

impl OnDevice {
    /// A command that sees the device.
    fn env<'p>(&self, command: Cmd<'p>) -> Cmd<'p> {
        match &self.stand_in {
            Some(driver) => command.env(DRIVER, driver).env(CUDA, "1"),
            None => command,
        }
    }
}

/// Looks for the device before it installs the other libraries, which are several gigabytes.
fn on_device(project: &Project, kind: Kind) -> Result<OnDevice> {
    let venv = Venv::with(project, "venv-bench-cuda", &[])?;
    say("building the wheel (the first time some minutes)");
    venv.install_wheel(&wheel::build(project)?)?;
    let stand_in = match kind {
        Kind::Cuda => None,
        Kind::CudaStandIn => Some(stand_in(project)?),
    };
    let device = OnDevice { python: venv.executable.clone(), stand_in };
    let look = venv.python().arg("-B").arg(project.root.join(COMPARISON)).args(["--look", "--python"]);
    let found = quietly(device.env(look.arg(&device.python)))?;
    say(&format!("comparing on {}", found.trim()));
    venv.require(
        &if kind == Kind::Cuda { CUDA_PEERS.to_vec() } else { [NUMPY, &[ML_DTYPES]].concat() },
        &[],
    )?;
    Ok(device)
}

/// Builds the stand-in of the driver.
fn stand_in(project: &Project) -> Result<PathBuf> {
    openly(project.cargo("").args(["build", "--quiet", "--locked", "-p", "cuda-loopback"]).quiet())?;
    Ok(project.target.join("debug").join(STAND_IN))
}

/// Leaves an archive with all that a machine with a GPU needs, next to Python, NumPy, CuPy and PyTorch.
fn pack(project: &Project) -> Result<()> {
    let shell = &project.shell;
    let folder = project.target.join(FOLDER);
    shell.remove_path(&folder)?;
    shell.create_dir(&folder)?;
    shell.copy_file(wheel::build(project)?, &folder)?;
    device::download_providers(project, &folder)?;
    shell.copy_file(project.root.join(RUNNER), folder.join(RUNNER_NAME))?;
    device::copy_parts(project, &folder, &DEVICE_PARTS)?;
    device::compress(project, &folder, ARCHIVE)
}

/// A path is seen from where the command was started; the program runs in the root. Links stay: the name of a link tells which venv
/// is meant.
fn absolute(file: &Path) -> PathBuf {
    std::path::absolute(file).unwrap_or_else(|_| file.to_owned())
}

/// The Python of the cases. The venv is that of the tests, since these packages are big.
fn python(project: &Project, installed: Option<&Path>) -> Result<PathBuf> {
    if let Some(python) = installed {
        return Ok(absolute(python));
    }
    let venv = Venv::with(project, "venv", &[])?;
    venv.require(&[SYCL, COMPARED].concat(), &[])?;
    say("building the wheel (the first time some minutes)");
    venv.install_wheel(&wheel::build(project)?)?;
    Ok(venv.executable.clone())
}

/// The program with the Rust cases.
fn rust(project: &Project) -> Result<PathBuf> {
    say("building the Rust cases");
    let build = ["build", "--release", "--quiet", "--locked", "-p", "usm-bench", "--examples"];
    openly(project.cargo("").args(build).quiet())?;
    Ok(project.target.join(RUST))
}
