//! `cargo xtask kernels`: the kernels of usm-array, from OpenCL C to the modules of SPIR-V and PTX that are committed beside it.

mod manifest;
mod modules;
mod strip;

use std::path::Path;

use anyhow::{Error, Result};

use crate::project::{Project, openly, quietly};
use crate::python::{KERNELS, Venv};
use crate::report::say;

use manifest::{MANIFEST, Manifest};
use modules::{FORMS, Form, all};

/// Where the sources are.
const SOURCES: &str = "crates/usm-array/kernels/src";

/// Where the committed modules are, with [`MANIFEST`].
const MODULES: &str = "crates/usm-array/kernels/modules";

/// Builds all modules under `target/`, validates them, and writes them to [`MODULES`] with the hashes of their sources. One wrong module
/// prevents all writes.
pub(crate) fn run(project: &Project) -> Result<()> {
    let shell = &project.shell;
    let (sources, modules) = (project.root.join(SOURCES), project.root.join(MODULES));
    let tools = Venv::with(project, "venv-kernels", &[])?;
    tools.require(&KERNELS, &[]).map_err(|failure| {
        let wanted = KERNELS.join(", ");
        Error::msg(format!("the kernels need the clang of {wanted}, which pip could not install:\n{failure}"))
    })?;
    let built = project.target.join("kernels");
    shell.remove_path(&built)?;
    shell.create_dir(&built)?;
    for module in all() {
        for form in FORMS {
            let clang = tools.python().args(["-I", "-m", "ziglang", "clang"]);
            let clang = clang.args(form.flags()).args(&module.defines);
            let file = built.join(form.file(&module));
            quietly(clang.arg(sources.join(module.source)).arg("-o").arg(&file))?;
            let stripped = match form {
                Form::Spirv => strip::spirv(&shell.read_binary_file(&file)?),
                Form::Ptx => Some(strip::ptx(&shell.read_file(&file)?).into_bytes()),
            };
            let stripped = stripped.ok_or_else(|| Error::msg(format!("no module: {}", file.display())))?;
            shell.write_file(&file, stripped)?;
        }
    }
    let validated = validate(project, &built)?;
    let is_module =
        |path: &Path| FORMS.iter().any(|form| path.extension().is_some_and(|end| end == form.extension()));
    for old in shell.read_dir(&modules)?.iter().filter(|path| is_module(path)) {
        shell.remove_path(old)?;
    }
    for file in all().iter().flat_map(|module| FORMS.map(|form| form.file(module))) {
        shell.copy_file(built.join(&file), modules.join(&file))?;
    }
    let manifest = Manifest::of(&sources, &modules);
    let manifest = manifest.map_err(|error| Error::msg(format!("{MODULES}: {error}")))?;
    shell.write_file(modules.join(MANIFEST), manifest.text(validated))?;
    say(&manifest.summary());
    Ok(())
}

/// Runs the validator of SPIRV-Tools, which no Python package has; false without it. The test of the committed modules does not
/// accept that.
fn validate(project: &Project, built: &Path) -> Result<bool> {
    let validator = "spirv-val";
    if project.command(validator).arg("--version").quiet().ignore_stdout().ignore_stderr().run().is_err() {
        say(
            "NOT VALIDATED: there is no spirv-val on PATH. Install SPIRV-Tools (Debian: spirv-tools) and repeat this before \
             you commit.",
        );
        return Ok(false);
    }
    let modules = all();
    for module in &modules {
        // The environment with the lowest version of SPIR-V, 1.0.
        let check = project.command(validator).args(["--target-env", "opencl2.1"]);
        openly(check.arg(built.join(Form::Spirv.file(module))).quiet())?;
    }
    say(&format!("{} modules of SPIR-V are valid", modules.len()));
    Ok(true)
}
