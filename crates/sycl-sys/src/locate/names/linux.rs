//! Linux: packages are below the folder of an interpreter, and the runtime is in `lib`.

use std::path::{Path, PathBuf};

/// The file name, and the soname, of the interface library.
pub const LIBRARY: &str = "libDPCTLSyclInterface.so";

/// The OpenCL CPU driver of the distribution `intel-opencl-rt`.
pub(crate) const DRIVER: &str = "libintelocl.so";

/// Libraries that the runtime's parts need and do not find, since they lack a search path: loaded beforehand, in
/// this order. Without them the OpenCL CPU device is missing.
pub(crate) const SUPPORT: &[&str] =
    &["libintlc.so.5", "libirng.so", "libimf.so", "libsvml.so", "libOpenCL.so.1"];

/// Whether an interface library finds the runtime of its own installation by itself.
pub(crate) const FINDS_OWN_RUNTIME: bool = true;

/// What separates the paths of a list in a variable.
pub(crate) const SEPARATOR: &str = ":";

/// The file name of the SYCL runtime, up to its version.
pub(crate) const RUNTIME: &[u8] = b"libsycl.so.";
/// The file name of the SYCL runtime, behind its version.
pub(crate) const RUNTIME_END: &[u8] = b"";

/// The folders of a prefix that have libraries or packages.
pub(crate) const LIB_FOLDERS: [&str; 2] = ["lib", "lib64"];

/// Whether packages are in such a folder itself, besides those of interpreters.
pub(crate) const HAS_DIRECT_PACKAGES: bool = false;

/// The folder of the runtime for a folder of packages.
pub(crate) fn runtime_folder_above(packages: &Path) -> Option<PathBuf> {
    // site-packages → python3.X → lib
    packages.parent()?.parent().map(Path::to_owned)
}

/// Whether a file name is the one of a SYCL runtime.
pub(crate) fn is_runtime(name: &str) -> bool {
    name.starts_with("libsycl.so") || name.starts_with("libsycl-preview.so")
}
