//! Where a snapshot finds the live memory: a list of blocks, and the pools, which know what they lend.

use std::ptr::NonNull;
use std::sync::Weak;

use usm_core::fork::ForkMutex;

use super::clock::Moment;
use super::tag::TagId;
use super::{Facts, Lendable, Lender};
use crate::buffer::{Block, BlockRef};

// A forked child allocates, too, and so it uses both.
static BLOCKS: ForkMutex<Blocks> = ForkMutex::new(Blocks { entries: Vec::new(), vacant: Vec::new() });
static LENDERS: ForkMutex<Vec<Weak<dyn Lender>>> = ForkMutex::new(Vec::new());

#[derive(Debug)]
struct Blocks {
    entries: Vec<Option<Entry>>,
    vacant: Vec<u32>,
}

#[derive(Debug)]
struct Entry {
    block: Known,
    born: Moment,
    tag: TagId,
}

/// A block that is not kept.
#[derive(Debug)]
struct Known {
    /// Invariant N1: a block of its own that is not freed as long as it is in the list: it takes its entry out first.
    block: NonNull<Block>,
}

// SAFETY: an address, which is followed under the lock of the list only (N1).
unsafe impl Send for Known {}

impl Known {
    /// The block, unless its last holder is gone. Called with the list locked.
    fn upgrade(&self) -> Option<BlockRef> {
        // SAFETY: N1: the entry is in the list, which is locked.
        unsafe { BlockRef::upgrade(self.block) }
    }
}

/// The entry of one block, which takes it out when its last holder is gone.
#[derive(Debug)]
pub(crate) struct Registration {
    index: u32,
}

impl Registration {
    /// An entry for a block of its own, which owns it.
    pub(crate) fn new(block: NonNull<Block>) -> Self {
        let entry = Entry { block: Known { block }, born: Moment::now_coarse(), tag: TagId::current() };
        let mut blocks = BLOCKS.lock();
        if let Some(index) = blocks.vacant.pop() {
            blocks.entries[index as usize] = Some(entry);
            return Self { index };
        }
        let index = blocks.entries.len() as u32;
        blocks.entries.push(Some(entry));
        Self { index }
    }

    pub(crate) fn tag(&self) -> TagId {
        BLOCKS.lock().entries[self.index as usize].as_ref().map_or(TagId::NONE, |entry| entry.tag)
    }

    /// Takes the block out of the list, once, and tells its label.
    pub(crate) fn end(&self) -> TagId {
        let mut blocks = BLOCKS.lock();
        let gone = blocks.entries[self.index as usize].take();
        blocks.vacant.push(self.index);
        gone.map_or(TagId::NONE, |entry| entry.tag)
    }

    pub(crate) fn set_tag(&self, tag: TagId) {
        if let Some(entry) = &mut BLOCKS.lock().entries[self.index as usize] {
            entry.tag = tag;
        }
    }
}

/// Lets snapshots ask a pool, until it is gone.
pub(crate) fn add_lender(lender: Weak<dyn Lender>) {
    let mut lenders = LENDERS.lock();
    lenders.retain(|known| known.strong_count() > 0);
    lenders.push(lender);
}

/// What the pools know of an address: `None` where it is in no memory of theirs.
pub(crate) fn block_at(address: usize) -> Option<Lendable> {
    // A pool that goes takes no lock of this list.
    let lenders: Vec<_> = LENDERS.lock().iter().filter_map(Weak::upgrade).collect();
    lenders.iter().find_map(|lender| lender.block_at(address))
}

/// All live memory, in no order.
pub(super) fn collect() -> Vec<Facts> {
    // What was live is kept until the lists are unlocked: the last clone of a block must not go while they are.
    let blocks: Vec<_> = BLOCKS
        .lock()
        .entries
        .iter()
        .flatten()
        .filter_map(|entry| Some((entry.block.upgrade()?, entry.born, entry.tag)))
        .collect();
    let lenders: Vec<_> = LENDERS.lock().iter().filter_map(Weak::upgrade).collect();
    let mut facts: Vec<_> =
        blocks.iter().map(|(block, born, tag)| Facts::of_block(block, *born, *tag)).collect();
    lenders.iter().for_each(|lender| lender.report(&mut facts));
    facts
}
