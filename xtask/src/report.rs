//! The output of the commands: named steps with their durations, and the table at the end.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use anyhow::Result;

/// Prints one line. A reader that went away (`| head`) is no reason to fail.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// The steps a command has done so far.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    done: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    name: String,
    took: Duration,
    passed: bool,
}

impl Steps {
    /// Runs `work` under a name and remembers how long it took and how it ended.
    pub(crate) fn step<T>(&mut self, name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        say(&format!("==> {name}"));
        let start = Instant::now();
        let outcome = work();
        let took = start.elapsed();
        let passed = outcome.is_ok();
        say(&format!("    {} in {}", if passed { "done" } else { "FAILED" }, readable(took)));
        self.done.push(Step { name: name.to_owned(), took, passed });
        outcome
    }

    /// Runs work of several steps, whose names begin with `name` in the table.
    pub(crate) fn within<T>(&mut self, name: &str, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let first = self.done.len();
        let outcome = work(self);
        for step in self.done.iter_mut().skip(first) {
            step.name = format!("{name}: {}", step.name);
        }
        outcome
    }

    /// Prints the table and hands the outcome on.
    pub(crate) fn finish(&self, outcome: Result<()>) -> Result<()> {
        say(&format!("\n{}", self.table()));
        outcome
    }

    /// The steps as a table, one line each.
    fn table(&self) -> String {
        let width = self.done.iter().map(|step| step.name.chars().count()).max().unwrap_or(0);
        let total = self.done.iter().map(|step| step.took).sum();
        let mut lines: Vec<String> = self
            .done
            .iter()
            .map(|step| {
                let verdict = if step.passed { "ok" } else { "FAILED" };
                format!("{:width$}  {:>12}  {verdict}", step.name, readable(step.took))
            })
            .collect();
        lines.push(format!("{:width$}  {:>12}", "total", readable(total)));
        lines.join("\n")
    }
}

fn readable(took: Duration) -> String {
    let seconds = took.as_secs();
    if seconds < 60 {
        format!("{:.1} s", took.as_secs_f64())
    } else {
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        assert_eq!(readable(Duration::from_millis(340)), "0.3 s");
        assert_eq!(readable(Duration::from_secs(59)), "59.0 s");
        assert_eq!(readable(Duration::from_secs(125)), "2 min 05 s");
    }

    #[test]
    fn the_table_shows_each_step_and_how_it_ended() {
        let mut steps = Steps::default();
        assert_eq!(steps.step("first", || Ok(7)).unwrap(), 7);
        assert!(steps.step("second one", || Err::<(), _>(anyhow::Error::msg("no"))).is_err());
        let table = steps.table();
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("first ") && lines[0].ends_with("ok"));
        assert!(lines[1].starts_with("second one ") && lines[1].ends_with("FAILED"));
        assert!(lines[2].starts_with("total "));
    }
}
