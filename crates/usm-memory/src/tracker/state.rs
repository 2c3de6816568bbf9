//! What is not done with the memory of a block, in one byte, so that an access to memory without work looks at nothing else.

use super::sync::{AtomicU8, Ordering};

/// External code may have work pending on the queue that uses the memory. It keeps the buffer as long as it has.
pub(crate) const PUBLISHED: u8 = 1;
/// Work submitted before the slot was allocated may still use the memory. The first wait clears it: no more of it comes.
pub(crate) const INHERITED: u8 = 2;
/// Work of the buffer's users may use the memory even after the buffer is gone.
pub(crate) const RELEASED: u8 = 4;
/// The slab has hooks for this slot.
pub(crate) const HOOKED: u8 = 8;
/// Other processes may have the memory open.
pub(crate) const SHARED: u8 = 32;
/// The list of operations under way is not empty. Only its lock's holder changes this.
pub(crate) const SUBMITTED: u8 = 16;

/// What is not done with the memory: of `PUBLISHED`, `INHERITED`, `RELEASED`, `HOOKED`, `SHARED` and `SUBMITTED`.
#[derive(Debug, Default)]
pub(crate) struct State(AtomicU8);

impl State {
    /// For the only holder of a block, and for who has a slot.
    #[inline(always)]
    pub(crate) fn reset(&self, flags: u8) {
        self.0.store(flags, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, flag: u8) {
        // A submission looks at the flag each time, and mostly finds it.
        if self.0.load(Ordering::Relaxed) & flag != flag {
            self.0.fetch_or(flag, Ordering::AcqRel);
        }
    }

    pub(crate) fn remove(&self, flag: u8) {
        self.0.fetch_and(!flag, Ordering::AcqRel);
    }

    /// Whether nothing is left to do. For the last holder.
    #[inline(always)]
    pub(crate) fn is_done(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    pub(crate) fn is_hooked(&self) -> bool {
        self.0.load(Ordering::Relaxed) & HOOKED != 0
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.0.load(Ordering::Relaxed) & SHARED != 0
    }

    /// What work may be pending: of `PUBLISHED`, `INHERITED`, `RELEASED` and `SUBMITTED`.
    #[inline]
    pub(crate) fn pending(&self) -> u8 {
        self.0.load(Ordering::Acquire) & !(HOOKED | SHARED)
    }
}
