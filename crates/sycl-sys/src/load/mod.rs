//! Loads the interface library: the one the process has, else the first one that the search finds.

mod driver;
mod single;
mod version;

use std::env;
use std::fs::File;
use std::path::{Path, PathBuf};

use crate::locate::names::FINDS_OWN_RUNTIME;
use crate::locate::{self, Candidate, LIBRARY, Origin, Outcome, Search, SearchOptions, Tried, runtime};
use crate::packages::CPU_DRIVER;
use crate::{Api, LoadError, dl};

/// The libraries of the process, which those of SYCL read at their start until they can.
pub(crate) const MAPS: &str = "/proc/self/maps";

/// The loaded interface, and how it was found.
#[derive(Debug)]
#[non_exhaustive]
pub struct Loaded {
    /// The functions.
    pub api: Api,
    /// The file of the interface library.
    pub library: PathBuf,
    /// Whether the process had it before (Python's dpctl was imported, or this is a second load).
    pub already_loaded: bool,
    /// The OpenCL CPU driver that belongs to it, if there is one.
    pub driver: Option<PathBuf>,
    /// Whether this load has appended the driver to `OCL_ICD_FILENAMES`.
    pub registered: bool,
    /// Notes for a user who misses a device: configuration, failures, late steps.
    pub notes: Vec<String>,
    /// Each tried place, in order, with its result.
    pub tried: Vec<Tried>,
}

/// Finds the interface library, prepares the process for it, and loads it for the life of the process.
///
/// In this order:
///
/// 1. A process that has the library already keeps it, whatever the options say: two SYCL runtimes in one process
///    corrupt each other.
/// 2. The OpenCL CPU driver (`libintelocl.so`, on Windows `intelocl64.dll`), where it exists, is appended to `OCL_ICD_FILENAMES` unless it is listed,
///    `options.autoconfig` is false, or `USM_SYCL_AUTOCONFIG=0`. The SYCL runtime reads that list once, at the first
///    question about devices, so this comes before any other call.
/// 3. The support libraries of the runtime are opened by absolute path, which makes up for search paths that
///    they lack; then the interface library itself.
///
/// No library is ever unloaded.
///
/// # Errors
///
/// - [`LoadError::NotFound`]: no place has a library that can be loaded; the message lists every place.
/// - [`LoadError::MissingSymbols`]: a library was loaded, but is not an interface of the version needed. The search
///   ends there, since a loaded library cannot be unloaded.
/// - [`LoadError::DevelopmentVersion`]: the same for a library whose signatures are of no known version.
/// - [`LoadError::NoMaps`]: the process has no `/proc`.
/// - [`LoadError::NoWorkingDirectory`]: the working directory was removed.
/// - [`LoadError::SecondRuntime`]: another SYCL runtime is loaded, and every library that was found needs its own.
///
/// # Safety
///
/// 1. No other thread reads or writes the environment of the process during the call. Call it early, from the main
///    thread, or with `autoconfig` off.
/// 2. The roots, the variables listed in [`locate`] and the dynamic loader's path lead to genuine libraries
///    of dpctl and SYCL: their initialisation routines run, and their symbols have the signatures of [`Api`].
pub unsafe fn load(options: &SearchOptions) -> Result<Loaded, LoadError> {
    if !cfg!(any(target_os = "linux", windows)) {
        return Err(LoadError::UnsupportedPlatform { os: env::consts::OS });
    }
    // The runtime loads its adapters at its start, which other code may have caused.
    if let Err(error) = env::current_dir()
        && !dl::loaded_files().iter().any(|file| runtime::is_adapter(file))
    {
        return Err(LoadError::NoWorkingDirectory { reason: error.to_string() });
    }
    let search = locate::search(options);
    let mut attempt = Attempt {
        search,
        notes: Vec::new(),
        driver: None,
        previous_drivers: None,
        configure: options.autoconfig && driver::allowed(),
    };
    if let Some((library, path)) = dl::resident(LIBRARY) {
        // SAFETY: the caller's promises 1 and 2.
        return unsafe { attempt.adopt(library, path) };
    }
    if cfg!(target_os = "linux")
        && let Err(error) = File::open(MAPS)
    {
        return Err(LoadError::NoMaps { reason: error.to_string() });
    }
    let mut refused = None;
    for candidate in attempt.search.candidates.clone() {
        if let Err(error) = single::check(&candidate, &single::loaded_runtimes()) {
            attempt.search.record(&candidate.library, Outcome::LoadFailed(error.to_string()));
            refused = refused.or(Some(error));
            continue;
        }
        // SAFETY: the caller's promises 1 and 2.
        match unsafe { attempt.open(&candidate) } {
            Ok(api) => return Ok(attempt.finish(api, false)),
            Err(LoadError::Open { reason, .. }) => {
                // SAFETY: the caller's promise 1.
                unsafe { attempt.fail(&candidate, reason) };
            }
            Err(error) => return Err(error),
        }
    }
    if let Some(error) = refused {
        return Err(error);
    }
    // SAFETY: the caller's promises 1 and 2.
    unsafe { attempt.open_default() }
}

/// Whether the process has loaded the interface library, by any code.
#[must_use]
pub fn is_loaded() -> bool {
    dl::resident(LIBRARY).is_some()
}

/// The results so far.
struct Attempt {
    search: Search,
    notes: Vec<String>,
    driver: Option<PathBuf>,
    /// The list of drivers as it was, if this attempt changed it.
    previous_drivers: Option<driver::Previous>,
    configure: bool,
}

impl Attempt {
    /// Uses the library that the process has.
    ///
    /// # Safety
    ///
    /// Those of [`load`].
    unsafe fn adopt(mut self, library: dl::Kept, path: PathBuf) -> Result<Loaded, LoadError> {
        let wanted = self.search.candidates.first().map(|candidate| candidate.library.clone());
        if let Some(wanted) = wanted.filter(|wanted| !same_file(wanted, &path)) {
            self.notes.push(format!(
                "{} is loaded in this process already and is used instead of {}",
                path.display(),
                wanted.display()
            ));
        }
        let mut dirs = locate::lib_dirs_of(&path);
        dirs.extend(self.search.lib_dirs.iter().cloned());
        // SAFETY: promise 1 of `load`.
        unsafe { self.configure_driver(&dirs, true) };
        self.search.tried.insert(0, Tried::new(&Origin::AlreadyLoaded, &path, Outcome::Loaded));
        // SAFETY: promise 2 of `load`: a library of this name is the interface library.
        let api = unsafe { Api::from_library(library, path) }?;
        Ok(self.finish(api, true))
    }

    /// Prepares the process for a candidate and opens it.
    ///
    /// # Safety
    ///
    /// Those of [`load`].
    unsafe fn open(&mut self, candidate: &Candidate) -> Result<Api, LoadError> {
        let late = !single::loaded_runtimes().is_empty();
        // SAFETY: promise 1 of `load`.
        unsafe { self.configure_driver(&candidate.lib_dirs, late) };
        let support =
            runtime::SUPPORT.iter().filter_map(|name| runtime::first_file(&candidate.lib_dirs, name));
        // The library finds a runtime of its own installation by itself; another one has to be there beforehand.
        let own = locate::lib_dirs_of(&candidate.library);
        let is_own = |file: &PathBuf| FINDS_OWN_RUNTIME && own.iter().any(|dir| file.starts_with(dir));
        let theirs = candidate.runtime.clone().filter(|file| !is_own(file));
        for file in support.chain(theirs) {
            // SAFETY: promise 2 of `load`.
            if let Err(reason) = unsafe { dl::open(&file) } {
                self.notes.push(format!("cannot preload {}: {reason}", file.display()));
            }
        }
        // SAFETY: promise 2 of `load`; `single::check` saw to it that no other runtime is loaded.
        let api = unsafe { Api::load_from(&candidate.library) }?;
        self.search.record(&candidate.library, Outcome::Loaded);
        Ok(api)
    }

    /// Opens the library that the dynamic loader finds by name.
    ///
    /// # Safety
    ///
    /// Those of [`load`].
    unsafe fn open_default(mut self) -> Result<Loaded, LoadError> {
        let bare = Path::new(LIBRARY);
        // SAFETY: promise 2 of `load`.
        let library = match unsafe { dl::open(bare) } {
            Ok(library) => library,
            Err(reason) => {
                let outcome = Outcome::LoadFailed(reason);
                self.search.tried.push(Tried::new(&Origin::LoaderDefault, bare, outcome));
                return Err(LoadError::NotFound { tried: self.search.tried });
            }
        };
        let path = dl::resident(LIBRARY).map_or_else(|| bare.to_owned(), |(_, path)| path);
        let mut dirs = locate::lib_dirs_of(&path);
        dirs.extend(self.search.lib_dirs.iter().cloned());
        // The path of the library was unknown until now. No device was requested yet, so the driver is still in time.
        // SAFETY: promise 1 of `load`.
        unsafe { self.configure_driver(&dirs, false) };
        self.search.tried.push(Tried::new(&Origin::LoaderDefault, &path, Outcome::Loaded));
        // SAFETY: promise 2 of `load`.
        let api = unsafe { Api::from_library(library, path) }?;
        Ok(self.finish(api, false))
    }

    /// Adds the driver of the first directory that has one. `late`: a SYCL runtime was loaded before.
    ///
    /// # Safety
    ///
    /// Condition 1 of [`load`].
    unsafe fn configure_driver(&mut self, dirs: &[PathBuf], late: bool) {
        self.driver = runtime::first_file(dirs, runtime::DRIVER);
        let Some(driver) = &self.driver else {
            self.notes.push(format!(
                "no OpenCL CPU driver ({}) in the installation: `pip install {CPU_DRIVER}` adds the CPU device",
                runtime::DRIVER
            ));
            return;
        };
        let (list, opt_out) = (driver::DRIVERS, driver::OPT_OUT);
        if !self.configure {
            self.notes.push(format!("{list} was not changed, as asked for by autoconfig or {opt_out}=0"));
            return;
        }
        // SAFETY: the caller's promise 1.
        self.previous_drivers = unsafe { driver::register(driver) };
        if self.previous_drivers.is_none() {
            return;
        }
        self.notes.push(format!("{} was appended to {list}", driver.display()));
        if late {
            self.notes.push(format!(
                "the SYCL runtime was loaded before the OpenCL CPU driver was added to {list}: if a device was asked \
                 for before, the change came too late for this process"
            ));
        }
    }

    /// Writes down why a candidate could not be opened, and takes its driver out of the list again.
    ///
    /// # Safety
    ///
    /// Condition 1 of [`load`].
    unsafe fn fail(&mut self, candidate: &Candidate, reason: String) {
        let outcome = match &candidate.needs {
            Some(needs) if candidate.lacks_runtime() => Outcome::RuntimeMissing { needs: needs.clone() },
            _ => Outcome::LoadFailed(reason),
        };
        self.search.record(&candidate.library, outcome);
        self.notes.clear();
        if let Some(previous) = self.previous_drivers.take() {
            // SAFETY: the caller's promise 1.
            unsafe { driver::restore(previous) };
        }
    }

    fn finish(mut self, api: Api, already_loaded: bool) -> Loaded {
        self.notes.extend(version::note(api.path(), api.form()));
        Loaded {
            library: api.path().to_owned(),
            api,
            already_loaded,
            driver: self.driver,
            registered: self.previous_drivers.is_some(),
            notes: self.notes,
            tried: self.search.tried,
        }
    }
}

fn same_file(first: &Path, second: &Path) -> bool {
    matches!((first.canonicalize(), second.canonicalize()), (Ok(first), Ok(second)) if first == second)
}
