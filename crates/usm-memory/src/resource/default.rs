//! Where memory comes from when nobody names a resource: the one that the program set for the device, or the pool of the process in
//! contexts that live as long as that.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use usm_core::Device;
use usm_core::fork::ForkMutex;

use super::process_pool::{pool_for, process_pool};
use super::{AllocationRequest, DirectResource, MemoryResource};
use crate::{Result, UsmBuffer};

/// A resource for a device: the one that was set, first in the list, or that of a scope.
struct DefaultEntry {
    device: Device,
    scope: Option<u64>,
    resource: Arc<dyn MemoryResource>,
}

/// Resources are given out, so that none is dropped under the lock.
static DEFAULTS: ForkMutex<Vec<DefaultEntry>> = ForkMutex::new(Vec::new());
/// Whether there are entries, so that allocations of programs without any do not take the lock.
static HAS_CHOICES: AtomicBool = AtomicBool::new(false);

fn note(entries: &[DefaultEntry]) {
    HAS_CHOICES.store(!entries.is_empty(), Ordering::Release);
}

/// Says which resource to use on a device when nobody names one. Returns the one that was set before. A [`DefaultScope`] goes
/// before it.
///
/// [`UsmBuffer::allocate`](crate::UsmBuffer::allocate) and all that is made with it take their memory there. A resource of
/// one's own takes memory of the runtime from [`DirectResource`], which asks for no default.
///
/// ```
/// use std::sync::Arc;
/// use usm_memory::UsmBuffer;
/// use usm_memory::resource::{self, DirectResource, PoolOptions, PoolResource};
/// use usm_memory::usm_core::{Runtime, UsmKind};
///
/// # fn main() -> usm_memory::Result<()> {
/// let runtime = Runtime::global();
/// let device = runtime.host_device();
/// let pool = Arc::new(PoolResource::new(Arc::new(DirectResource), PoolOptions::new()));
/// resource::set_default_resource(device, pool.clone());
///
/// let queue = runtime.default_queue(device)?;
/// let buffer = UsmBuffer::allocate(&queue, UsmKind::Device, 100)?;
/// assert_eq!(pool.statistics().used_bytes, 100);
/// # resource::reset_default_resource(device);
/// # Ok(())
/// # }
/// ```
pub fn set_default_resource(
    device: &Device,
    resource: Arc<dyn MemoryResource>,
) -> Option<Arc<dyn MemoryResource>> {
    let mut entries = DEFAULTS.lock();
    match entries.iter_mut().find(|entry| entry.scope.is_none() && entry.device == *device) {
        Some(entry) => Some(std::mem::replace(&mut entry.resource, resource)),
        None => {
            entries.insert(0, DefaultEntry { device: device.clone(), scope: None, resource });
            note(&entries);
            None
        }
    }
}

/// The resource to use on a device when nobody names one: unless another was set, the [pool of the process](super::process_pool) in
/// contexts that live as long as that, and the runtime in others.
#[must_use]
pub fn default_resource(device: &Device) -> Arc<dyn MemoryResource> {
    chosen(device).unwrap_or_else(|| Arc::new(StandardResource))
}

/// Lets what nobody has set be the default of a device again. Returns the one that was set before.
pub fn reset_default_resource(device: &Device) -> Option<Arc<dyn MemoryResource>> {
    let mut entries = DEFAULTS.lock();
    let index = entries.iter().position(|entry| entry.scope.is_none() && entry.device == *device)?;
    let gone = entries.remove(index);
    note(&entries);
    Some(gone.resource)
}

/// What somebody chose for a device.
#[inline]
pub(super) fn chosen(device: &Device) -> Option<Arc<dyn MemoryResource>> {
    if HAS_CHOICES.load(Ordering::Acquire) { find(device) } else { None }
}

#[cold]
fn find(device: &Device) -> Option<Arc<dyn MemoryResource>> {
    // The scope that was entered last counts, and what was set stands before all scopes.
    let entries = DEFAULTS.lock();
    entries.iter().rfind(|entry| entry.device == *device).map(|entry| Arc::clone(&entry.resource))
}

/// Lets a resource be the default of some devices until it is dropped. Of several scopes the one entered last counts, in whatever
/// order they end.
///
/// ```
/// use std::sync::Arc;
/// use usm_memory::UsmBuffer;
/// use usm_memory::resource::{DefaultScope, DirectResource, StatisticsResource};
/// use usm_memory::usm_core::{Runtime, UsmKind};
///
/// # fn main() -> usm_memory::Result<()> {
/// let runtime = Runtime::global();
/// let queue = runtime.default_queue(runtime.host_device())?;
/// let counting = Arc::new(StatisticsResource::new(Arc::new(DirectResource)));
/// let scope = DefaultScope::enter(&[runtime.host_device().clone()], counting.clone());
/// let counted = UsmBuffer::allocate(&queue, UsmKind::Shared, 100)?;
/// drop(scope);
/// let direct = UsmBuffer::allocate(&queue, UsmKind::Shared, 100)?;
/// assert_eq!(counting.statistics().total_count, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "the resource is the default until this is dropped"]
pub struct DefaultScope(Option<u64>);

impl DefaultScope {
    /// From now on `resource` is the default of these devices.
    pub fn enter(devices: &[Device], resource: Arc<dyn MemoryResource>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let scope = Some(NEXT.fetch_add(1, Ordering::Relaxed));
        let mut entries = DEFAULTS.lock();
        entries.extend(devices.iter().map(|device| {
            let (device, resource) = (device.clone(), Arc::clone(&resource));
            DefaultEntry { device, scope, resource }
        }));
        note(&entries);
        Self(scope)
    }

    /// Lets the scope last as long as the process.
    pub fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for DefaultScope {
    fn drop(&mut self) {
        let Some(scope) = self.0 else { return };
        let mut entries = DEFAULTS.lock();
        let gone: Vec<_> = entries.extract_if(.., |entry| entry.scope == Some(scope)).collect();
        note(&entries);
        // A resource that goes may wait, and may ask for a default.
        drop(entries);
        drop(gone);
    }
}

/// What is used when nobody says otherwise.
#[derive(Debug)]
struct StandardResource;

impl MemoryResource for StandardResource {
    fn allocate(&self, request: AllocationRequest<'_>) -> Result<UsmBuffer> {
        match pool_for(request.queue) {
            Some(pool) => pool.allocate(request),
            None => DirectResource.allocate(request),
        }
    }

    fn trim(&self) -> usize {
        process_pool().trim()
    }
}
