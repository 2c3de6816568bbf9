//! `cargo xtask hot`: which functions of the extension module small calls go through, for the linker script that puts them next to each
//! other.

mod callgrind;
mod script;

use crate::failure::{Failure, Outcome};
use crate::project::{Project, openly, quietly};
use crate::python::{COMPARED, SYCL, Venv};
use crate::report::say;

/// The script that is written, seen from the root.
const SCRIPT: &str = "crates/usm-python/hot.ld";
/// The Python half of the wheel, and what it calls the extension module.
const PACKAGE: &str = "crates/usm-python/python/usm";
const MODULE: &str = "_usm.abi3.so";
/// Calls of each case.
const COUNT: u64 = 1000;

/// Profiles the calls that the comparison times and writes the script anew.
pub(crate) fn run(project: &Project) -> Outcome<()> {
    let shell = project.shell();
    let profiler = "valgrind";
    if project.command(profiler).arg("--version").quiet().ignore_stdout().ignore_stderr().run().is_err() {
        return Err(Failure::new(
            "there is no valgrind on PATH, which counts the calls (Debian: apt install valgrind)",
        ));
    }
    let venv = Venv::ensure(project, "venv")?;
    venv.require(&[SYCL, COMPARED].concat())?;
    say("building the module with its symbols");
    let target = project.target().join("hot");
    let build =
        project.cargo().args(["build", "--profile", "wheel", "--quiet", "--locked", "-p", "usm-python"]);
    let build = build.env("CARGO_PROFILE_WHEEL_STRIP", "none").env("PYO3_BUILD_EXTENSION_MODULE", "1");
    openly(build.env("PYO3_PYTHON", venv.executable()).arg("--target-dir").arg(&target).quiet())?;
    let site = target.join("site");
    shell.remove_path(&site)?;
    shell.create_dir(site.join("usm"))?;
    quietly(project.command("cp").arg("-r").arg(project.root().join(PACKAGE)).arg(&site))?;
    shell.copy_file(target.join("wheel/libusm_python.so"), site.join("usm").join(MODULE))?;

    say("counting calls");
    let profile = target.join("hot.callgrind");
    let watched = project.command(profiler).args(["--tool=callgrind", "--demangle=no"]);
    let watched = watched.arg(format!("--callgrind-out-file={}", profile.display()));
    let watched = watched.arg(venv.executable()).args(["-B", "crates/usm-bench/python/hot.py"]);
    quietly(watched.arg(COUNT.to_string()).env("PYTHONPATH", &site))?;

    let functions = callgrind::calls(&shell.read_file(&profile)?, MODULE);
    let chosen = script::chosen(functions, COUNT);
    if chosen.is_empty() {
        return Err(Failure::new(format!("{}: no function of {MODULE} is called often", profile.display())));
    }
    let path = project.root().join(SCRIPT);
    let before = shell.read_file(&path).unwrap_or_default();
    let kept = chosen.iter().filter(|name| before.contains(&script::pattern(name))).count();
    say(&format!("{} functions, {kept} of them as before", chosen.len()));
    shell.write_file(path, script::text(&chosen))?;
    Ok(())
}
