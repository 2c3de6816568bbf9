//! The CUDA driver of a process: loading it on first request, and the status of that.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{BackendState, Runtime, RuntimeOptions};
use crate::backend::Backend;
use crate::{Device, DeviceType, Error, fork};

/// Variable with the path of a driver, in place of the installed one.
pub(super) const DRIVER: &str = "USM_CUDA_DRIVER";
/// Variable that switches the backend off with the value `0`.
pub(super) const SWITCH: &str = "USM_CUDA";

/// Generation of the process that loaded the driver; 0 for none.
static LOADER: AtomicU64 = AtomicU64::new(0);

/// The CUDA backend of a runtime, or the reason why it is missing.
#[derive(Debug)]
pub(super) struct CudaSide {
    pub(super) backend: Option<Arc<dyn Backend>>,
    pub(super) devices: Vec<Device>,
    pub(super) state: BackendState,
    /// Whether there is a driver, usable or not.
    pub(super) is_installed: bool,
}

impl CudaSide {
    fn missing(reason: String) -> Self {
        let state = BackendState::Missing { reason, tried: Vec::new() };
        Self { backend: None, devices: Vec::new(), state, is_installed: false }
    }

    fn load(options: &RuntimeOptions, first_number: usize) -> Self {
        if !options.cuda || std::env::var_os(SWITCH).is_some_and(|value| value == "0") {
            return Self::missing("switched off by the application or by USM_CUDA=0".to_owned());
        }
        // A child must not use the driver of its parent.
        let this = fork::generation();
        let loader = LOADER.compare_exchange(0, this, Ordering::Relaxed, Ordering::Relaxed);
        if loader.is_err_and(|loader| loader != this) {
            return Self::missing(Error::ForkedRuntime.to_string());
        }
        load(first_number)
    }
}

impl Runtime {
    /// The CUDA backend. The SYCL runtime comes first: its own CUDA devices have the first numbers.
    pub(super) fn cuda(&self) -> &CudaSide {
        if let Some(cuda) = self.cuda.get() {
            return cuda;
        }
        let is_cuda = |device: &&Device| {
            let info = device.info();
            info.backend_name == "cuda" && info.device_type == DeviceType::Gpu
        };
        let first_number = self.sycl().devices.iter().filter(is_cuda).count();
        let _lock = self.setup_lock();
        self.cuda.get_or_init(|| CudaSide::load(&self.options, first_number))
    }
}

#[cfg(not(feature = "cuda"))]
fn load(_first_number: usize) -> CudaSide {
    CudaSide::missing("built without the feature \"cuda\"".to_owned())
}

#[cfg(feature = "cuda")]
fn load(first_number: usize) -> CudaSide {
    use crate::backend::cuda::{CudaBackend, LIBRARY, LoadError};

    let chosen = std::env::var_os(DRIVER);
    let library = chosen.clone().unwrap_or_else(|| LIBRARY.into());
    // SAFETY: IN1: the machine's owner installed the library as the CUDA driver, or names it as one.
    let backend = match unsafe { CudaBackend::load(&library, first_number) } {
        Ok(backend) => backend,
        Err(LoadError::NotFound(reason)) if chosen.is_none() => {
            return CudaSide::missing(format!("no NVIDIA driver is installed: {reason}"));
        }
        Err(LoadError::NotFound(reason) | LoadError::Unusable(reason)) => {
            let missing =
                CudaSide::missing(format!("the CUDA driver {} cannot be used: {reason}", library.display()));
            return CudaSide { is_installed: true, ..missing };
        }
    };
    let notes = backend.notes();
    let backend: Arc<dyn Backend> = Arc::new(backend);
    let devices = Device::roots_of(&backend).unwrap_or_default();
    let state =
        BackendState::Available { library: Some(library.into()), driver: None, notes, tried: Vec::new() };
    CudaSide { backend: Some(backend), devices, state, is_installed: true }
}
