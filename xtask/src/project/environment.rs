//! Which environment variables a child process must not inherit.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Settings of the caller that would make Python or pip look somewhere else than in our venvs.
const PYTHON_SETTINGS: [&str; 9] = [
    "PIP_PREFIX",
    "PIP_REQUIRE_VIRTUALENV",
    "PIP_ROOT",
    "PIP_TARGET",
    "PYTHONEXECUTABLE",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "VIRTUAL_ENV",
];

/// Variables that make our tests strict or choose their device. The command sets them, not its caller.
const TEST_SETTINGS: [&str; 7] = [
    "USM_CUDA",
    "USM_CUDA_DRIVER",
    "USM_DEFAULT_DEVICE",
    "USM_REQUIRE_CUDA",
    "USM_REQUIRE_PEERS",
    "USM_REQUIRE_SYCL",
    "USM_TEST_NO_SYCL",
];

/// The names among `present` that children must not see.
pub(super) fn unwanted(present: impl Iterator<Item = OsString>) -> Vec<OsString> {
    present
        .filter(|name| {
            let Some(name) = name.to_str() else {
                return false;
            };
            PYTHON_SETTINGS.contains(&name) || TEST_SETTINGS.contains(&name) || describes_this_program(name)
        })
        .collect()
}

/// `cargo run` describes the package it runs (this one); a second cargo would take that for its own.
fn describes_this_program(name: &str) -> bool {
    name.starts_with("CARGO_PKG_")
        || name.starts_with("CARGO_MANIFEST_")
        || name == "CARGO_BIN_NAME"
        || name == "CARGO_CRATE_NAME"
}

/// `LD_LIBRARY_PATH` without the folders that `cargo run` and rustup put in front of it, so that
/// children find the libraries that they would find without us. `None` for an empty list.
///
/// `toolchain` is the folder above `bin/cargo`. It may be `/usr`, so only its `lib` itself and
/// `lib/rustlib` count as the compiler's.
pub(super) fn library_path(paths: &OsStr, target: &Path, toolchain: Option<&Path>) -> Option<OsString> {
    let compilers = |path: &Path| {
        toolchain
            .map(|toolchain| toolchain.join("lib"))
            .is_some_and(|lib| path == lib || path.starts_with(lib.join("rustlib")))
    };
    let rest: Vec<_> =
        env::split_paths(paths).filter(|path| !path.starts_with(target) && !compilers(path)).collect();
    if rest.is_empty() { None } else { env::join_paths(rest).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_callers_venv_and_cargos_own_variables_go() {
        let names = ["HOME", "VIRTUAL_ENV", "CARGO_PKG_NAME", "CARGO_HOME", "PIP_CERT", "USM_TEST_NO_SYCL"];
        let gone = unwanted(names.into_iter().map(OsString::from));
        assert_eq!(gone, ["VIRTUAL_ENV", "CARGO_PKG_NAME", "USM_TEST_NO_SYCL"]);
    }

    #[test]
    fn only_the_folders_of_the_build_leave_the_library_path() {
        let paths = OsStr::new("/w/target/debug/deps:/usr/lib:/usr/lib/rustlib/x/lib:/usr/lib/sycl");
        let rest = library_path(paths, Path::new("/w/target"), Some(Path::new("/usr")));
        assert_eq!(rest.as_deref(), Some(OsStr::new("/usr/lib/sycl")));
        let none = library_path(OsStr::new("/w/target/debug"), Path::new("/w/target"), None);
        assert_eq!(none, None);
    }
}
