//! Where cargo put the shared library: beside the test executables.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::PathBuf;

/// The shared library that cargo built with this crate.
///
/// Cargo puts it into `deps`, where it puts test executables; examples and benches lie one directory over. Both
/// `cargo test` and `cargo nextest run` leave it there. If it is nowhere, the path of the first place is returned,
/// which the error of opening it will then name.
pub fn library_path() -> PathBuf {
    let name = format!("{DLL_PREFIX}cuda_loopback{DLL_SUFFIX}");
    let executable = std::env::current_exe().unwrap_or_default();
    let beside = executable.ancestors().skip(1).take(3).flat_map(|dir| [dir.to_owned(), dir.join("deps")]);
    // Doctests run elsewhere; OUT_DIR is `<profile>/build/<package>/out`.
    let built = PathBuf::from(env!("OUT_DIR")).ancestors().nth(3).map(|profile| profile.join("deps"));
    let places: Vec<PathBuf> = beside.chain(built).map(|dir| dir.join(&name)).collect();
    let found = places.iter().find(|path| path.is_file()).or(places.first());
    found.cloned().unwrap_or_else(|| PathBuf::from(name))
}
