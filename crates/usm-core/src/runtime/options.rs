//! Options of an application before its first request for a device.

use std::path::PathBuf;

use crate::{DeviceType, HostDevice};

/// Options of a [`Runtime`](super::Runtime).
///
/// ```
/// use usm_core::{BackendId, BackendState, Runtime, RuntimeOptions};
///
/// let runtime = Runtime::new(RuntimeOptions::new().host_only());
/// let status = runtime.status();
/// assert_eq!(status[0].backend, BackendId::Sycl);
/// assert!(matches!(status[0].state, BackendState::Missing { .. }));
/// assert_eq!(runtime.devices().len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct RuntimeOptions {
    pub(super) sycl: bool,
    pub(super) cuda: bool,
    pub(super) host_devices: Vec<HostDevice>,
    #[cfg_attr(not(feature = "sycl"), allow(dead_code, reason = "only the SYCL runtime is searched for"))]
    roots: Vec<PathBuf>,
    #[cfg_attr(not(feature = "sycl"), allow(dead_code, reason = "only the SYCL runtime is searched for"))]
    extra_roots: Vec<(String, PathBuf)>,
    pub(super) autoconfig: bool,
    pub(super) registered_drivers: Vec<PathBuf>,
}

impl RuntimeOptions {
    /// Search for the SYCL runtime in the usual places.
    pub fn new() -> Self {
        let host_devices = vec![HostDevice::new(DeviceType::Cpu)];
        Self {
            sycl: true,
            cuda: true,
            host_devices,
            roots: Vec::new(),
            extra_roots: Vec::new(),
            autoconfig: true,
            registered_drivers: Vec::new(),
        }
    }

    /// Do not load the SYCL runtime at all.
    pub fn without_sycl(mut self) -> Self {
        self.sycl = false;
        self
    }

    /// Do not load the CUDA driver at all.
    pub fn without_cuda(mut self) -> Self {
        self.cuda = false;
        self
    }

    /// Load neither the SYCL runtime nor the CUDA driver: host devices only.
    pub fn host_only(self) -> Self {
        self.without_sycl().without_cuda()
    }

    /// Simulated devices of the host backend in place of `host:cpu:0`, for tests of code for several devices on any machine. An empty
    /// list stands for `host:cpu:0`.
    pub fn host_devices(mut self, devices: impl IntoIterator<Item = HostDevice>) -> Self {
        self.host_devices = devices.into_iter().collect();
        if self.host_devices.is_empty() {
            self.host_devices.push(HostDevice::new(DeviceType::Cpu));
        }
        self
    }

    /// Search here before anywhere else: a prefix with `lib/`, a `dpctl` package directory, or the library itself.
    pub fn root(mut self, root: impl Into<PathBuf>) -> Self {
        self.roots.push(root.into());
        self
    }

    /// Search here after `USM_SYCL_ROOT`; reports name the place `origin`.
    pub fn extra_root(mut self, origin: impl Into<String>, root: impl Into<PathBuf>) -> Self {
        self.extra_roots.push((origin.into(), root.into()));
        self
    }

    /// Whether the environment may be changed so that the OpenCL CPU driver is found; on by default.
    pub fn autoconfig(mut self, allowed: bool) -> Self {
        self.autoconfig = allowed;
        self
    }

    /// The application has appended this OpenCL driver to `OCL_ICD_FILENAMES`, so that reports do not take it for a choice of the user.
    pub fn registered_driver(mut self, driver: impl Into<PathBuf>) -> Self {
        self.registered_drivers.push(driver.into());
        self
    }

    #[cfg(feature = "sycl")]
    pub(super) fn search(&self) -> sycl_sys::locate::SearchOptions {
        let mut search = sycl_sys::locate::SearchOptions::new().autoconfig(self.autoconfig);
        search.roots.clone_from(&self.roots);
        search.extra_roots.clone_from(&self.extra_roots);
        search
    }
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        Self::new()
    }
}
