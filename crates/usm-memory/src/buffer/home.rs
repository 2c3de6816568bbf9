//! Memory that a pool lends block by block: one place for each block instead of a callback and a buffer to give back.

use std::fmt::Debug;
use std::ptr::NonNull;
use std::sync::Arc;

use usm_core::{Queue, UsmKind};

use super::lease::Lease;
use super::{Block, UsmBuffer};
use crate::snapshot::TagId;

/// Where a lent block belongs; only its home understands the numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) shelf: u32,
    pub(crate) class: u32,
    pub(crate) slab: u32,
    pub(crate) index: u32,
}

/// Who lends blocks and gets them back.
pub(crate) trait Home: Debug + Send + Sync {
    /// The last buffer of a block of `len_bytes` bytes is gone; work may still be pending on it on the queue `pending`. Called once
    /// for each block, on whichever thread lets the last one go. Does not wait.
    fn take_back(&self, place: Place, len_bytes: usize, pending: Option<&Queue>);

    /// The label of a lent block.
    fn tag(&self, place: Place) -> TagId;

    /// Labels a lent block.
    fn set_tag(&self, place: Place, tag: TagId);
}

/// A block to be lent.
pub(crate) struct Lent {
    pub(crate) start: NonNull<u8>,
    pub(crate) len_bytes: usize,
    pub(crate) kind: UsmKind,
    /// Work submitted to the buffer's queue earlier may still use the block; what is submitted from now on comes after it.
    pub(crate) is_pending: bool,
    pub(crate) home: Arc<dyn Home>,
    pub(crate) place: Place,
}

impl UsmBuffer {
    /// A writable buffer over a block of a pool, which its home gets back with the last of the buffer.
    ///
    /// # Safety
    /// 1. `start .. start + len_bytes` is live USM of `kind` in the context of `queue`, and of no other buffer, until `home` has
    ///    taken the block back.
    #[inline(always)]
    pub(crate) unsafe fn lent(lent: Lent, queue: &Queue) -> Self {
        let Lent { start, len_bytes, kind, is_pending, home, place } = lent;
        // Before there is a block, which so need not be anywhere but in its place.
        Block::record_start(start, len_bytes, kind);
        // K1: the caller's promise 1.
        let block = Block::lent(start, len_bytes, kind, queue, is_pending, Lease::of_home(home, place));
        Self { block: Arc::new(block), offset_bytes: 0, len_bytes, writable: true, queue: None }
    }
}
