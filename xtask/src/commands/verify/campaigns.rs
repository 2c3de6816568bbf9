//! Parts that are tests of the gate at a greater length, which a variable says: the list of the tests, and their runs here.

use std::path::Path;

use anyhow::Result;

use super::Part;
use super::fuzz::Fuzzers;
use super::sanitize::host;
use crate::commands::test::python::{self, wheel_tests};
use crate::commands::test::rust::on_all_devices;
use crate::project::{Project, openly_for_long};
use crate::python::{PEERS, PYTEST, SYCL, Venv};
use crate::report::Steps;
use crate::wheel;

const PACKAGES: [&[&str]; 3] = [PYTEST, SYCL, PEERS];

/// Tests add a line to this file for what they counted.
pub(super) const FIGURES: &str = "USM_TEST_FIGURES";

type Variable = (&'static str, &'static str);

/// One run of tests.
pub(super) struct Campaign {
    pub(super) part: Part,
    pub(super) step: &'static str,
    pub(super) tests: Tests,
    /// The length, and other settings.
    pub(super) variables: &'static [Variable],
    /// The variable for the length in minutes, for tests that know one.
    pub(super) minutes: Option<&'static str>,
    /// The program that runs the test program, with its options.
    pub(super) under: &'static [&'static str],
}

/// Where tests are.
#[derive(Clone, Copy)]
pub(super) enum Tests {
    /// Tests of the wheel, by an expression for `-k` of pytest.
    Wheel(&'static str),
    /// A test program of a crate.
    Program { package: &'static str, program: &'static str },
    /// The programs of `fuzz/`, which know no variable but the minutes of each.
    Fuzzers,
}

const fn wheel(part: Part, step: &'static str, tests: &'static str, length: &'static [Variable]) -> Campaign {
    Campaign { part, step, tests: Tests::Wheel(tests), variables: length, minutes: None, under: &[] }
}

const fn rust(
    part: Part,
    step: &'static str,
    [package, program]: [&'static str; 2],
    length: &'static [Variable],
) -> Campaign {
    let tests = Tests::Program { package, program };
    Campaign { part, step, tests, variables: length, minutes: None, under: &[] }
}

impl Campaign {
    const fn or_minutes(mut self, variable: &'static str) -> Self {
        self.minutes = Some(variable);
        self
    }

    const fn under(mut self, words: &'static [&'static str]) -> Self {
        self.under = words;
        self
    }
}

const STRICT: Variable = ("USM_STRICT_DEVICE", "1");
const DROPS: Variable = ("USM_TEST_DROPS", "3400000");
const SCHEDULES: Variable = ("USM_TEST_SCHEDULES", "25000");
// In each test.
const FORKS: Variable = ("USM_TEST_FORKS", "4550");
const LAYOUTS: &[Variable] = &[("USM_TEST_LAYOUTS", "10000000"), ("USM_TEST_BOUND", "4")];

/// Tests of each family of kernels, with few random cases: each kernel takes long under a checker.
const ON_ARRAYS: [&str; 2] = ["usm-array", "it"];
const FEW: &[Variable] = &[("PROPTEST_CASES", "8"), ("USM_REQUIRE_CUDA", "1")];
const FAILS: &str = "--error-exitcode=9";

const DROPPED: [&str; 2] = ["usm-memory", "random_drops"];

/// The runs of each part, one after the other.
pub(super) const CAMPAIGNS: [Campaign; 25] = [
    Campaign {
        part: Part::Fuzz,
        step: "fuzzers",
        tests: Tests::Fuzzers,
        variables: &[],
        minutes: None,
        under: &[],
    },
    rust(Part::Layouts, "layouts", ["usm-array", "bounds"], LAYOUTS),
    rust(Part::Drops, "drops in Rust", DROPPED, &[DROPS]),
    rust(Part::Drops, "drops in Rust on strict devices", DROPPED, &[DROPS, STRICT]),
    wheel(Part::Drops, "drops in Python", "test_random_drops", &[("USM_TEST_DROPS", "100000")]),
    rust(Part::Schedules, "drops after a submit", ["usm-memory", "drop_after_submit"], &[SCHEDULES]),
    rust(Part::Schedules, "random submissions", ["usm-memory", "it"], &[SCHEDULES]),
    rust(Part::Faults, "faults of usm-core", ["usm-core", "sweep"], &[]),
    rust(Part::Faults, "faults of usm-memory", ["usm-memory", "sweep"], &[]),
    rust(Part::Faults, "faults of usm-array", ["usm-array", "sweep"], &[]),
    rust(Part::Forks, "forks beside usm-core", ["usm-core", "fork_load"], &[FORKS]),
    rust(Part::Forks, "forks beside usm-memory", ["usm-memory", "fork_load"], &[FORKS]),
    rust(Part::Forks, "forks beside usm-array", ["usm-array", "fork_load"], &[FORKS]),
    wheel(Part::Forks, "forks in Python", "test_robust_fork", &[FORKS]),
    wheel(Part::Objects, "random objects", "test_random_imports", &[("USM_TEST_IMPORTS", "2000000")]),
    wheel(
        Part::Collections,
        "random graphs of objects",
        "test_random_collections",
        &[("USM_TEST_COLLECTIONS", "10000000")],
    ),
    wheel(
        Part::Readonly,
        "random chains of views",
        "test_random_readonly",
        &[("USM_TEST_READONLY_CHAINS", "1000000")],
    ),
    // 10,000 arrays for each of eight processes. Missing rights are a failure then.
    wheel(
        Part::Processes,
        "processes that end at any moment",
        "test_robust_processes or storm_of_two",
        &[("USM_TEST_STORM", "80000")],
    )
    .or_minutes("USM_TEST_STORM_MINUTES"),
    // The driver tells the end of a list by an error.
    rust(Part::Gpu, "memcheck", ON_ARRAYS, FEW).under(&[
        "compute-sanitizer",
        "--tool=memcheck",
        "--report-api-errors=no",
        FAILS,
    ]),
    rust(Part::Gpu, "racecheck", ON_ARRAYS, FEW).under(&["compute-sanitizer", "--tool=racecheck", FAILS]),
    rust(Part::Gpu, "initcheck", ON_ARRAYS, FEW).under(&["compute-sanitizer", "--tool=initcheck", FAILS]),
    wheel(Part::Load, "load", "test_load", &[("USM_TEST_LOAD_MINUTES", "30")])
        .or_minutes("USM_TEST_LOAD_MINUTES"),
    wheel(
        Part::Interrupts,
        "Ctrl-C, ends, and what is missing",
        "test_robust_interrupt or test_robust_shutdown or test_robust_objects or test_robust_matrix or test_environment \
         or test_limits",
        &[("USM_REQUIRE_MATRIX", "1")],
    ),
    wheel(Part::Imports, "orders of imports", "test_import_order", &[("USM_HYPOTHESIS", "verify")]),
    // The mark selects tests that make random examples.
    wheel(Part::Examples, "random examples of the wheel", "hypothesis", &[("USM_HYPOTHESIS", "verify")]),
];

/// A step of the part `memory`. It is not in the list above: another machine would run it alone, and the whole part would count as passed.
pub(super) const ENDS: Campaign =
    rust(Part::Memory, "valgrind over ends of processes", ["usm-core", "process_end"], &[]).under(&[
        "valgrind",
        "--quiet",
        FAILS,
        "--leak-check=full",
        "--errors-for-leak-kinds=definite",
        "--trace-children=yes",
        // Seen from the folder of the package.
        "--suppressions=tests/valgrind.supp",
    ]);

/// Minutes of each fuzzer, where nobody says how many.
pub(super) const FUZZ_MINUTES: u32 = 10;

/// Runs the tests of a part, on all devices that are here.
pub(super) fn run(project: &Project, part: Part, minutes: Option<u32>, steps: &mut Steps) -> Result<()> {
    let mut of_part = CAMPAIGNS.iter().filter(|campaign| campaign.part == part);
    of_part.try_for_each(|campaign| campaign.step(project, minutes, steps))
}

impl Campaign {
    /// Runs it, and tells what its tests counted. Not all of them count something.
    pub(super) fn step(&self, project: &Project, minutes: Option<u32>, steps: &mut Steps) -> Result<()> {
        let figures = project.target.join("figures.txt");
        project.shell.remove_path(&figures)?;
        steps.step(self.step, || self.run(project, minutes, &figures))?;
        let counted = project.shell.read_file(&figures).unwrap_or_default();
        counted.lines().for_each(|line| steps.figure(line.to_owned()));
        Ok(())
    }

    fn run(&self, project: &Project, minutes: Option<u32>, figures: &Path) -> Result<()> {
        let venv = || Venv::with(project, "venv", &PACKAGES);
        let tests = match self.tests {
            Tests::Wheel(expression) => {
                let tests = wheel_tests(project, &PACKAGES, &wheel::build_quick(project)?, &[])?;
                // The tests have a limit of their own.
                tests.args(["-k", expression, "-o", "faulthandler_timeout=0"])
            }
            Tests::Program { package, program } => on_all_devices(project, &venv()?, package, program)?,
            Tests::Fuzzers => {
                let minutes = minutes.unwrap_or(FUZZ_MINUTES);
                Fuzzers::build(project)?.run(project, &venv()?.executable, minutes)
            }
        };
        let length = self.minutes.zip(minutes).map(|(variable, minutes)| (variable, minutes.to_string()));
        let tests = tests.envs(self.variables.iter().copied()).envs(length).env(FIGURES, figures);
        let tests = if self.under.is_empty() {
            tests
        } else {
            let target = host(project)?.to_uppercase().replace('-', "_");
            tests.env(format!("CARGO_TARGET_{target}_RUNNER"), self.under.join(" "))
        };
        match self.tests {
            Tests::Wheel(_) => python::run(project, openly_for_long, tests),
            Tests::Program { .. } | Tests::Fuzzers => openly_for_long(tests),
        }
    }
}
