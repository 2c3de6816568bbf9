//! pytest on each other Python that is found, with the tests that depend on the interpreter.

use std::path::Path;

use anyhow::Result;

use super::python::{Tests, WHEEL_TESTS};
use crate::project::{Interpreter, Project};
use crate::python::{PYTEST, SYCL, Venv};
use crate::report::{Steps, say};

/// The series that the wheel is tested with where they are found, beside the one that everything is tested with.
const SERIES: [&str; 5] = ["3.15", "3.14", "3.13", "3.12", "3.11"];

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

/// pytest on [`CORE_TESTS`].
fn core<'p>(project: &'p Project, venv: &Venv<'p>) -> Tests<'p> {
    Tests::of(project, venv, &CORE_TESTS.map(|name| format!("{WHEEL_TESTS}/{name}.py")))
}

/// The same wheel on each other Python that is found; with SYCL, which takes gigabytes of disk, on the newest one that there are wheels
/// for.
pub(in crate::commands) fn all(project: &Project, wheel: &Path, steps: &mut Steps) -> Result<()> {
    let mut is_done_with_sycl = false;
    let tested = project.interpreter()?.series();
    for series in SERIES.into_iter().filter(|series| *series != tested) {
        let python = match Interpreter::of_series(project, series) {
            Ok(python) => python,
            Err(reasons) => {
                say(&format!("    Python {series} is not tested:{reasons}"));
                continue;
            }
        };
        let version = &python.version;
        steps.step(&format!("pytest on Python {version} without SYCL and NumPy"), || {
            let venv = Venv::of(project, &format!("venv-bare-{series}"), &python)?;
            venv.require(PYTEST, &[])?;
            venv.install_wheel(wheel)?;
            core(project, &venv).hiding_sycl().run()
        })?;
        if is_done_with_sycl {
            continue;
        }
        is_done_with_sycl = steps.step(&format!("pytest on Python {version} with SYCL"), || {
            let venv = Venv::of(project, &format!("venv-{series}"), &python)?;
            match venv.require(&[PYTEST, SYCL].concat(), &["--only-binary=:all:"]) {
                Err(failure) if failure.to_string().contains("No matching distribution found") => {
                    let wanted = SYCL.join(", ");
                    say(&format!("    not tested: there is no wheel of {wanted} for Python {series}"));
                    return Ok(false);
                }
                outcome => outcome?,
            }
            venv.install_wheel(wheel)?;
            core(project, &venv).env("USM_REQUIRE_SYCL", "1").run()?;
            Ok(true)
        })?;
    }
    Ok(())
}
