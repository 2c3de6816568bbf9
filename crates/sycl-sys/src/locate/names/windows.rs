//! Windows: packages are in `Lib`, and the runtime is in `Library/bin`, as in the wheels of Intel and in conda.

use std::path::{Path, PathBuf};

/// The file name of the interface library.
pub const LIBRARY: &str = "DPCTLSyclInterface.dll";

/// The OpenCL CPU driver of the distribution `intel-opencl-rt`.
pub(crate) const DRIVER: &str = "intelocl64.dll";

/// Libraries that are loaded beforehand: none, since libraries find what is in their folder.
pub(crate) const SUPPORT: &[&str] = &[];

/// Whether an interface library finds the runtime of its own installation by itself. It is in another folder.
pub(crate) const FINDS_OWN_RUNTIME: bool = false;

/// What separates the paths of a list in a variable.
pub(crate) const SEPARATOR: &str = ";";

/// The file name of the SYCL runtime, up to its version.
pub(crate) const RUNTIME: &[u8] = b"sycl";
/// The file name of the SYCL runtime, behind its version.
pub(crate) const RUNTIME_END: &[u8] = b".dll";

/// The folders of a prefix that have libraries or packages. oneAPI has `bin`.
pub(crate) const LIB_FOLDERS: [&str; 3] = ["Lib", "Library/bin", "bin"];

/// Whether packages are in such a folder itself, besides those of interpreters.
pub(crate) const HAS_DIRECT_PACKAGES: bool = true;

/// The folder of the runtime for a folder of packages.
pub(crate) fn runtime_folder_above(packages: &Path) -> Option<PathBuf> {
    // site-packages → Lib → the prefix
    Some(packages.parent()?.parent()?.join("Library").join("bin"))
}

/// Whether a file name is the one of a SYCL runtime: `sycl9.dll`, and its variants `sycl9d.dll` and `sycl9-preview.dll`.
pub(crate) fn is_runtime(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let Some(version) = name.strip_prefix("sycl").and_then(|rest| rest.strip_suffix(".dll")) else {
        return false;
    };
    let kind = version.trim_start_matches(|digit: char| digit.is_ascii_digit());
    kind.len() < version.len() && matches!(kind, "" | "d" | "-preview" | "-previewd")
}

#[cfg(test)]
mod tests {
    use super::is_runtime;

    #[test]
    fn helpers_of_the_runtime_are_not_the_runtime() {
        for name in ["sycl9.dll", "SYCL10.DLL", "sycl9d.dll", "sycl9-preview.dll"] {
            assert!(is_runtime(name), "{name}");
        }
        for name in ["sycl-jit.dll", "sycl.dll", "sycl9.so", "mysycl9.dll", "sycl9x.dll"] {
            assert!(!is_runtime(name), "{name}");
        }
    }
}
