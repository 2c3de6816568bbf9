//! `cargo xtask docs`: the documentation of all crates, where a warning is an error.

use crate::failure::Outcome;
use crate::project::{Project, openly};

/// Builds `target/doc`.
pub(crate) fn run(project: &Project) -> Outcome<()> {
    let doc = project.cargo_with_python()?.args(["doc", "--quiet", "--locked"]);
    openly(
        doc.args(["--workspace", "--no-deps", "--features", "usm-array/ndarray,usm-python/svg"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )
}
