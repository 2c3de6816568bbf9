//! Whether tests notice that the code is wrong: cargo-mutants changes functions one at a time, and runs the unit tests of their crate.

use std::path::Path;

use anyhow::{Result, ensure};

use super::tools::{self, CARGO_MUTANTS};
use crate::project::{Project, openly_for_long, quietly};
use crate::report::{Steps, say};

/// What is changed: layouts, slices, imports and plans of copies; who may touch memory, and pools.
const FILES: [&str; 6] = [
    "crates/usm-array/src/layout/**",
    "crates/usm-array/src/interface/**",
    "crates/usm-array/src/copy/plan/**",
    "crates/usm-memory/src/access/**",
    "crates/usm-memory/src/tracker/**",
    "crates/usm-memory/src/resource/pool/**",
];

/// Where results are kept, in the build directory. The next run leaves out what was caught.
const FOLDER: &str = "mutants";

/// Minutes of a run, where nobody says how many.
const MINUTES: u32 = 24 * 60;

/// Goes on where the last run ended, in a random order, until the minutes are over or all changes have been tried.
pub(super) fn run(project: &Project, minutes: Option<u32>, steps: &mut Steps) -> Result<()> {
    let tool = tools::installed(project, CARGO_MUTANTS)?;
    let files = || FILES.iter().flat_map(|files| ["--file", files]);
    let mutants = |word: &str| project.command(&tool).args(["mutants", word]).args(files());
    let all = quietly(mutants("--list"))?.lines().count();
    let folder = project.target.join(FOLDER);
    project.shell.create_dir(&folder)?;
    steps.step("tests of changed code", || {
        let limit = format!("{}m", minutes.unwrap_or(MINUTES));
        // At the end of the time the program writes down what it has, as after Ctrl-C.
        let command = project.command("timeout").args(["--signal=INT", &limit]).arg(&tool).arg("mutants");
        let command =
            command.args(files()).args(["--iterate", "--shuffle", "--no-times", "--output"]).arg(&folder);
        let command = command.args(["--timeout=300", "--", "--lib"]);
        // The status says that something was missed, or that the time is over. What was tried says more.
        openly_for_long(command).or_else(|error| {
            say(&format!("    {}", error.to_string().lines().next().unwrap_or_default()));
            Ok(())
        })
    })?;
    let count = |name: &str| lines(project, &folder.join("mutants.out").join(format!("{name}.txt")));
    let caught = count("caught") + count("previously_caught") + count("timeout");
    let (missed, unviable) = (count("missed"), count("unviable"));
    ensure!(caught > 0, "cargo-mutants caught nothing: see {}", folder.display());
    let viable = caught + missed;
    steps.figure(format!(
        "{caught} of {viable} changes noticed ({} %), {} of {all} tried",
        100 * caught / viable,
        viable + unviable
    ));
    Ok(())
}

fn lines(project: &Project, file: &Path) -> usize {
    project.shell.read_file(file).map_or(0, |text| text.lines().count())
}
