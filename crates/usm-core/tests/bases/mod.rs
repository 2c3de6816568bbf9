//! The backends that decorators are tested over: host, the stand-ins of the SYCL interface in both forms and of the CUDA driver, and the real SYCL
//! runtime where there is one.
#![allow(clippy::unwrap_used, dead_code)]

use std::sync::Arc;

#[cfg(feature = "sycl")]
use sycl_loopback::Form;
use sycl_loopback::Loopback;
#[cfg(feature = "sycl")]
use usm_core::Runtime;
use usm_core::backend::Backend;
#[cfg(feature = "cuda")]
use usm_core::backend::cuda::CudaBackend;
use usm_core::backend::host::HostBackend;
#[cfg(feature = "sycl")]
use usm_core::backend::sycl::SyclBackend;
use usm_core::{DeviceType, HostDevice};

/// A backend to decorate.
pub(crate) struct Base {
    pub(crate) name: &'static str,
    pub(crate) backend: Arc<dyn Backend>,
    loopback: Option<Loopback>,
    driver: Option<cuda_loopback::Loopback>,
}

impl Base {
    /// What is alive in the library below, where that is known.
    pub(crate) fn alive(&self) -> String {
        let of_sycl = self.loopback.as_ref().map(|loopback| format!("{:?}", loopback.leaks()));
        of_sycl.or_else(|| Some(format!("{:?}", live(self.driver.as_ref()?)))).unwrap_or_default()
    }

    /// How often the library below was misused, where that is known.
    pub(crate) fn misuses(&self) -> usize {
        let of_sycl = self.loopback.as_ref().map_or(0, |loopback| loopback.faults());
        of_sycl + self.driver.as_ref().map_or(0, |driver| driver.faults().len())
    }
}

impl Drop for Base {
    fn drop(&mut self) {
        if let (Some(loopback), false) = (&self.loopback, std::thread::panicking()) {
            look_at_dropped_handles();
            assert_eq!(loopback.leaks(), []);
            assert_eq!(loopback.faults(), 0);
        }
    }
}

/// Lets the library release the handles that were dropped under work that is complete now. Each call looks at a few.
pub(crate) fn look_at_dropped_handles() {
    let queue = crate::common::host_queue();
    (0..100).for_each(|_| queue.wait().unwrap());
}

/// All of them.
pub(crate) fn all() -> Vec<Base> {
    // Whatever the machine has: with fewer than two compute units there would be nothing to partition.
    let device = HostDevice::new(DeviceType::Cpu).compute_units(4);
    let backend = Arc::new(HostBackend::with_devices(&[device]));
    let host = Base { name: "host", backend, loopback: None, driver: None };
    std::iter::once(host).chain(sycl()).chain(cuda()).collect()
}

#[cfg(not(feature = "sycl"))]
fn sycl() -> Vec<Base> {
    Vec::new()
}

#[cfg(feature = "sycl")]
fn sycl() -> Vec<Base> {
    let base = |(name, form)| {
        let (loopback, backend) = stand_in(|| Loopback::in_form(form));
        Base { name, backend: Arc::new(backend), loopback: Some(loopback), driver: None }
    };
    let mut bases: Vec<_> =
        [("loopback", Form::Dpctl022), ("loopback of 0.23", Form::Dpctl023)].map(base).into();
    if crate::common::sycl_queue().is_some() {
        let backend = Arc::clone(Runtime::global().sycl_backend().unwrap());
        bases.push(Base { name: "sycl", backend, loopback: None, driver: None });
    }
    bases
}

/// A stand-in of the SYCL interface, and the backend over it. The process looks for the real library first: whoever looks for a loaded one
/// by its name would find the stand-in later.
#[cfg(feature = "sycl")]
pub(crate) fn stand_in(make: impl FnOnce() -> std::io::Result<Loopback>) -> (Loopback, SyclBackend) {
    let _ = crate::common::sycl_queue();
    let loopback = make().unwrap();
    // SAFETY: the loopback library; opened by its path, it is a library of its own beside any SYCL runtime.
    let api = unsafe { sycl_sys::Api::load_from(loopback.path()) }.unwrap();
    (loopback, SyclBackend::new(api))
}

#[cfg(not(feature = "cuda"))]
fn cuda() -> Vec<Base> {
    Vec::new()
}

#[cfg(feature = "cuda")]
fn cuda() -> Vec<Base> {
    let driver = cuda_loopback::Loopback::new().unwrap();
    assert!(driver.set("DEVICES", 2).unwrap());
    // SAFETY: the stand-in of the driver.
    let backend = unsafe { CudaBackend::load(driver.path().as_os_str(), 0) }.unwrap();
    vec![Base { name: "cuda", backend: Arc::new(backend), loopback: None, driver: Some(driver) }]
}

/// Streams and blocks that are alive in the stand-in of the driver. Events, contexts and pools stay with the backend.
fn live(driver: &cuda_loopback::Loopback) -> [usize; 4] {
    use cuda_loopback::Kind;

    [Kind::Stream, Kind::Device, Kind::Managed, Kind::Pinned].map(|kind| driver.live(kind))
}
