//! The page `docs/verified.md`: which part of `cargo xtask verify` passed when, on which commit. Only this program writes it.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::PathBuf;
use std::thread::available_parallelism;
use std::time::Instant;

use anyhow::Result;

use super::Part;
use crate::project::{Project, quietly};

/// The page, seen from the root.
const PAGE: &str = "docs/verified.md";

const HEAD: &str = "\
# Checks outside of the gate

`cargo xtask verify PART` runs a part and writes its row of this page when the part has passed.
`cargo xtask verify --list` names the parts. Nobody edits the rows by hand. \"+\" behind a commit
means that files differed from it.

| part | checks | last passed | commit | took | cores |
|---|---|---|---|---|---|
";

const NEVER: &str = "never | | | ";

/// A run of a part.
pub(super) struct Record<'p> {
    project: &'p Project,
    part: &'static str,
    commit: String,
    start: Instant,
}

impl<'p> Record<'p> {
    /// Remembers the commit, and begins to count.
    pub(super) fn start(project: &'p Project, part: &'static str) -> Result<Self> {
        let commit = quietly(project.command("git").args(["rev-parse", "--short", "HEAD"]))?;
        let changes =
            quietly(project.command("git").args(["status", "--porcelain", "--", ".", ":!docs/verified.md"]))?;
        let commit = format!("{}{}", commit.trim(), if changes.is_empty() { "" } else { "+" });
        Ok(Self { project, part, commit, start: Instant::now() })
    }

    /// Writes the row of the part.
    pub(super) fn passed(&self, parts: &[Part]) -> Result<()> {
        let page = self.page();
        let date = quietly(self.project.command("date").args(["--utc", "+%Y-%m-%d"]))?;
        let cores = available_parallelism().map_or(1, NonZero::get);
        let seconds = self.start.elapsed().as_secs();
        let took = format!("{} min {:02} s", seconds / 60, seconds % 60);
        let row = format!("{} | {} | {took} | {cores}", date.trim(), self.commit);
        let old = self.project.shell.read_file(&page).unwrap_or_default();
        Ok(self.project.shell.write_file(page, with_row(&old, parts, self.part, &row))?)
    }

    fn page(&self) -> PathBuf {
        self.project.root.join(PAGE)
    }
}

/// The page with a new row for one part; the rows of the others stay.
fn with_row(page: &str, parts: &[Part], part: &str, row: &str) -> String {
    let cells = |line: &str| {
        let line = line.strip_prefix("| `")?.strip_suffix(" |")?.to_owned();
        let (name, rest) = line.split_once("` | ")?;
        let (_, rest) = rest.split_once(" | ")?;
        Some((name.to_owned(), rest.to_owned()))
    };
    let mut rows: BTreeMap<String, String> = page.lines().filter_map(cells).collect();
    rows.insert(part.to_owned(), row.to_owned());
    let line = |part: &Part| {
        let row = rows.get(part.name).map_or(NEVER, String::as_str);
        format!("| `{}` | {} | {row} |\n", part.name, part.checks)
    };
    format!("{HEAD}{}", parts.iter().map(line).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::super::PARTS;
    use super::*;

    #[test]
    fn a_row_replaces_the_one_of_its_part() {
        let first = with_row("", &PARTS, "miri", "2026-11-01 | abc | 1 min 00 s | 2");
        let second = with_row(&first, &PARTS, "forks", "2026-11-02 | def | 2 min 00 s | 2");
        let third = with_row(&second, &PARTS, "miri", "2026-11-03 | 123 | 3 min 00 s | 2");
        assert!(third.starts_with(HEAD) && !third.contains("abc"), "{third}");
        for row in ["2026-11-02 | def", "2026-11-03 | 123"] {
            assert_eq!(third.matches(row).count(), 1, "{third}");
        }
        assert_eq!(third.matches(NEVER).count(), PARTS.len() - 2, "{third}");
        assert_eq!(with_row(&third, &PARTS, "miri", "2026-11-03 | 123 | 3 min 00 s | 2"), third);
    }
}
