//! `cargo xtask doctor`: the SYCL runtime and devices that Rust and Python programs find on this machine.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::project::{Project, openly, quietly};
use crate::python::Venv;
use crate::report::say;

/// Prints the folder of a Python's packages, whether that is a venv, and the installed packages of ours and of SYCL.
const QUESTION: &str = "\
import sys
from importlib.metadata import distributions
print(sys.prefix)
print(sys.prefix != sys.base_prefix)
found = {d.metadata['Name']: d.version for d in distributions()}
print('usm' in found)
print(', '.join(f'{n} {found[n]}' for n in ('usm', 'dpctl', 'intel-opencl-rt') if n in found) or 'none of them')
";

/// A Python in which programs may run here.
#[derive(Debug)]
struct Installation {
    python: PathBuf,
    dir: PathBuf,
    /// Why it is looked into
    why: &'static str,
    is_venv: bool,
    has_wheel: bool,
    /// The packages that matter, with their versions
    packages: String,
}

impl Installation {
    fn ask(project: &Project, python: &Path, why: &'static str) -> Result<Self> {
        let answer = quietly(project.command(python).args(["-I", "-c", QUESTION]))?;
        let mut lines = answer.lines();
        let mut next = || lines.next().unwrap_or_default().to_owned();
        let (dir, is_venv, has_wheel) = (PathBuf::from(next()), next() == "True", next() == "True");
        Ok(Self { python: python.to_owned(), dir, why, is_venv, has_wheel, packages: next() })
    }

    fn name(&self) -> String {
        format!("{} ({})", self.dir.display(), self.why)
    }
}

/// Asks the library twice: from a Rust program, and from Python in the active venv and in each venv that has the wheel.
///
/// A machine without SYCL is a finding, not a failure of this command.
pub(crate) fn run(project: &Project) -> Result<()> {
    let active = active(project, env::var_os("VIRTUAL_ENV").map(PathBuf::from));
    let mut installations = Vec::new();
    for (name, why) in [("venv", "made by `cargo xtask test`"), ("venv-demo", "made by `cargo xtask demo`")] {
        if let Some(venv) = Venv::existing(project, name).filter(Venv::has_wheel) {
            installations.push(Installation::ask(project, &venv.executable(), why)?);
        }
    }
    match active {
        Ok(active) => {
            installations.retain(|installation| installation.dir != active.dir);
            installations.insert(0, active);
        }
        Err(reason) => say(&format!("{reason}\n")),
    }
    rust(project, installations.iter().find(|installation| installation.is_venv))?;
    for installation in &installations {
        say(&format!("\n== Python in {}", installation.name()));
        if installation.has_wheel {
            openly(project.command(&installation.python).args(["-P", "-m", "usm"]).quiet().ignore_status())?;
        } else {
            say(&format!("of usm, dpctl and intel-opencl-rt it has: {}", installation.packages));
            say("`cargo xtask dist` builds the wheel of usm into target/wheels, which pip installs there");
        }
    }
    if !installations.iter().any(|installation| installation.has_wheel) {
        say("\nNo venv with usm yet: `cargo xtask demo --sycl` makes one, with SYCL in it.");
    }
    Ok(())
}

/// The Python that the caller's shell would start: the one of the active venv, else the first one on PATH.
fn active(project: &Project, virtual_env: Option<PathBuf>) -> Result<Installation> {
    match virtual_env.filter(|dir| !dir.as_os_str().is_empty()) {
        Some(dir) => {
            Installation::ask(project, &dir.join("bin").join("python"), "active: VIRTUAL_ENV names it")
        }
        None => {
            Installation::ask(project, &project.interpreter()?.executable, "the first fitting Python on PATH")
        }
    }
}

fn rust(project: &Project, venv: Option<&Installation>) -> Result<()> {
    let cargo = |verb| project.cargo("").args([verb, "--quiet", "-p", "sycl-sys", "--example", "locate"]);
    quietly(cargo("build"))?;
    let locate = cargo("run").quiet().ignore_status();
    match venv {
        Some(venv) => {
            say(&format!("== Rust, with the venv {}", venv.name()));
            openly(locate.env("VIRTUAL_ENV", &venv.dir))
        }
        None => {
            say("== Rust, with no venv");
            openly(locate)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_active_venv_comes_first_and_is_named() {
        let project = Project::open(None).unwrap();
        let dir = project.target.join("tmp").join("doctor-venv");
        let python = &project.interpreter().unwrap().executable;
        quietly(project.command(python).args(["-I", "-m", "venv", "--without-pip", "--clear"]).arg(&dir))
            .unwrap();
        let installation = active(&project, Some(dir.clone())).unwrap();
        assert_eq!(installation.dir.canonicalize().unwrap(), dir.canonicalize().unwrap());
        assert!(
            installation.is_venv && !installation.has_wheel && installation.packages == "none of them",
            "{installation:?}"
        );
        assert!(installation.name().contains("doctor-venv (active: VIRTUAL_ENV names it)"));
    }

    #[test]
    fn without_one_it_is_the_python_on_path() {
        let project = Project::open(None).unwrap();
        for none in [None, Some(PathBuf::new())] {
            let installation = active(&project, none).unwrap();
            assert_eq!(installation.python, project.interpreter().unwrap().executable);
            assert!(installation.name().contains("on PATH"), "{installation:?}");
        }
    }

    #[test]
    fn a_venv_that_is_gone_is_said() {
        let project = Project::open(None).unwrap();
        let error = active(&project, Some(PathBuf::from("/no/such/venv"))).unwrap_err();
        assert!(error.to_string().contains("/no/such/venv"), "{error}");
    }
}
