//! What each venv contains. The first two lists are the wheel's extras, see usm-python/pyproject.toml.

/// A SYCL device on any x86-64 machine: the extras `sycl-cpu` and `numpy`.
pub(crate) const SYCL: &[&str] = &["dpctl>=0.22", "intel-opencl-rt", "numpy"];

/// The neighbours that the exchange is tested with.
pub(crate) const PEERS: &[&str] = &["dpnp>=0.20"];

/// The test runner.
pub(crate) const PYTEST: &[&str] = &["pytest>=8"];

/// The wheel's builder; older releases do not tell PyO3 that an extension module is built.
pub(crate) const MAKE: &[&str] = &["maturin>=1.9.4,<2"];
