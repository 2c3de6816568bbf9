//! The arrangements of an installation: from a root to the interface library and the directories of the runtime.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The package that has the interface library.
const PACKAGE: &str = "dpctl";

/// The folders of packages in the folder of an interpreter, `lib/python3.X`.
const PACKAGE_FOLDERS: [&str; 2] = ["site-packages", "dist-packages"];

/// The folder of an interpreter, up to its minor version.
const INTERPRETER: &str = "python3";

/// The file name, and the soname, of the interface library.
pub const LIBRARY: &str = "libDPCTLSyclInterface.so";

/// The contents of a root.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Expansion {
    /// Interface libraries, in order of preference.
    pub(super) libraries: Vec<PathBuf>,
    /// Directories where the runtime may be.
    pub(super) lib_dirs: Vec<PathBuf>,
}

/// Looks into a root: a prefix (virtual environment, conda, oneAPI), a `lib` directory, a `site-packages` directory,
/// a `dpctl` package, or the library itself.
pub(super) fn expand(root: &Path) -> Expansion {
    if root.is_file() {
        return Expansion { libraries: vec![root.to_owned()], lib_dirs: lib_dirs_of(root) };
    }
    let mut libs = vec![root.join("lib"), root.join("lib64")];
    // In most virtual environments one is a link to the other.
    libs.dedup_by_key(|lib| lib.canonicalize().unwrap_or_else(|_| lib.clone()));

    let mut package_dirs = vec![root.to_owned(), root.join(PACKAGE)];
    for lib in libs.iter().map(PathBuf::as_path).chain([root]) {
        package_dirs.extend(package_folders(lib).into_iter().map(|folder| folder.join(PACKAGE)));
    }
    // Where conda packages put it.
    package_dirs.extend(libs.iter().cloned());
    let libraries: Vec<_> =
        package_dirs.iter().map(|dir| dir.join(LIBRARY)).filter(|library| library.is_file()).collect();

    let mut lib_dirs = libs;
    lib_dirs.extend(lib_above(root));
    lib_dirs.push(root.to_owned());
    lib_dirs.retain(|dir| dir.is_dir());
    Expansion { libraries, lib_dirs }
}

/// The directories that belong to the installation of an interface library, nearest first.
pub(crate) fn lib_dirs_of(library: &Path) -> Vec<PathBuf> {
    let Some(dir) = library.parent() else {
        return Vec::new();
    };
    let mut dirs = Vec::new();
    if let Some(lib) = lib_above(dir) {
        // Data files of packages are in `lib`, even where packages are in `lib64`.
        let twin = lib.with_file_name("lib");
        dirs.push(lib);
        dirs.push(twin);
    }
    dirs.push(dir.to_owned());
    dirs.dedup();
    dirs.retain(|dir| dir.is_dir());
    dirs
}

/// `<prefix>/lib` above a `site-packages` directory or a `dpctl` package in it.
fn lib_above(dir: &Path) -> Option<PathBuf> {
    let named = |dir: &Path, name: &str| dir.file_name() == Some(OsStr::new(name));
    let folder = if named(dir, PACKAGE) { dir.parent()? } else { dir };
    let is_of_packages = PACKAGE_FOLDERS.iter().any(|name| named(folder, name));
    // site-packages → python3.X → lib
    is_of_packages.then(|| folder.parent()?.parent().map(Path::to_owned)).flatten()
}

/// The folders of packages of all interpreters below a `lib` directory, those of the newest interpreter first.
fn package_folders(lib: &Path) -> Vec<PathBuf> {
    let Ok(entries) = lib.read_dir() else {
        return Vec::new();
    };
    let mut interpreters: Vec<(u32, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| Some((minor_version(entry.file_name().to_str()?)?, entry.path())))
        .collect();
    interpreters.sort_by(|first, second| second.cmp(first));
    interpreters
        .into_iter()
        .flat_map(|(_, interpreter)| PACKAGE_FOLDERS.map(|folder| interpreter.join(folder)))
        .collect()
}

/// The minor version of a directory `python3.X` or, as distributions have it, `python3` (counted as 0).
fn minor_version(name: &str) -> Option<u32> {
    match name.strip_prefix(INTERPRETER)? {
        "" => Some(0),
        // Free-threaded builds append a `t`.
        rest => rest.strip_prefix('.')?.trim_end_matches('t').parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{lib_above, minor_version};

    #[test]
    fn folders_of_interpreters_are_read_by_number() {
        assert_eq!(minor_version("python3.9"), Some(9));
        assert_eq!(minor_version("python3.13t"), Some(13));
        assert_eq!(minor_version("python3"), Some(0));
        assert_eq!(minor_version("python2.7"), None);
        assert_eq!(minor_version("python3.x"), None);
        assert_eq!(minor_version("python3-doc"), None);
    }

    #[test]
    fn lib_is_three_levels_above_the_package_and_nowhere_else() {
        let lib = Some(Path::new("/v/lib").to_owned());
        assert_eq!(lib_above(Path::new("/v/lib/python3.11/site-packages/dpctl")), lib);
        assert_eq!(lib_above(Path::new("/v/lib/python3.11/site-packages")), lib);
        assert_eq!(lib_above(Path::new("/v/target/dpctl")), None);
        assert_eq!(lib_above(Path::new("/v/lib")), None);
    }
}
