//! Python: finding an interpreter, keeping venvs, and the lists of what goes into them.

mod find;
mod probe;
mod requirements;
mod stamp;
mod venv;
mod version;

pub(crate) use find::Interpreter;
pub(crate) use requirements::{COMPARED, HEAVY_PEERS, KERNELS, MAKE, PEERS, PYTEST, STYLE, SYCL, TYPES};
pub(crate) use venv::Venv;
