//! `cargo xtask doctor --interface`: our table of the SYCL C interface beside another version of it.

use std::path::{Path, absolute};

use anyhow::{Error, Result};

use crate::project::{Project, openly, quietly};

/// Runs the comparison that `sycl-sys` has as an example. It fails if the table does not fit.
pub(crate) fn run(project: &Project, path: &Path) -> Result<()> {
    let cargo = |verb| project.cargo("").args([verb, "--quiet", "-p", "sycl-sys", "--example", "interface"]);
    quietly(cargo("build"))?;
    let path = absolute(path).map_err(|error| Error::msg(format!("{}: {error}", path.display())))?;
    openly(cargo("run").arg("--").arg(path))
}
