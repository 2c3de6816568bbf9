//! pytest on each other Python that is found, with the tests that depend on the interpreter.

use std::path::Path;

use anyhow::Result;

use super::python::{self, hide_sycl, pytest, with_sycl};
use crate::project::{Interpreter, Project, openly};
use crate::python::{PYTEST, SYCL, Venv};
use crate::report::{Steps, say};

/// The series that the wheel is tested with where they are found, beside the one that everything is tested with.
const SERIES: [&str; 5] = ["3.15", "3.14", "3.13", "3.12", "3.11"];

/// The files that depend on the interpreter: its objects, its collector, its threads and signals, its end, its protocols, and one of
/// everything else.
const CORE_TESTS: [&str; 20] = [
    "tests/python/test_array_pickle.py",
    "tests/python/test_assignment.py",
    "tests/python/test_buffer_protocol.py",
    "tests/python/test_constructor.py",
    "tests/python/test_devices.py",
    "tests/python/test_dlpack.py",
    "tests/python/test_dlpack_c_api.py",
    "tests/python/test_docstrings.py",
    "tests/python/test_events.py",
    "tests/python/test_import.py",
    "tests/python/test_interface_export.py",
    "tests/python/test_lifetime.py",
    "tests/python/test_main.py",
    "tests/python/test_memory_lifecycle.py",
    "tests/python/test_robust_fork.py",
    "tests/python/test_robust_interpreters.py",
    "tests/python/test_robust_interrupt.py",
    "tests/python/test_robust_objects.py",
    "tests/python/test_robust_shutdown.py",
    "tests/python/test_threads.py",
];

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
            python::run(project, openly, hide_sycl(pytest(project, &venv, &CORE_TESTS)))
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
            let tests = with_sycl(pytest(project, &venv, &CORE_TESTS), &[]);
            python::run(project, openly, tests).map(|()| true)
        })?;
    }
    Ok(())
}
