//! Where memory comes from when nobody says otherwise: the pool of the process, in contexts that live as long as that.

use std::env;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use usm_core::{LiveAllocations, Queue, UsmKind};

use super::{DirectResource, MemoryResource, PoolOptions, PoolResource};
use crate::{Result, UsmBuffer};

/// `0` switches the pool of the process off.
const SWITCH: &str = "USM_POOL";

static POOL: OnceLock<PoolResource> = OnceLock::new();
static IS_OFF: AtomicBool = AtomicBool::new(false);

/// The pool of the process: memory comes from here, in [permanent](usm_core::Context::is_permanent) contexts, unless another resource
/// was set or the pool is switched off. Its upstream is [`DirectResource`], its options are the default ones.
///
/// A runtime takes some microseconds for an allocation, and new pages take many times as long as a copy of them; what comes from
/// here has neither to wait for. In other contexts it would keep alive what should go, so memory there comes from the runtime.
#[must_use]
pub fn process_pool() -> &'static PoolResource {
    POOL.get_or_init(|| {
        if env::var_os(SWITCH).is_some_and(|value| value == "0") {
            IS_OFF.store(true, Ordering::Relaxed);
        }
        PoolResource::new(Arc::new(DirectResource), PoolOptions::new())
    })
}

/// Switches the pool of the process on or off for memory that is allocated from now on, and tells how it was before. It is on unless
/// the environment variable `USM_POOL` is `0`.
///
/// ```
/// use usm_memory::resource::{process_pool, use_process_pool};
/// use usm_memory::usm_core::{Runtime, UsmKind};
/// use usm_memory::{MemoryResource, Ownership, UsmBuffer};
///
/// # fn main() -> usm_memory::Result<()> {
/// let runtime = Runtime::global();
/// let queue = runtime.default_queue(runtime.host_device())?;
/// let was_on = use_process_pool(false);
/// let direct = UsmBuffer::allocate(&queue, UsmKind::Shared, 100)?;
/// assert!(matches!(direct.ownership(), Ownership::Owned(_)));
/// use_process_pool(was_on);
/// process_pool().trim();
/// # Ok(())
/// # }
/// ```
pub fn use_process_pool(on: bool) -> bool {
    let _ = process_pool();
    !IS_OFF.swap(!on, Ordering::Relaxed)
}

/// The pool, where memory for that queue comes from it.
#[inline]
pub(crate) fn pool_for(queue: &Queue) -> Option<&'static PoolResource> {
    let pool = process_pool();
    (!IS_OFF.load(Ordering::Relaxed) && queue.context().is_permanent()).then_some(pool)
}

/// The slabs of the pool, and what is lent of them.
pub(crate) fn census() -> [LiveAllocations; 2] {
    POOL.get().map_or_else(Default::default, PoolResource::census)
}

/// What is used when nobody says otherwise.
#[derive(Clone, Copy, Debug)]
pub(super) struct StandardResource;

impl MemoryResource for StandardResource {
    fn allocate(
        &self,
        queue: &Queue,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: usize,
    ) -> Result<UsmBuffer> {
        match pool_for(queue) {
            Some(pool) => pool.allocate(queue, kind, len_bytes, align_bytes),
            None => DirectResource.allocate(queue, kind, len_bytes, align_bytes),
        }
    }

    fn trim(&self) -> usize {
        process_pool().trim()
    }
}
