//! Which Python to use: the first one on PATH that fits, or exactly the one asked for.

use std::path::Path;

use super::probe::{Answer, SCRIPT};
use super::version::Version;
use crate::failure::{Failure, Outcome};
use crate::project::Project;

/// Names tried on PATH, in this order.
const NAMES: [&str; 6] = ["python3", "python", "python3.14", "python3.13", "python3.12", "python3.11"];

/// A Python that fits: new enough, CPython, able to make venvs.
#[derive(Debug)]
pub(crate) struct Interpreter {
    answer: Answer,
}

impl Interpreter {
    /// Asks the candidates in turn.
    ///
    /// # Errors
    /// No candidate fits; the text lists each of them with the reason, and what to do.
    pub(crate) fn find(project: &Project, wanted: Option<&Path>) -> Outcome<Self> {
        let candidates: Vec<&Path> = match wanted {
            Some(path) => vec![path],
            None => NAMES.iter().map(Path::new).collect(),
        };
        let mut misfits = Vec::new();
        for candidate in candidates {
            match ask(project, candidate) {
                Ok(answer) => match answer.objection() {
                    None => return Ok(Self { answer }),
                    Some(reason) => {
                        misfits.push((candidate, format!("{}, {reason}", answer.version)));
                    }
                },
                Err(reason) => misfits.push((candidate, reason)),
            }
        }
        Err(Failure::new(advice(&misfits)))
    }

    /// The file to run.
    pub(crate) fn executable(&self) -> &Path {
        Path::new(&self.answer.executable)
    }

    /// A text that changes when another Python is used: a venv made from it must then be remade.
    pub(super) fn identity(&self) -> String {
        format!("{} {}", self.answer.version, self.answer.base_prefix)
    }
}

fn ask(project: &Project, candidate: &Path) -> Result<Answer, String> {
    let question = project.command(candidate).args(["-c", SCRIPT]);
    // A failure to start is "not there" for a name on PATH; a wrapper that has no Python behind it
    // (a version manager's) starts and fails.
    match question.quiet().ignore_status().output() {
        Err(_) if candidate.exists() => Err("is not a program".to_owned()),
        Err(_) => Err("not found".to_owned()),
        Ok(output) if !output.status.success() => Err(format!("does not run ({})", output.status)),
        Ok(output) => Answer::parse(&String::from_utf8_lossy(&output.stdout)),
    }
}

fn advice(misfits: &[(&Path, String)]) -> String {
    let found: Vec<String> = misfits
        .iter()
        .map(|(name, reason)| format!("  {:<12} {reason}", name.display().to_string()))
        .collect();
    format!(
        "no fitting Python found; CPython {} or newer is needed, with its module venv.\n\
         What was tried:\n{}\n\
         Install a newer Python (Debian, Ubuntu: apt install python3 python3-venv; Fedora: dnf \
         install python3),\nor name one: cargo xtask --python /path/to/python3 <command>",
        Version::OLDEST,
        found.join("\n"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_names_every_candidate_and_the_way_out() {
        let text = advice(&[
            (Path::new("python3"), "3.9.2, older than 3.11".to_owned()),
            (Path::new("python"), "not found".to_owned()),
        ]);
        for part in ["python3 ", "3.9.2, older than 3.11", "python ", "not found", "--python"] {
            assert!(text.contains(part), "{part:?} is not in {text:?}");
        }
    }
}
