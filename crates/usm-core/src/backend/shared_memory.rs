//! Memory in the form in which another process opens it.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::UsmKind;

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
    pub files: Vec<Arc<OwnedFd>>,
}

impl SharedMemory {
    /// The parts, as another process sent them.
    #[must_use]
    pub fn new(
        kind: UsmKind,
        address: usize,
        len_bytes: usize,
        data: Vec<u8>,
        files: Vec<Arc<OwnedFd>>,
    ) -> Self {
        Self { kind, address, len_bytes, data, files }
    }
}
