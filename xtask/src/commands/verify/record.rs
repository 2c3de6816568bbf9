//! The page `RELIABILITY.md`: which part of `cargo xtask verify` found what, when, and on which commit. Only this program writes it.

use std::fs;
use std::num::NonZero;
use std::thread::available_parallelism;
use std::time::Instant;

use anyhow::Result;
use clap::ValueEnum;

use super::Part;
use crate::project::{Project, quietly};
use crate::report::readable;

/// The page, seen from the root.
const PAGE: &str = "RELIABILITY.md";

/// Its last section, which people write.
const FINDS: &str = "docs/finds.md";

/// A change here makes a result old.
const CODE: &str = ":(glob)crates/*/src/**";

const HEAD: &str = "\
# Reliability

`cargo xtask verify PART` runs a part and writes its row of this page when the part has passed.
`cargo xtask verify --page` looks again which rows are old, and runs nothing. Nobody edits the rows by
hand. \"+\" behind a commit means that files differed from it. [What the gate runs](CONTRIBUTING.md) for
each change is not here.

| part | promise | found | last passed | commit | since then | took | machine |
|---|---|---|---|---|---|---|---|
";

const NEVER: &str = "| never | | | | |";

/// The cells of a row behind the promise.
pub(super) struct Row {
    pub(super) found: String,
    pub(super) date: String,
    pub(super) commit: String,
    pub(super) took: String,
    pub(super) machine: String,
}

/// Runs a part, and writes its row when it has passed. Figures tell what it found.
pub(super) fn recorded(
    project: &Project,
    part: Part,
    run: impl FnOnce() -> Result<Vec<String>>,
) -> Result<()> {
    let commit = commit(project)?;
    let start = Instant::now();
    let figures = run()?;
    let row = Row {
        found: if figures.is_empty() { "passed".to_owned() } else { figures.join("; ") },
        date: quietly(project.command("date").args(["--utc", "+%Y-%m-%d"]))?.trim().to_owned(),
        commit,
        took: readable(start.elapsed()),
        machine: machine(),
    };
    write(project, Some((part, row)))
}

/// The commit of the checkout, with a plus where files differ from it.
pub(super) fn commit(project: &Project) -> Result<String> {
    let commit = git(project, &["rev-parse", "--short", "HEAD"])?;
    let changes = git(project, &["status", "--porcelain", "--", ".", &format!(":!{PAGE}")])?;
    Ok(commit + if changes.is_empty() { "" } else { "+" })
}

/// Writes the page anew: which results are old.
pub(super) fn renew(project: &Project) -> Result<()> {
    write(project, None)
}

/// Writes the page with what is known, and a new row where there is one.
pub(super) fn write(project: &Project, new: Option<(Part, Row)>) -> Result<()> {
    let read = |name: &str| project.shell.read_file(project.root.join(name)).unwrap_or_default();
    let page = page(&read(PAGE), new, |commit| since(project, commit));
    Ok(project.shell.write_file(project.root.join(PAGE), format!("{page}\n{}", read(FINDS)))?)
}

fn git(project: &Project, words: &[&str]) -> Result<String> {
    Ok(quietly(project.command("git").args(words))?.trim().to_owned())
}

/// Whether the code has changed since a commit.
fn since(project: &Project, commit: &str) -> String {
    let range = format!("{}..HEAD", commit.trim_end_matches('+'));
    match git(project, &["rev-list", "--count", &range, "--", CODE]).as_deref() {
        Ok("0") => "no change of the code".to_owned(),
        Ok("1") => "1 commit changed the code".to_owned(),
        Ok(number) => format!("{number} commits changed the code"),
        Err(_) => "the commit is not known any more".to_owned(),
    }
}

/// `2 × AMD EPYC`.
fn machine() -> String {
    let facts = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = facts.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("unknown processors", |(_, model)| model.trim());
    format!("{} × {model}", available_parallelism().map_or(1, NonZero::get))
}

/// The table, with a new row for one part; the rows of the others stay, but for what `since` says.
fn page(old: &str, mut new: Option<(Part, Row)>, since: impl Fn(&str) -> String) -> String {
    let line = |part: &Part| {
        let start = format!("| `{}` | ", part.name());
        let row = match new.take_if(|(of, _)| of == part) {
            Some((_, row)) => Some(row),
            None => old.lines().find_map(|line| parsed(line.strip_prefix(&start)?)),
        };
        let row = row.map_or_else(|| NEVER.to_owned(), |row| row.written(&since(&row.commit)));
        format!("{start}{} {row}\n", part.checks())
    };
    HEAD.to_owned() + &Part::value_variants().iter().map(line).collect::<String>()
}

/// A row from the promise on; `None` for one that says never.
fn parsed(line: &str) -> Option<Row> {
    let cells: Vec<_> = line.trim_end_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect();
    let [_, found, date, commit, _, took, machine] = <[String; 7]>::try_from(cells).ok()?;
    Some(Row { found, date, commit, took, machine })
}

impl Row {
    fn written(&self, since: &str) -> String {
        let Self { found, date, commit, took, machine } = self;
        format!("| {found} | {date} | {commit} | {since} | {took} | {machine} |")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(found: &str, commit: &str) -> Row {
        let text = str::to_owned;
        Row {
            found: text(found),
            date: text("2026-11-01"),
            commit: text(commit),
            took: text("1 min"),
            machine: text("2 × A"),
        }
    }

    #[test]
    fn changes_of_the_code_are_seen() {
        let project = Project::open(None).unwrap();
        let changes = git(&project, &["log", "--format=%h", "-n2", "--", CODE]).unwrap();
        let changes: Vec<_> = changes.lines().collect();
        assert_eq!(since(&project, changes[0]), "no change of the code");
        // A shallow clone has one commit.
        if let Some(before) = changes.get(1) {
            assert!(since(&project, &format!("{before}+")).ends_with(" changed the code"));
        }
        assert_eq!(since(&project, "0123456789"), "the commit is not known any more");
    }

    #[test]
    fn a_row_replaces_the_one_of_its_part() {
        let since = |commit: &str| format!("since {commit}");
        let first = page("", Some((Part::Miri, row("passed", "abc"))), since);
        let second = page(&first, Some((Part::Forks, row("9 forks", "def"))), since);
        let third = page(&second, Some((Part::Miri, row("passed", "123+"))), since);
        assert!(third.starts_with(HEAD) && !third.contains("abc"), "{third}");
        for row in [
            "| passed | 2026-11-01 | 123+ | since 123+ | 1 min | 2 × A |",
            "| 9 forks | 2026-11-01 | def | since def |",
        ] {
            assert_eq!(third.matches(row).count(), 1, "{third}");
        }
        assert_eq!(third.matches(NEVER).count(), Part::value_variants().len() - 2, "{third}");
        assert_eq!(page(&third, None, since), third);
        assert_eq!(page(&third, None, |_| "old".to_owned()).matches("| old |").count(), 2);
    }
}
