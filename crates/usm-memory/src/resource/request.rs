//! What an allocation is for, and whether a buffer is that.

use std::ptr;

use usm_core::{Queue, UsmKind};

use crate::{Error, Result, UsmBuffer};

/// What a buffer is wanted for.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AllocationRequest<'a> {
    /// A queue of the context and device.
    pub queue: &'a Queue,
    /// Kind of the memory.
    pub kind: UsmKind,
    /// Length in bytes.
    pub len_bytes: usize,
    /// Alignment in bytes, a power of two. In any case the memory is aligned for every element type.
    pub align_bytes: usize,
}

impl<'a> AllocationRequest<'a> {
    /// A request for `len_bytes` bytes that are aligned for every element type.
    #[must_use]
    #[inline(always)]
    pub const fn new(queue: &'a Queue, kind: UsmKind, len_bytes: usize) -> Self {
        Self { queue, kind, len_bytes, align_bytes: 1 }
    }

    /// The same at a multiple of `align_bytes`, a power of two.
    #[must_use]
    #[inline(always)]
    pub const fn aligned(self, align_bytes: usize) -> Self {
        Self { align_bytes, ..self }
    }

    /// Whether a resource gave what it was asked for.
    #[inline]
    pub(super) fn check(&self, buffer: &UsmBuffer) -> Result<()> {
        let queue = self.queue;
        let is_near = ptr::eq(buffer.context(), queue.context()) || buffer.context() == queue.context();
        let is_fit =
            buffer.kind() == self.kind && buffer.len_bytes() == self.len_bytes && buffer.is_writable();
        if is_near && is_fit && buffer.address().is_multiple_of(self.align_bytes) {
            return Ok(());
        }
        Err(self.unsuitable(buffer))
    }

    /// The first thing that is wrong with a buffer.
    #[cold]
    fn unsuitable(&self, buffer: &UsmBuffer) -> Error {
        let unsuitable = |what, found, wanted| Error::UnsuitableMemory { what, found, wanted };
        let Self { queue, kind, len_bytes, align_bytes } = *self;
        if buffer.context() != queue.context() {
            let (found, wanted) = (buffer.context().to_string(), queue.context().to_string());
            return unsuitable("context", found, wanted);
        }
        if buffer.kind() != kind {
            return unsuitable("kind", buffer.kind().to_string(), kind.to_string());
        }
        if buffer.len_bytes() != len_bytes {
            return unsuitable("length in bytes", buffer.len_bytes().to_string(), len_bytes.to_string());
        }
        if !buffer.is_writable() {
            return unsuitable("access", "read-only".to_owned(), "writable".to_owned());
        }
        unsuitable("address", format!("{:#x}", buffer.address()), format!("multiple of {align_bytes}"))
    }
}
