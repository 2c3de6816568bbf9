//! How far the measuring is: a bar on a terminal, else a line for each case.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use super::record::Case;
use super::statistics::{Summary, digits, readable};
use crate::report::say;

const WIDTH: usize = 24;

/// Counts the cases.
pub(super) struct Progress {
    total: usize,
    done: usize,
    terminal: bool,
    start: Instant,
}

impl Progress {
    pub(super) fn new(total: usize) -> Self {
        Self { total, done: 0, terminal: io::stdout().is_terminal(), start: Instant::now() }
    }

    /// A case begins.
    pub(super) fn begin(&self, name: &str) {
        if self.terminal {
            let filled = WIDTH * self.done / self.total.max(1);
            let bar = format!("{:-<WIDTH$}", "#".repeat(filled));
            let left = self.left().map_or_else(String::new, |left| format!(", {} s left", left.as_secs()));
            let _ = write!(io::stdout(), "\r\x1b[K[{bar}] {}/{}{left}  {name}", self.done, self.total);
            let _ = io::stdout().flush();
        }
    }

    /// A case has ended.
    pub(super) fn end(&mut self, case: &Case) {
        self.done += 1;
        if self.terminal {
            let _ = write!(io::stdout(), "\r\x1b[K");
            if self.done == self.total {
                say(&format!("{} cases in {} s", self.total, self.start.elapsed().as_secs()));
            }
        } else {
            say(&format!("{}/{} {}", self.done, self.total, line(case)));
        }
    }

    fn left(&self) -> Option<Duration> {
        let done = u32::try_from(self.done).ok().filter(|done| *done > 0)?;
        let left = u32::try_from(self.total - self.done).ok()?;
        Some(self.start.elapsed() / done * left)
    }
}

/// Ours, and how it compares to everybody else.
fn line(case: &Case) -> String {
    let ours = case.ours();
    let words = case.contenders.iter().map(|contender| match (contender.summary(), ours) {
        (None, _) => format!("{} -", contender.name),
        (Some(found), None) => format!("{} {}", contender.name, readable(found.median, &case.unit)),
        (Some(found), Some(ours)) if ours.name == contender.name => {
            format!("{} {}", contender.name, readable(found.median, &case.unit))
        }
        (Some(_), Some(ours)) => match Summary::of_ratios(&ours.samples, &contender.samples) {
            Some(ratio) => format!("{} × {}", digits(ratio.median), contender.name),
            None => format!("{} ?", contender.name),
        },
    });
    format!("{}: {}", case.name, words.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::record::Contender;
    use super::*;

    #[test]
    fn a_line_tells_ratios_and_who_is_missing() {
        let contender = |name: &str, samples: &[f64]| Contender {
            name: name.to_owned(),
            samples: samples.to_vec(),
            missing: samples.is_empty().then(|| "why".to_owned()),
        };
        let case = Case {
            name: "view/a.T".to_owned(),
            bytes: 0,
            unit: "ns".to_owned(),
            x: None,
            contenders: vec![contender("usm", &[50.0]), contender("NumPy", &[25.0]), contender("dpnp", &[])],
        };
        assert_eq!(line(&case), "view/a.T: usm 50.0 ns, 2.00 × NumPy, dpnp -");
    }
}
