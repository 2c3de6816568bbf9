//! Each artefact installed into an environment that has nothing else, and used there.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use xshell::Cmd;

use super::versions;
use crate::emulation::Emulation;
use crate::project::{Project, quietly};
use crate::python::{MAKE, SBOM, Venv};
use crate::report::Steps;
use crate::wheel::Platform;

/// What a new user does first, on the host device, with the expected version and machine as arguments.
pub(in crate::commands) const SMOKE: &str = "\
import platform, sys
from importlib import metadata
assert platform.machine() == sys.argv[2], platform.machine()
assert metadata.version('usm') == sys.argv[1], metadata.version('usm')
assert not metadata.distribution('usm').read_text('METADATA').count('Requires-Dist: numpy\\n')
import usm, usm.tensor as ut
device = next(device for device in usm.get_devices() if device.filter_string.startswith('host'))
queue = usm.SyclQueue(device)
for kind in ['host', 'device', 'shared']:
    array = ut.arange(6, dtype='float32', usm_type=kind, sycl_queue=queue)
    view = ut.reshape(array, (2, 3))[:, ::-1]
    assert view.strides == (3, -1), view.strides
    assert view.tolist() == [[2, 1, 0], [5, 4, 3]], view.tolist()
array[1:] = 7
assert array.tolist() == [0, 7, 7, 7, 7, 7], array.tolist()
assert ut.asarray(view).__sycl_usm_array_interface__['data'] == view.__sycl_usm_array_interface__['data']
print('usable')
";

/// Judges the list of crates of a wheel by the schema of its version.
const JUDGE: &str = "\
import json, sys, zipfile
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
with zipfile.ZipFile(sys.argv[1]) as wheel:
    [name] = [name for name in wheel.namelist() if '.dist-info/sboms/' in name]
    text = wheel.read(name).decode()
errors = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
assert errors is None, errors
names = [component['name'] for component in json.loads(text)['components']]
assert {'usm-core', 'libc', 'std'} <= set(names), names
assert len(names) == len(set(names)), names
print(len(names))
";

/// A build of the source distribution whose speed does not matter.
const FAST_BUILD: [(&str, &str); 3] = [
    ("CARGO_PROFILE_WHEEL_LTO", "off"),
    ("CARGO_PROFILE_WHEEL_OPT_LEVEL", "0"),
    ("CARGO_PROFILE_WHEEL_CODEGEN_UNITS", "16"),
];

/// Uses each wheel, and what pip builds from the source distribution.
pub(super) fn check(
    project: &Project,
    wheels: &[(Platform, PathBuf)],
    sdist: &Path,
    steps: &mut Steps,
) -> Result<()> {
    let manifest = project.shell.read_file("Cargo.toml")?;
    let version = versions::of_workspace(&manifest)?;
    for (platform, wheel) in wheels {
        let tag = platform.tag();
        steps.step(&format!("list of crates of {tag}"), || judge(project, wheel))?;
        steps.step(&format!("fresh environment with {tag}"), || {
            // Nothing but the wheel: no index to take a dependency from.
            let options = ["--no-index", "--no-cache-dir"];
            if platform.is_native() {
                let python = project.interpreter()?.executable.clone();
                let start = |program: &Path| project.command(program);
                used(project, tag, &python, &start, wheel, &options, version)
            } else {
                ensure!(*platform == Platform::Aarch64, "there is no emulation of {tag}");
                let emulation = Emulation::prepare(project)?;
                let start = |program: &Path| emulation.command(program);
                used(project, tag, &emulation.python(), &start, wheel, &options, version)
            }
        })?;
    }
    steps.step("fresh environment with the source distribution", || {
        let python = project.interpreter()?.executable.clone();
        let start = |program: &Path| {
            let command = project.command(program).envs(FAST_BUILD);
            command.env("CARGO_TARGET_DIR", project.target.join("fresh/target"))
        };
        used(project, "sdist", &python, &start, sdist, &["--no-cache-dir"], version)
    })?;
    Ok(project.shell.remove_path(project.target.join("fresh"))?)
}

/// Makes a venv, installs a file of ours into it, and runs [`SMOKE`] and `python -m usm` in an empty folder.
fn used<'p>(
    project: &'p Project,
    name: &str,
    python: &Path,
    start: &dyn Fn(&Path) -> Cmd<'p>,
    file: &Path,
    options: &[&str],
    version: &str,
) -> Result<()> {
    let folder = project.target.join("fresh").join(name);
    project.shell.remove_path(&folder)?;
    let empty = project.shell.create_dir(folder.join("empty"))?;
    let _back_at_the_end = project.shell.push_dir(&empty);
    let venv = folder.join("venv");
    quietly(start(python).args(["-I", "-m", "venv"]).arg(&venv))?;
    let python = venv.join("bin/python");
    let pip =
        start(&python).args(["-I", "-m", "pip", "--disable-pip-version-check", "install", "--no-input"]);
    quietly(pip.args(options).arg(file))?;
    let machine = if name == Platform::Aarch64.tag() { "aarch64" } else { std::env::consts::ARCH };
    let told = quietly(start(&python).args(["-I", "-c", SMOKE, version, machine]))?;
    ensure!(told.trim() == "usable", "the environment with {} said: {told}", file.display());
    let report = quietly(start(&python).args(["-I", "-m", "usm"]))?;
    ensure!(report.contains("host"), "`python -m usm` names no host backend: {report}");
    Ok(())
}

/// Judges the list of crates of a wheel.
pub(in crate::commands) fn judge(project: &Project, wheel: &Path) -> Result<()> {
    let tools = Venv::with(project, "venv-tools", &[MAKE, SBOM])?;
    let judged = quietly(tools.python().args(["-I", "-c", JUDGE]).arg(wheel));
    judged.map(drop).with_context(|| format!("the list of crates of {} is not good", wheel.display()))
}
