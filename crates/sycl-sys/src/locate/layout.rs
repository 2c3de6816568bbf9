//! The arrangements of an installation: from a root to the interface library and the directories of the runtime.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::names::{HAS_DIRECT_PACKAGES, LIB_FOLDERS, LIBRARY, runtime_folder_above};

/// The package that has the interface library.
const PACKAGE: &str = "dpctl";

/// The folders of packages in the folder of an interpreter, `lib/python3.X`.
const PACKAGE_FOLDERS: [&str; 2] = ["site-packages", "dist-packages"];

/// The folder of an interpreter, up to its minor version.
const INTERPRETER: &str = "python3";

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
    let mut libs: Vec<_> = LIB_FOLDERS.iter().map(|folder| root.join(folder)).collect();
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

/// The folder of the runtime above a `site-packages` directory or a `dpctl` package in it.
fn lib_above(dir: &Path) -> Option<PathBuf> {
    let named = |dir: &Path, name: &str| dir.file_name() == Some(OsStr::new(name));
    let folder = if named(dir, PACKAGE) { dir.parent()? } else { dir };
    let is_of_packages = PACKAGE_FOLDERS.iter().any(|name| named(folder, name));
    is_of_packages.then(|| runtime_folder_above(folder)).flatten()
}

/// The folders of packages below a `lib` directory, those of the newest interpreter first.
fn package_folders(lib: &Path) -> Vec<PathBuf> {
    let Ok(entries) = lib.read_dir() else {
        return Vec::new();
    };
    let mut interpreters: Vec<(u32, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| Some((minor_version(entry.file_name().to_str()?)?, entry.path())))
        .collect();
    interpreters.sort_by(|first, second| second.cmp(first));
    let direct = HAS_DIRECT_PACKAGES.then(|| lib.to_owned());
    direct
        .into_iter()
        .chain(interpreters.into_iter().map(|(_, interpreter)| interpreter))
        .flat_map(|parent| PACKAGE_FOLDERS.map(|folder| parent.join(folder)))
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
    fn the_runtime_is_above_the_package_and_nowhere_else() {
        let (packages, lib) = if cfg!(windows) {
            ("/v/Lib/site-packages", "/v/Library/bin")
        } else {
            ("/v/lib/python3.11/site-packages", "/v/lib")
        };
        let lib = Some(Path::new(lib).to_owned());
        assert_eq!(lib_above(&Path::new(packages).join("dpctl")), lib);
        assert_eq!(lib_above(Path::new(packages)), lib);
        assert_eq!(lib_above(Path::new("/v/target/dpctl")), None);
        assert_eq!(lib_above(Path::new("/v/lib")), None);
    }
}
