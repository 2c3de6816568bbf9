//! One piece of memory from upstream, cut into blocks: which are lent, which are free, and which wait for a queue.

use std::ptr::NonNull;

use super::bits::Bits;
use super::classes::SizeClass;
use crate::UsmBuffer;
use crate::snapshot::{Lendable, Moment, TagId};

/// What is known of a lent block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) len_bytes: usize,
    pub(super) born: Moment,
    pub(super) tag: TagId,
}

impl Record {
    const NOTHING: Self = Self { len_bytes: 0, born: Moment::NEVER, tag: TagId::NONE };
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
    records: Box<[Record]>,
}

impl Slab {
    pub(super) fn new(memory: UsmBuffer, size: SizeClass) -> Self {
        let all = Bits::first(size.blocks);
        let records = vec![Record::NOTHING; size.blocks].into_boxed_slice();
        Self { memory, block_bytes: size.block_bytes, all, free: all, lent: Bits::NONE, position: 0, records }
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

    /// Lends a block that is free or parked.
    pub(super) fn lend(&mut self, index: u32, record: Record) -> NonNull<u8> {
        self.free.remove(index);
        self.lent.insert(index);
        let index = index as usize;
        self.records[index] = record;
        self.memory.block_start(index * self.block_bytes)
    }

    /// A lent block is parked.
    pub(super) fn park(&mut self, index: u32) {
        self.lent.remove(index);
    }

    /// A lent or parked block is free.
    pub(super) fn set_free(&mut self, index: u32) {
        self.lent.remove(index);
        self.free.insert(index);
    }

    pub(super) fn record_mut(&mut self, index: u32) -> Option<&mut Record> {
        self.records.get_mut(index as usize)
    }

    /// What is known of an address, where it is in the slab.
    pub(super) fn block_at(&self, address: usize) -> Option<Lendable> {
        let start = self.memory.address();
        let offset_bytes = address.checked_sub(start).filter(|offset| *offset < self.memory.len_bytes())?;
        let index = offset_bytes / self.block_bytes;
        Some(match self.lent.contains(index as u32) {
            true => Lendable::Lent(start + index * self.block_bytes, self.records[index].len_bytes),
            false => Lendable::Free,
        })
    }

    pub(super) fn num_lent(&self) -> usize {
        self.lent.count()
    }

    /// The lent blocks, with their addresses.
    pub(super) fn lent(&self) -> impl Iterator<Item = (usize, Record)> {
        let start = self.memory.address();
        let is_lent = |index: &usize| self.lent.contains(*index as u32);
        let block = move |index: usize| (start + index * self.block_bytes, self.records[index]);
        (0..self.records.len()).filter(is_lent).map(block)
    }
}
