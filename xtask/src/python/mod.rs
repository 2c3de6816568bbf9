//! Python: venvs, and the lists of their packages.

mod requirements;
mod stamp;
mod venv;

pub(crate) use requirements::{
    COMPARED, HEAVY_PEERS, KERNELS, MAKE, PEERS, PYTEST, REPORT, STYLE, SYCL, TYPES,
};
pub(crate) use venv::Venv;
