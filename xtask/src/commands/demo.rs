//! `cargo xtask demo`: from a checkout to a zero-copy exchange in one command.

use anyhow::Result;

use crate::project::{Project, openly};
use crate::python::{CUDA_PEERS, SYCL, Venv};
use crate::report::say;
use crate::wheel;

/// The program that the demo runs, seen from the root.
pub(super) const EXAMPLE: &str = "examples/zero_copy.py";

/// The program for an NVIDIA GPU.
const CUDA_EXAMPLE: &str = "examples/cuda_exchange.py";

/// Builds and installs the wheel into a venv of its own and runs the example there.
///
/// SYCL comes into that venv only by `--sycl`, and stays there.
pub(crate) fn run(project: &Project, sycl: bool) -> Result<()> {
    let venv = Venv::with(project, "venv-demo", &[])?;
    if sycl {
        venv.require(SYCL, &[])?;
    }
    show(project, &venv, EXAMPLE)
}

/// The same on an NVIDIA GPU, with PyTorch and CuPy in a venv of its own.
pub(crate) fn run_cuda(project: &Project) -> Result<()> {
    let venv = Venv::with(project, "venv-demo-cuda", &[])?;
    venv.require(CUDA_PEERS, &[])?;
    show(project, &venv, CUDA_EXAMPLE)
}

fn show(project: &Project, venv: &Venv<'_>, example: &str) -> Result<()> {
    say("building the wheel (the first time about a minute)");
    venv.install_wheel(&wheel::build(project)?)?;
    say(&format!("running {example}\n"));
    openly(venv.python().arg(project.root.join(example)).quiet())
}
