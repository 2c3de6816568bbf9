//! The host backend of a runtime: of this copy of the library, or of another one in the process.

use std::sync::Arc;

use super::RuntimeOptions;
use crate::Device;
#[cfg(feature = "across-copies")]
use crate::backend::Backend;
use crate::backend::host::HostBackend;
#[cfg(feature = "across-copies")]
use crate::backend::host::HostOfOtherCopy;

/// The host backend of a runtime.
#[derive(Debug)]
pub(super) enum HostSide {
    /// The backend of this copy.
    #[cfg_attr(not(feature = "across-copies"), expect(dead_code, reason = "for other copies alone"))]
    Own(Arc<HostBackend>),
    /// The backend of another copy.
    #[cfg(feature = "across-copies")]
    OfOtherCopy(Arc<HostOfOtherCopy>),
}

impl HostSide {
    #[cfg(feature = "across-copies")]
    pub(super) fn backend(&self) -> Arc<dyn Backend> {
        match self {
            Self::Own(backend) => Arc::clone(backend) as _,
            Self::OfOtherCopy(backend) => Arc::clone(backend) as _,
        }
    }

    pub(super) fn own(options: &RuntimeOptions) -> (Self, Vec<Device>) {
        let backend = Arc::new(HostBackend::with_devices(&options.host_devices));
        let devices = backend.devices();
        (Self::Own(backend), devices)
    }
}
