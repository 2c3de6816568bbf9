//! What a pool tells of its memory: to censuses, snapshots and those who ask about an address.

use usm_core::LiveAllocations;

use super::options::PoolStatistics;
use super::shelf::{Garbage, Shelf};
use super::stock::Stock;
use crate::snapshot::{Facts, Holder, Lendable, Lender, Moment};

impl Stock {
    /// What the pool has, and did so far; nothing in a forked child, whose pool this is not.
    pub(super) fn statistics(&self) -> PoolStatistics {
        if self.is_forked() {
            return PoolStatistics::default();
        }
        let mut garbage = Garbage::default();
        let mut state = self.lock();
        // What threads keep is idle.
        state.recall(&mut garbage);
        let (slab_bytes, idle_bytes) = state.slab_bytes();
        PoolStatistics {
            used_bytes: state.used_bytes(),
            peak_bytes: state.peak_bytes,
            slab_bytes,
            idle_bytes,
            reused_count: state.reused_count,
        }
    }

    /// The slabs, and what is lent of them.
    pub(super) fn census(&self) -> [LiveAllocations; 2] {
        if self.is_forked() {
            return Default::default();
        }
        let mut state = self.lock();
        state.count();
        let shelves = || state.shelves.iter().flatten();
        let slabs = shelves().fold(LiveAllocations::default(), |sum, shelf| LiveAllocations {
            count: sum.count + shelf.num_slabs(),
            bytes: sum.bytes + shelf.slab_bytes,
        });
        // Counted here, where it is asked for, and not whenever a block comes and goes.
        let count = shelves().flat_map(Shelf::classes).flat_map(|(_, class)| class.slabs());
        let count = count.map(|(_, slab)| slab.lent().count()).sum();
        [slabs, LiveAllocations { count, bytes: state.used_bytes() - state.own_bytes }]
    }
}

impl Lender for Stock {
    fn report(&self, facts: &mut Vec<Facts>) {
        if self.is_forked() {
            return;
        }
        let state = self.lock();
        for shelf in state.shelves.iter().flatten() {
            let lent = shelf.classes().flat_map(|(_, class)| class.slabs()).flat_map(|(_, slab)| slab.lent());
            facts.extend(lent.map(|(address, len_bytes, birth)| Facts {
                address,
                len_bytes,
                kind: shelf.kind,
                holder: Holder::Leased,
                queue: shelf.queue.clone(),
                born: birth.stamp.moment(Moment::now_coarse()),
                tag: birth.tag,
            }));
        }
    }

    fn block_at(&self, address: usize) -> Option<Lendable> {
        if self.is_forked() {
            return None;
        }
        self.lock().shelves.iter().flatten().find_map(|shelf| shelf.block_at(address))
    }
}
