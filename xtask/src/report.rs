//! The output of the commands: named steps with their durations, and the table at the end.

use std::io::{self, Write};
use std::mem;
use std::time::{Duration, Instant};

use anyhow::Result;

/// Prints one line. A reader that went away (`| head`) is no reason to fail.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// The steps a command has done so far.
#[derive(Default)]
pub(crate) struct Steps {
    done: Vec<Step>,
    figures: Vec<String>,
}

struct Step {
    name: String,
    took: Duration,
    passed: bool,
}

impl Steps {
    /// Runs the steps of a command, and prints their table, also after a step that failed.
    pub(crate) fn report(work: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let mut steps = Self::default();
        let outcome = work(&mut steps);
        say(&format!("\n{}", steps.table()));
        outcome
    }

    /// Runs `work` under a name and remembers how long it took and how it ended.
    pub(crate) fn step<T>(&mut self, name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        say(&format!("==> {name}"));
        let start = Instant::now();
        let outcome = work();
        let (took, passed) = (start.elapsed(), outcome.is_ok());
        say(&format!("    {} in {}", if passed { "done" } else { "FAILED" }, readable(took)));
        self.done.push(Step { name: name.to_owned(), took, passed });
        outcome
    }

    /// Remembers what was counted.
    pub(crate) fn figure(&mut self, text: String) {
        self.figures.push(text);
    }

    /// What was counted since the last call.
    pub(crate) fn take_figures(&mut self) -> Vec<String> {
        mem::take(&mut self.figures)
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

    /// The steps as a table, one line each.
    fn table(&self) -> String {
        let width = self.done.iter().map(|step| step.name.chars().count()).max().unwrap_or(0);
        let line = |name: &str, took| format!("{name:width$}  {:>12}", readable(took));
        let verdict = |passed| if passed { "ok" } else { "FAILED" };
        let steps = self.done.iter();
        let steps = steps.map(|step| format!("{}  {}\n", line(&step.name, step.took), verdict(step.passed)));
        steps.collect::<String>() + &line("total", self.done.iter().map(|step| step.took).sum())
    }
}

/// `9.5 s`, `2 min 05 s`.
pub(crate) fn readable(took: Duration) -> String {
    match took.as_secs() {
        ..60 => format!("{:.1} s", took.as_secs_f64()),
        seconds => format!("{} min {:02} s", seconds / 60, seconds % 60),
    }
}

/// `97.4 %`, never rounded up.
pub(crate) fn percent(part: u64, all: u64) -> String {
    let tenths = (1000 * part).checked_div(all).unwrap_or_default();
    format!("{}.{} %", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_are_never_rounded_up() {
        assert_eq!(
            [percent(999, 1000), percent(99_999, 100_000), percent(0, 0)],
            ["99.9 %", "99.9 %", "0.0 %"]
        );
    }

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
        assert!(
            steps.within("part", |steps| steps.step("two", || anyhow::bail!("no") as Result<()>)).is_err()
        );
        let table = steps.table();
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("first ") && lines[0].ends_with("ok"));
        assert!(lines[1].starts_with("part: two ") && lines[1].ends_with("FAILED"));
        assert!(lines[2].starts_with("total "));
    }
}
