//! `cargo xtask dist`: the wheel as it would be published, checked.

use crate::failure::{Failure, Outcome};
use crate::project::Project;
use crate::report::say;
use crate::wheel::{self, Contents};

/// Builds the wheel, prints what is in it and fails if something is wrong with it.
pub(crate) fn run(project: &Project) -> Outcome<()> {
    let path = wheel::build(project)?;
    let contents = Contents::read(project, &path)?;
    say(&contents.table());
    let problems = wheel::problems(&contents);
    if problems.is_empty() {
        say(&format!("{} is good", path.display()));
        return Ok(());
    }
    Err(Failure::new(format!("{} is not good:\n- {}", path.display(), problems.join("\n- "))))
}
