//! The blocks of one size: slabs with free blocks, and blocks that wait for a queue.

use std::collections::VecDeque;
use std::ptr::NonNull;

use usm_core::{Event, Queue};

use super::classes::SizeClass;
use super::slab::{Request, Slab};
use crate::UsmBuffer;
use crate::buffer::{Block, HomeRef, Place, same_queue};

/// The slabs of one size.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) size: SizeClass,
    slabs: Vec<Option<Slab>>,
    vacant: Vec<u32>,
    /// Invariant C1: the slabs with free blocks, each at its `position`; the last one is used first.
    partial: Vec<u32>,
    pub(super) streams: Vec<Stream>,
}

/// Blocks that came back while work on a queue may still use them.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) queue: Queue,
    /// An event after which the blocks parked until that time are free.
    pub(super) mark: Option<(Event, Time)>,
    /// In the order of their return.
    parked: VecDeque<Parked>,
}

/// Counts the returns to a pool, so that it can be told which of them came before an event was made.
pub(super) type Time = u64;

#[derive(Clone, Copy, Debug)]
struct Parked {
    since: Time,
    slab: u32,
    index: u32,
}

/// A block that was lent.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) place: NonNull<Block>,
    /// All blocks of its slab were idle before.
    pub(super) was_idle: bool,
}

impl Class {
    pub(super) fn new(size: SizeClass) -> Self {
        Self { size, slabs: Vec::new(), vacant: Vec::new(), partial: Vec::new(), streams: Vec::new() }
    }

    /// A block that nothing uses.
    #[inline(always)]
    pub(super) fn take_free(&mut self, request: Request<'_>) -> Option<Taken> {
        let slab = *self.partial.last()?;
        let found = self.slabs[slab as usize].as_mut()?;
        let (was_idle, index) = (found.is_idle(), found.lowest_free());
        let place = found.lend(index, request, false)?;
        if !found.has_free() {
            self.partial.pop();
        }
        Some(Taken { place, was_idle })
    }

    /// Blocks of the slab that is used next, at most `count`, to be lent by the caller.
    pub(super) fn set_aside(&mut self, count: usize, mut add: impl FnMut(NonNull<Block>)) -> usize {
        let Some(found) = self.partial.last().and_then(|slab| self.slabs[*slab as usize].as_mut()) else {
            return 0;
        };
        // One that is idle stays so.
        let mut added = 0;
        while added < count
            && !found.is_idle()
            && found.has_free()
            && let Some(place) = found.set_aside()
        {
            add(place);
            added += 1;
        }
        if !found.has_free() {
            self.partial.pop();
        }
        added
    }

    /// A block that is used by earlier work on the same in-order queue only: what is submitted from now on comes after that.
    /// What is done with then goes to `ended`.
    pub(super) fn take_in_order(&mut self, request: Request<'_>, ended: &mut Vec<Stream>) -> Option<Taken> {
        if self.streams.is_empty() || !request.queue.properties().in_order {
            return None;
        }
        let stream = self.streams.iter().position(|stream| same_queue(&stream.queue, request.queue))?;
        let Parked { slab, index, .. } = self.streams[stream].parked.pop_back()?;
        let found = self.slabs[slab as usize].as_mut()?;
        let was_idle = found.is_idle();
        let place = found.lend(index, request, true)?;
        if self.streams[stream].parked.is_empty() {
            ended.push(self.streams.swap_remove(stream));
        }
        Some(Taken { place, was_idle })
    }

    /// Takes a lent block back. `true` when its slab is idle now.
    pub(super) fn park(&mut self, slab: u32, index: u32, queue: &Queue, since: Time) -> bool {
        let parked = Parked { since, slab, index };
        match self.streams.iter_mut().find(|stream| same_queue(&stream.queue, queue)) {
            Some(stream) => stream.parked.push_back(parked),
            None => {
                let parked = VecDeque::from([parked]);
                self.streams.push(Stream { queue: queue.clone(), mark: None, parked });
            }
        }
        self.slab(slab).is_some_and(|slab| {
            slab.park(index);
            slab.is_idle()
        })
    }

    /// A lent or parked block is free. `true` when its slab is idle now.
    pub(super) fn set_free(&mut self, slab: u32, index: u32) -> bool {
        let position = self.partial.len();
        let Some(found) = self.slab(slab) else { return false };
        let had_free = found.has_free();
        found.set_free(index);
        let is_idle = found.is_idle();
        if !had_free {
            found.position = position;
            self.partial.push(slab);
        }
        is_idle
    }

    /// The parked blocks of a queue that came back until a time are free. Returns their slabs.
    pub(super) fn absorb(&mut self, queue: &Queue, until: Time) -> (Vec<u32>, Option<Stream>) {
        let Some(at) = self.streams.iter().position(|stream| same_queue(&stream.queue, queue)) else {
            return (Vec::new(), None);
        };
        let stream = &mut self.streams[at];
        if stream.mark.as_ref().is_some_and(|(_, time)| *time <= until) {
            stream.mark = None;
        }
        let count = stream.parked.partition_point(|parked| parked.since <= until);
        let ended: Vec<_> = stream.parked.drain(..count).collect();
        let gone = stream.parked.is_empty().then(|| self.streams.swap_remove(at));
        ended.iter().for_each(|parked| {
            self.set_free(parked.slab, parked.index);
        });
        (ended.iter().map(|parked| parked.slab).collect(), gone)
    }

    /// Adds a slab with free blocks only, and tells its number.
    pub(super) fn add(&mut self, memory: UsmBuffer, home: HomeRef, shelf: u32) -> u32 {
        let index = self.vacant.pop().unwrap_or(self.slabs.len() as u32);
        let first = Place { shelf, class: self.size.index() as u32, slab: index, index: 0 };
        let mut slab = Slab::new(memory, self.size, home, first);
        slab.position = self.partial.len();
        if index as usize == self.slabs.len() {
            self.slabs.push(None);
        }
        self.slabs[index as usize] = Some(slab);
        self.partial.push(index);
        index
    }

    /// Takes a slab out of which all blocks are free.
    pub(super) fn remove_free(&mut self, slab: u32) -> Option<Slab> {
        let position = self.slab(slab).filter(|slab| slab.is_free())?.position;
        self.partial.swap_remove(position);
        if let Some(&moved) = self.partial.get(position)
            && let Some(moved) = self.slab(moved)
        {
            moved.position = position;
        }
        self.vacant.push(slab);
        self.slabs[slab as usize].take()
    }

    pub(super) fn slab(&mut self, slab: u32) -> Option<&mut Slab> {
        self.slabs.get_mut(slab as usize)?.as_mut()
    }

    pub(super) fn slab_ref(&self, slab: u32) -> Option<&Slab> {
        self.slabs.get(slab as usize)?.as_ref()
    }

    pub(super) fn slabs(&self) -> impl Iterator<Item = (u32, &Slab)> {
        self.slabs.iter().enumerate().filter_map(|(index, slab)| Some((index as u32, slab.as_ref()?)))
    }

    /// The slabs with blocks that wait for a queue.
    pub(super) fn parked_slabs<'a>(&'a self, stream: &'a Stream) -> impl Iterator<Item = &'a Slab> {
        stream.parked.iter().filter_map(|parked| self.slabs.get(parked.slab as usize)?.as_ref())
    }
}
