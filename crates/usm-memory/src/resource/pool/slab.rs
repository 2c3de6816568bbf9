//! One piece of memory from upstream, cut into blocks: which are lent, which are free, and which wait for a queue.

use std::ptr::NonNull;
use std::sync::Arc;

use usm_core::Queue;

use super::bits::Bits;
use super::classes::SizeClass;
use crate::UsmBuffer;
use crate::buffer::{Block, HomeRef, Place, Rack};
use crate::snapshot::{Birth, Lendable};

/// Who asks for a block, and for how much of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'a> {
    pub(super) queue: &'a Queue,
    pub(super) len_bytes: usize,
    pub(super) birth: Birth,
}

impl<'a> Request<'a> {
    #[inline(always)]
    pub(super) fn new(queue: &'a Queue, len_bytes: usize) -> Self {
        Self { queue, len_bytes, birth: Birth::now() }
    }
}

/// A slab. A block that is neither lent nor free is *parked*: work on a queue may still use it.
#[derive(Debug)]
pub(super) struct Slab {
    pub(super) memory: UsmBuffer,
    block_bytes: usize,
    all: Bits,
    /// Invariant S1: a bit for each block that may be lent; never one of `lent`.
    free: Bits,
    /// Invariant S2: a bit for each block that a buffer uses.
    lent: Bits,
    /// Where the class has the slab in its list of those with free blocks.
    pub(super) position: usize,
    /// The records of all blocks.
    rack: Arc<Rack>,
}

impl Slab {
    pub(super) fn new(memory: UsmBuffer, size: SizeClass, home: HomeRef, first: Place) -> Self {
        let all = Bits::first(size.blocks);
        let rack = Rack::new(home, &memory, first, size.block_bytes, size.blocks);
        Self { memory, block_bytes: size.block_bytes, all, free: all, lent: Bits::NONE, position: 0, rack }
    }

    pub(super) fn has_free(&self) -> bool {
        !self.free.is_empty()
    }

    /// No buffer uses a block.
    pub(super) fn is_idle(&self) -> bool {
        self.lent.is_empty()
    }

    /// Nothing uses a block, so that the slab may be freed.
    pub(super) fn is_free(&self) -> bool {
        self.free == self.all
    }

    /// The free block with the lowest address.
    pub(super) fn lowest_free(&self) -> u32 {
        self.free.lowest()
    }

    /// Lends a block that is free or parked. It stays where it is until it is parked or set free.
    #[inline(always)]
    pub(super) fn lend(
        &mut self,
        index: u32,
        request: Request<'_>,
        is_pending: bool,
    ) -> Option<NonNull<Block>> {
        let place = self.rack.place(index)?;
        self.free.remove(index);
        self.lent.insert(index);
        // SAFETY: S1, S2: nobody has it.
        unsafe { place.lend(request.len_bytes, request.queue, is_pending, request.birth) };
        Some(NonNull::from(place))
    }

    /// The free block with the lowest address counts as lent, without a holder: for who lends it then.
    pub(super) fn set_aside(&mut self) -> Option<NonNull<Block>> {
        let index = self.lowest_free();
        let place = self.rack.place(index)?;
        self.free.remove(index);
        self.lent.insert(index);
        Some(NonNull::from(place))
    }

    /// A lent block, which nobody holds any more, is parked.
    pub(super) fn park(&mut self, index: u32) {
        self.take_back(index);
        self.lent.remove(index);
    }

    /// A lent block, which nobody holds any more, or a parked one is free.
    pub(super) fn set_free(&mut self, index: u32) {
        self.take_back(index);
        self.lent.remove(index);
        self.free.insert(index);
    }

    fn take_back(&self, index: u32) {
        if let Some(place) = self.rack.place(index) {
            place.take_back();
        }
    }

    /// What is known of an address, where it is in the slab.
    pub(super) fn block_at(&self, address: usize) -> Option<Lendable> {
        let start = self.memory.address();
        let offset_bytes = address.checked_sub(start).filter(|offset| *offset < self.memory.len_bytes())?;
        let index = offset_bytes / self.block_bytes;
        Some(match self.rack.place(index as u32).and_then(Block::content) {
            Some((len_bytes, _)) => Lendable::Lent(start + index * self.block_bytes, len_bytes),
            None => Lendable::Free,
        })
    }

    /// The blocks that buffers have: address, length and birth.
    pub(super) fn lent(&self) -> impl Iterator<Item = (usize, usize, Birth)> {
        let start = self.memory.address();
        let contents = self.rack.places().enumerate();
        contents.filter_map(move |(index, place)| {
            let (len_bytes, birth) = place.content()?;
            Some((start + index * self.block_bytes, len_bytes, birth))
        })
    }
}
