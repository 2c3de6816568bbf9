//! pytest on the installed wheel.

use std::num::NonZero;
use std::thread::available_parallelism;

use anyhow::Result;
use xshell::Cmd;

use super::Peers;
use super::rust::{DRIVER, stand_in};
use crate::project::{Project, openly, openly_for_long};
use crate::python::Venv;

/// Tests of the wheel, seen from the root, and of the example of an extension.
pub(in crate::commands) const WHEEL_TESTS: &str = "tests/python";
pub(in crate::commands) const EXTENSION_TESTS: &str = "examples/pyext/tests";

/// `0` keeps a GPU of this machine out of tests that expect a default device of SYCL or of the host.
pub(in crate::commands) const CUDA: &str = "USM_CUDA";

/// The files of [`WHEEL_TESTS`] about CUDA devices.
const CUDA_TESTS: [&str; 6] = [
    "test_bench_cuda",
    "test_cuda_interface",
    "test_cuda_program",
    "test_cuda_streams",
    "test_cuda_stress",
    "test_cuda_two_gpus",
];

/// The most processes of pytest: each starts the SYCL runtime, with as many threads as there are cores.
const MAX_PROCESSES: usize = 4;

/// Variables that make a search for SYCL succeed outside of a venv.
const SYCL_PLACES: [&str; 4] = ["USM_SYCL_ROOT", "CONDA_PREFIX", "CMPLR_ROOT", "ONEAPI_ROOT"];

/// A run of pytest.
pub(in crate::commands) struct Tests<'p> {
    project: &'p Project,
    command: Cmd<'p>,
}

impl<'p> Tests<'p> {
    /// pytest on files or folders, seen from the root. One process per core. The variables reach these processes, and options of the
    /// interpreter do not.
    pub(in crate::commands) fn of(project: &'p Project, venv: &Venv<'p>, paths: &[String]) -> Self {
        let processes = available_parallelism().map_or(1, NonZero::get).min(MAX_PROCESSES);
        let pytest = venv.python().args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
        let pytest = pytest.args(["--dist", "worksteal", "-n", &processes.to_string()]);
        let pytest = pytest.args(paths.iter().map(|path| project.root.join(path)));
        // Each process that imports NumPy would start threads for its products, and compile the modules of the tests.
        let pytest = pytest.env("OPENBLAS_NUM_THREADS", "1").env_remove("PYTHONDONTWRITEBYTECODE");
        let command = pytest.env("PYTHONSAFEPATH", "1").env(CUDA, "0");
        Self { project, command }
    }

    /// The tests in a folder, with the SYCL device.
    pub(in crate::commands) fn with_sycl(
        project: &'p Project,
        venv: &Venv<'p>,
        folder: &str,
        peers: Peers,
    ) -> Self {
        let tests = Self::of(project, venv, &[folder.to_owned()]).env("USM_REQUIRE_SYCL", "1");
        peers.variables().iter().fold(tests, |tests, name| tests.env(name, "1"))
    }

    /// The tests in a folder, where there is no SYCL.
    pub(in crate::commands) fn without_sycl(project: &'p Project, venv: &Venv<'p>, folder: &str) -> Self {
        Self::of(project, venv, &[folder.to_owned()]).hiding_sycl()
    }

    /// The tests about CUDA devices, on the stand-in of the driver with two GPUs.
    pub(in crate::commands) fn stand_in(project: &'p Project, venv: &Venv<'p>) -> Self {
        let paths = CUDA_TESTS.map(|name| format!("{WHEEL_TESTS}/{name}.py"));
        let tests = Self::of(project, venv, &paths).env(CUDA, "1").env("CUDA_LOOPBACK_DEVICES", "2");
        let driver = stand_in(project).display().to_string();
        let required = ["USM_REQUIRE_CUDA", "USM_REQUIRE_TWO_GPUS", "USM_REQUIRE_NVRTC"];
        required.iter().fold(tests.env(DRIVER, &driver), |tests, name| tests.env(name, "1"))
    }

    pub(in crate::commands) fn env(mut self, name: &str, value: &str) -> Self {
        self.command = self.command.env(name, value);
        self
    }

    pub(in crate::commands) fn args(mut self, arguments: &[&str]) -> Self {
        self.command = self.command.args(arguments);
        self
    }

    /// Hides a SYCL that the caller's environment points to.
    pub(in crate::commands) fn hiding_sycl(mut self) -> Self {
        self.command = hide_sycl(self.command).args(["-m", "not lengthy"]).env("USM_TEST_NO_SYCL", "1");
        self
    }

    /// Runs it in an empty folder, so that only the installed wheel can be imported.
    pub(in crate::commands) fn run(self) -> Result<()> {
        self.run_by(openly)
    }

    /// As [`run`](Self::run), for a campaign.
    pub(in crate::commands) fn run_for_long(self) -> Result<()> {
        self.run_by(openly_for_long)
    }

    fn run_by(self, run: fn(Cmd<'_>) -> Result<()>) -> Result<()> {
        let shell = &self.project.shell;
        let folder = shell.create_dir(self.project.target.join("elsewhere"))?;
        let _back_at_the_end = shell.push_dir(folder);
        run(self.command)
    }
}

/// Hides a SYCL that the caller's environment points to.
pub(super) fn hide_sycl(command: Cmd<'_>) -> Cmd<'_> {
    SYCL_PLACES.iter().fold(command, |command, name| command.env_remove(name))
}
