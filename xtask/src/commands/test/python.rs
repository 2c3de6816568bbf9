//! pytest on the installed wheel.

use std::num::NonZero;
use std::path::Path;
use std::thread::available_parallelism;

use anyhow::Result;
use xshell::Cmd;

use super::Peers;
use super::rust::{DRIVER, stand_in};
use crate::project::Project;
use crate::python::Venv;

/// Tests of the wheel, seen from the root, and of the example of an extension.
pub(in crate::commands) const WHEEL_TESTS: &str = "tests/python";
pub(in crate::commands) const EXTENSION_TESTS: &str = "examples/pyext/tests";

/// `0` keeps a GPU of this machine out of tests that expect a default device of SYCL or of the host.
pub(in crate::commands) const CUDA: &str = "USM_CUDA";

/// The folder of the stand-ins for the driver of CUDA and for dpctl 0.23.
pub(super) const STAND_INS: &str = "USM_TEST_STAND_INS";

/// The files about CUDA devices.
const CUDA_TESTS: [&str; 9] = [
    "tests/python/test_bench_cuda.py",
    "tests/python/test_cuda_interface.py",
    "tests/python/test_cuda_ipc.py",
    "tests/python/test_cuda_program.py",
    "tests/python/test_cuda_streams.py",
    "tests/python/test_cuda_stress.py",
    "tests/python/test_cuda_two_gpus.py",
    "tests/python/test_examples_output.py",
    "tests/python/test_ipc.py",
];

/// The most processes of pytest: each starts the SYCL runtime, with as many threads as there are cores.
const MAX_PROCESSES: usize = 4;

/// Variables that make a search for SYCL succeed outside of a venv.
const SYCL_PLACES: [&str; 4] = ["USM_SYCL_ROOT", "CONDA_PREFIX", "CMPLR_ROOT", "ONEAPI_ROOT"];

/// pytest on files or folders, seen from the root. One process per core. The variables reach these processes, and options of the
/// interpreter do not.
pub(in crate::commands) fn pytest<'p>(project: &Project, venv: &Venv<'p>, paths: &[&str]) -> Cmd<'p> {
    let processes = available_parallelism().map_or(1, NonZero::get).min(MAX_PROCESSES).to_string();
    let pytest = venv.python().args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
    let pytest = pytest.args(["--dist", "worksteal", "-n", &processes]);
    let pytest = pytest.args(paths.iter().map(|path| project.root.join(path)));
    // Each process that imports NumPy would start threads for its products, and compile the modules of the tests.
    let pytest = pytest.env("OPENBLAS_NUM_THREADS", "1").env_remove("PYTHONDONTWRITEBYTECODE");
    pytest.env("PYTHONSAFEPATH", "1").env(CUDA, "0")
}

/// Tests with the SYCL device and with other libraries, whose absence is a failure.
pub(super) fn with_sycl<'p>(pytest: Cmd<'p>, peers: Peers) -> Cmd<'p> {
    pytest.env("USM_REQUIRE_SYCL", "1").envs(peers.iter().map(|(variable, _)| (variable, "1")))
}

/// The tests of the wheel with the SYCL device, after the installation of the packages and of the wheel.
pub(in crate::commands) fn wheel_tests<'p>(
    project: &'p Project,
    groups: &[&[&str]],
    wheel: &Path,
    peers: Peers,
) -> Result<Cmd<'p>> {
    let venv = Venv::with(project, "venv", groups)?;
    venv.install_wheel(wheel)?;
    Ok(with_sycl(pytest(project, &venv, &[WHEEL_TESTS]), peers))
}

/// Tests without SYCL.
pub(in crate::commands) fn hide_sycl(pytest: Cmd<'_>) -> Cmd<'_> {
    without_sycl_places(pytest).args(["-m", "not lengthy"]).env("USM_TEST_NO_SYCL", "1")
}

/// Hides a SYCL that the caller's environment points to.
pub(super) fn without_sycl_places(command: Cmd<'_>) -> Cmd<'_> {
    SYCL_PLACES.iter().fold(command, |command, name| command.env_remove(name))
}

/// The tests about CUDA devices, on the stand-in of the driver with two GPUs.
pub(in crate::commands) fn on_stand_in<'p>(project: &Project, venv: &Venv<'p>) -> Cmd<'p> {
    let tests = pytest(project, venv, &CUDA_TESTS).env(CUDA, "1").env("CUDA_LOOPBACK_DEVICES", "2");
    let required = ["USM_REQUIRE_CUDA", "USM_REQUIRE_TWO_GPUS", "USM_REQUIRE_NVRTC"];
    tests.env(DRIVER, stand_in(project)).envs(required.map(|name| (name, "1")))
}

/// Runs tests in an empty folder, so that only the installed wheel can be imported: by [`openly`](crate::project::openly), or by
/// [`openly_for_long`](crate::project::openly_for_long).
pub(in crate::commands) fn run(
    project: &Project,
    run: fn(Cmd<'_>) -> Result<()>,
    tests: Cmd<'_>,
) -> Result<()> {
    let folder = project.shell.create_dir(project.target.join("elsewhere"))?;
    let _back_at_the_end = project.shell.push_dir(folder);
    run(tests)
}
