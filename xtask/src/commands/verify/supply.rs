//! What comes from others, and whether the wheel is what its sources say.

use std::fs;

use anyhow::{Result, ensure};

use super::tools::{self, CARGO_DENY};
use crate::project::{Project, openly, quietly};
use crate::report::Steps;
use crate::wheel;

/// The checks of `deny.toml`. Known vulnerabilities come from a repository of their own: where it cannot be reached, the row says so.
const CHECKS: [&str; 3] = ["bans", "licenses", "sources"];

/// Licenses, sources and duplicates of all crates; known vulnerabilities; two builds of the wheel.
pub(super) fn run(project: &Project, steps: &mut Steps) -> Result<()> {
    let tool = tools::installed(project, CARGO_DENY)?;
    let deny = || project.command(&tool).args(["--workspace", "--all-features", "--locked", "check"]);
    steps.step("licenses, sources and duplicates", || openly(deny().args(CHECKS)))?;
    let crates = project.shell.read_file(project.root.join("Cargo.lock"))?.matches("[[package]]").count();
    steps.figure(format!("{crates} crates: {} as deny.toml allows", CHECKS.join(", ")));
    let database =
        steps.step("known vulnerabilities", || Ok(quietly(deny().args(["fetch", "db"])).is_ok()))?;
    if database {
        steps.step("advisories", || openly(deny().arg("advisories")))?;
        steps.figure("no known vulnerability".to_owned());
    } else {
        steps.figure("known vulnerabilities NOT LOOKED AT: their database cannot be reached".to_owned());
    }
    let len_bytes = steps.step("two builds of the wheel", || reproduced(project))?;
    steps.figure(format!("two builds of the wheel from two folders: the same {len_bytes} bytes"));
    Ok(())
}

/// Builds the wheel here and in a clone elsewhere, each from nothing. Returns the number of its bytes, which are the same.
fn reproduced(project: &Project) -> Result<usize> {
    let wheels = ["first", "again"].map(|name| {
        let root = project.target.join("reproduced").join(name).join("usm");
        project.shell.remove_path(&root)?;
        quietly(project.command("git").args(["clone", "--quiet"]).arg(&project.root).arg(&root))?;
        let clone = project.at(root)?;
        let wheel = fs::read(wheel::build_native(&clone)?)?;
        project.shell.remove_path(&clone.root)?;
        Ok(wheel)
    });
    let [first, again] = wheels;
    let (first, again): (Vec<u8>, Result<Vec<u8>>) = (first?, again);
    let again = again?;
    ensure!(first == again, "found two wheels of {} and {} bytes that differ", first.len(), again.len());
    Ok(first.len())
}
