//! The lines that tests run: Rust and pytest over programs that count, merged by the tools of LLVM.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xshell::Cmd;

use super::sanitize;
use crate::commands::test::python::{self, wheel_tests};
use crate::commands::test::{LIGHT_PEERS, rust};
use crate::project::{Project, openly, quietly};
use crate::python::{COVERAGE, DASK, NVRTC, PEERS, PYTEST, SYCL, TYPES, Venv};
use crate::report::{Steps, percent, say};
use crate::wheel;

/// The crates whose lines count.
const CRATES: [&str; 4] = ["usm-core", "usm-memory", "usm-array", "usm-python"];

/// Where all is built once more, in the build directory.
const FOLDER: &str = "coverage";

/// Without the programs on a full disk, whose counters cannot be written either. Two more look at what Python has imported at its
/// start, and start interpreters that cannot import the program which counts.
const COUNTED: &str = "not (test_programs_under_a_condition or test_an_import_of_multiprocessing_after_usm_is_told \
     or test_import_is_refused)";

/// How coverage counts: in all processes that tests start, too.
const SETTINGS: &str = "[run]\npatch = subprocess\n";

const IS_MISSING: &str = "found no llvm-cov: rustup component add llvm-tools";

/// Runs the tests, and names the files with lines that none of them ran.
pub(super) fn run(project: &Project, steps: &mut Steps) -> Result<()> {
    let sysroot = quietly(project.command("rustc").args(["--print", "sysroot"]))?;
    let tools = Path::new(sysroot.trim()).join("lib/rustlib").join(sanitize::host(project)?).join("bin");
    ensure!(tools.join("llvm-cov").is_file(), IS_MISSING);
    let folder = project.target.join(FOLDER);
    let counts = folder.join("counts");
    project.shell.remove_path(&counts)?;
    let mut counting = project.again()?;
    counting.target.clone_from(&folder);
    // Processes that run at the same time share eight files.
    let to = counts.join("%8m.profraw");
    for (name, value) in [
        ("CARGO_TARGET_DIR", folder.as_path()),
        ("RUSTFLAGS", "-Cinstrument-coverage".as_ref()),
        ("LLVM_PROFILE_FILE", &to),
    ] {
        counting.shell.set_var(name, value);
    }
    let groups = [PYTEST, TYPES, SYCL, DASK, PEERS, NVRTC, COVERAGE];
    let venv = Venv::with(project, "venv", &groups)?;
    let programs = steps.step("build of the Rust tests", || rust::all_programs(&counting))?;
    steps.step("Rust tests", || rust::tests(&counting, &venv, &[("NEXTEST_PROFILE", "counting")]))?;
    let wheel = steps.step("wheel", || wheel::build_quick(&counting))?;
    let settings = folder.join("coveragerc");
    project.shell.write_file(&settings, SETTINGS)?;
    let settings = format!("--cov-config={}", settings.display());
    let report = format!("--cov-report=json:{}", folder.join("python.json").display());
    let run = |tests: Cmd<'_>| {
        let tests = tests.args(["-k", COUNTED, "--cov=usm", "--cov-append", &settings, &report]);
        let tests = tests.env("LLVM_PROFILE_FILE", &to);
        python::run(project, openly, tests.env("COVERAGE_FILE", counts.join("python")))
    };
    steps.step("pytest", || run(wheel_tests(project, &groups, &wheel, LIGHT_PEERS)?))?;
    steps.step("pytest on the stand-in of the CUDA driver", || run(python::on_stand_in(&counting, &venv)))?;
    let merged = folder.join("merged.profdata");
    let files = project.shell.read_dir(&counts)?;
    let files = files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "profraw"));
    let merge = project.command(tools.join("llvm-profdata")).args(["merge", "--sparse", "-o"]);
    quietly(merge.arg(&merged).args(files))?;
    let library = folder.join("quick/libusm_python.so");
    let programs: Vec<_> = programs.into_iter().map(|program| program.file).chain([library]).collect();
    let files = quietly(exported(project, &tools, &merged, &programs))?;
    let report: Value = serde_json::from_str(&files)?;
    let lines = lines_of_crates(project, &report).context("llvm-cov wrote another form of report")?;
    for (name, &[run, all]) in &lines {
        steps.figure(format!("{name} {} of {all} lines", percent(run, all)));
    }
    let python: Value = serde_json::from_str(&project.shell.read_file(folder.join("python.json"))?)?;
    let total = |name: &str| python.get("totals")?.get(name)?.as_u64();
    let [run, all] = [total("covered_lines"), total("num_statements")].map(Option::unwrap_or_default);
    steps.figure(format!("Python files of the wheel {} of {all} lines", percent(run, all)));
    let [native_run, native] = lines.get("usm-python").copied().unwrap_or_default();
    steps.figure(format!("the Python layer as a whole {}", percent(run + native_run, all + native)));
    Ok(())
}

/// The report of LLVM over several programs.
fn exported<'p>(project: &'p Project, tools: &Path, merged: &Path, programs: &[PathBuf]) -> Cmd<'p> {
    let export =
        project.command(tools.join("llvm-cov")).args(["export", "--summary-only", "--instr-profile"]);
    export.arg(merged).args(programs.iter().flat_map(|file| [Path::new("--object"), file]))
}

/// The lines of each crate that ran, and all of them.
fn lines_of_crates(project: &Project, report: &Value) -> Option<BTreeMap<&'static str, [u64; 2]>> {
    let mut lines = BTreeMap::new();
    for file in report.get("data")?.get(0)?.get("files")?.as_array()? {
        let path = Path::new(file.get("filename")?.as_str()?);
        let name = CRATES.into_iter().find(|name| {
            path.starts_with(project.root.join("crates").join(name).join("src"))
                // Decorators of backends, which are for tests.
                && !path.starts_with(project.root.join("crates/usm-core/src/testing"))
        });
        let Some(name) = name else { continue };
        let of_file = file.get("summary")?.get("lines")?;
        let [run, all]: &mut [u64; 2] = lines.entry(name).or_default();
        *run += of_file.get("covered")?.as_u64()?;
        *all += of_file.get("count")?.as_u64()?;
        let missed = of_file.get("count")?.as_u64()? - of_file.get("covered")?.as_u64()?;
        if missed > 0 {
            say(&format!("    {missed:>5} lines of {} ran in no test", path.display()));
        }
    }
    Some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_summed_by_crate() {
        let project = Project::open(None).unwrap();
        let file = |path: &str, run: u64, all: u64| {
            let path = project.root.join(path);
            serde_json::json!({"filename": path, "summary": {"lines": {"count": all, "covered": run}}})
        };
        let files = [
            file("crates/usm-core/src/lib.rs", 3, 4),
            file("crates/usm-core/src/error.rs", 5, 5),
            file("crates/usm-core/src/testing/faulty.rs", 0, 9),
            file("crates/sycl-sys/src/lib.rs", 0, 9),
        ];
        let report = serde_json::json!({"data": [{"files": files}]});
        let lines = lines_of_crates(&project, &report).unwrap();
        assert_eq!(lines.into_iter().collect::<Vec<_>>(), [("usm-core", [8, 9])]);
    }
}
