//! `cargo xtask test`: every test there is, with SYCL where it is needed and without it where not.

use std::num::NonZero;
use std::path::Path;
use std::thread::available_parallelism;

use xshell::Cmd;

use super::demo::EXAMPLE;
use crate::failure::Outcome;
use crate::project::{Project, openly, quietly};
use crate::python::{HEAVY_PEERS, NVRTC, PEERS, PYTEST, SYCL, TYPES, Venv};
use crate::report::{Steps, say};
use crate::wheel;

/// The crates that are libraries for others and must work without their default features; with the test backends.
pub(super) const LIBRARIES: &str =
    "-p sycl-sys -p usm-core -p usm-memory -p usm-array --features usm-core/testing";

/// The crates whose tests run on each device, with the test backends.
pub(super) const DEVICE_LIBRARIES: &str =
    "-p usm-core -p usm-memory -p usm-array --features usm-core/testing,usm-array/ndarray,usm-array/svg";

/// The crates whose tests differ without their default features.
const WITHOUT_DEFAULTS: &str = "-p sycl-sys -p usm-core -p usm-memory --features usm-core/testing";

/// The layer over Python has no Rust tests: a test program would have to link libpython.
const ALL_BUT_PYTHON: &str =
    "--workspace --exclude usm-python --features usm-core/testing,usm-array/ndarray,usm-array/svg";

/// The crates that take a short cut to device memory of a CPU, without the unit tests that look at no memory of a device. Chosen out of
/// the programs of the run before: with `-p` the features of their dependencies are others, and everything is built and kept a second
/// time.
const OVER_MEMORY: &str = "package(usm-memory) | package(usm-array) & not \
     (kind(lib) & test(/^(layout|copy::host|copy::plan|copy::kernel::linear|copy::kernel::tile)::/))";

/// The most processes of pytest: each starts the SYCL runtime, with as many threads as there are cores.
const MAX_PROCESSES: usize = 4;

/// `0` keeps a GPU of this machine out of tests that expect a default device of SYCL or of the host.
pub(super) const CUDA: &str = "USM_CUDA";

/// Variable with the path of a CUDA driver, and the file of the stand-in.
pub(super) const DRIVER: &str = "USM_CUDA_DRIVER";
pub(super) const STAND_IN: &str = "libcuda_loopback.so";

/// Takes the short cut away, so that the path of other devices is tested.
const STRICT_DEVICE: &str = "USM_STRICT_DEVICE";

/// Tests of the wheel, seen from the root, and of the example of an extension.
pub(super) const WHEEL_TESTS: &str = "tests/python";
const EXTENSION_TESTS: &str = "examples/pyext/tests";

/// The files of [`WHEEL_TESTS`] about CUDA devices.
const CUDA_TESTS: [&str; 4] =
    ["test_cuda_interface", "test_cuda_program", "test_cuda_streams", "test_cuda_two_gpus"];

/// The files of [`WHEEL_TESTS`] about CUDA devices that need NumPy.
const CUDA_NUMPY_TESTS: [&str; 2] = ["test_bench_cuda", "test_cuda_stress"];

/// The files of [`WHEEL_TESTS`] that depend on the interpreter: its objects, its collector, its threads and signals, its end, its
/// protocols, and one of everything else.
const CORE_TESTS: [&str; 20] = [
    "test_array_pickle",
    "test_assignment",
    "test_buffer_protocol",
    "test_constructor",
    "test_devices",
    "test_dlpack",
    "test_dlpack_c_api",
    "test_docstrings",
    "test_events",
    "test_import",
    "test_interface_export",
    "test_lifetime",
    "test_main",
    "test_memory_lifecycle",
    "test_robust_fork",
    "test_robust_interpreters",
    "test_robust_interrupt",
    "test_robust_objects",
    "test_robust_shutdown",
    "test_threads",
];

/// Variables that make a search for SYCL succeed outside of a venv.
const SYCL_PLACES: [&str; 4] = ["USM_SYCL_ROOT", "CONDA_PREFIX", "CMPLR_ROOT", "ONEAPI_ROOT"];

/// Which other libraries must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peers {
    /// None but dpctl and NumPy
    None,
    /// The packages of [`PEERS`]
    Light,
    /// The packages of [`HEAVY_PEERS`] as well
    All,
}

impl Peers {
    /// The request of the flags `--peers` and `--all-peers`.
    pub(crate) fn asked(peers: bool, all_peers: bool) -> Self {
        match (peers, all_peers) {
            (_, true) => Self::All,
            (true, false) => Self::Light,
            (false, false) => Self::None,
        }
    }

    /// The packages to install for them.
    fn requirements(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::None => &[],
            Self::Light => &[PEERS],
            Self::All => &[PEERS, HEAVY_PEERS],
        }
    }

    /// The variables that make a missing one a failure.
    fn variables(self) -> &'static [&'static str] {
        match self {
            Self::None => &[],
            Self::Light => &["USM_REQUIRE_PEERS"],
            Self::All => &["USM_REQUIRE_PEERS", "USM_REQUIRE_ALL_PEERS"],
        }
    }
}

/// Runs all tests and prints the table of steps.
pub(crate) fn run(project: &Project, peers: Peers) -> Outcome<()> {
    let mut steps = Steps::default();
    let outcome = all(project, peers, &mut steps);
    steps.finish(outcome)
}

/// Runs all tests as steps of a bigger command. They stop at the first that fails.
pub(super) fn all(project: &Project, peers: Peers, steps: &mut Steps) -> Outcome<()> {
    let sycl = steps.step("venv with SYCL", || {
        let venv = Venv::ensure(project, "venv")?;
        venv.require(&[&[PYTEST, TYPES, SYCL], peers.requirements()].concat().concat())?;
        Ok(venv)
    })?;
    let bare = steps.step("venv without SYCL and NumPy", || {
        let venv = Venv::ensure(project, "venv-bare")?;
        venv.require(&[PYTEST, NVRTC].concat())?;
        Ok(venv)
    })?;
    // Tests over all backends have a CUDA device, too.
    let stand_in = project.target().join("debug/deps").join(STAND_IN);
    steps.step("Rust tests", || {
        let tests = tests(project)
            .args(ALL_BUT_PYTHON.split(' '))
            .env(DRIVER, &stand_in)
            .env("USM_REQUIRE_CUDA", "1");
        openly(require_sycl(tests, &sycl))
    })?;
    steps.step("Rust tests with queues for all device memory", || {
        let tests = tests_of(project, OVER_MEMORY).args(ALL_BUT_PYTHON.split(' ')).env(STRICT_DEVICE, "1");
        openly(require_sycl(tests, &sycl))
    })?;
    steps.step("doctests", || {
        let doctests =
            project.cargo().args(["test", "--quiet", "--locked", "--doc"]).args(ALL_BUT_PYTHON.split(' '));
        openly(require_sycl(doctests, &sycl))
    })?;
    steps.step("Rust tests without default features", || {
        openly(tests(project).args(WITHOUT_DEFAULTS.split(' ')).arg("--no-default-features"))
    })?;
    let wheel = steps.step("wheel", || {
        let wheel = wheel::build(project)?;
        sycl.install_wheel(&wheel)?;
        bare.install_wheel(&wheel)?;
        Ok(wheel)
    })?;
    steps.step("extension", || {
        let wheel = wheel::build_extension(project)?;
        sycl.install_other_wheel(&wheel)?;
        bare.install_other_wheel(&wheel)
    })?;
    steps.step("pytest on the stand-in of the CUDA driver", || {
        let pytest = files(project, &bare, &CUDA_TESTS).env(DRIVER, &stand_in).env(CUDA, "1");
        let pytest = pytest.env("CUDA_LOOPBACK_DEVICES", "2");
        let required = ["USM_REQUIRE_CUDA", "USM_REQUIRE_TWO_GPUS", "USM_REQUIRE_NVRTC"];
        elsewhere(project, without_sycl(required.iter().fold(pytest, |pytest, name| pytest.env(name, "1"))))
    })?;
    steps.step("pytest with NumPy on the stand-in of the CUDA driver", || {
        let pytest =
            files(project, &sycl, &CUDA_NUMPY_TESTS).env(DRIVER, &stand_in).env("USM_REQUIRE_CUDA", "1");
        elsewhere(project, pytest.env(CUDA, "1"))
    })?;
    for (name, tests) in [("pytest", WHEEL_TESTS), ("pytest of the extension", EXTENSION_TESTS)] {
        steps.step(&format!("{name} with SYCL"), || {
            let pytest = pytest(project, &sycl, tests).env("USM_REQUIRE_SYCL", "1");
            elsewhere(project, peers.variables().iter().fold(pytest, |pytest, name| pytest.env(name, "1")))
        })?;
        steps.step(&format!("{name} with queues for all device memory"), || {
            let pytest = pytest(project, &sycl, tests).env("USM_REQUIRE_SYCL", "1");
            elsewhere(project, pytest.args(["-m", "not indifferent"]).env(STRICT_DEVICE, "1"))
        })?;
        steps.step(&format!("{name} without SYCL and NumPy"), || {
            elsewhere(project, bare_tests(pytest(project, &bare, tests)))
        })?;
    }
    other_pythons(project, &wheel, steps)?;
    steps.step("example with SYCL", || example(project, sycl.python()))?;
    steps.step("example without SYCL", || example(project, without_sycl(bare.python())))
}

/// pytest on [`CORE_TESTS`].
fn core<'p>(project: &Project, venv: &Venv<'p>) -> Cmd<'p> {
    files(project, venv, &CORE_TESTS)
}

/// pytest on some files of [`WHEEL_TESTS`].
fn files<'p>(project: &Project, venv: &Venv<'p>, names: &[&str]) -> Cmd<'p> {
    let path = |name: &&str| project.root().join(WHEEL_TESTS).join(name).with_extension("py");
    pytest_on(venv).args(names.iter().map(path))
}

/// The same wheel on each other Python that is found, with the tests that depend on the interpreter; with SYCL, which takes gigabytes of
/// disk, on the newest one that there are wheels for.
fn other_pythons(project: &Project, wheel: &Path, steps: &mut Steps) -> Outcome<()> {
    let mut is_done_with_sycl = false;
    for (series, found) in project.interpreter()?.of_other_series(project).into_iter().rev() {
        let python = match found {
            Ok(python) => python,
            Err(reason) => {
                say(&format!("    Python {series} is not tested: {reason}"));
                continue;
            }
        };
        let version = python.version();
        steps.step(&format!("pytest on Python {version} without SYCL and NumPy"), || {
            let venv = Venv::ensure_of(project, &format!("venv-bare-{series}"), &python)?;
            venv.require(PYTEST)?;
            venv.install_wheel(wheel)?;
            elsewhere(project, bare_tests(core(project, &venv)))
        })?;
        if is_done_with_sycl {
            continue;
        }
        is_done_with_sycl = steps.step(&format!("pytest on Python {version} with SYCL"), || {
            let venv = Venv::ensure_of(project, &format!("venv-{series}"), &python)?;
            if !venv.require_wheels(&[PYTEST, SYCL].concat())? {
                say(&format!("    not tested: there is no wheel of {} for Python {series}", SYCL.join(", ")));
                return Ok(false);
            }
            venv.install_wheel(wheel)?;
            elsewhere(project, core(project, &venv).env("USM_REQUIRE_SYCL", "1"))?;
            Ok(true)
        })?;
    }
    Ok(())
}

fn tests(project: &Project) -> Cmd<'_> {
    tests_of(project, "all()")
}

/// The tests that a filterset of nextest chooses; `cargo test` runs them all.
fn tests_of<'p>(project: &'p Project, filterset: &str) -> Cmd<'p> {
    if has_nextest(project) {
        runner(project).args(["--filterset", filterset])
    } else {
        runner(project).args(["--lib", "--bins", "--tests"])
    }
}

/// nextest where it is installed, which ends a test that hangs; else `cargo test`.
pub(super) fn runner(project: &Project) -> Cmd<'_> {
    let program = if has_nextest(project) {
        project.cargo().args(["nextest", "run", "--status-level", "slow"])
    } else {
        project.cargo().args(["test", "--quiet"])
    };
    program.arg("--locked")
}

fn has_nextest(project: &Project) -> bool {
    quietly(project.cargo().args(["nextest", "--version"])).is_ok()
}

/// A Rust test finds the runtime in the venv, and one that does not find it fails.
pub(super) fn require_sycl<'p>(tests: Cmd<'p>, venv: &Venv<'_>) -> Cmd<'p> {
    tests.env("VIRTUAL_ENV", venv.dir()).env("USM_REQUIRE_SYCL", "1")
}

/// Hides a SYCL that the caller's environment points to.
fn without_sycl(mut command: Cmd<'_>) -> Cmd<'_> {
    for name in SYCL_PLACES {
        command = command.env_remove(name);
    }
    command
}

/// pytest where there is no SYCL.
fn bare_tests(pytest: Cmd<'_>) -> Cmd<'_> {
    without_sycl(pytest).args(["-m", "not lengthy"]).env("USM_TEST_NO_SYCL", "1")
}

/// pytest on the tests in a folder.
pub(super) fn pytest<'p>(project: &Project, venv: &Venv<'p>, tests: &str) -> Cmd<'p> {
    pytest_on(venv).arg(project.root().join(tests))
}

/// One process of pytest per core. The variables reach these processes, and options of the interpreter do not.
fn pytest_on<'p>(venv: &Venv<'p>) -> Cmd<'p> {
    let processes = available_parallelism().map_or(1, NonZero::get).min(MAX_PROCESSES);
    let pytest = venv.python().args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
    let pytest = pytest.args(["--dist", "worksteal", "-n", &processes.to_string()]);
    pytest.env("PYTHONSAFEPATH", "1").env("PYTHONDONTWRITEBYTECODE", "1").env(CUDA, "0")
}

/// Runs a command in an empty folder, so that only the installed wheel can be imported.
pub(super) fn elsewhere(project: &Project, command: Cmd<'_>) -> Outcome<()> {
    let folder = project.shell().create_dir(project.target().join("elsewhere"))?;
    let _back_at_the_end = project.shell().push_dir(folder);
    openly(command)
}

fn example(project: &Project, python: Cmd<'_>) -> Outcome<()> {
    quietly(python.arg(project.root().join(EXAMPLE))).map(drop)
}
