//! `cargo xtask kernels`: the kernels of usm-array, from OpenCL C to the modules of SPIR-V and PTX that are committed beside it.

mod manifest;
mod modules;
mod strip;

use std::path::Path;

use anyhow::{Context, Result};

use crate::project::{Project, openly, quietly};
use crate::python::{KERNELS, Venv};
use crate::report::say;

use manifest::{MANIFEST, Manifest};
use modules::{FORMS, SPIRV, all};

/// Where the sources are.
const SOURCES: &str = "crates/usm-array/kernels/src";

/// Where the committed modules are, with [`MANIFEST`].
const MODULES: &str = "crates/usm-array/kernels/modules";

/// Builds all modules under `target/`, validates them, and writes them to [`MODULES`] with the hashes of their sources. One wrong module
/// prevents all writes.
pub(crate) fn run(project: &Project) -> Result<()> {
    let shell = &project.shell;
    let (sources, modules) = (project.root.join(SOURCES), project.root.join(MODULES));
    let tools = Venv::with(project, "venv-kernels", &[KERNELS]).with_context(|| {
        format!("the kernels need the clang of {}, which pip could not install", KERNELS.join(", "))
    })?;
    let built = project.target.join("kernels");
    shell.remove_path(&built)?;
    shell.create_dir(&built)?;
    for module in all() {
        for form in FORMS {
            let clang = tools.python().args(["-I", "-m", "ziglang", "clang"]);
            let clang = clang.args(form.flags().split(' ')).args(module.defines.split_whitespace());
            let file = built.join(form.file(&module));
            quietly(clang.arg(sources.join(module.source)).arg("-o").arg(&file))?;
            let stripped = (form.strip)(&shell.read_binary_file(&file)?);
            let stripped = stripped.with_context(|| format!("no module: {}", file.display()))?;
            shell.write_file(&file, stripped)?;
        }
    }
    let validated = validate(project, &built)?;
    for old in shell.read_dir(&modules)? {
        if FORMS.iter().any(|form| form.is_of(&old)) {
            shell.remove_path(old)?;
        }
    }
    for file in all().iter().flat_map(|module| FORMS.map(|form| form.file(module))) {
        shell.copy_file(built.join(&file), modules.join(&file))?;
    }
    let manifest = Manifest::of(&sources, &modules).context(MODULES)?;
    shell.write_file(modules.join(MANIFEST), manifest.text(validated))?;
    say(&manifest.summary());
    Ok(())
}

/// Runs the validator of SPIRV-Tools, which no Python package has; false without it. The test of the committed modules does not
/// accept that.
fn validate(project: &Project, built: &Path) -> Result<bool> {
    let validator = "spirv-val";
    if quietly(project.command(validator).arg("--version")).is_err() {
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
        openly(check.arg(built.join(SPIRV.file(module))))?;
    }
    say(&format!("{} modules of SPIR-V are valid", modules.len()));
    Ok(true)
}
