//! A venv under the build directory: made once, filled once, reused after that.

use std::path::{Path, PathBuf};

use xshell::Cmd;

use super::installation::{InstallRecord, Installed, parse_installed};
use crate::failure::Outcome;
use crate::project::{Interpreter, Project, quietly};
use crate::report::say;

/// Prints one `name version` line for each installed distribution.
const LIST: &str = "\
from importlib.metadata import distributions
for d in distributions():
    print(d.metadata['Name'], d.version)
";

/// The Python it was made from; written last, so a half-made venv has none and is remade.
const ORIGIN: &str = "usm-origin.txt";
/// The [`InstallRecord`].
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
    pub(crate) fn ensure(project: &'p Project, name: &str) -> Outcome<Self> {
        Self::ensure_of(project, name, project.interpreter()?)
    }

    /// As [`Venv::ensure`], made from another Python.
    pub(crate) fn ensure_of(project: &'p Project, name: &str, interpreter: &Interpreter) -> Outcome<Self> {
        let venv = Self { project, dir: project.target().join(name) };
        // With its own path in it, because a moved venv has programs that point to the old place.
        let origin = format!("{}\n{}\n", interpreter.identity(), venv.dir.display());
        if venv.note(ORIGIN) == origin && venv.installed().is_ok() {
            return Ok(venv);
        }
        say(&format!("making the venv {}", venv.dir.display()));
        let make = project.command(interpreter.executable());
        quietly(make.args(["-I", "-m", "venv", "--clear"]).arg(&venv.dir))?;
        project.shell().write_file(venv.dir.join(ORIGIN), origin)?;
        Ok(venv)
    }

    /// The same venv if an earlier run made it.
    pub(crate) fn existing(project: &'p Project, name: &str) -> Option<Self> {
        let venv = Self { project, dir: project.target().join(name) };
        project.shell().path_exists(venv.dir.join(ORIGIN)).then_some(venv)
    }

    /// True if [`Venv::install_wheel`] was done.
    pub(crate) fn has_wheel(&self) -> bool {
        self.project.shell().path_exists(self.dir.join(WHEEL))
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
    pub(crate) fn require(&self, requirements: &[&str]) -> Outcome<()> {
        self.require_with(requirements, &[])
    }

    /// As [`Venv::require`], from wheels only; false where there is none for this Python.
    pub(crate) fn require_wheels(&self, requirements: &[&str]) -> Outcome<bool> {
        match self.require_with(requirements, &["--only-binary=:all:"]) {
            Ok(()) => Ok(true),
            Err(failure) if failure.to_string().contains("No matching distribution found") => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    fn require_with(&self, requirements: &[&str], options: &[&str]) -> Outcome<()> {
        let record = InstallRecord::parse(&self.note(RECORD));
        if record.satisfies(requirements, &self.installed()?) {
            return Ok(());
        }
        say(&format!("installing {} (once)", requirements.join(", ")));
        let wanted = record.with(requirements);
        // Python compiles what it imports, which is a fourth of what pip would compile.
        quietly(self.pip_install().arg("--no-compile").args(options).args(&wanted))?;
        let mut installed = self.installed()?;
        // Our wheel comes and goes by itself, see `install_wheel`.
        installed.remove("usm");
        let record = InstallRecord::new(wanted, installed).render();
        Ok(self.project.shell().write_file(self.dir.join(RECORD), record)?)
    }

    /// Installs the wheel unless exactly this one is installed.
    pub(crate) fn install_wheel(&self, wheel: &Path) -> Outcome<()> {
        let shell = self.project.shell();
        let copy = self.dir.join(WHEEL);
        let new = shell.read_binary_file(wheel)?;
        let same = shell.path_exists(&copy) && shell.read_binary_file(&copy)? == new;
        if same && self.installed()?.contains_key("usm") {
            return Ok(());
        }
        shell.remove_path(&copy)?;
        quietly(self.pip_install().args(["--force-reinstall", "--no-deps"]).arg(wheel))?;
        Ok(shell.write_file(copy, new)?)
    }

    /// Installs a wheel of ours in place of any installed version.
    pub(crate) fn install_other_wheel(&self, wheel: &Path) -> Outcome<()> {
        quietly(self.pip_install().args(["--force-reinstall", "--no-deps"]).arg(wheel)).map(drop)
    }

    fn pip_install(&self) -> Cmd<'p> {
        let pip = ["-I", "-m", "pip", "--disable-pip-version-check", "install", "--no-input"];
        self.python().args(pip)
    }

    fn installed(&self) -> Outcome<Installed> {
        Ok(parse_installed(&quietly(self.python().args(["-I", "-c", LIST]))?))
    }

    /// One of our files in the venv; empty when it is not there.
    fn note(&self, name: &str) -> String {
        self.project.shell().read_file(self.dir.join(name)).unwrap_or_default()
    }
}
