//! Operations under way and all that they use, which goes when they are complete.

use std::{mem, slice};

use usm_core::{Event, Queue, drops};

use super::dependency::Dependency;
use crate::buffer::Block;
use crate::guard::{self, ReadGuard, WriteGuard};
use crate::{Error, Result, UsmBuffer, waits};

/// Submitted operations with their USM operands. Dropping waits, and only then lets the borrows and the staging memory go. Where the wait
/// fails and the operations go on, both stay for ever.
#[derive(Debug)]
pub(super) struct Flight {
    /// Invariant F1: the event of every operation that was submitted through this value, until it was waited for. The last one
    /// is ordered after all others.
    events: Vec<Event>,
    /// The queue of the last one.
    queue: Option<Queue>,
    /// What the operations are ordered after.
    after: Dependency,
    /// Memory between the two sides of a copy.
    pub(super) staging: Option<WriteGuard>,
    /// Bytes to be written.
    pub(super) pattern: Vec<u8>,
    writing: Option<WriteGuard>,
    reading: Option<ReadGuard>,
    /// What a kernel uses.
    operands: Vec<Operand>,
}

/// A borrow of a kernel.
#[derive(Debug)]
enum Operand {
    Written(WriteGuard),
    Read(ReadGuard),
}

impl Operand {
    fn id(&self) -> u64 {
        match self {
            Self::Written(guard) => guard.id(),
            Self::Read(guard) => guard.id(),
        }
    }

    fn block(&self) -> &Block {
        match self {
            Self::Written(guard) => guard.block(),
            Self::Read(guard) => guard.block(),
        }
    }

    fn record(&self, event: &Event, queue: &Queue) {
        match self {
            Self::Written(guard) => guard.record(event, queue),
            Self::Read(guard) => guard.record(event, queue),
        }
    }
}

impl Flight {
    /// No operation yet. `after` names all that the guards were allowed to overlap.
    pub(super) fn new(after: Dependency, writing: Option<WriteGuard>, reading: Option<ReadGuard>) -> Self {
        Self {
            events: Vec::new(),
            queue: None,
            after,
            staging: None,
            pattern: Vec::new(),
            writing,
            reading,
            operands: Vec::new(),
        }
    }

    /// An operation that was recorded in a graph. Nothing of it is under way: the graph keeps the memory, and nobody waits.
    pub(super) fn recorded(event: Event) -> Self {
        Self::new(event.into(), None, None)
    }

    /// Borrows all of a buffer for the operations, which may write it unless it is read-only. It may overlap what was borrowed before.
    pub(super) fn borrow(&mut self, buffer: &UsmBuffer) -> Result<()> {
        let mut after = self.after.borrows.clone();
        after.extend(self.operands.iter().map(Operand::id));
        let (whole, events) = (0..buffer.len_bytes(), &mut self.after.events);
        self.operands.push(match buffer.is_writable() {
            true => Operand::Written(buffer.write_range_after(whole, &after, events)?),
            false => Operand::Read(buffer.read_range_after(whole, &after, events)?),
        });
        Ok(())
    }

    /// The events that the first operations must be ordered after.
    pub(super) fn after(&self) -> &[Event] {
        &self.after.events
    }

    /// Submits a copy.
    ///
    /// # Safety
    /// 1. Both ranges are valid for the copy, do not overlap, and stay so until this value is dropped.
    /// 2. Other work on them is complete before `after` is. `after` covers all operations submitted here before and
    ///    [`Self::after`], by itself or by the order of the queue.
    pub(super) unsafe fn memcpy(
        &mut self,
        queue: &Queue,
        dst: *mut u8,
        src: *const u8,
        len_bytes: usize,
        after: &[Event],
    ) -> Result<Event> {
        // SAFETY: F1: the ranges are valid until this value is dropped (1), which waits for the event.
        let event = unsafe { queue.memcpy(dst, src, len_bytes, after) }?;
        self.add(event.clone(), queue);
        Ok(event)
    }

    /// Adds an operation that was submitted after [`Self::after`] and all others, on memory that stays valid until this value is dropped.
    pub(super) fn add(&mut self, submitted: Event, queue: &Queue) {
        self.events.push(submitted);
        self.queue = Some(queue.clone());
    }

    /// The events after which everything is complete: the last one, or what a transfer of nothing comes after.
    pub(super) fn last(&self) -> &[Event] {
        self.events.last().map_or(&self.after.events, slice::from_ref)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.events.last().is_none_or(Event::is_complete)
    }

    /// What has to come after all this, and may then use the same bytes.
    pub(super) fn dependency(&self) -> Dependency {
        let mut borrows = self.after.borrows.clone();
        guard::retain_held(&mut borrows);
        borrows.extend(self.writing.as_ref().map(WriteGuard::id));
        borrows.extend(self.reading.as_ref().map(ReadGuard::id));
        borrows.extend(self.operands.iter().map(Operand::id));
        Dependency { events: self.last().to_vec(), borrows }
    }

    /// Ends the borrows of the operands, whose memory remembers the last operation instead, which is ordered after all others. Nobody else
    /// knows the staging memory, so that stays.
    pub(super) fn release_borrows(&mut self) -> Result<()> {
        let mut result = Ok(());
        if let (Some(last), Some(queue)) = (self.events.last(), &self.queue) {
            if guard::has_other_copies() && self.blocks().any(Block::is_published) {
                // Other copies of this library know the memory of the operands, but not the operation.
                result = waits::for_event(last);
                if matches!(result, Err(Error::Interrupted)) || !last.is_complete() {
                    return result;
                }
            } else {
                // Others find the event from here on, where they found the borrow (T1).
                self.writing.iter().for_each(|guard| guard.record(last, queue));
                self.reading.iter().for_each(|guard| guard.record(last, queue));
                self.operands.iter().for_each(|operand| operand.record(last, queue));
            }
        }
        (self.writing, self.reading) = (None, None);
        self.operands.clear();
        result
    }

    /// The memory of the operands.
    fn blocks(&self) -> impl Iterator<Item = &Block> {
        let written = self.writing.iter().map(WriteGuard::block);
        let read = self.reading.iter().map(ReadGuard::block);
        written.chain(read).chain(self.operands.iter().map(Operand::block))
    }

    /// Waits for all operations, also after an error. The first error comes out.
    pub(super) fn wait(&mut self) -> Result<()> {
        Event::wait_all(&self.events)?;
        self.events.clear();
        Ok(())
    }

    /// Waits in a drop. `false` where that failed and operations may go on for ever: what they use must stay, and the operands do.
    pub(super) fn settle(&mut self) -> bool {
        // Nobody is left to tell an error.
        let is_settled = drops::settle(&self.events);
        self.events.clear();
        if !is_settled {
            let staging_memory = (self.staging.take(), mem::take(&mut self.pattern));
            let operands = (self.writing.take(), self.reading.take(), mem::take(&mut self.operands));
            mem::forget((staging_memory, operands));
        }
        is_settled
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.settle();
    }
}
