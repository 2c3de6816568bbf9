//! ThreadSanitizer, AddressSanitizer and Miri over the code whose mistakes they find.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use xshell::Cmd;

use crate::commands::test::python;
use crate::commands::test::rust::{DEVICE_LIBRARIES, runner};
use crate::project::{Project, openly_for_long, quietly};
use crate::python::{NUMPY, PYTEST, Venv};
use crate::report::{Steps, say};
use crate::wheel;

/// Tests that the sanitizer cannot run. The first one states how much is kept, which does not hold where threads run so slowly; two have
/// one thread and take minutes there; operations of one race on purpose; two need the signals of stray accesses. A child of a fork beside
/// other threads can hang in the sanitizer's own locks.
const NOT_THREADED: [&str; 8] = [
    "retention_is_kept_over_threads",
    "every_cast_in_every_way",
    "long_chains_need_no_stack",
    "a_missing_dependency_shows",
    "protected::host_code_cannot",
    "protected::other_faults",
    "beside_",
    "a_forked_child_works_and_ends",
];

/// Tests that LeakSanitizer or AddressSanitizer cannot run: what panics, is forgotten or is abandoned is lost on purpose; a child of a
/// fork looks for leaks beside threads that are not there; a second copy of the library, and a stand-in with other names of functions, have
/// other symbols; the sanitizer answers stray accesses itself, and has the addresses of junk.
const NOT_IN_ADDRESS_SANITIZER: [&str; 12] = [
    "panic",
    "forgotten",
    "abandoned::",
    "beside_",
    "forked_child",
    "a_child_finds",
    "host_across_copies::",
    "without_the_functions",
    "memory_that_has_no_form",
    "protected::host_code_cannot",
    "protected::other_faults",
    "told_from_junk",
];

/// Tests of the wheel that run with AddressSanitizer: not those that limit addresses, measure time or memory, look at stderr at the end of
/// programs, or start programs that do not bear its library.
const IN_ADDRESS_SANITIZER: &str = "not robust and not limits and not drawings and not bench and not guide and not doctor \
     and not environment and not random and not load and not fork";

/// The runs of Miri: a crate, its unit tests, and the number of random cases per property. The classes of sizes and the pieces of a
/// transfer are plain arithmetic over all sizes, which takes too long there.
const INTERPRETED: [(&str, &[&str], &str); 2] = [
    ("usm-memory", &["--skip", "size_class::", "--skip", "pieces_cover_the_copy_and_fit"], "1"),
    ("usm-array", &["layout", "--quiet"], "4"),
];

/// A test that takes all numbers that pools can have. It needs more time than all others together.
const NOT_IN_GATE: &[&str] = &["--skip", "pools_for_which_no_number_was_left"];

const MIRI_IS_MISSING: &str =
    "Miri comes with nightly toolchains only: rustup toolchain install nightly --component miri,rust-src";

/// Runs of Miri, each with another order of threads.
const SEEDS: u32 = 64;

/// The rules for references that Miri knows.
const BORROW_MODELS: [&str; 2] = ["", "-Zmiri-tree-borrows"];

/// ThreadSanitizer over all tests of the library crates, on the host backend and on the stand-ins.
pub(super) fn threads(project: &Project, steps: &mut Steps) -> Result<()> {
    steps.step("ThreadSanitizer", || {
        // The sanitizer sees only code that is compiled for it, the standard library's locks included, so that is built from its source.
        let sysroot = quietly(project.command("rustc").args(["--print", "sysroot"]))?;
        let source = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/Cargo.lock");
        let remedy = "rustup component add rust-src";
        ensure!(source.is_file(), "ThreadSanitizer needs the source of the standard library: {remedy}");
        let host = host(project)?;
        let tests = format!("-Zbuild-std --target {host} --lib --tests {DEVICE_LIBRARIES}");
        let tests = runner(project, &format!("{tests} --"));
        let tests = tests.args(NOT_THREADED.iter().flat_map(|name| ["--skip", name]));
        // Other tests fork, too, and their children start threads. Some ask for more memory than there is, which is an error and no find.
        let tests = tests.env("TSAN_OPTIONS", "die_after_fork=0:allocator_may_return_null=1");
        openly_for_long(by(project, "thread", tests))
    })
}

/// AddressSanitizer and LeakSanitizer over all tests of the library crates, on the host backend and on the stand-in of CUDA. The SYCL
/// runtime leaks by itself.
pub(super) fn memory(project: &Project, steps: &mut Steps) -> Result<()> {
    steps.step("AddressSanitizer and LeakSanitizer", || {
        let tests = format!("--target {} --lib --tests {DEVICE_LIBRARIES}", host(project)?);
        let tests = runner(project, &format!("{tests} --"));
        let tests = tests.args(NOT_IN_ADDRESS_SANITIZER.iter().flat_map(|name| ["--skip", name]));
        // What stand-ins keep to themselves goes with the process.
        let suppressions = project.target.join("lsan.txt");
        project.shell.write_file(&suppressions, "leak:loopback\n")?;
        let tests = tests.env("LSAN_OPTIONS", format!("suppressions={}", suppressions.display()));
        // Tests ask for more memory than there is, which is an error and no find.
        let tests = tests.env("ASAN_OPTIONS", "allocator_may_return_null=1");
        openly_for_long(by(project, "address", tests))
    })?;
    steps.step("pytest with AddressSanitizer, on the host backend", || {
        let library = quietly(project.command("gcc").arg("-print-file-name=libasan.so"))?;
        let library = Path::new(library.trim());
        let remedy = "apt install gcc";
        ensure!(library.is_file(), "Python needs the library of the sanitizer that gcc has: {remedy}");
        let wheel = wheel::build_sanitized(project, &host(project)?, variables(project, "address"))?;
        let venv = Venv::with(project, "venv-sanitized", &[PYTEST, NUMPY])?;
        venv.install_wheel(&wheel)?;
        let tests = python::pytest(project, &venv, &[python::WHEEL_TESTS]).args(["-k", IN_ADDRESS_SANITIZER]);
        // CPython keeps memory at its end, and handles SIGSEGV in tests.
        let options = "detect_leaks=0:handle_segv=0:allocator_may_return_null=1";
        let tests = tests.env("LD_PRELOAD", library).env("ASAN_OPTIONS", options);
        python::run(project, openly_for_long, python::hide_sycl(tests))
    })
}

/// Tests with a sanitizer.
fn by<'p>(project: &Project, sanitizer: &str, tests: Cmd<'p>) -> Cmd<'p> {
    sanitized(project, tests.envs(variables(project, sanitizer)))
}

/// Options of a nightly compiler, which the stable one has too, and a build folder of their own.
fn variables(project: &Project, sanitizer: &str) -> [(&'static str, OsString); 3] {
    // The stand-ins, which programs load, use the sanitizer of the program.
    let flags = format!("-Zsanitizer={sanitizer} -Clink-arg=-Wl,--export-dynamic");
    let folder = project.target.join("sanitize");
    [("RUSTC_BOOTSTRAP", "1".into()), ("RUSTFLAGS", flags.into()), ("CARGO_TARGET_DIR", folder.into())]
}

/// Miri over unit tests of usm-memory, in several orders of threads, and of the layouts of usm-array.
pub(super) fn miri(project: &Project, steps: &mut Steps) -> Result<()> {
    steps.step("Miri", || {
        ensure!(has_miri(project), MIRI_IS_MISSING);
        let runs = BORROW_MODELS.iter().flat_map(|model| INTERPRETED.iter().map(move |run| (model, run)));
        runs.into_iter().try_for_each(|(model, (package, tests, cases))| {
            // Layouts have one thread.
            let seeds = match *package {
                "usm-memory" => format!("{model} -Zmiri-many-seeds=0..{SEEDS}"),
                _ => (*model).to_owned(),
            };
            openly_for_long(interpreted(project, package, cases, &seeds).args(*tests))
        })
    })?;
    steps.figure(format!("{} borrow models, {SEEDS} orders of threads, no report", BORROW_MODELS.len()));
    Ok(())
}

/// Miri over unit tests of usm-memory in one order of threads, for continuous integration. Where it is not installed, this says so.
pub(in crate::commands) fn miri_in_gate(project: &Project) -> Result<()> {
    if !has_miri(project) {
        say(&format!("    Miri is NOT RUN: {MIRI_IS_MISSING}"));
        return Ok(());
    }
    let (package, tests, cases) = INTERPRETED[0];
    quietly(interpreted(project, package, cases, "").args(tests).args(NOT_IN_GATE)).map(drop)
}

pub(super) fn has_nightly(project: &Project) -> bool {
    quietly(project.command("rustup").args(["run", "nightly", "rustc", "--version"])).is_ok()
}

/// The target of programs for this machine, which is named where a sanitizer shall not reach the programs of the build.
pub(super) fn host(project: &Project) -> Result<String> {
    let about = quietly(project.command("rustc").arg("-vV"))?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}

fn has_miri(project: &Project) -> bool {
    quietly(project.command("rustup").args(["run", "nightly", "cargo", "miri", "--version"])).is_ok()
}

/// Unit tests of a crate in Miri. Options of the tests follow.
fn interpreted<'p>(project: &'p Project, package: &str, cases: &str, seeds: &str) -> Cmd<'p> {
    // Addresses come from C as numbers; files and clocks of this machine are looked at.
    let flags = format!("-Zmiri-disable-isolation -Zmiri-permissive-provenance {seeds}");
    let command = "run nightly cargo miri test --locked --no-default-features --lib -p";
    let command = project.command("rustup").args(command.split(' ')).args([package, "--"]);
    sanitized(project, command.env("MIRIFLAGS", flags.trim()).env("PROPTEST_CASES", cases))
}

/// With a build folder of its own, since all is compiled in another way.
fn sanitized<'p>(project: &Project, command: Cmd<'p>) -> Cmd<'p> {
    let command = command.env("CARGO_TARGET_DIR", project.target.join("sanitize"));
    // Reports name lines, also in continuous integration.
    command.env_remove("CARGO_PROFILE_DEV_DEBUG")
}
