//! Fuzzers over the paths on which numbers and texts of others come in: the programs in `fuzz/`, by cargo-fuzz.

use std::path::PathBuf;
use std::thread;

use anyhow::{Context, Result, ensure};

use super::sanitize;
use crate::project::{Project, openly, quietly, quietly_for_long};
use crate::report::Steps;

/// The program that builds and runs the fuzzers, and its version.
const TOOL: [&str; 2] = ["cargo-fuzz", "^0.13"];

const IS_MISSING: &str = "a fuzzer needs a nightly toolchain: rustup toolchain install nightly";

/// Inputs longer than this say no more.
const MOST_BYTES: &str = "-max_len=512";

/// Runs each fuzzer for some minutes, as many at once as there are cores, and leaves new inputs in the corpus.
pub(super) fn run(project: &Project, minutes: u32, steps: &mut Steps) -> Result<()> {
    ensure!(sanitize::has_nightly(project), IS_MISSING);
    let tool = steps.step("cargo-fuzz", || tool(project))?;
    steps.step("build of the fuzzers", || quietly(fuzz(project, &tool, &["build"])).map(drop))?;
    let targets = quietly(fuzz(project, &tool, &["list"]))?;
    let targets: Vec<_> = targets.lines().map(str::to_owned).collect();
    let cores = thread::available_parallelism()?.get();
    let mut executions = Vec::new();
    for targets in targets.chunks(cores) {
        let found = steps.step(&targets.join(", "), || together(project, &tool, targets, minutes))?;
        executions.extend(found);
    }
    let fewest = executions.iter().min().context("found no fuzzer")?;
    let all: u64 = executions.iter().sum();
    steps.figure(format!(
        "{} fuzzers, {all} executions, {fewest} at least of each, no crash",
        executions.len()
    ));
    Ok(())
}

/// Runs several fuzzers at once. Returns the executions of each.
fn together(project: &Project, tool: &PathBuf, targets: &[String], minutes: u32) -> Result<Vec<u64>> {
    thread::scope(|scope| {
        let start = |target: &String| {
            let (project, target) = (project.again()?, target.clone());
            Ok(scope.spawn(move || one(&project, tool, &target, minutes)))
        };
        let running: Vec<_> = targets.iter().map(start).collect::<Result<_>>()?;
        running.into_iter().map(crate::commands::test::joined).collect()
    })
}

fn one(project: &Project, tool: &PathBuf, target: &str, minutes: u32) -> Result<u64> {
    let seconds = format!("-max_total_time={}", 60 * u64::from(minutes));
    let dictionary = project.root.join("fuzz/dictionaries").join(format!("{target}.txt"));
    let dictionary = dictionary.is_file().then(|| format!("-dict={}", dictionary.display()));
    let command = fuzz(project, tool, &["run", target, "--", MOST_BYTES, "-print_final_stats=1", &seconds]);
    let output = quietly_for_long(command.args(dictionary))?;
    let executions = output.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    Ok(executions.context("the fuzzer told no number of executions")?.trim().parse()?)
}

fn fuzz<'p>(project: &'p Project, tool: &PathBuf, words: &[&str]) -> xshell::Cmd<'p> {
    // By rustup, which sets the toolchain for the cargo that it starts.
    let command = project.command("rustup").args(["run", "nightly"]).arg(tool).args(words);
    command.env("CARGO_TARGET_DIR", project.target.join("fuzz"))
}

/// The program, installed under the build directory where it is missing.
fn tool(project: &Project) -> Result<PathBuf> {
    let folder = project.target.join("tools");
    let program = folder.join("bin").join(TOOL[0]);
    if !program.is_file() {
        let install = project.command("cargo").args(["install", "--locked", "--root"]).arg(&folder);
        openly(install.args([TOOL[0], "--version", TOOL[1]]))?;
    }
    Ok(program)
}
