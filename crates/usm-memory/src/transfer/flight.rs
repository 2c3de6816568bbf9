//! Operations under way and all that they use, which goes when they are complete.

use std::slice;

use usm_core::{Event, Queue, drops};

use super::dependency::Dependency;
use crate::guard::{self, ReadGuard, WriteGuard};
use crate::{Result, UsmBuffer};

/// Submitted operations with their USM operands. Dropping waits, and only then lets the borrows and the staging memory go.
#[derive(Debug)]
pub(super) struct Flight {
    /// Invariant F1: the event of every operation that was submitted through this value, until it was waited for. The last one
    /// is ordered after all others.
    events: Vec<Event>,
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
}

impl Flight {
    /// No operation yet. `after` names all that the guards were allowed to overlap.
    pub(super) fn new(after: Dependency, writing: Option<WriteGuard>, reading: Option<ReadGuard>) -> Self {
        Self {
            events: Vec::new(),
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
        self.add(event.clone());
        Ok(event)
    }

    /// Adds an operation that was submitted after [`Self::after`] and all others, on memory that stays valid until this value is dropped.
    pub(super) fn add(&mut self, submitted: Event) {
        self.events.push(submitted);
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

    /// Waits for all operations, also after an error. The first error comes out.
    pub(super) fn wait(&mut self) -> Result<()> {
        Event::wait_all(&self.events)?;
        self.events.clear();
        Ok(())
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        // Nobody is left to tell the error. The operations are complete in any case, and the fields go after this.
        if !self.events.is_empty() {
            let _ = drops::wait(|| self.wait());
        }
    }
}
