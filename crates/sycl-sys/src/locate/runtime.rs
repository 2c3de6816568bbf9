//! The files that an interface library needs: the SYCL runtime, its support libraries, the OpenCL CPU driver.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::names::{self, RUNTIME, RUNTIME_END};
pub(crate) use super::names::{DRIVER, SUPPORT};

/// Files larger than this are not searched for the name of the runtime (dpctl's is 0.4 MB).
const SEARCHED_BYTES: u64 = 64 << 20;

/// The first directory's file of this name.
pub(crate) fn first_file(dirs: &[PathBuf], name: &str) -> Option<PathBuf> {
    dirs.iter().map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// The name of the SYCL runtime that a library needs, such as `libsycl.so.9`.
///
/// The names of needed libraries are zero-terminated in an ELF file and in a DLL. Looking for the one that
/// matters in the bytes of the file finds it without reading any table.
pub(super) fn needed(library: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(library).ok()?;
    file.take(SEARCHED_BYTES).read_to_end(&mut bytes).ok()?;
    needed_in(&bytes)
}

fn needed_in(bytes: &[u8]) -> Option<String> {
    let length = RUNTIME.len();
    bytes.windows(length).enumerate().filter(|(_, window)| *window == RUNTIME).find_map(|(at, _)| {
        let rest = bytes.get(at + length..)?;
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let end = rest.get(digits..)?.strip_prefix(RUNTIME_END);
        let whole = digits > 0 && end.is_some_and(|end| end.first() == Some(&0));
        let name = bytes.get(at..at + length + digits + RUNTIME_END.len())?;
        whole.then(|| String::from_utf8_lossy(name).into_owned())
    })
}

/// Whether a file is a SYCL runtime, by its name.
pub(crate) fn is_runtime(file: &Path) -> bool {
    names::is_runtime(&file.file_name().unwrap_or_default().to_string_lossy())
}

/// Whether a file is an adapter of the SYCL runtime for a kind of devices, by its name.
pub(crate) fn is_adapter(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name.to_string_lossy().contains("ur_adapter_"))
}

#[cfg(test)]
mod tests {
    use super::needed_in;

    #[cfg(windows)]
    #[test]
    fn the_needed_runtime_is_a_whole_name_with_a_version() {
        let name = |text: &[u8]| needed_in(text);
        assert_eq!(name(b"\0KERNEL32.dll\0sycl9.dll\0x").as_deref(), Some("sycl9.dll"));
        assert_eq!(name(b"\0sycl10.dll\0").as_deref(), Some("sycl10.dll"));
        assert_eq!(name(b"\0sycl.dll\0sycl-jit.dll\0sycl9d.dll\0sycl9.dll"), None);
    }

    #[cfg(not(windows))]
    #[test]
    fn the_needed_runtime_is_a_whole_name_with_a_version() {
        let name = |text: &[u8]| needed_in(text);
        assert_eq!(name(b"\0libc.so.6\0libsycl.so.9\0x").as_deref(), Some("libsycl.so.9"));
        assert_eq!(name(b"\0libsycl.so.10\0").as_deref(), Some("libsycl.so.10"));
        assert_eq!(name(b"\0libsycl.so\0libsycl.so.x\0libsycl.so.9"), None);
        assert_eq!(name(b"see libsycl.so.9!\0libsycl.so.8\0").as_deref(), Some("libsycl.so.8"));
        assert_eq!(name(b""), None);
    }

    #[cfg(not(windows))]
    #[test]
    fn helpers_of_the_runtime_are_not_the_runtime() {
        use std::path::Path;

        use super::is_runtime;

        assert!(is_runtime(Path::new("/v/lib/libsycl.so.9.0.0")));
        assert!(is_runtime(Path::new("libsycl-preview.so.9")));
        assert!(!is_runtime(Path::new("/v/lib/libsycl-jit.so.23.1")));
        assert!(!is_runtime(Path::new("/v/lib/libsycl_ur_trace_collector.so")));
    }
}
