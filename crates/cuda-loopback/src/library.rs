//! The shared library of a stand-in: where cargo put it, and private copies of it. `sycl-loopback` has this file, too.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::control::{Control, FILE_NAME};

/// The shared library that cargo built with this crate.
pub fn library_path() -> PathBuf {
    built(env!("CARGO_CRATE_NAME"))
}

/// The shared library that cargo built with a crate.
///
/// Cargo puts it into `deps`, where it puts test executables; examples and benches lie one directory over. Both
/// `cargo test` and `cargo nextest run` leave it there. If it is nowhere, the path of the first place is returned,
/// which the error of opening it will then name.
pub(crate) fn built(crate_name: &str) -> PathBuf {
    let name = format!("{DLL_PREFIX}{crate_name}{DLL_SUFFIX}");
    let executable = std::env::current_exe().unwrap_or_default();
    let beside = executable.ancestors().skip(1).take(3).flat_map(|dir| [dir.to_owned(), dir.join("deps")]);
    // Doctests run elsewhere; OUT_DIR is `<profile>/build/<package>/out`.
    let built = PathBuf::from(env!("OUT_DIR")).ancestors().nth(3).map(|profile| profile.join("deps"));
    let places: Vec<PathBuf> = beside.chain(built).map(|dir| dir.join(&name)).collect();
    let found = places.iter().find(|path| path.is_file()).or(places.first());
    found.cloned().unwrap_or_else(|| PathBuf::from(name))
}

/// A private copy of the library in a directory of its own, with its own state; the files go when it is dropped.
///
/// Tests of one process run side by side and would disturb each other's counters in a shared copy.
#[derive(Debug)]
pub struct Loopback {
    dir: PathBuf,
    library: PathBuf,
    control: Control,
}

impl Loopback {
    /// Copies the library to a new directory, under the name of the real one, and opens it.
    ///
    /// # Errors
    ///
    /// The library was not built, cannot be copied, or cannot be opened.
    pub fn new() -> io::Result<Self> {
        Self::make(|library| std::fs::copy(library_path(), library).map(drop))
    }

    /// As [`new`](Self::new), for a file that a function writes.
    pub(crate) fn make(write: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{}-{number}", env!("CARGO_PKG_NAME"), std::process::id());
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&dir)?;
        let library = dir.join(FILE_NAME);
        // Not opened over an old file of the same process number, which may be in use.
        let _ = std::fs::remove_file(&library);
        write(&library)?;
        let control = Control::open(&library).map_err(io::Error::other)?;
        Ok(Self { dir, library, control })
    }

    /// The file to load.
    pub fn path(&self) -> &Path {
        &self.library
    }
}

impl std::ops::Deref for Loopback {
    type Target = Control;

    fn deref(&self) -> &Control {
        &self.control
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        // The mapping stays, only the name goes; a directory that cannot be removed harms no test.
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
