//! Campaigns for a machine without network and toolchain: an archive with all that they need, and the rows that come back from there.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use serde_json::{Value, json};

use super::Part;
use super::campaigns::{CAMPAIGNS, FUZZ_MINUTES, Tests};
use super::fuzz::{self, Fuzzers};
use super::record::{self, Row};
use crate::commands::device;
use crate::commands::test::python::WHEEL_TESTS;
use crate::project::{Project, quietly};
use crate::report::readable;
use crate::wheel;

/// Runs the packed campaigns, seen from the root.
const RUNNER: &str = "tests/packed/verify.py";
/// What tests of the wheel and the fuzzers need, seen from the root.
const CONTENTS: [&str; 4] = [WHEEL_TESTS, "examples", fuzz::RUNNER, fuzz::FOLDER];
/// The folder, in the build directory.
const FOLDER: &str = "packed-verify";
/// The list of the campaigns, in the folder.
const PLAN: &str = "plan.json";

/// Leaves an archive with the campaigns of these parts.
pub(super) fn pack(project: &Project, parts: &[Part]) -> Result<()> {
    let folder = device::start(project, FOLDER, &wheel::build_quick(project)?, RUNNER, &CONTENTS)?;
    let programs = project.shell.create_dir(folder.join("programs"))?;
    let built = device::test_programs(project)?;
    let mut plan = Vec::new();
    for campaign in CAMPAIGNS.iter().filter(|campaign| parts.contains(&campaign.part)) {
        let (tests, names) = match campaign.tests {
            Tests::Wheel(expression) => ("wheel", vec![expression.to_owned()]),
            Tests::Program { package, program } => {
                let built = built.iter().find(|built| built.package == package && built.name == program);
                let built =
                    built.with_context(|| format!("cargo built no program {program} of {package}"))?;
                let name = format!("{package}-{program}");
                project.shell.copy_file(&built.file, programs.join(&name))?;
                ("program", vec![name])
            }
            Tests::Fuzzers => {
                let fuzzers = Fuzzers::build(project)?;
                let plain = project.shell.create_dir(programs.join("plain"))?;
                for (to, from) in [(&programs, &fuzzers.programs), (&plain, &fuzzers.plain)] {
                    for name in &fuzzers.names {
                        // With its lines, a program is ten times as long.
                        let strip = project.command("strip").arg("--strip-debug").arg("-o");
                        quietly(strip.args([to.join(name), from.join(name)]))?;
                    }
                }
                ("fuzzers", fuzzers.names)
            }
        };
        let variables: serde_json::Map<_, _> =
            campaign.variables.iter().map(|&(name, value)| (name.to_owned(), value.into())).collect();
        plan.push(json!({
            "part": campaign.part.name(), "step": campaign.step, "tests": tests, "names": names,
            "under": campaign.under,
            "variables": variables, "minutes": campaign.minutes,
        }));
    }
    ensure!(!plan.is_empty(), "found no campaign among the parts, allowed are {}", allowed().join(", "));
    device::copy_stand_ins(project, &programs)?;
    let plan = json!({
        "commit": record::commit(project)?, "minutes_of_fuzzers": FUZZ_MINUTES, "campaigns": plan,
    });
    project.shell.write_file(folder.join(PLAN), format!("{plan:#}\n"))?;
    device::compress(project, &folder)
}

/// The names of the parts that can be packed.
fn allowed() -> Vec<String> {
    let is_campaign = |part: &&Part| CAMPAIGNS.iter().any(|campaign| campaign.part == **part);
    Part::value_variants().iter().filter(is_campaign).map(|part| part.name()).collect()
}

/// Writes the rows of campaigns that passed elsewhere, from the report of their runner.
pub(super) fn take(project: &Project, report: &Path) -> Result<()> {
    let rows: Vec<Value> = serde_json::from_str(&project.shell.read_file(report)?)
        .with_context(|| format!("{} is no report of packed campaigns", report.display()))?;
    for row in &rows {
        let text = |name: &str| {
            let found = row.get(name).and_then(Value::as_str).map(str::to_owned);
            found.with_context(|| format!("{}: a row has no text {name}", report.display()))
        };
        let part = Part::from_str(&text("part")?, false).map_err(anyhow::Error::msg)?;
        let took = row.get("took_s").and_then(Value::as_f64).context("a row has no number took_s")?;
        let row = Row {
            found: text("found")?,
            date: text("date")?,
            commit: text("commit")?,
            took: readable(Duration::try_from_secs_f64(took)?),
            machine: text("machine")?,
        };
        record::write(project, Some((part, row)))?;
    }
    Ok(())
}
