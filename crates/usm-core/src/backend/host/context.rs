//! The host backend's contexts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::device::SimulatedDevice;

/// A context: an identity that allocations are bound to.
#[derive(Debug)]
pub(super) struct HostContext {
    pub(super) id: u64,
    pub(super) devices: Vec<Arc<SimulatedDevice>>,
}

impl HostContext {
    pub(super) fn new(devices: Vec<Arc<SimulatedDevice>>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self { id: NEXT.fetch_add(1, Ordering::Relaxed), devices }
    }
}
