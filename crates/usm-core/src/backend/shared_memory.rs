//! Memory in the form in which another process opens it.

use std::sync::Arc;

use super::files::{self, SharedFile};
use crate::{Result, UsmKind};

/// What [`Queue::share`](crate::Queue::share) is to share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedRange {
    /// A block of the backend.
    Block,
    /// A block of the backend whose content is lost with the first share.
    NewBlock,
    /// A part of a block of the backend. Where memory is shared by pages, nothing else is in the pages of the part.
    Part,
    /// Memory of another library, or a part of it.
    External,
}

/// A block that other processes of this user and machine can open: what [`Queue::share`](crate::Queue::share) gives, and
/// [`Queue::open_shared`](crate::Queue::open_shared) takes in another process.
///
/// Files cross processes as ancillary data of a Unix socket (`SCM_RIGHTS`).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SharedMemory {
    /// Kind of the memory.
    pub kind: UsmKind,
    /// Address of the block in the process that shares it.
    pub address: usize,
    /// Length of the block in bytes.
    pub len_bytes: usize,
    /// What the runtime knows the memory by, for runtimes that do without files or need more than these.
    pub data: Vec<u8>,
    /// The files behind the memory, which the runtime understands. The kernel counts the processes that have the first one.
    pub files: Vec<Arc<SharedFile>>,
    /// Whether the files keep the memory after the end of the process that allocated it, so that others can open it then.
    pub is_kept_by_files: bool,
}

impl SharedMemory {
    /// Device memory that another library has exported by `cudaIpcGetMemHandle` or `cuIpcGetMemHandle`: so many bytes from an offset on
    /// in the block of the handle. Nothing but the other library keeps the memory.
    #[must_use]
    pub fn of_cuda_handle(handle: [u8; 64], offset_bytes: usize, len_bytes: usize) -> Self {
        // As `cuda/processes.rs` reads it.
        let data = [&(offset_bytes as u64).to_le_bytes()[..], &handle].concat();
        Self::new(UsmKind::Device, 0, len_bytes, data, Vec::new())
    }

    /// Puts a file in place of the first one that holds the memory by itself: as long as any process has it, also on its way to another
    /// one, the memory has no other use.
    ///
    /// # Errors
    /// [`Error::SharedMemory`](crate::Error::SharedMemory) when the system refuses, as without a free file descriptor.
    pub fn hold(&mut self) -> Result<()> {
        if let Some(first) = self.files.first_mut() {
            *first = Arc::new(files::hold(first, false)?);
        }
        Ok(())
    }

    /// The parts, as another process sent them, of memory that the files keep.
    #[must_use]
    pub fn new(
        kind: UsmKind,
        address: usize,
        len_bytes: usize,
        data: Vec<u8>,
        files: Vec<Arc<SharedFile>>,
    ) -> Self {
        Self { kind, address, len_bytes, data, files, is_kept_by_files: true }
    }
}
