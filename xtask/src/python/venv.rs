//! A venv under the build directory: made once, filled once, reused after that.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;
use xshell::Cmd;

use crate::project::{Interpreter, Project, quietly};
use crate::report::say;

/// Prints one `name version` line for each installed distribution. Our wheel comes and goes by itself, see `install_wheel`.
const LIST: &str = "\
from importlib.metadata import distributions
for d in distributions():
    if d.metadata['Name'] != 'usm':
        print(d.metadata['Name'], d.version)
";

/// Fails where our wheel is not installed.
const LOOK: &str = "import importlib.metadata as m; m.version('usm')";

/// The Python it was made from; written last, so a half-made venv has none and is remade.
const ORIGIN: &str = "usm-origin.txt";
/// All requirements so far, an empty line, and what was installed after the last of them.
const RECORD: &str = "usm-requirements.txt";
/// A copy of the wheel that was installed last.
const WHEEL: &str = "usm-installed.whl";

/// A venv that exists and whose Python runs.
pub(crate) struct Venv<'p> {
    project: &'p Project,
    dir: PathBuf,
}

impl<'p> Venv<'p> {
    /// The venv `target/<name>`, made from the Python of this run unless it is there already.
    pub(crate) fn ensure(project: &'p Project, name: &str) -> Result<Self> {
        Self::ensure_of(project, name, project.interpreter()?)
    }

    /// As [`Venv::ensure`], made from another Python.
    pub(crate) fn ensure_of(project: &'p Project, name: &str, interpreter: &Interpreter) -> Result<Self> {
        let venv = Self { project, dir: project.target.join(name) };
        // With its own path in it, because a moved venv has programs that point to the old place.
        let origin = format!("{}\n{}\n", interpreter.identity(), venv.dir.display());
        if venv.note(ORIGIN) == origin && venv.installed().is_ok() {
            return Ok(venv);
        }
        say(&format!("making the venv {}", venv.dir.display()));
        let make = project.command(&interpreter.executable);
        quietly(make.args(["-I", "-m", "venv", "--clear"]).arg(&venv.dir))?;
        project.shell.write_file(venv.dir.join(ORIGIN), origin)?;
        Ok(venv)
    }

    /// The same venv if an earlier run made it.
    pub(crate) fn existing(project: &'p Project, name: &str) -> Option<Self> {
        let venv = Self { project, dir: project.target.join(name) };
        project.shell.path_exists(venv.dir.join(ORIGIN)).then_some(venv)
    }

    /// True if [`Venv::install_wheel`] was done.
    pub(crate) fn has_wheel(&self) -> bool {
        self.project.shell.path_exists(self.dir.join(WHEEL))
    }

    /// Its folder, the value that `VIRTUAL_ENV` has when it is active.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Its Python, as a command.
    pub(crate) fn python(&self) -> Cmd<'p> {
        self.project.command(self.executable())
    }

    /// A program that a distribution installed into it.
    pub(crate) fn program(&self, name: &str) -> Cmd<'p> {
        self.project.command(self.dir.join("bin").join(name))
    }

    /// Its Python, as a file.
    pub(crate) fn executable(&self) -> PathBuf {
        self.dir.join("bin").join("python")
    }

    /// Installs the missing ones of `requirements`. Does not start pip if none is missing.
    pub(crate) fn require(&self, requirements: &[&str]) -> Result<()> {
        self.require_with(requirements, &[])
    }

    /// As [`Venv::require`], from wheels only; false where there is none for this Python.
    pub(crate) fn require_wheels(&self, requirements: &[&str]) -> Result<bool> {
        match self.require_with(requirements, &["--only-binary=:all:"]) {
            Ok(()) => Ok(true),
            Err(failure) if failure.to_string().contains("No matching distribution found") => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    fn require_with(&self, requirements: &[&str], options: &[&str]) -> Result<()> {
        let record = self.note(RECORD);
        if is_satisfied(&record, requirements, &self.installed()?) {
            return Ok(());
        }
        say(&format!("installing {} (once)", requirements.join(", ")));
        let wanted: BTreeSet<_> = split(&record).0.lines().chain(requirements.iter().copied()).collect();
        // Python compiles what it imports, which is a fourth of what pip would compile.
        quietly(self.pip_install().arg("--no-compile").args(options).args(&wanted))?;
        let wanted = Vec::from_iter(wanted).join("\n");
        let record = format!("{wanted}\n\n{}", self.installed()?);
        Ok(self.project.shell.write_file(self.dir.join(RECORD), record)?)
    }

    /// Installs the wheel unless exactly this one is installed.
    pub(crate) fn install_wheel(&self, wheel: &Path) -> Result<()> {
        let shell = &self.project.shell;
        let copy = self.dir.join(WHEEL);
        let new = shell.read_binary_file(wheel)?;
        let same = shell.path_exists(&copy) && shell.read_binary_file(&copy)? == new;
        if same && quietly(self.python().args(["-I", "-c", LOOK])).is_ok() {
            return Ok(());
        }
        shell.remove_path(&copy)?;
        quietly(self.pip_install().args(["--force-reinstall", "--no-deps"]).arg(wheel))?;
        Ok(shell.write_file(copy, new)?)
    }

    /// Installs a wheel of ours in place of any installed version.
    pub(crate) fn install_other_wheel(&self, wheel: &Path) -> Result<()> {
        quietly(self.pip_install().args(["--force-reinstall", "--no-deps"]).arg(wheel)).map(drop)
    }

    fn pip_install(&self) -> Cmd<'p> {
        let pip = ["-I", "-m", "pip", "--disable-pip-version-check", "install", "--no-input"];
        self.python().args(pip)
    }

    fn installed(&self) -> Result<String> {
        quietly(self.python().args(["-I", "-c", LIST]))
    }

    /// One of our files in the venv; empty when it is not there.
    fn note(&self, name: &str) -> String {
        self.project.shell.read_file(self.dir.join(name)).unwrap_or_default()
    }
}

/// The two parts of a record.
fn split(record: &str) -> (&str, &str) {
    record.split_once("\n\n").unwrap_or_default()
}

/// True if pip has nothing to do: all of it was requested before, and all that was installed then is there in the same version.
fn is_satisfied(record: &str, requirements: &[&str], now: &str) -> bool {
    let (wanted, installed) = split(record);
    let is_in = |lines: &str, line: &str| lines.lines().any(|other| other == line);
    requirements.iter().all(|requirement| is_in(wanted, requirement))
        && installed.lines().all(|line| is_in(now, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_requested_and_is_still_there_is_not_installed_again() {
        let record = "dpctl>=0.22\nnumpy\n\npip 24.0\ndpctl 0.22.1\nnumpy 2.4.6\n";
        let (_, now) = split(record);
        for (requirements, now, expected) in [
            (&["dpctl>=0.22", "numpy"][..], now.to_owned(), true),
            (&["numpy"], format!("{now}more 0.1.0\n"), true),
            (&["numpy", "dpnp"], now.to_owned(), false),
            (&["dpctl>=0.23"], now.to_owned(), false),
            (&["numpy"], now.replace("2.4.6", "2.4.5"), false),
            (&["dpctl>=0.22"], now.replace("numpy 2.4.6\n", ""), false),
        ] {
            assert_eq!(is_satisfied(record, requirements, &now), expected, "{requirements:?} {now}");
        }
        assert!(!is_satisfied("", &["numpy"], now));
    }
}
