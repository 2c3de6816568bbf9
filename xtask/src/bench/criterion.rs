//! The benchmarks of criterion: running them, and reading what they leave under target/criterion.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value;

use super::record::Criterion;
use crate::failure::Outcome;
use crate::project::{Project, openly};

/// Those that criterion runs; `copy` prints a table of its own.
const BENCHES: [&str; 5] = ["array", "index", "memory", "pool", "views"];

/// All benches; `args` go to criterion.
pub(super) fn run(project: &Project, args: &[String]) -> Outcome<()> {
    openly(project.cargo().args(["bench", "--locked", "-p", "usm-bench", "--"]).args(args))
}

/// Runs those whose name contains the filter and returns what they found.
pub(super) fn measure(project: &Project, filter: Option<&str>) -> Outcome<Vec<Criterion>> {
    let start = SystemTime::now();
    let mut bench = project.cargo().args(["bench", "--locked", "-p", "usm-bench"]);
    for name in BENCHES {
        bench = bench.args(["--bench", name]);
    }
    openly(bench.arg("--").args(filter.map(literally)))?;
    let mut found = vec![];
    collect(&project.target().join("criterion"), start, &mut found);
    found.sort_by(|a: &Criterion, b| a.name.cmp(&b.name));
    Ok(found)
}

/// The regular expression, which is what criterion takes, that finds this text.
fn literally(text: &str) -> String {
    let escaped = |c: char| if r"\.+*?()|[]{}^$#&-~".contains(c) { format!("\\{c}") } else { c.to_string() };
    text.chars().map(escaped).collect()
}

/// Results below a folder that are not older than `start`.
fn collect(folder: &Path, start: SystemTime, found: &mut Vec<Criterion>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()) {
        if path.file_name().is_some_and(|name| name == "new") {
            found.extend(result(&path, start));
        } else {
            collect(&path, start, found);
        }
    }
}

fn result(folder: &Path, start: SystemTime) -> Option<Criterion> {
    let file = |name: &str| -> PathBuf { folder.join(name) };
    let written = fs::metadata(file("estimates.json")).ok()?.modified().ok()?;
    if written < start {
        return None;
    }
    let read = |name| serde_json::from_str::<Value>(&fs::read_to_string(file(name)).ok()?).ok();
    let name = read("benchmark.json")?.get("full_id")?.as_str()?.to_owned();
    let median = read("estimates.json")?.get("median")?.clone();
    let interval = median.get("confidence_interval")?;
    Some(Criterion {
        name,
        median: median.get("point_estimate")?.as_f64()?,
        low: interval.get("lower_bound")?.as_f64()?,
        high: interval.get("upper_bound")?.as_f64()?,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_filter_is_text() {
        assert_eq!(super::literally("copy/a[::-1] f8"), r"copy/a\[::\-1\] f8");
    }
}
