//! Where memory comes from when nobody says otherwise: the pool of the process, in contexts that live as long as that.

use std::env;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use usm_core::{LiveAllocations, Queue, UsmKind};

use super::{DirectResource, MemoryResource, PoolOptions, PoolResource};
use crate::{Result, UsmBuffer};

/// `0` switches the pool of the process off.
const SWITCH: &str = "USM_POOL";

static POOL: OnceLock<PoolResource> = OnceLock::new();

/// Why memory does not come from the pool of the process, a bit for each reason: one look at each allocation.
static EXCEPTIONS: AtomicU8 = AtomicU8::new(0);
/// The pool is switched off.
const OFF: u8 = 1;
/// Somebody chose a resource for some device.
pub(super) const CHOSEN: u8 = 2;

/// Adds a reason or takes it away. Whether it was there before.
pub(super) fn set_exception(reason: u8, is_there: bool) -> bool {
    let before = match is_there {
        true => EXCEPTIONS.fetch_or(reason, Ordering::AcqRel),
        false => EXCEPTIONS.fetch_and(!reason, Ordering::AcqRel),
    };
    before & reason != 0
}

/// Whether there is any of these reasons.
#[inline(always)]
pub(super) fn is_exception(reasons: u8) -> bool {
    EXCEPTIONS.load(Ordering::Acquire) & reasons != 0
}

/// The pool of the process: memory comes from here, in [permanent](usm_core::Context::is_permanent) contexts, unless another resource
/// was set or the pool is switched off. Its upstream is [`DirectResource`], its options are the default ones.
///
/// A runtime takes some microseconds for an allocation, and new pages take many times as long as a copy of them; what comes from
/// here has neither to wait for. In other contexts it would keep alive what should go, so memory there comes from the runtime.
#[must_use]
pub fn process_pool() -> &'static PoolResource {
    POOL.get_or_init(|| {
        if env::var_os(SWITCH).is_some_and(|value| value == "0") {
            set_exception(OFF, true);
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
    !set_exception(OFF, !on)
}

/// The pool, where memory for that queue comes from it.
#[inline]
pub(crate) fn pool_for(queue: &Queue) -> Option<&'static PoolResource> {
    let pool = process_pool();
    (!is_exception(OFF) && queue.context().is_permanent()).then_some(pool)
}

/// The pool, where nobody chose a resource for any device, and memory for that queue comes from it, as somebody has asked before. Calls
/// nothing.
#[inline(always)]
pub(crate) fn known_pool_for(queue: &Queue) -> Option<&'static PoolResource> {
    // Before the reasons, of which its making may be one.
    let pool = POOL.get()?;
    (!is_exception(OFF | CHOSEN) && queue.context().is_known_permanent()).then_some(pool)
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
