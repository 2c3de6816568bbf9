//! The slabs of one size class in an arena, and their deferred frees.

use usm_core::Queue;

use super::deferred::{Deferred, Stream, Time};
use super::size_class::SizeClass;
use super::slab::Slab;
use crate::UsmBuffer;
use crate::buffer::{FreeSlot, OwnerRef, SlabNumber};

/// The slabs of one size class.
pub(super) struct ClassSlabs {
    pub(super) class: SizeClass,
    slabs: Vec<Option<Slab>>,
    vacant: Vec<u32>,
    /// Invariant C1: the slabs with free slots, each at its `position`; the last one is used first.
    partial: Vec<u32>,
    pub(super) deferred: Deferred,
}

/// A slot that leaves its class.
pub(super) struct Taken {
    pub(super) slot: FreeSlot,
    /// No slot of the slab was allocated before.
    pub(super) was_idle: bool,
}

impl ClassSlabs {
    pub(super) fn new(class: SizeClass) -> Self {
        let (slabs, vacant, partial) = (Vec::new(), Vec::new(), Vec::new());
        Self { class, slabs, vacant, partial, deferred: Deferred::default() }
    }

    /// A slot that nothing uses.
    pub(super) fn allocate(&mut self) -> Option<Taken> {
        let slab = self.slabs.get_mut(*self.partial.last()? as usize)?.as_mut()?;
        let was_idle = slab.is_idle();
        let slot = slab.allocate()?;
        if !slab.has_free() {
            self.partial.pop();
        }
        Some(Taken { slot, was_idle })
    }

    /// Whether the next slot comes from a slab of which others are allocated.
    pub(super) fn next_is_busy(&self) -> bool {
        self.partial.last().and_then(|slab| self.slab(*slab)).is_some_and(|slab| !slab.is_idle())
    }

    /// A slot that only earlier work on the same in-order queue uses. What is used up goes to `drops`.
    pub(super) fn allocate_in_order(&mut self, queue: &Queue, drops: &mut Vec<Stream>) -> Option<Taken> {
        let (slot, used_up) = self.deferred.take_in_order(queue)?;
        drops.extend(used_up);
        let slab = self.slab_mut(slot.number()?.slab)?;
        let was_idle = slab.is_idle();
        slab.num_allocated += 1;
        Some(Taken { slot, was_idle })
    }

    /// Takes an allocated slot back. `true` when its slab is idle now. A queue that is not needed goes to `drops`.
    pub(super) fn free(
        &mut self,
        slot: FreeSlot,
        pending: Option<Queue>,
        now: Time,
        drops: &mut Vec<Queue>,
    ) -> bool {
        let Some(number) = slot.number() else { return false };
        let Some(slab) = self.slab_mut(number.slab) else { return false };
        slab.num_allocated = slab.num_allocated.saturating_sub(1);
        let is_idle = slab.is_idle();
        match pending {
            Some(queue) => drops.extend(self.deferred.add(slot, queue, now)),
            None => self.put(number.slab, slot),
        }
        is_idle
    }

    /// The slots of a queue that came back until a time are free. Returns their slabs.
    pub(super) fn absorb(&mut self, queue: &Queue, until: Time, drops: &mut Vec<Stream>) -> Vec<u32> {
        let mut slabs = Vec::new();
        for slot in self.deferred.take_until(queue, until, drops) {
            if let Some(number) = slot.number() {
                slabs.push(number.slab);
                self.put(number.slab, slot);
            }
        }
        slabs
    }

    fn put(&mut self, slab: u32, slot: FreeSlot) {
        let position = self.partial.len();
        let Some(found) = self.slab_mut(slab) else { return };
        let had_free = found.has_free();
        if found.free(slot).is_ok() && !had_free {
            found.position = position;
            self.partial.push(slab);
        }
    }

    /// Adds a slab with free slots only. Returns its number.
    pub(super) fn add(&mut self, memory: UsmBuffer, owner: OwnerRef, arena: u32, queue: &Queue) -> u32 {
        let slab = self.vacant.pop().unwrap_or(self.slabs.len() as u32);
        let number = SlabNumber { arena, class: self.class.number(), slab };
        let mut new = Slab::new(memory, self.class, owner, number, queue);
        new.position = self.partial.len();
        if slab as usize >= self.slabs.len() {
            self.slabs.push(None);
        }
        self.slabs[slab as usize] = Some(new);
        self.partial.push(slab);
        slab
    }

    /// Takes a slab out of which all slots are free.
    pub(super) fn remove_free(&mut self, slab: u32) -> Option<Slab> {
        let position = self.slab(slab).filter(|slab| slab.is_free())?.position;
        self.partial.swap_remove(position);
        if let Some(&moved) = self.partial.get(position)
            && let Some(moved) = self.slab_mut(moved)
        {
            moved.position = position;
        }
        self.vacant.push(slab);
        self.slabs.get_mut(slab as usize)?.take()
    }

    pub(super) fn slab(&self, slab: u32) -> Option<&Slab> {
        self.slabs.get(slab as usize)?.as_ref()
    }

    fn slab_mut(&mut self, slab: u32) -> Option<&mut Slab> {
        self.slabs.get_mut(slab as usize)?.as_mut()
    }

    /// The slabs with their numbers.
    pub(super) fn slabs(&self) -> impl Iterator<Item = (u32, &Slab)> {
        self.slabs.iter().enumerate().filter_map(|(index, slab)| Some((index as u32, slab.as_ref()?)))
    }

    /// The slabs of deferred frees, some of them several times.
    pub(super) fn deferred_slabs<'a>(&'a self, stream: &'a Stream) -> impl Iterator<Item = &'a Slab> {
        stream.slots().filter_map(|slot| self.slab(slot.number()?.slab))
    }
}
