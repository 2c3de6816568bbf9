//! The bookkeeping of a shelf: which blocks are free, and which slabs have only such. No memory is touched or freed here.

use std::collections::{BTreeMap, VecDeque};

use usm_core::Queue;

use super::classes::SizeClass;
use crate::UsmBuffer;

/// A block that no buffer uses. It is moved, never cloned: to the lease of one buffer, and back when that is gone.
#[derive(Debug)]
pub(super) struct FreeBlock {
    pub(super) memory: UsmBuffer,
    /// Where foreign code may still have work on the block.
    pub(super) pending: Option<Queue>,
    pub(super) place: Place,
}

/// Where a block belongs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) class: SizeClass,
    slab: u64,
}

/// The slabs of one context, device and kind.
#[derive(Debug, Default)]
pub(super) struct State {
    classes: BTreeMap<usize, Class>,
    next_slab: u64,
    pub(super) slab_bytes: usize,
    /// Invariant: bytes of the slabs all blocks of which are free.
    pub(super) idle_bytes: usize,
}

#[derive(Debug, Default)]
struct Class {
    /// Blocks to wait for in front, the last used ones at the back.
    free: VecDeque<FreeBlock>,
    /// Number of free blocks of each slab.
    slabs: BTreeMap<u64, usize>,
}

impl State {
    /// A free block, if there is one: the last used, and one to wait for only when there is no other.
    pub(super) fn take(&mut self, class: SizeClass) -> Option<FreeBlock> {
        let blocks = self.classes.get_mut(&class.block_bytes)?;
        let block = blocks.free.pop_back()?;
        if let Some(free) = blocks.slabs.get_mut(&block.place.slab) {
            if *free == class.blocks {
                self.idle_bytes -= class.slab_bytes();
            }
            *free -= 1;
        }
        Some(block)
    }

    /// A free block more. Returns the blocks of its slab when that is idle now and more than `max_idle_bytes` would be.
    pub(super) fn give(&mut self, block: FreeBlock, max_idle_bytes: usize) -> Vec<FreeBlock> {
        let Place { class, slab } = block.place;
        let blocks = self.classes.entry(class.block_bytes).or_default();
        if block.pending.is_some() {
            blocks.free.push_front(block);
        } else {
            blocks.free.push_back(block);
        }
        let Some(free) = blocks.slabs.get_mut(&slab) else { return Vec::new() };
        *free += 1;
        if *free < class.blocks {
            return Vec::new();
        }
        self.idle_bytes += class.slab_bytes();
        if self.idle_bytes <= max_idle_bytes {
            return Vec::new();
        }
        blocks.slabs.remove(&slab);
        self.idle_bytes -= class.slab_bytes();
        self.slab_bytes -= class.slab_bytes();
        let free = std::mem::take(&mut blocks.free).into_iter();
        let (gone, kept): (Vec<_>, Vec<_>) = free.partition(|block| block.place.slab == slab);
        blocks.free = kept.into();
        gone
    }

    /// Adds a slab of which the first block is in use and the others are free.
    pub(super) fn add(&mut self, class: SizeClass, first: UsmBuffer, others: Vec<UsmBuffer>) -> FreeBlock {
        let place = Place { class, slab: self.next_slab };
        self.next_slab += 1;
        self.slab_bytes += class.slab_bytes();
        let entry = self.classes.entry(class.block_bytes).or_default();
        entry.slabs.insert(place.slab, others.len());
        let free = |memory| FreeBlock { memory, pending: None, place };
        // The one with the lowest address comes last, to be taken first.
        entry.free.extend(others.into_iter().rev().map(free));
        free(first)
    }

    /// Takes all blocks of idle slabs out.
    pub(super) fn take_idle(&mut self) -> Vec<FreeBlock> {
        let mut gone = Vec::new();
        for blocks in self.classes.values_mut() {
            let slabs = &mut blocks.slabs;
            let is_idle = |block: &FreeBlock| slabs.get(&block.place.slab) == Some(&block.place.class.blocks);
            let (idle, kept): (Vec<_>, Vec<_>) =
                std::mem::take(&mut blocks.free).into_iter().partition(is_idle);
            blocks.free = kept.into();
            for block in &idle {
                if slabs.remove(&block.place.slab).is_some() {
                    self.slab_bytes -= block.place.class.slab_bytes();
                }
            }
            gone.extend(idle);
        }
        self.idle_bytes = 0;
        gone
    }
}
