//! The arrangements of an installation: from a root to the interface library and the directories of the runtime.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

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

    let mut package_dirs = vec![root.to_owned(), root.join("dpctl")];
    for lib in libs.iter().map(PathBuf::as_path).chain([root]) {
        package_dirs.extend(site_packages(lib).into_iter().map(|site| site.join("dpctl")));
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
        // Python puts a package's data files in `lib`, even where it puts packages in `lib64`.
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
    let site = if named(dir, "dpctl") { dir.parent()? } else { dir };
    let is_site = named(site, "site-packages") || named(site, "dist-packages");
    // site-packages → python3.X → lib
    is_site.then(|| site.parent()?.parent().map(Path::to_owned)).flatten()
}

/// The package directories of every Python 3 below a `lib` directory, newest Python first.
fn site_packages(lib: &Path) -> Vec<PathBuf> {
    let Ok(entries) = lib.read_dir() else {
        return Vec::new();
    };
    let mut pythons: Vec<(u32, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| Some((python_minor(entry.file_name().to_str()?)?, entry.path())))
        .collect();
    pythons.sort_by(|first, second| second.cmp(first));
    pythons
        .into_iter()
        .flat_map(|(_, python)| [python.join("site-packages"), python.join("dist-packages")])
        .collect()
}

/// The minor version of a directory `python3.X` or, as distributions have it, `python3` (counted as 0).
fn python_minor(name: &str) -> Option<u32> {
    match name.strip_prefix("python3")? {
        "" => Some(0),
        // Free-threaded builds append a `t`.
        rest => rest.strip_prefix('.')?.trim_end_matches('t').parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{lib_above, python_minor};

    #[test]
    fn python_directories_are_read_by_number() {
        assert_eq!(python_minor("python3.9"), Some(9));
        assert_eq!(python_minor("python3.13t"), Some(13));
        assert_eq!(python_minor("python3"), Some(0));
        assert_eq!(python_minor("python2.7"), None);
        assert_eq!(python_minor("python3.x"), None);
        assert_eq!(python_minor("python3-doc"), None);
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
