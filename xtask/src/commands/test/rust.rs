//! Rust tests and doctests, with the real SYCL device and the stand-in of the CUDA driver.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use serde_json::Value;
use xshell::Cmd;

use crate::project::{Project, openly, quietly};
use crate::python::Venv;

/// The crates whose tests run on each device, with the test backends.
pub(in crate::commands) const DEVICE_LIBRARIES: &str = "-p usm-core -p usm-memory -p usm-array --features usm-core/testing,usm-memory/cudarc,usm-array/ndarray,usm-array/svg";

/// The layers over Python have no Rust tests: a test program would have to link libpython.
const TESTED: &str = "--workspace --exclude usm-python --exclude usm-pyext-example \
     --features usm-core/testing,usm-memory/cudarc,usm-array/ndarray,usm-array/svg";

/// The features of single crates that their tests need.
const FEATURES: [(&str, &str); 2] = [("usm-memory", "cudarc,svg"), ("usm-array", "ndarray,svg")];

/// Variable with the path of a CUDA driver, and the file of the stand-in.
pub(in crate::commands) const DRIVER: &str = "USM_CUDA_DRIVER";
pub(in crate::commands) const STAND_IN: &str = "libcuda_loopback.so";

/// The SYCL CPU device compiles kernels without its vectorizer, which takes less time. Parts of `cargo xtask verify` have the
/// kernels that users get.
pub(super) const SCALAR_KERNELS: (&str, &str) = ("CL_CONFIG_CPU_VECTORIZER_MODE", "1");

/// The tests of one crate are built once and run often: optimized, they take less time, and their build more.
const OPTIMIZED: &str = "profile.dev.opt-level=1";

/// The limit of a whole test program, for runs without nextest, in seconds: `crates/test-stacks`. Some tests count all memory of
/// their process: one after the other there.
const WITHOUT_NEXTEST: [(&str, &str); 2] = [("USM_TEST_LIMIT_S", "1200"), ("RUST_TEST_THREADS", "1")];

/// Builds all tests.
pub(super) fn build(project: &Project) -> Result<()> {
    openly(runner(project, TESTED).arg("--no-run"))
}

/// A program with tests of a crate.
pub(in crate::commands) struct TestProgram {
    pub(in crate::commands) package: String,
    /// The name of its file in `tests/`, or of the crate for its unit tests.
    pub(in crate::commands) name: String,
    pub(in crate::commands) file: PathBuf,
}

/// Builds the programs of all tests, and returns their paths.
pub(in crate::commands) fn all_programs(project: &Project) -> Result<Vec<TestProgram>> {
    programs(project.cargo(&format!("test --no-run --locked --lib --bins --tests {TESTED}")))
}

/// The programs that this command of cargo builds.
pub(in crate::commands) fn programs(build: Cmd<'_>) -> Result<Vec<TestProgram>> {
    let messages = quietly(build.args(["--message-format", "json"]))?;
    let programs: Vec<_> = messages.lines().filter_map(test_program).collect();
    ensure!(!programs.is_empty(), "cargo built no test program");
    Ok(programs)
}

/// The program that a message of cargo is about.
fn test_program(message: &str) -> Option<TestProgram> {
    let message: Value = serde_json::from_str(message).ok()?;
    let manifest = Path::new(message.get("manifest_path")?.as_str()?);
    Some(TestProgram {
        package: manifest.parent()?.file_name()?.to_str()?.to_owned(),
        name: message.get("target")?.get("name")?.as_str()?.to_owned(),
        file: message.get("executable")?.as_str()?.into(),
    })
}

/// Runs all tests, with these variables.
pub(in crate::commands) fn tests(
    project: &Project,
    venv: &Venv<'_>,
    variables: &[(&str, &str)],
) -> Result<()> {
    openly(with_devices(project, runner(project, TESTED), venv).envs(variables.iter().copied()))
}

/// Runs the tests of one crate.
pub(super) fn tests_of(project: &Project, venv: &Venv<'_>, package: &str) -> Result<()> {
    build_stand_ins(project)?;
    let tests = runner(project, &of_package(package));
    openly(with_devices(project, tests, venv).envs([SCALAR_KERNELS]))
}

/// One test program of a crate at its full length, on all devices, optimized as in the tests of that crate alone.
pub(in crate::commands) fn on_all_devices<'p>(
    project: &'p Project,
    venv: &Venv<'_>,
    package: &str,
    program: &str,
) -> Result<Cmd<'p>> {
    build_stand_ins(project)?;
    let tests = project.cargo(&format!("test --locked {} --test {program}", of_package(package)));
    Ok(with_devices(project, tests, venv).env("USM_TEST_LIMIT_S", "0"))
}

/// Options about one crate, with its features and its profile: two commands with other ones would build it twice.
fn of_package(package: &str) -> String {
    let features = FEATURES.iter().filter(|(name, _)| *name == package);
    let features = features.map(|(_, features)| format!(" --features {features}"));
    format!("--package {package} --config {OPTIMIZED}{}", features.collect::<String>())
}

/// Runs the doctests of one crate, or of all.
pub(super) fn doctests(project: &Project, venv: &Venv<'_>, package: Option<&str>) -> Result<()> {
    // The models have files of usm-memory, whose examples are tested there.
    let models = "--exclude access-model --exclude pool-model";
    let which = package.map_or_else(|| format!("{TESTED} {models}"), of_package);
    openly(require_sycl(project.cargo(&format!("test --quiet --locked --doc {which}")), venv))
}

/// nextest where it is installed, which ends a test that hangs; else `cargo test`, which ends its program.
pub(in crate::commands) fn runner<'p>(project: &'p Project, options: &str) -> Cmd<'p> {
    let program = if has_nextest(project) {
        "nextest run --status-level slow"
    } else {
        "test --quiet --no-fail-fast --lib --bins --tests"
    };
    project.cargo(&format!("{program} --locked {options}"))
}

fn has_nextest(project: &Project) -> bool {
    quietly(project.cargo("nextest --version")).is_ok()
}

/// Tests over all backends have a SYCL device and a CUDA device. A missing one is a failure.
fn with_devices<'p>(project: &Project, tests: Cmd<'p>, venv: &Venv<'_>) -> Cmd<'p> {
    let tests = require_sycl(tests, venv).env(DRIVER, stand_in(project)).env("USM_REQUIRE_CUDA", "1");
    if has_nextest(project) { tests } else { tests.envs(WITHOUT_NEXTEST) }
}

/// Builds the stand-ins alone. Their unit tests would not do: they are programs and leave out the libraries.
pub(super) fn build_stand_ins(project: &Project) -> Result<()> {
    quietly(project.cargo("build --locked --package cuda-loopback --package sycl-023-loopback")).map(drop)
}

/// The folder of the stand-ins, which are built with the tests.
pub(super) fn stand_ins(project: &Project) -> PathBuf {
    project.target.join("debug/deps")
}

/// The stand-in of the CUDA driver.
pub(super) fn stand_in(project: &Project) -> PathBuf {
    stand_ins(project).join(STAND_IN)
}

/// A Rust test finds the runtime in the venv, and one that does not find it fails.
pub(in crate::commands) fn require_sycl<'p>(tests: Cmd<'p>, venv: &Venv<'_>) -> Cmd<'p> {
    tests.env("VIRTUAL_ENV", &venv.dir).env("USM_REQUIRE_SYCL", "1")
}
