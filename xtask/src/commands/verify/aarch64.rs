//! Tests on the host backend of aarch64: of the crates, and of the wheel with Debian's Python.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::commands::test::python::{self, hide_sycl};
use crate::emulation::Emulation;
use crate::project::{Project, openly_for_long, quietly};
use crate::python::{MAKE, NUMPY, PYTEST, Venv, ZIG, ZIGBUILD};
use crate::report::Steps;
use crate::wheel::{self, Platform};

/// The crates, their features, and their test programs that do not change their process. Each test has a process of its own, so that the
/// addresses of an emulated one suffice for its backends.
const TESTS: &str = "nextest run --profile emulated --locked --lib --test it -p usm-core -p usm-memory -p usm-array \
     --features usm-core/testing,usm-array/ndarray,usm-array/svg";
/// A test that reads its own memory from `/proc/self/mem`: QEMU has it at other addresses.
const LEFT_OUT: &str = "!test(a_shared_pointer_is_told_from_junk)";
/// The C library of the test programs. Older ones lack `gettid`, which `test-stacks` calls.
const TEST_GLIBC: &str = "2.31";
/// Few random cases, since emulated programs are slow; the limit of a test in seconds; and GPUs with little memory, since the stand-in
/// of the driver reserves addresses for all of it.
const VARIABLES: [(&str, &str); 3] =
    [("PROPTEST_CASES", "16"), ("USM_TEST_LIMIT_S", "7200"), ("CUDA_LOOPBACK_MEMORY_BYTES", "16777216")];
const LINKER: &str = "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER";

/// Files of the tests of the wheel: its objects, its layouts, and what it exchanges.
pub(super) const WHEEL_TESTS: [&str; 8] = [
    "test_buffer_protocol.py",
    "test_constructor.py",
    "test_dlpack.py",
    "test_import.py",
    "test_interface_export.py",
    "test_layouts.py",
    "test_memory.py",
    "test_public_interface.py",
];

/// Where packages of the emulated Python are, and its series.
const PLACE: &str =
    "import sys, sysconfig; print(sysconfig.get_path('purelib') + '|%d.%d' % sys.version_info[:2])";

/// The platforms whose wheels it takes.
const GLIBCS: [&str; 3] = ["manylinux_2_28_aarch64", "manylinux_2_27_aarch64", "manylinux2014_aarch64"];

/// Runs the tests.
pub(super) fn run(project: &Project, steps: &mut Steps) -> Result<()> {
    let platform = Platform::Aarch64;
    let emulation = steps.step("Debian's Python for aarch64, and QEMU", || Emulation::prepare(project))?;
    steps.step("Rust tests", || {
        platform.require_std(project)?;
        let tools = Venv::with(project, "venv-tools", &[MAKE, ZIG, ZIGBUILD])?;
        let tests = emulation.command("cargo").args(TESTS.split_whitespace()).args(["-E", LEFT_OUT]);
        let tests = tests.args(["--target", platform.target()]).envs(VARIABLES);
        openly_for_long(
            tests.env("PATH", wheel::path_with_zig(&tools)?).env(LINKER, linker(project, &tools)?),
        )
    })?;
    let wheel = steps.step("wheel", || wheel::build_quick_for(project, platform))?;
    steps.step("pytest without SYCL", || wheel_tests(project, &emulation, &wheel))
}

/// Zig as the linker, as a program without arguments.
fn linker(project: &Project, tools: &Venv<'_>) -> Result<PathBuf> {
    let script = project.target.join("aarch64/linker.sh");
    let zigbuild = tools.dir.join("bin/cargo-zigbuild");
    let target = format!("aarch64-linux-gnu.{TEST_GLIBC}");
    let line = format!("#!/bin/sh\nexec {zigbuild:?} zig cc -- -target {target} \"$@\"\n");
    project.shell.write_file(&script, line)?;
    fs::set_permissions(&script, Permissions::from_mode(0o755))?;
    Ok(script)
}

fn wheel_tests(project: &Project, emulation: &Emulation<'_>, wheel: &Path) -> Result<()> {
    let venv = project.target.join("aarch64/venv");
    let python = venv.join("bin/python");
    if !project.shell.path_exists(&python) {
        quietly(emulation.command(emulation.python()).args(["-I", "-m", "venv"]).arg(&venv))?;
    }
    let told = quietly(emulation.command(&python).args(["-I", "-c", PLACE]))?;
    let (packages, version) = told.trim().split_once('|').context("the emulated Python gives no answer")?;
    // A network connection of an emulated program breaks, so the pip of this machine gets what the tests need.
    let tools = Venv::with(project, "venv-tools", &[MAKE])?;
    tools.install_elsewhere(&[PYTEST, NUMPY].concat(), version, &GLIBCS, Path::new(packages))?;
    let pip = emulation.command(&python).args(["-I", "-m", "pip", "--disable-pip-version-check", "install"]);
    quietly(pip.args(["--force-reinstall", "--no-deps", "--no-index"]).arg(wheel))?;
    let tests = emulation.command(&python).args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
    let tests = tests.args(["--dist", "worksteal", "-n", "2", "-o", "faulthandler_timeout=1200"]);
    let tests = tests.args(WHEEL_TESTS.map(|file| project.root.join(python::WHEEL_TESTS).join(file)));
    let tests = tests.env("OPENBLAS_NUM_THREADS", "1").env("PYTHONSAFEPATH", "1").env(python::CUDA, "0");
    python::run(project, openly_for_long, hide_sycl(tests))
}
