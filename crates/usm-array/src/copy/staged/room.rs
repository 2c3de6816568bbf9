//! Host memory for a piece

use usm_memory::usm_core::{Event, Queue, UsmKind};
use usm_memory::{UsmBuffer, WriteGuard};

use crate::error::Result;
use crate::view::zeroed_vec;

/// Host memory for one piece, and what a queue still does with it.
pub(super) struct Staging<'a> {
    queue: &'a Queue,
    room: Room,
    pub(super) pending: Option<Event>,
}

/// Where a piece is.
enum Room {
    /// Host USM, mostly of a pool: touching new pages costs more than the copy, and devices copy from such memory at once.
    Usm(WriteGuard),
    /// Where there is no host USM, for copies of the queue.
    Heap(Vec<u8>),
}

impl<'a> Staging<'a> {
    pub(super) fn two(queue: &'a Queue) -> [Self; 2] {
        [(); 2].map(|()| Self { queue, room: Room::Heap(Vec::new()), pending: None })
    }

    /// Waits for what a queue does with the room.
    pub(super) fn settle(&mut self) -> Result<()> {
        match self.pending.take() {
            Some(event) => Ok(event.wait().map_err(usm_memory::Error::from)?),
            None => Ok(()),
        }
    }

    /// The first byte of room for so many bytes, with which no queue works.
    pub(super) fn room(&mut self, len_bytes: usize) -> Result<*mut u8> {
        let is_enough = match &self.room {
            Room::Usm(guard) => guard.len_bytes() >= len_bytes,
            Room::Heap(bytes) => bytes.len() >= len_bytes,
        };
        self.settle()?;
        if !is_enough && self.usm_room(len_bytes).is_err() {
            self.room = Room::Heap(zeroed_vec(len_bytes)?);
        }
        self.start()
    }

    /// The same in memory that kernels of the queue reach.
    pub(super) fn usm_room(&mut self, len_bytes: usize) -> Result<*mut u8> {
        let is_enough = matches!(&self.room, Room::Usm(guard) if guard.len_bytes() >= len_bytes);
        if !is_enough {
            self.settle()?;
            let memory = UsmBuffer::allocate(self.queue, UsmKind::Host, len_bytes)?;
            self.room = Room::Usm(memory.write_range(0..len_bytes)?);
        }
        self.start()
    }

    /// The first byte of the room, with which no queue works.
    pub(super) fn start(&mut self) -> Result<*mut u8> {
        self.settle()?;
        Ok(match &mut self.room {
            Room::Usm(guard) => guard.as_mut_ptr(),
            Room::Heap(bytes) => bytes.as_mut_ptr(),
        })
    }
}

impl Drop for Staging<'_> {
    fn drop(&mut self) {
        // After an error: the queue must not work with memory that is gone. There is nobody to tell about a second one.
        let _ = self.settle();
    }
}
