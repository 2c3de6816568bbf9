//! The backends that decorators are tested over: host, the loopback library, and the real SYCL runtime where there is one.
#![allow(clippy::unwrap_used, dead_code)]

use std::sync::Arc;

use sycl_loopback::Loopback;
use usm_core::backend::Backend;
use usm_core::backend::host::HostBackend;
use usm_core::{DeviceType, HostDevice};

/// A backend to decorate.
pub(crate) struct Base {
    pub(crate) name: &'static str,
    pub(crate) backend: Arc<dyn Backend>,
    loopback: Option<Loopback>,
}

impl Base {
    /// What is alive in the library below, where that is known.
    pub(crate) fn alive(&self) -> String {
        self.loopback.as_ref().map(|loopback| format!("{:?}", loopback.leaks())).unwrap_or_default()
    }

    /// How often the library below was misused, where that is known.
    pub(crate) fn misuses(&self) -> usize {
        self.loopback.as_ref().map_or(0, |loopback| loopback.faults())
    }
}

impl Drop for Base {
    fn drop(&mut self) {
        if let (Some(loopback), false) = (&self.loopback, std::thread::panicking()) {
            assert_eq!(loopback.leaks(), []);
            assert_eq!(loopback.faults(), 0);
        }
    }
}

/// All of them.
pub(crate) fn all() -> Vec<Base> {
    // Whatever the machine has: with fewer than two compute units there would be nothing to partition.
    let device = HostDevice::new(DeviceType::Cpu).compute_units(4);
    let backend = Arc::new(HostBackend::with_devices(&[device]));
    let host = Base { name: "host", backend, loopback: None };
    std::iter::once(host).chain(sycl()).collect()
}

#[cfg(not(feature = "sycl"))]
fn sycl() -> Vec<Base> {
    Vec::new()
}

#[cfg(feature = "sycl")]
fn sycl() -> Vec<Base> {
    use usm_core::Runtime;
    use usm_core::backend::sycl::SyclBackend;

    // First the real one: a loader that looks for a loaded runtime by its name would find the loopback library.
    let has_sycl = crate::common::sycl_queue().is_some();
    let loopback = Loopback::new().unwrap();
    // SAFETY: the loopback library; opened by its path, it is a library of its own beside any SYCL runtime.
    let api = unsafe { sycl_sys::Api::load_from(loopback.path()) }.unwrap();
    let backend = Arc::new(SyclBackend::new(api));
    let mut bases = vec![Base { name: "loopback", backend, loopback: Some(loopback) }];
    if has_sycl {
        let backend = Arc::clone(Runtime::global().sycl_backend().unwrap());
        bases.push(Base { name: "sycl", backend, loopback: None });
    }
    bases
}
