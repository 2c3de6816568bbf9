//! `cargo xtask doctor`: the SYCL runtime and devices that Rust and Python programs find on this machine.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
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
elif '--json' in sys.argv:
    print('null')
else:
    names = [f'{n} {found[n]}' for n in ('dpctl', 'intel-opencl-rt') if n in found]
    print('of usm, dpctl and intel-opencl-rt it has:', ', '.join(names) or 'none of them')
    print('`cargo xtask dist` builds the wheel of usm into target/wheels, which pip installs there')
";

/// Asks the library twice: from a Rust program, and from Python in the active venv and in each venv of ours.
///
/// A machine without SYCL is a finding. A report of something that is broken is a failure of this command.
pub(crate) fn run(project: &Project, verbose: bool) -> Result<()> {
    let pythons = pythons(project, env::var_os("VIRTUAL_ENV"));
    let options = if verbose { &["--verbose"][..] } else { &[] };
    let mut doctor = project.cargo("run --quiet -p usm-core --example doctor --").args(options);
    match pythons.iter().find_map(|(python, why)| Some((venv_of(python)?, why))) {
        Some((venv, why)) => {
            say(&format!("== Rust, with the venv {} ({why})", venv.display()));
            doctor = doctor.env("VIRTUAL_ENV", venv);
        }
        None => say("== Rust, with no venv"),
    }
    let mut works = show(doctor);
    for (python, why) in &pythons {
        say(&format!("\n== Python {} ({why})", python.display()));
        works &= show(project.command(python).args(["-c", REPORT]).args(options));
    }
    if pythons.len() < 2 {
        say("\nNo venv with usm yet: `cargo xtask demo --sycl` makes one, with SYCL in it.");
    }
    ensure!(works, "something that is installed or requested fails, as reported above");
    Ok(())
}

/// Prints the reports of the Pythons as one JSON object, by their paths.
pub(crate) fn json(project: &Project) -> Result<()> {
    let report = |(python, _): &(PathBuf, &str)| -> Result<String> {
        let report = project.command(python).args(["-c", REPORT, "--json"]).quiet().ignore_status().read()?;
        Ok(format!("{:?}: {report}", python.display().to_string()))
    };
    let pythons = pythons(project, env::var_os("VIRTUAL_ENV"));
    let reports = pythons.iter().map(report).collect::<Result<Vec<_>>>()?;
    say(&format!("{{{}}}", reports.join(",\n")));
    Ok(())
}

/// Compares our table of the SYCL C interface with another version of it: an example of `sycl-sys`, which fails if it does not fit.
pub(crate) fn compare_interface(project: &Project, path: &Path) -> Result<()> {
    openly(project.cargo("run --quiet -p sycl-sys --example interface --").arg(path))
}

/// Runs a program, whose own words for a failure are enough. Whether it succeeded.
fn show(program: Cmd<'_>) -> bool {
    match Command::from(program).status() {
        Ok(status) => status.success(),
        Err(reason) => {
            say(&reason.to_string());
            false
        }
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
