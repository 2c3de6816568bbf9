//! The page `docs/verified.md`: which part of `cargo xtask verify` passed when, on which commit. Only this program writes it.

use std::num::NonZero;
use std::thread::available_parallelism;
use std::time::Instant;

use anyhow::Result;
use clap::ValueEnum;

use super::Part;
use crate::project::{Project, quietly};
use crate::report::readable;

/// The page, seen from the root.
const PAGE: &str = "docs/verified.md";

const HEAD: &str = "\
# Checks outside of the gate

`cargo xtask verify PART` runs a part and writes its row of this page when the part has passed.
`cargo xtask verify --help` names the parts. Nobody edits the rows by hand. \"+\" behind a commit
means that files differed from it.

| part | checks | last passed | commit | took | cores |
|---|---|---|---|---|---|
";

const NEVER: &str = "never | | |  |";

/// Runs a part, and writes its row when it has passed.
pub(super) fn recorded(project: &Project, part: Part, run: impl FnOnce() -> Result<()>) -> Result<()> {
    let ask = |program, words: &[&str]| -> Result<String> {
        Ok(quietly(project.command(program).args(words))?.trim().to_owned())
    };
    let commit = ask("git", &["rev-parse", "--short", "HEAD"])?;
    let changes = ask("git", &["status", "--porcelain", "--", ".", &format!(":!{PAGE}")])?;
    let differs = if changes.is_empty() { "" } else { "+" };
    let start = Instant::now();
    run()?;
    let took = readable(start.elapsed());
    let date = ask("date", &["--utc", "+%Y-%m-%d"])?;
    let cores = available_parallelism().map_or(1, NonZero::get);
    let page = project.root.join(PAGE);
    let old = project.shell.read_file(&page).unwrap_or_default();
    let new = with_row(&old, part, &format!("{date} | {commit}{differs} | {took} | {cores} |"));
    Ok(project.shell.write_file(page, new)?)
}

/// The page with a new row for one part; the rows of the others stay.
fn with_row(page: &str, part: Part, row: &str) -> String {
    let line = |of: &Part| {
        let start = format!("| `{}` | ", of.name());
        let mut lines = page.lines().filter_map(|line| line.strip_prefix(&start));
        let old = lines.next().and_then(|line| line.split_once(" | ")).map_or(NEVER, |(_, row)| row);
        format!("{start}{} | {}\n", of.checks(), if *of == part { row } else { old })
    };
    HEAD.to_owned() + &Part::value_variants().iter().map(line).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_replaces_the_one_of_its_part() {
        let first = with_row("", Part::Miri, "2026-11-01 | abc | 1 min 00 s | 2 |");
        let second = with_row(&first, Part::Forks, "2026-11-02 | def | 2 min 00 s | 2 |");
        let third = with_row(&second, Part::Miri, "2026-11-03 | 123 | 3 min 00 s | 2 |");
        assert!(third.starts_with(HEAD) && !third.contains("abc"), "{third}");
        for row in ["2026-11-02 | def", "2026-11-03 | 123"] {
            assert_eq!(third.matches(row).count(), 1, "{third}");
        }
        assert_eq!(third.matches(NEVER).count(), Part::value_variants().len() - 2, "{third}");
        assert_eq!(with_row(&third, Part::Miri, "2026-11-03 | 123 | 3 min 00 s | 2 |"), third);
    }
}
