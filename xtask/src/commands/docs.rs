//! `cargo xtask docs`: the documentation of all crates, where a warning is an error.

use anyhow::Result;

use crate::project::{Project, openly};

/// All features of all crates, as on docs.rs.
pub(super) const ALL_FEATURES: &str = "usm-core/testing,usm-memory/cudarc,usm-array/ndarray,usm-python/svg";

/// Builds `target/doc`.
pub(crate) fn run(project: &Project) -> Result<()> {
    let doc = project.cargo_with_python("")?.args(["doc", "--quiet", "--locked"]);
    let doc =
        doc.args(["--workspace", "--exclude", "usm-pyext-example", "--no-deps", "--features", ALL_FEATURES]);
    openly(doc.env("RUSTDOCFLAGS", "-D warnings"))
}
