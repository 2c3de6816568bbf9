//! `cargo xtask dist`: the wheel as it would be published, checked.

use anyhow::{Result, ensure};

use crate::project::Project;
use crate::report::say;
use crate::wheel::{self, Contents};

/// Builds the wheel, prints its contents, and fails if a check of it fails.
pub(crate) fn run(project: &Project) -> Result<()> {
    let path = wheel::build(project)?;
    let contents = Contents::read(project, &path)?;
    say(&contents.table());
    let problems = contents.problems();
    ensure!(problems.is_empty(), "{} is not good:\n- {}", path.display(), problems.join("\n- "));
    say(&format!("{} is good", path.display()));
    Ok(())
}
