//! The resource that an application wants to be used on a device when nobody names one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use usm_core::Device;

use super::{DirectResource, MemoryResource};

type Entries = Vec<(Device, Arc<dyn MemoryResource>)>;

static DEFAULTS: Mutex<Entries> = Mutex::new(Vec::new());

/// Says which resource to use on a device when nobody names one. Returns the one that was set before.
///
/// [`UsmBuffer::allocate`](crate::UsmBuffer::allocate) does not ask: who wants the default resource passes
/// [`default_resource`] on.
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
/// let pool = PoolResource::new(Arc::new(DirectResource), PoolOptions::new());
/// resource::set_default_resource(device, Arc::new(pool));
///
/// let queue = runtime.default_queue(device)?;
/// let resource = resource::default_resource(device);
/// let buffer = UsmBuffer::allocate_in(&*resource, &queue, UsmKind::Device, 100)?;
/// # resource::reset_default_resource(device);
/// # Ok(())
/// # }
/// ```
pub fn set_default_resource(
    device: &Device,
    resource: Arc<dyn MemoryResource>,
) -> Option<Arc<dyn MemoryResource>> {
    let mut entries = lock();
    match entries.iter_mut().find(|(known, _)| known == device) {
        Some((_, entry)) => Some(std::mem::replace(entry, resource)),
        None => {
            entries.push((device.clone(), resource));
            None
        }
    }
}

/// The resource to use on a device when nobody names one: [`DirectResource`] unless another was set.
#[must_use]
pub fn default_resource(device: &Device) -> Arc<dyn MemoryResource> {
    let entries = lock();
    match entries.iter().find(|(known, _)| known == device) {
        Some((_, resource)) => Arc::clone(resource),
        None => Arc::new(DirectResource),
    }
}

/// Lets [`DirectResource`] be the default of a device again. Returns the one that was set before.
pub fn reset_default_resource(device: &Device) -> Option<Arc<dyn MemoryResource>> {
    let mut entries = lock();
    let index = entries.iter().position(|(known, _)| known == device)?;
    Some(entries.swap_remove(index).1)
}

fn lock() -> MutexGuard<'static, Entries> {
    // No code unwinds while it holds the lock half done. Resources are given out, so that none is dropped under the lock.
    DEFAULTS.lock().unwrap_or_else(PoisonError::into_inner)
}
