//! The choice of a Python: the first one on PATH that fits, or exactly the requested one.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Error, Result};

use super::probe::{Answer, OLDEST, SCRIPT, series};
use super::{Project, probe};

/// Names tried on PATH, in this order.
const NAMES: [&str; 6] = ["python3", "python", "python3.14", "python3.13", "python3.12", "python3.11"];

/// The series that the wheel is tested with where they are found, beside the one that everything is tested with.
const SERIES: [&str; 5] = ["3.11", "3.12", "3.13", "3.14", "3.15"];

/// A Python that fits: new enough, CPython, able to make venvs.
#[derive(Debug)]
pub(crate) struct Interpreter {
    answer: Answer,
}

impl Interpreter {
    /// Asks the candidates in turn.
    ///
    /// # Errors
    /// No candidate fits. The text lists each candidate with the reason, and a remedy.
    pub(crate) fn find(project: &Project, wanted: Option<&Path>) -> Result<Self> {
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
                        misfits.push((candidate, format!("{}, {reason}", answer.version_text())));
                    }
                },
                Err(reason) => misfits.push((candidate, reason)),
            }
        }
        Err(Error::msg(advice(&misfits)))
    }

    /// The first fitting interpreter of each other series, on PATH or from pyenv, or the reason why there is none.
    pub(crate) fn of_other_series(&self, project: &Project) -> Vec<(&'static str, Result<Self, String>)> {
        let others = SERIES.into_iter().filter(|series| *series != self.series());
        others.map(|series| (series, Self::of_series(project, series))).collect()
    }

    fn of_series(project: &Project, series: &str) -> Result<Self, String> {
        let mut reason = "not found".to_owned();
        for candidate in [vec![format!("python{series}").into()], of_pyenv(series)].concat() {
            match ask(project, &candidate) {
                Ok(answer) if probe::series(answer.version) != series => {}
                Ok(answer) => match answer.objection() {
                    None => return Ok(Self { answer }),
                    Some(objection) => reason = format!("{}: {objection}", candidate.display()),
                },
                // A shim of pyenv for a version that is not chosen, for example.
                Err(_) => {}
            }
        }
        Err(reason)
    }

    /// `3.12` of Python 3.12.1.
    pub(crate) fn series(&self) -> String {
        series(self.answer.version)
    }

    /// `3.12.1`.
    pub(crate) fn version(&self) -> String {
        self.answer.version_text()
    }

    /// The file to run.
    pub(crate) fn executable(&self) -> &Path {
        Path::new(&self.answer.executable)
    }

    /// A text that changes when another Python is used: a venv made from it must then be remade.
    pub(crate) fn identity(&self) -> String {
        format!("{} {}", self.version(), self.answer.base_prefix)
    }
}

/// The Pythons of a series that pyenv has built, newest first.
fn of_pyenv(series: &str) -> Vec<PathBuf> {
    let root = env::var_os("PYENV_ROOT")
        .map(PathBuf::from)
        .or_else(|| env::home_dir().map(|home| home.join(".pyenv")));
    let Some(versions) = root.and_then(|root| root.join("versions").read_dir().ok()) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = versions
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            name.strip_prefix(series).is_some_and(|rest| rest.starts_with('.'))
        })
        .map(|path| path.join("bin").join("python3"))
        .collect();
    found.sort();
    found.reverse();
    found
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
        series(OLDEST),
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
