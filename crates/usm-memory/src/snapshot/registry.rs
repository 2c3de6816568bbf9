//! Where a snapshot finds the live memory: the facts of all blocks but slots, and the pools, which know their slots.

use std::sync::Weak;

use usm_core::fork::ForkMutex;

use super::tag::TagId;
use super::{Facts, PooledAddress, PooledMemory};

// A forked child allocates, too, and so it uses both.
static BLOCKS: ForkMutex<Blocks> = ForkMutex::new(Blocks { entries: Vec::new(), vacant: Vec::new() });
static POOLS: ForkMutex<Vec<Weak<dyn PooledMemory>>> = ForkMutex::new(Vec::new());

#[derive(Debug)]
struct Blocks {
    entries: Vec<Option<Facts>>,
    vacant: Vec<usize>,
}

/// The entry of one block.
#[derive(Debug)]
pub(crate) struct Registration {
    index: usize,
}

impl Registration {
    /// Adds a block to the list.
    pub(crate) fn new(facts: Facts) -> Self {
        let mut blocks = BLOCKS.lock();
        if let Some(index) = blocks.vacant.pop()
            && let Some(entry) = blocks.entries.get_mut(index)
        {
            *entry = Some(facts);
            return Self { index };
        }
        blocks.entries.push(Some(facts));
        Self { index: blocks.entries.len() - 1 }
    }

    /// Takes the block out of the list, once. Returns its label.
    pub(crate) fn end(&self) -> TagId {
        let mut blocks = BLOCKS.lock();
        let gone = blocks.entries.get_mut(self.index).and_then(Option::take);
        if gone.is_some() {
            blocks.vacant.push(self.index);
        }
        // The queue of the facts may drop with them: without the lock.
        drop(blocks);
        gone.map_or(TagId::NONE, |facts| facts.tag)
    }

    pub(crate) fn set_tag(&self, tag: TagId) {
        if let Some(Some(facts)) = BLOCKS.lock().entries.get_mut(self.index) {
            facts.tag = tag;
        }
    }
}

/// Lets snapshots ask a pool, until the pool is gone.
pub(crate) fn add_pool(pool: Weak<dyn PooledMemory>) {
    let mut pools = POOLS.lock();
    pools.retain(|known| known.strong_count() > 0);
    pools.push(pool);
}

/// What the pools know of an address: `None` where it is in no memory of theirs.
pub(crate) fn pooled_address(address: usize) -> Option<PooledAddress> {
    // A pool that drops takes no lock of this list.
    let pools: Vec<_> = POOLS.lock().iter().filter_map(Weak::upgrade).collect();
    pools.iter().find_map(|pool| pool.address(address))
}

/// All live memory, in no order.
pub(super) fn collect() -> Vec<Facts> {
    let mut facts: Vec<_> = BLOCKS.lock().entries.iter().flatten().cloned().collect();
    let pools: Vec<_> = POOLS.lock().iter().filter_map(Weak::upgrade).collect();
    pools.iter().for_each(|pool| pool.report(&mut facts));
    facts
}
