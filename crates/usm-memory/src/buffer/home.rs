//! Memory that a pool lends block by block: one place for each block instead of a callback and a buffer to give back.

use std::fmt::Debug;
use std::ptr::NonNull;
use std::sync::Weak;

use usm_core::Queue;

use super::rack::Place;
use super::{Block, BlockRef, UsmBuffer};

/// Who lends blocks and gets them back.
pub(crate) trait Home: Debug + Send + Sync {
    /// The last buffer of a block of `len_bytes` bytes is gone; work may still be pending on it on the queue `pending`. Called once
    /// for each block, on whichever thread lets the last one go. Does not wait.
    fn take_back(&self, place: Place, len_bytes: usize, pending: Option<&Queue>);
}

/// A home, and a number that no other one has, or [`NO_NUMBER`](Self::NO_NUMBER).
#[derive(Clone, Debug)]
pub(crate) struct HomeRef {
    pub(crate) home: Weak<dyn Home>,
    pub(crate) number: u32,
}

impl HomeRef {
    /// That of homes for which no number was left. No thread keeps a place for them.
    pub(crate) const NO_NUMBER: u32 = u32::MAX;
}

impl UsmBuffer {
    /// A writable buffer over a block of a pool that was lent ([`Block::lend`]), which its home gets back with the last of the buffer.
    ///
    /// # Safety
    /// 1. The place was lent to the caller, and is used up with this call. The slab of its rack stays, and the block is of no other
    ///    buffer, until the home has taken it back.
    #[inline(always)]
    pub(crate) unsafe fn lent(place: NonNull<Block>) -> Self {
        // SAFETY: the caller's promise 1. K1: so is the memory's.
        let block = unsafe { BlockRef::of_place(place) };
        block.record_start_in_place();
        Self::over_all(block)
    }
}
