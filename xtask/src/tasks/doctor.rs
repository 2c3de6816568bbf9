//! `cargo xtask doctor`: the SYCL runtime and devices that Rust and Python programs find on this machine.

use std::env;
use std::path::{Path, PathBuf};

use crate::failure::Outcome;
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
struct Place {
    python: PathBuf,
    dir: PathBuf,
    /// Why it is looked into
    why: &'static str,
    is_venv: bool,
    has_wheel: bool,
    /// The packages that matter, with their versions
    packages: String,
}

impl Place {
    fn ask(project: &Project, python: &Path, why: &'static str) -> Outcome<Self> {
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
pub(crate) fn run(project: &Project) -> Outcome<()> {
    let active = active(project, env::var_os("VIRTUAL_ENV").map(PathBuf::from));
    let mut places = Vec::new();
    for (name, why) in [("venv", "made by `cargo xtask test`"), ("venv-demo", "made by `cargo xtask demo`")] {
        if let Some(venv) = Venv::existing(project, name).filter(Venv::has_wheel) {
            places.push(Place::ask(project, &venv.executable(), why)?);
        }
    }
    match active {
        Ok(active) => {
            places.retain(|place| place.dir != active.dir);
            places.insert(0, active);
        }
        Err(reason) => say(&format!("{reason}\n")),
    }
    rust(project, places.iter().find(|place| place.is_venv))?;
    for place in &places {
        say(&format!("\n== Python in {}", place.name()));
        if place.has_wheel {
            openly(project.command(&place.python).args(["-P", "-m", "usm"]).quiet().ignore_status())?;
        } else {
            say(&format!("of usm, dpctl and intel-opencl-rt it has: {}", place.packages));
            say("`cargo xtask dist` builds the wheel of usm into target/wheels, which pip installs there");
        }
    }
    if !places.iter().any(|place| place.has_wheel) {
        say("\nNo venv with usm yet: `cargo xtask demo --sycl` makes one, with SYCL in it.");
    }
    Ok(())
}

/// The Python that the caller's shell would start: the one of the active venv, else the first one on PATH.
fn active(project: &Project, virtual_env: Option<PathBuf>) -> Outcome<Place> {
    match virtual_env.filter(|dir| !dir.as_os_str().is_empty()) {
        Some(dir) => Place::ask(project, &dir.join("bin").join("python"), "active: VIRTUAL_ENV names it"),
        None => Place::ask(project, project.interpreter()?.executable(), "the first fitting Python on PATH"),
    }
}

fn rust(project: &Project, venv: Option<&Place>) -> Outcome<()> {
    let cargo = |verb| project.cargo().args([verb, "--quiet", "-p", "sycl-sys", "--example", "locate"]);
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
        let dir = project.target().join("tmp").join("doctor-venv");
        let python = project.interpreter().unwrap().executable();
        quietly(project.command(python).args(["-I", "-m", "venv", "--without-pip", "--clear"]).arg(&dir))
            .unwrap();
        let place = active(&project, Some(dir.clone())).unwrap();
        assert_eq!(place.dir.canonicalize().unwrap(), dir.canonicalize().unwrap());
        assert!(place.is_venv && !place.has_wheel && place.packages == "none of them", "{place:?}");
        assert!(place.name().contains("doctor-venv (active: VIRTUAL_ENV names it)"));
    }

    #[test]
    fn without_one_it_is_the_python_on_path() {
        let project = Project::open(None).unwrap();
        for none in [None, Some(PathBuf::new())] {
            let place = active(&project, none).unwrap();
            assert_eq!(place.python, project.interpreter().unwrap().executable());
            assert!(place.name().contains("on PATH"), "{place:?}");
        }
    }

    #[test]
    fn a_venv_that_is_gone_is_said() {
        let project = Project::open(None).unwrap();
        let error = active(&project, Some(PathBuf::from("/no/such/venv"))).unwrap_err();
        assert!(error.to_string().contains("/no/such/venv"), "{error}");
    }
}
