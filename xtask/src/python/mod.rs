//! Python: venvs, and the lists of their packages.

mod requirements;
mod venv;

pub(crate) use requirements::*;
pub(crate) use venv::Venv;
