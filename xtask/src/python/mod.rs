//! Python: venvs, and the lists of their packages.

mod requirements;
mod venv;

pub(crate) use requirements::{
    ARRAY_API_COMPAT, ARRAY_API_SUITE, COMPARED, CUDA_PEERS, HEAVY_PEERS, KERNELS, MAKE, ML_DTYPES, NUMPY,
    NVRTC, PEERS, PYTEST, REPORT, STYLE, SYCL, TYPES,
};
pub(crate) use venv::Venv;
