//! Deferred frees: slots that came back while work on a queue may still use them.

use std::collections::VecDeque;

use usm_core::{Event, Queue};

use crate::buffer::{FreeSlot, same_queue};

/// Counts the frees of a pool, so that it can be told which of them came before an event was made.
pub(super) type Time = u64;

/// The deferred frees of one size class and queue.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) queue: Queue,
    /// An event after which the slots that came back until that time are free.
    pub(super) mark: Option<(Event, Time)>,
    /// In the order of their return.
    slots: VecDeque<(Time, FreeSlot)>,
}

/// The deferred frees of one size class.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    streams: Vec<Stream>,
}

impl Deferred {
    pub(super) fn streams(&self) -> &[Stream] {
        &self.streams
    }

    /// Adds a slot. The caller drops the queue where it is known already.
    pub(super) fn add(&mut self, slot: FreeSlot, queue: Queue, now: Time) -> Option<Queue> {
        if let Some((_, stream)) = self.find(&queue) {
            stream.slots.push_back((now, slot));
            return Some(queue);
        }
        self.streams.push(Stream { queue, mark: None, slots: VecDeque::from([(now, slot)]) });
        None
    }

    /// A slot that only earlier work on the same in-order queue uses: what is submitted from now on comes after that. The caller drops
    /// the stream that is used up.
    pub(super) fn take_in_order(&mut self, queue: &Queue) -> Option<(FreeSlot, Option<Stream>)> {
        if self.streams.is_empty() || !queue.properties().in_order {
            return None;
        }
        let (index, stream) = self.find(queue)?;
        let (_, slot) = stream.slots.pop_back()?;
        let used_up = stream.slots.is_empty();
        Some((slot, used_up.then(|| self.streams.swap_remove(index))))
    }

    /// The slots of a queue that came back until a time: work on them is complete. The caller drops what is used up.
    pub(super) fn take_until(
        &mut self,
        queue: &Queue,
        until: Time,
        drops: &mut Vec<Stream>,
    ) -> Vec<FreeSlot> {
        let Some((index, stream)) = self.find(queue) else { return Vec::new() };
        let count = stream.slots.partition_point(|(time, _)| *time <= until);
        let used_up = stream.slots.drain(..count).map(|(_, slot)| slot).collect();
        if stream.slots.is_empty() {
            drops.push(self.streams.swap_remove(index));
        } else if stream.mark.as_ref().is_some_and(|(_, time)| *time <= until) {
            let (queue, mark) = (stream.queue.clone(), stream.mark.take());
            drops.push(Stream { queue, mark, slots: VecDeque::new() });
        }
        used_up
    }

    /// Remembers an event after which the slots that came back until a time are free, unless one is known. The caller drops the event
    /// that is not needed.
    pub(super) fn set_mark(&mut self, queue: &Queue, mark: (Event, Time)) -> Option<(Event, Time)> {
        match self.find(queue) {
            Some((_, stream)) if stream.mark.is_none() => {
                stream.mark = Some(mark);
                None
            }
            _ => Some(mark),
        }
    }

    fn find(&mut self, queue: &Queue) -> Option<(usize, &mut Stream)> {
        self.streams.iter_mut().enumerate().find(|(_, stream)| same_queue(&stream.queue, queue))
    }
}

impl Stream {
    /// The slots, in the order of their return.
    pub(super) fn slots(&self) -> impl Iterator<Item = &FreeSlot> {
        self.slots.iter().map(|(_, slot)| slot)
    }
}
