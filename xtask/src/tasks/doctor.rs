//! `cargo xtask doctor`: what Rust and Python programs find of SYCL on this machine.

use crate::failure::Outcome;
use crate::project::{Project, openly, quietly};
use crate::python::Venv;
use crate::report::say;

/// Asks the library twice: from a Rust program, and from Python in each venv that has the wheel.
///
/// A machine without SYCL is a finding, not a failure of this command.
pub(crate) fn run(project: &Project) -> Outcome<()> {
    let venvs: Vec<Venv<'_>> = ["venv", "venv-demo"]
        .iter()
        .filter_map(|name| Venv::existing(project, name))
        .filter(Venv::has_wheel)
        .collect();
    rust(project, venvs.first())?;
    for venv in &venvs {
        say(&format!("\n== Python in {}", venv.dir().display()));
        openly(venv.python().args(["-P", "-m", "usm"]).quiet().ignore_status())?;
    }
    if venvs.is_empty() {
        say("\nNo venv yet: `cargo xtask demo --sycl` makes one, with SYCL in it.");
    }
    Ok(())
}

fn rust(project: &Project, venv: Option<&Venv<'_>>) -> Outcome<()> {
    let cargo = |verb| project.cargo().args([verb, "--quiet", "-p", "sycl-sys", "--example", "locate"]);
    quietly(cargo("build"))?;
    let locate = cargo("run").quiet().ignore_status();
    match venv {
        Some(venv) => {
            say(&format!("== Rust, with the venv {}", venv.dir().display()));
            openly(locate.env("VIRTUAL_ENV", venv.dir()))
        }
        None => {
            say("== Rust, with no venv");
            openly(locate)
        }
    }
}
