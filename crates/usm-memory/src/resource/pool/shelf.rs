//! The part of a pool for one context, device and kind, and how much of it is idle.

use std::collections::BTreeMap;
use std::sync::Arc;

use usm_core::{Queue, UsmKind};

use super::class::{Class, Stream, Taken, Time};
use super::classes::SizeClass;
use super::slab::{Request, Slab};
use super::stock::Stock;
use super::trays::Tray;
use crate::UsmBuffer;
use crate::buffer::{HomeRef, Place, same_queue};
use crate::snapshot::Lendable;

/// Slabs and free blocks that any queue of one context and device may use.
#[derive(Debug)]
pub(super) struct Shelf {
    /// A queue of the context and device.
    pub(super) queue: Queue,
    pub(super) kind: UsmKind,
    /// By number, up to the largest that was asked for.
    pub(super) classes: Vec<Option<Class>>,
    /// Where each slab starts: its class and its number there.
    starts: BTreeMap<usize, (u32, u32)>,
    pub(super) slab_bytes: usize,
    /// Invariant: bytes of the slabs of which no block is lent.
    pub(super) idle_bytes: usize,
}

/// What is to be dropped without the lock: upstream resources may call back.
#[derive(Debug, Default)]
pub(super) struct Garbage {
    slabs: Vec<Slab>,
    streams: Vec<Stream>,
    pub(super) trays: Vec<Tray>,
    pub(super) queues: Vec<Queue>,
    /// Last: what is above may be in its memory.
    pub(super) stock: Option<Arc<Stock>>,
}

impl Garbage {
    pub(super) fn append(&mut self, other: Self) {
        self.slabs.extend(other.slabs);
        self.streams.extend(other.streams);
    }

    /// Bytes of the slabs.
    pub(super) fn slab_bytes(&self) -> usize {
        self.slabs.iter().map(|slab| slab.memory.len_bytes()).sum()
    }
}

impl Shelf {
    pub(super) fn new(queue: &Queue, kind: UsmKind) -> Self {
        let (classes, starts) = (Vec::new(), BTreeMap::new());
        Self { queue: queue.clone(), kind, classes, starts, slab_bytes: 0, idle_bytes: 0 }
    }

    /// Whether buffers of that queue and kind come from here.
    pub(super) fn suits(&self, queue: &Queue, kind: UsmKind) -> bool {
        let is_near = || self.queue.device() == queue.device() && self.queue.context() == queue.context();
        self.kind == kind && (same_queue(&self.queue, queue) || is_near())
    }

    /// A block that nothing uses.
    #[inline(always)]
    pub(super) fn take_free(&mut self, size: SizeClass, request: Request<'_>) -> Option<Taken> {
        let taken = self.classes.get_mut(size.index())?.as_mut()?.take_free(request)?;
        self.is_lent(&taken, size);
        Some(taken)
    }

    /// A block that is used by earlier work on the same in-order queue only.
    pub(super) fn take_in_order(
        &mut self,
        size: SizeClass,
        request: Request<'_>,
        garbage: &mut Garbage,
    ) -> Option<Taken> {
        let taken = self.class_mut(size.index())?.take_in_order(request, &mut garbage.streams)?;
        self.is_lent(&taken, size);
        Some(taken)
    }

    fn is_lent(&mut self, taken: &Taken, size: SizeClass) {
        if taken.was_idle {
            self.idle_bytes -= size.slab_bytes();
        }
    }

    /// Takes a lent block back. What is too much then is given to the caller.
    #[inline]
    pub(super) fn give(
        &mut self,
        place: Place,
        pending: Option<&Queue>,
        now: Time,
        max_idle_bytes: usize,
    ) -> Option<Box<Garbage>> {
        let class = self.class_mut(place.class as usize)?;
        let is_idle = match pending {
            Some(queue) => class.park(place.slab, place.index, queue, now),
            None => class.set_free(place.slab, place.index),
        };
        if !is_idle {
            return None;
        }
        self.idle_bytes += class.size.slab_bytes();
        if self.idle_bytes <= max_idle_bytes {
            return None;
        }
        let mut garbage = Box::<Garbage>::default();
        self.evict(place.class as usize, place.slab, max_idle_bytes, &mut garbage);
        Some(garbage)
    }

    /// The parked blocks of a queue that came back until a time are free. What is too much then goes to `garbage`. `true` when
    /// there were any.
    pub(super) fn absorb(
        &mut self,
        class: usize,
        queue: &Queue,
        until: Time,
        max_idle_bytes: usize,
        garbage: &mut Garbage,
    ) -> bool {
        let Some(found) = self.class_mut(class) else { return false };
        let (slabs, ended) = found.absorb(queue, until);
        garbage.streams.extend(ended);
        for &slab in &slabs {
            self.evict(class, slab, max_idle_bytes, garbage);
        }
        !slabs.is_empty()
    }

    /// A slab goes when nothing uses it and more than `max_idle_bytes` are idle.
    pub(super) fn evict(&mut self, class: usize, slab: u32, max_idle_bytes: usize, garbage: &mut Garbage) {
        if self.idle_bytes <= max_idle_bytes {
            return;
        }
        if let Some(gone) = self.class_mut(class).and_then(|class| class.remove_free(slab)) {
            self.starts.remove(&gone.memory.address());
            self.idle_bytes -= gone.memory.len_bytes();
            self.slab_bytes -= gone.memory.len_bytes();
            garbage.slabs.push(gone);
        }
    }

    /// Takes all slabs out that nothing uses.
    pub(super) fn evict_all(&mut self, garbage: &mut Garbage) {
        for class in 0..self.classes.len() {
            let Some(found) = &self.classes[class] else { continue };
            let free: Vec<_> =
                found.slabs().filter(|(_, slab)| slab.is_free()).map(|(index, _)| index).collect();
            free.into_iter().for_each(|slab| self.evict(class, slab, 0, garbage));
        }
    }

    /// Adds a slab, and tells its number in its class.
    pub(super) fn add(&mut self, size: SizeClass, memory: UsmBuffer, home: HomeRef, shelf: u32) -> u32 {
        let index = size.index();
        if index >= self.classes.len() {
            self.classes.resize_with(index + 1, || None);
        }
        self.slab_bytes += size.slab_bytes();
        self.idle_bytes += size.slab_bytes();
        let start = memory.address();
        let slab = self.classes[index].get_or_insert_with(|| Class::new(size)).add(memory, home, shelf);
        self.starts.insert(start, (index as u32, slab));
        slab
    }

    pub(super) fn num_slabs(&self) -> usize {
        self.starts.len()
    }

    /// What is known of an address, where it is in a slab of this shelf.
    pub(super) fn block_at(&self, address: usize) -> Option<Lendable> {
        let (_, &(class, slab)) = self.starts.range(..=address).next_back()?;
        self.classes.get(class as usize)?.as_ref()?.slab_ref(slab)?.block_at(address)
    }

    pub(super) fn class_mut(&mut self, index: usize) -> Option<&mut Class> {
        self.classes.get_mut(index)?.as_mut()
    }

    pub(super) fn classes(&self) -> impl Iterator<Item = (usize, &Class)> {
        self.classes.iter().enumerate().filter_map(|(index, class)| Some((index, class.as_ref()?)))
    }
}
