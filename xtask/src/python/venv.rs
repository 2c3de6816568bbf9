//! A venv under the build directory: made once, filled once, reused after that.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;
use xshell::Cmd;

use crate::project::{Interpreter, Project, quietly};
use crate::report::say;

/// The Python it was made from; written last, so a half-made venv has none and is remade.
const ORIGIN: &str = "usm-origin.txt";
/// All requirements that are installed, one a line.
const RECORD: &str = "usm-packages.txt";

/// A venv that exists. Only these commands change it.
pub(crate) struct Venv<'p> {
    project: &'p Project,
    /// Its folder, the value that `VIRTUAL_ENV` has when it is active.
    pub(crate) dir: PathBuf,
    /// Its Python, as a file.
    pub(crate) executable: PathBuf,
}

impl<'p> Venv<'p> {
    /// The venv `target/<name>` with groups of packages, made from the Python of this run unless it is there already.
    pub(crate) fn with(project: &'p Project, name: &str, groups: &[&[&str]]) -> Result<Self> {
        let venv = Self::of(project, name, project.interpreter()?)?;
        venv.require(&groups.concat(), &[])?;
        Ok(venv)
    }

    /// The venv `target/<name>`, made from some Python unless it is there already.
    pub(crate) fn of(project: &'p Project, name: &str, interpreter: &Interpreter) -> Result<Self> {
        let dir = project.target.join(name);
        let venv = Self { project, executable: dir.join("bin/python"), dir };
        // With its own path in it, because a moved venv has programs that point to the old place.
        let origin = format!("{}\n{}\n", interpreter.identity(), venv.dir.display());
        if venv.note(ORIGIN) != origin || !venv.executable.exists() {
            say(&format!("making the venv {}", venv.dir.display()));
            let make = project.command(&interpreter.executable).args(["-I", "-m", "venv", "--clear"]);
            quietly(make.arg(&venv.dir))?;
            project.shell.write_file(venv.dir.join(ORIGIN), origin)?;
        }
        Ok(venv)
    }

    /// Its Python, as a command.
    pub(crate) fn python(&self) -> Cmd<'p> {
        self.project.command(&self.executable)
    }

    /// A program that a distribution installed into it.
    pub(crate) fn program(&self, name: &str) -> Cmd<'p> {
        self.project.command(self.dir.join("bin").join(name))
    }

    /// Installs the missing ones of `requirements`. Does not start pip if none is missing.
    pub(crate) fn require(&self, requirements: &[&str], options: &[&str]) -> Result<()> {
        let record = self.note(RECORD);
        // With the earlier ones, since pip decides about the versions of all together.
        let mut wanted: BTreeSet<_> = record.lines().collect();
        let installed = wanted.len();
        wanted.extend(requirements);
        if wanted.len() > installed {
            say(&format!("installing {} (once)", requirements.join(", ")));
            quietly(self.pip_install().args(options).args(&wanted))?;
            self.project.shell.write_file(self.dir.join(RECORD), Vec::from_iter(wanted).join("\n"))?;
        }
        Ok(())
    }

    /// Installs a wheel of ours in place of any installed version.
    pub(crate) fn install_wheel(&self, wheel: &Path) -> Result<()> {
        quietly(self.pip_install().args(["--force-reinstall", "--no-deps"]).arg(wheel)).map(drop)
    }

    /// Installs packages for a Python of another system into its folder of packages, from wheels alone.
    pub(crate) fn install_elsewhere(
        &self,
        packages: &[&str],
        version: &str,
        platforms: &[&str],
        folder: &Path,
    ) -> Result<()> {
        let pip = self.pip_install().args(["--upgrade", "--only-binary=:all:", "--implementation", "cp"]);
        let pip = pip.args(platforms.iter().flat_map(|platform| ["--platform", platform]));
        let pip = pip.args(["--python-version", version, "--target"]).arg(folder);
        quietly(pip.args(packages)).map(drop)
    }

    fn pip_install(&self) -> Cmd<'p> {
        let pip = ["-I", "-m", "pip", "--disable-pip-version-check", "install", "--no-input"];
        // Python compiles what it imports, which is a fourth of what pip would compile.
        self.python().args(pip).arg("--no-compile")
    }

    /// One of our files in the venv; empty when it is not there.
    fn note(&self, name: &str) -> String {
        self.project.shell.read_file(self.dir.join(name)).unwrap_or_default()
    }
}
