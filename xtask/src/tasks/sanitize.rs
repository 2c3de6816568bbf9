//! `cargo xtask verify --sanitize`: ThreadSanitizer and Miri over the code whose mistakes they find, and the shorter runs of
//! continuous integration.

use std::path::Path;

use super::test::runner;
use crate::failure::{Failure, Outcome};
use crate::project::{Project, openly, quietly};
use crate::report::{Steps, say};

/// The test programs of usm-memory in which threads share pools, buffers, guards and queues.
const THREADED: [&str; 6] = ["pool", "pool_threads", "process_pool", "resources", "snapshot", "threads"];

/// Tests that the sanitizer cannot run. The first one states how much is kept, which does not hold where threads run so slowly. The
/// names of the others begin so: a child of a fork beside other threads can hang in the sanitizer's own locks.
const NOT_THREADED: [&str; 2] = ["retention_is_kept_over_threads", "beside_"];

/// The runs of Miri: a crate, its unit tests, and the number of random cases per property. The classes of sizes and the pieces of a
/// transfer are plain arithmetic over all sizes, which takes too long there.
const INTERPRETED: [(&str, &[&str], &str); 2] = [
    ("usm-memory", &["--skip", "size_class::", "--skip", "pieces_cover_the_copy_and_fit"], "1"),
    ("usm-array", &["layout", "--quiet"], "4"),
];

/// Runs of Miri, each with another order of threads.
const SEEDS: &str = "-Zmiri-many-seeds=0..16";

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// The fast part, for continuous integration. A tool that is not installed is named and skipped
    Gate,
    /// Everything; a missing tool is a failure
    Whole,
}

/// Runs everything and prints the table of steps.
pub(crate) fn run(project: &Project) -> Outcome<()> {
    let mut steps = Steps::default();
    let outcome = all(project, Extent::Whole, &mut steps);
    steps.finish(outcome)
}

/// Runs the sanitizers as steps of a bigger command.
pub(super) fn all(project: &Project, extent: Extent, steps: &mut Steps) -> Outcome<()> {
    steps.step("ThreadSanitizer", || match missing_for_threads(project)? {
        None => threads(project, extent),
        Some(what) => missing(extent, &what),
    })?;
    steps.step("Miri", || match missing_for_miri(project) {
        None => miri(project, extent),
        Some(what) => missing(extent, &what),
    })
}

fn missing(extent: Extent, what: &str) -> Outcome<()> {
    match extent {
        Extent::Gate => {
            say(&format!("    NOT RUN: {what}"));
            Ok(())
        }
        Extent::Whole => Err(Failure::new(what)),
    }
}

/// The sanitizer sees only code that is compiled for it, the standard library's locks included, so that is built from its source.
fn missing_for_threads(project: &Project) -> Outcome<Option<String>> {
    let sysroot = quietly(project.command("rustc").args(["--print", "sysroot"]))?;
    let source = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/Cargo.lock");
    let what = "ThreadSanitizer needs the source of the standard library: rustup component add rust-src";
    Ok((!source.is_file()).then(|| what.to_owned()))
}

fn missing_for_miri(project: &Project) -> Option<String> {
    let asked = project.command("rustup").args(["run", "nightly", "cargo", "miri", "--version"]);
    let what =
        "Miri comes with nightly toolchains only: rustup toolchain install nightly --component miri,rust-src";
    quietly(asked).err().map(|_| what.to_owned())
}

fn threads(project: &Project, extent: Extent) -> Outcome<()> {
    let about = quietly(project.command("rustc").arg("-vV"))?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.ok_or_else(|| Failure::new("rustc -vV names no host"))?;
    let mut tests = runner(project)
        .args(["-Zbuild-std", "--target", host, "-p", "usm-memory", "--lib"])
        .args(["--no-default-features", "--features", "usm-core/testing"]);
    tests = match extent {
        Extent::Gate => THREADED.iter().fold(tests, |tests, name| tests.args(["--test", name])),
        Extent::Whole => tests.arg("--tests"),
    };
    let tests = NOT_THREADED.iter().fold(tests.arg("--"), |tests, name| tests.args(["--skip", name]));
    // Other tests fork, too, and their children start threads.
    let tests = tests.env("TSAN_OPTIONS", "die_after_fork=0");
    // Options of a nightly compiler, which the stable one has too.
    let tests = tests.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=thread");
    openly(sanitized(project, tests))
}

fn miri(project: &Project, extent: Extent) -> Outcome<()> {
    // Layouts have no unsafe code, and take many minutes here.
    let packages = if extent == Extent::Gate { &INTERPRETED[..1] } else { &INTERPRETED[..] };
    for &(package, tests, cases) in packages {
        // Addresses come from C as numbers; files and clocks of this machine are looked at.
        let mut flags = "-Zmiri-disable-isolation -Zmiri-permissive-provenance".to_owned();
        if extent == Extent::Whole && package == "usm-memory" {
            flags = format!("{flags} {SEEDS}");
        }
        let command = project
            .command("rustup")
            .args(["run", "nightly", "cargo", "miri", "test", "--locked", "-p", package])
            .args(["--no-default-features", "--lib", "--"])
            .args(tests)
            .env("MIRIFLAGS", flags)
            .env("PROPTEST_CASES", cases);
        openly(sanitized(project, command))?;
    }
    Ok(())
}

/// With a build folder of its own, since all is compiled in another way.
fn sanitized<'p>(project: &Project, command: xshell::Cmd<'p>) -> xshell::Cmd<'p> {
    let command = command.env("CARGO_TARGET_DIR", project.target().join("sanitize"));
    // Reports name lines, also in continuous integration.
    command.env_remove("CARGO_PROFILE_DEV_DEBUG")
}
