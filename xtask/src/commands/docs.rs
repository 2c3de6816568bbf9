//! `cargo xtask docs`: the documentation of all crates, where a warning is an error.

use anyhow::Result;

use crate::project::{Project, openly};

/// All features of all crates, as on docs.rs.
pub(super) const ALL_FEATURES: &str = "usm-core/testing,usm-memory/cudarc,usm-array/ndarray,usm-python/svg";

/// Builds `target/doc`.
pub(crate) fn run(project: &Project) -> Result<()> {
    let doc = project.cargo_with_python(
        "doc --quiet --locked --workspace --exclude usm-pyext-example --no-deps --features",
    )?;
    openly(doc.arg(ALL_FEATURES).env("RUSTDOCFLAGS", "-D warnings"))
}
