//! `cargo xtask doctor`: the SYCL runtime and devices that Rust and Python programs find on this machine.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;
use xshell::Cmd;

use crate::project::{Project, openly};
use crate::report::say;

/// Prints the report of usm, or the packages of SYCL where usm is not installed. The current folder is no place of modules.
const REPORT: &str = "\
import runpy, sys
from importlib.metadata import distributions
sys.path = [folder for folder in sys.path if folder]
found = {d.metadata['Name']: d.version for d in distributions()}
if 'usm' in found:
    runpy.run_module('usm', run_name='__main__', alter_sys=True)
else:
    names = [f'{n} {found[n]}' for n in ('dpctl', 'intel-opencl-rt') if n in found]
    print('of usm, dpctl and intel-opencl-rt it has:', ', '.join(names) or 'none of them')
    print('`cargo xtask dist` builds the wheel of usm into target/wheels, which pip installs there')
";

/// Asks the library twice: from a Rust program, and from Python in the active venv and in each venv of ours.
///
/// A machine without SYCL is a finding, not a failure of this command.
pub(crate) fn run(project: &Project) -> Result<()> {
    let pythons = pythons(project, env::var_os("VIRTUAL_ENV"));
    let mut locate = project.cargo("run --quiet -p sycl-sys --example locate");
    match pythons.iter().find_map(|(python, why)| Some((venv_of(python)?, why))) {
        Some((venv, why)) => {
            say(&format!("== Rust, with the venv {} ({why})", venv.display()));
            locate = locate.env("VIRTUAL_ENV", venv);
        }
        None => say("== Rust, with no venv"),
    }
    show(locate);
    for (python, why) in &pythons {
        say(&format!("\n== Python {} ({why})", python.display()));
        show(project.command(python).args(["-c", REPORT]));
    }
    if pythons.len() < 2 {
        say("\nNo venv with usm yet: `cargo xtask demo --sycl` makes one, with SYCL in it.");
    }
    Ok(())
}

/// Compares our table of the SYCL C interface with another version of it: an example of `sycl-sys`, which fails if it does not fit.
pub(crate) fn compare_interface(project: &Project, path: &Path) -> Result<()> {
    openly(project.cargo("run --quiet -p sycl-sys --example interface --").arg(path))
}

/// Runs a program, whose own words for a failure are enough.
fn show(program: Cmd<'_>) {
    if let Err(reason) = program.quiet().ignore_status().run() {
        say(&reason.to_string());
    }
}

/// The Pythons in which programs may run here, each with the reason: the Python of the active venv or else the first one on PATH,
/// then the Pythons of our venvs.
fn pythons(project: &Project, virtual_env: Option<OsString>) -> Vec<(PathBuf, &'static str)> {
    let mut pythons = Vec::new();
    match virtual_env.filter(|dir| !dir.is_empty()) {
        Some(dir) => pythons.push((Path::new(&dir).join("bin/python"), "active: VIRTUAL_ENV names it")),
        None => match project.interpreter() {
            Ok(python) => pythons.push((python.executable.clone(), "the first fitting Python on PATH")),
            Err(reason) => say(&format!("{reason}\n")),
        },
    }
    for (name, why) in [("venv", "made by `cargo xtask test`"), ("venv-demo", "made by `cargo xtask demo`")] {
        let python = project.target.join(name).join("bin/python");
        if python.exists() && pythons.iter().all(|(other, _)| *other != python) {
            pythons.push((python, why));
        }
    }
    pythons
}

/// The folder of the venv that a Python is in.
fn venv_of(python: &Path) -> Option<&Path> {
    python.parent()?.parent().filter(|dir| dir.join("pyvenv.cfg").is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_active_venv_comes_first_and_is_named() {
        let project = Project::open(None).unwrap();
        let dir = project.target.join("tmp/doctor-venv");
        let make = project.command(&project.interpreter().unwrap().executable);
        make.args(["-I", "-m", "venv", "--without-pip", "--clear"]).arg(&dir).run().unwrap();
        let (python, why) = &pythons(&project, Some(dir.clone().into()))[0];
        assert_eq!((venv_of(python), *why), (Some(&*dir), "active: VIRTUAL_ENV names it"));
        assert_eq!(venv_of(Path::new("/no/such/venv/bin/python")), None);
        let told = project.command(python).args(["-c", REPORT]).read().unwrap();
        assert!(told.contains("it has: none of them"), "{told}");
    }

    #[test]
    fn without_one_it_is_the_python_on_path() {
        let project = Project::open(None).unwrap();
        for none in [None, Some(OsString::new())] {
            let (python, why) = &pythons(&project, none)[0];
            assert_eq!(*python, project.interpreter().unwrap().executable);
            assert!(why.contains("on PATH"), "{why}");
        }
    }
}
