//! Host memory for pieces, two at a time, so that a queue copies one while host code works on the other

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
    /// Where there is no host USM.
    Heap(Vec<u8>),
}

impl Room {
    fn new(queue: &Queue, len_bytes: usize) -> Result<Self> {
        let usm = UsmBuffer::allocate(queue, UsmKind::Host, len_bytes);
        match usm.and_then(|memory| memory.write_range(0..len_bytes)) {
            Ok(guard) => Ok(Self::Usm(guard)),
            Err(_) => Ok(Self::Heap(zeroed_vec(len_bytes)?)),
        }
    }

    fn len_bytes(&self) -> usize {
        match self {
            Self::Usm(guard) => guard.len_bytes(),
            Self::Heap(bytes) => bytes.len(),
        }
    }

    fn start(&mut self) -> *mut u8 {
        match self {
            Self::Usm(guard) => guard.as_mut_ptr(),
            Self::Heap(bytes) => bytes.as_mut_ptr(),
        }
    }
}

impl<'a> Staging<'a> {
    pub(super) fn two(queue: &'a Queue) -> [Self; 2] {
        [(); 2].map(|()| Self { queue, room: Room::Heap(Vec::new()), pending: None })
    }

    pub(super) fn settle(&mut self) -> Result<()> {
        match self.pending.take() {
            Some(event) => Ok(event.wait().map_err(usm_memory::Error::from)?),
            None => Ok(()),
        }
    }

    /// Room for so many bytes, with which no queue works.
    pub(super) fn room(&mut self, len_bytes: usize) -> Result<*mut u8> {
        self.settle()?;
        if self.room.len_bytes() < len_bytes {
            self.room = Room::new(self.queue, len_bytes)?;
        }
        Ok(self.room.start())
    }

    /// The first byte of the room.
    pub(super) fn start(&mut self) -> *mut u8 {
        self.room.start()
    }

    pub(super) fn queue(&self) -> &'a Queue {
        self.queue
    }

    /// Whether kernels of the queue reach the room.
    pub(super) fn is_usm(&self) -> bool {
        matches!(self.room, Room::Usm(_))
    }
}

impl Drop for Staging<'_> {
    fn drop(&mut self) {
        // After an error: the queue must not work with memory that is gone. There is nobody to tell about a second one.
        let _ = self.settle();
    }
}
