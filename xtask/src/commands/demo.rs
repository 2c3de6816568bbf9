//! `cargo xtask demo`: from a checkout to a zero-copy exchange in one command.

use anyhow::Result;

use crate::project::{Project, openly};
use crate::python::{CUDA_PEERS, SYCL, Venv};
use crate::report::say;
use crate::wheel;

/// The program that the demo runs, seen from the root.
pub(super) const EXAMPLE: &str = "examples/zero_copy.py";

/// Builds and installs the wheel into a venv of its own and runs the example there.
///
/// SYCL comes into that venv only by `--sycl`, and stays there. Another venv has PyTorch and CuPy for the example on an NVIDIA GPU.
pub(crate) fn run(project: &Project, sycl: bool, cuda: bool) -> Result<()> {
    let (venv, packages, example) = match (sycl, cuda) {
        (_, true) => ("venv-demo-cuda", CUDA_PEERS, "examples/cuda_exchange.py"),
        (true, false) => ("venv-demo", SYCL, EXAMPLE),
        (false, false) => ("venv-demo", &[][..], EXAMPLE),
    };
    let venv = Venv::with(project, venv, &[packages])?;
    say("building the wheel (the first time about a minute)");
    venv.install_wheel(&wheel::build_native(project)?)?;
    say(&format!("running {example}\n"));
    openly(venv.python().arg(example))
}
