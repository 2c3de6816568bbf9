//! The packages of Python that bring the libraries, as arguments of pip in a shell.

/// dpctl, in the versions whose interface this crate knows.
pub const RUNTIME: &str = "\"dpctl>=0.22,<0.24\"";

/// The OpenCL driver that makes the CPU a SYCL device.
pub const CPU_DRIVER: &str = "intel-opencl-rt";

/// The versions of [`RUNTIME`] in words.
pub(crate) const SUPPORTED: &str = "dpctl 0.22 and 0.23";
