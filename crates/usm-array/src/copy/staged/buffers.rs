//! Host memory for a piece

use std::mem;

use usm_memory::usm_core::{Event, Queue, UsmKind, drops};
use usm_memory::{UsmBuffer, WriteGuard};

use crate::copy::plan::CopyPlan;
use crate::error::Result;
use crate::view::zeroed_vec;

/// Host memory for one piece, and what a queue still does with it.
pub(in crate::copy) struct Staging<'a> {
    queue: &'a Queue,
    buffer: StagingBuffer,
    pub(super) pending: Option<Event>,
}

/// Where a piece is.
enum StagingBuffer {
    /// Host USM, mostly of a pool: touching new pages costs more than the copy, and devices copy from such memory at once.
    Usm(WriteGuard),
    /// Where there is no host USM, for copies of the queue.
    Heap(Vec<u8>),
}

impl<'a> Staging<'a> {
    pub(super) fn two(queue: &'a Queue) -> [Self; 2] {
        [(); 2].map(|()| Self { queue, buffer: StagingBuffer::Heap(Vec::new()), pending: None })
    }

    /// Buffers that kernels of the queue reach, each for any of the pieces; the second one where there are several pieces. `None` where
    /// there is no such memory.
    pub(in crate::copy) fn for_kernels(
        queue: &'a Queue,
        pieces: &[CopyPlan],
        itemsize_bytes: usize,
    ) -> Option<[Self; 2]> {
        let largest = pieces.iter().map(CopyPlan::size).max()?;
        let mut both = Self::two(queue);
        for staging in both.iter_mut().take(pieces.len()) {
            staging.allocate(largest * itemsize_bytes).ok()?;
        }
        Some(both)
    }

    /// Waits for what a queue does with the buffer.
    pub(super) fn settle(&mut self) -> Result<()> {
        if let Some(event) = &self.pending {
            event.wait().map_err(usm_memory::Error::from)?;
        }
        self.pending = None;
        Ok(())
    }

    /// The first byte of a buffer for so many bytes, with which no queue works.
    pub(super) fn buffer(&mut self, len_bytes: usize) -> Result<*mut u8> {
        let is_enough = match &self.buffer {
            StagingBuffer::Usm(guard) => guard.len_bytes() >= len_bytes,
            StagingBuffer::Heap(bytes) => bytes.len() >= len_bytes,
        };
        self.settle()?;
        if !is_enough && self.allocate(len_bytes).is_err() {
            self.buffer = StagingBuffer::Heap(zeroed_vec(len_bytes)?);
        }
        self.start()
    }

    /// Takes host USM. No queue may work with the buffer.
    fn allocate(&mut self, len_bytes: usize) -> Result<()> {
        let memory = UsmBuffer::allocate(self.queue, UsmKind::Host, len_bytes)?;
        self.buffer = StagingBuffer::Usm(memory.write_range(0..len_bytes)?);
        Ok(())
    }

    /// The first byte of the buffer, with which no queue works.
    pub(super) fn start(&mut self) -> Result<*mut u8> {
        self.settle()?;
        Ok(match &mut self.buffer {
            StagingBuffer::Usm(guard) => guard.as_mut_ptr(),
            StagingBuffer::Heap(bytes) => bytes.as_mut_ptr(),
        })
    }
}

impl Drop for Staging<'_> {
    fn drop(&mut self) {
        // After an error. Memory that the queue may go on to work with stays.
        if !drops::settle(&self.pending) {
            mem::forget(mem::replace(&mut self.buffer, StagingBuffer::Heap(Vec::new())));
        }
    }
}
