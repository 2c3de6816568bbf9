//! What the library crates have in public, beside the lists that are committed.

use anyhow::{Result, bail, ensure};

use super::sanitize;
use super::tools::{self, CARGO_PUBLIC_API};
use crate::project::{Project, quietly};
use crate::report::Steps;

/// The published library crates, with the features that docs.rs shows.
const CRATES: [(&str, &str); 4] =
    [("sycl-sys", ""), ("usm-core", "testing"), ("usm-memory", "cudarc,svg"), ("usm-array", "ndarray,svg")];

/// The folder of the lists, seen from the root.
const LISTS: &str = "docs/interface";

const IS_MISSING: &str =
    "the list of an interface needs a nightly toolchain: rustup toolchain install nightly";

/// Writes each list anew, and fails where one has changed. A second run passes then, and the change is part of a commit.
pub(super) fn run(project: &Project, steps: &mut Steps) -> Result<()> {
    ensure!(sanitize::has_nightly(project), IS_MISSING);
    let tool = tools::installed(project, CARGO_PUBLIC_API)?;
    let (mut changed, mut items) = (Vec::new(), 0);
    for (name, features) in CRATES {
        steps.step(name, || {
            // Without implementations that are derived, of blanket traits and of auto traits, which follow from the rest.
            let list = project.command("rustup").args(["run", "nightly"]).arg(&tool);
            let list = list.args(["-sss", "--color", "never", "--package", name, "--features", features]);
            let list = quietly(list.env("CARGO_TARGET_DIR", project.target.join("interface")))?;
            items += list.lines().count();
            let file = project.root.join(LISTS).join(format!("{name}.txt"));
            if project.shell.read_file(&file).ok().as_ref() != Some(&list) {
                project.shell.write_file(&file, list)?;
                changed.push(name);
            }
            Ok(())
        })?;
    }
    if !changed.is_empty() {
        bail!(
            "the public interface of {} has changed; `git diff {LISTS}` shows it, and an intended change is committed with its lists",
            changed.join(", ")
        );
    }
    steps.figure(format!("{items} lines, as {LISTS} has them"));
    Ok(())
}
