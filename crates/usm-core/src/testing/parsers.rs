//! Parsers of bytes and texts of others that no public function reaches without a device, for fuzzers

use crate::Result;
#[cfg(feature = "cuda")]
use crate::backend::cuda;
use crate::kernel;

/// Sizes in bytes of the parameters of the kernel of that name in a PTX text, as the backend reads them for drivers that do not report
/// them. `None` where the text has no such kernel, or a type that is not known.
#[cfg(feature = "cuda")]
#[must_use]
pub fn ptx_parameters(text: &str, kernel: &str) -> Option<Vec<usize>> {
    cuda::parameters_in_ptx(text, kernel)
}

/// What another process says of memory of a GPU, read and written again; `None` for other bytes.
#[cfg(feature = "cuda")]
#[must_use]
pub fn cuda_memory(data: &[u8]) -> Option<Vec<u8>> {
    cuda::reread_form(data)
}

/// Whether bytes may be a SPIR-V module, as bundles check it.
///
/// # Errors
/// [`Error::InvalidSpirv`](crate::Error::InvalidSpirv)
pub fn check_spirv(module: &[u8]) -> Result<()> {
    kernel::check_spirv(module)
}
