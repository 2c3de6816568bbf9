//! The SYCL runtime of a process: loading it once, and the status of that.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::doctor::{SearchedPlace, SyclLibrary, Trouble};
use super::{BackendState, RuntimeOptions};
use crate::backend::Backend;
use crate::{Device, Error, Result, fork};

/// The process that was the first to load the SYCL runtime, or began to.
static LOADER: AtomicU64 = AtomicU64::new(0);

/// The SYCL runtime, or why it is missing.
#[derive(Debug)]
pub(super) struct SyclSide {
    pub(super) backend: Option<Arc<dyn Backend>>,
    pub(super) devices: Vec<Device>,
    pub(super) state: BackendState,
    pub(super) library: Option<SyclLibrary>,
    pub(super) places: Vec<SearchedPlace>,
    pub(super) trouble: Trouble,
}

impl SyclSide {
    /// A backend from the application.
    pub(super) fn plugged_in(backend: Arc<dyn Backend>) -> Result<Self> {
        let devices = Device::roots_of(&backend)?;
        let state = BackendState::available();
        let (library, places, trouble) = (None, Vec::new(), Trouble::None);
        Ok(Self { backend: Some(backend), devices, state, library, places, trouble })
    }

    /// The SYCL runtime of this machine, if the options want it and it is there.
    pub(super) fn load(options: &RuntimeOptions) -> Self {
        if !options.sycl {
            let reason = "switched off by the application".to_owned();
            return Self::missing(reason, Vec::new(), Trouble::SwitchedOff);
        }
        // Another thread of the parent may have been loading at the fork. A child must not use even a loaded runtime.
        let this = fork::generation();
        let loader = LOADER.compare_exchange(0, this, Ordering::Relaxed, Ordering::Relaxed);
        if loader.is_err_and(|loader| loader != this) || is_of_parent() {
            let reason = Error::ForkedRuntime.to_string();
            return Self::missing(reason.clone(), Vec::new(), Trouble::Unusable(reason));
        }
        load(options)
    }

    fn missing(reason: String, places: Vec<SearchedPlace>, trouble: Trouble) -> Self {
        let tried = places.iter().map(ToString::to_string).collect();
        let state = BackendState::Missing { reason, tried };
        Self { backend: None, devices: Vec::new(), state, library: None, places, trouble }
    }
}

/// Whether this is a forked child that inherited the SYCL runtime. dpctl may have loaded it in the parent.
fn is_of_parent() -> bool {
    #[cfg(feature = "sycl")]
    return fork::is_forked_child() && sycl_sys::is_loaded();
    #[cfg(not(feature = "sycl"))]
    return false;
}

#[cfg(not(feature = "sycl"))]
fn load(_options: &RuntimeOptions) -> SyclSide {
    SyclSide::missing("built without the feature \"sycl\"".to_owned(), Vec::new(), Trouble::NotBuilt)
}

#[cfg(feature = "sycl")]
fn load(options: &RuntimeOptions) -> SyclSide {
    use crate::backend::sycl::SyclBackend;

    // SAFETY: 1. The program keeps other threads from the environment meanwhile: `Runtime` documents this condition, and SECURITY.md
    // names it as part of the trust boundary. 2. IN1: the application or the machine's owner chose the libraries.
    let loaded = match unsafe { sycl_sys::load(&options.search()) } {
        Ok(loaded) => loaded,
        Err(error) => return failed(options, &error),
    };
    let places: Vec<_> = loaded.tried.iter().map(place).collect();
    let mut notes = loaded.notes;
    let backend = SyclBackend::new(loaded.api);
    let library = SyclLibrary {
        path: loaded.library.clone(),
        version: backend.version(),
        interface: backend.interface(),
        driver: loaded.driver.clone(),
        registered: loaded.registered,
        already_loaded: loaded.already_loaded,
    };
    let backend: Arc<dyn Backend> = Arc::new(backend);
    let devices = Device::roots_of(&backend).unwrap_or_default();
    if devices.is_empty() {
        notes.push(match &loaded.driver {
            Some(_) => {
                "the SYCL runtime shows no device although the OpenCL CPU driver is configured".to_owned()
            }
            None => "the SYCL runtime shows no device: no OpenCL CPU driver was found beside it".to_owned(),
        });
    }
    let tried = places.iter().map(ToString::to_string).collect();
    let (path, driver) = (Some(loaded.library), loaded.driver);
    let state = BackendState::Available { library: path, driver, notes, tried };
    let trouble = Trouble::None;
    SyclSide { backend: Some(backend), devices, state, library: Some(library), places, trouble }
}

#[cfg(feature = "sycl")]
fn failed(options: &RuntimeOptions, error: &sycl_sys::LoadError) -> SyclSide {
    use sycl_sys::LoadError;
    use sycl_sys::locate::{Origin, Outcome, search};

    let searched;
    let tried = match error {
        LoadError::NotFound { tried } => tried,
        _ => {
            searched = search(&options.search()).tried;
            &searched
        }
    };
    let incomplete = tried.iter().find_map(|tried| match &tried.outcome {
        Outcome::RuntimeMissing { needs } => {
            Some(Trouble::Incomplete { library: tried.path.display().to_string(), needs: needs.clone() })
        }
        _ => None,
    });
    // The loader usually finds nothing by the bare name, so this is no reason.
    let unusable = tried.iter().find(|tried| {
        matches!(tried.outcome, Outcome::LoadFailed(_)) && tried.origin != Origin::LoaderDefault
    });
    let trouble = match (error, incomplete, unusable) {
        (LoadError::NotFound { .. }, Some(incomplete), _) => incomplete,
        (LoadError::NotFound { .. }, None, Some(unusable)) => Trouble::Unusable(unusable.in_one_line()),
        (LoadError::NotFound { .. }, None, None) => Trouble::NotFound,
        (LoadError::SecondRuntime { .. }, ..) => Trouble::SecondRuntime(error.to_string()),
        (LoadError::NoMaps { .. } | LoadError::NoWorkingDirectory { .. }, ..) => {
            Trouble::UnfitProcess(error.to_string())
        }
        _ => Trouble::Unusable(error.to_string()),
    };
    SyclSide::missing(error.to_string(), tried.iter().map(place).collect(), trouble)
}

#[cfg(feature = "sycl")]
fn place(tried: &sycl_sys::locate::Tried) -> SearchedPlace {
    SearchedPlace {
        origin: tried.origin.to_string(),
        path: tried.path.clone(),
        outcome: tried.outcome.to_string(),
        in_use: tried.outcome == sycl_sys::locate::Outcome::Loaded,
    }
}
