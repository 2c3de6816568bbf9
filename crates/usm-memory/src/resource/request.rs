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

    /// Whether a resource gave what it was asked for: an error with the first thing that is wrong.
    pub(super) fn check(&self, buffer: &UsmBuffer) -> Result<()> {
        let Self { queue, kind, len_bytes, align_bytes } = *self;
        let is_near = ptr::eq(buffer.context(), queue.context()) || buffer.context() == queue.context();
        let (what, found, wanted) = if !is_near {
            ("context", buffer.context().to_string(), queue.context().to_string())
        } else if buffer.kind() != kind {
            ("kind", buffer.kind().to_string(), kind.to_string())
        } else if buffer.len_bytes() != len_bytes {
            ("length in bytes", buffer.len_bytes().to_string(), len_bytes.to_string())
        } else if !buffer.is_writable() {
            ("access", "read-only".to_owned(), "writable".to_owned())
        } else if !buffer.address().is_multiple_of(align_bytes) {
            ("address", format!("{:#x}", buffer.address()), format!("multiple of {align_bytes}"))
        } else {
            return Ok(());
        };
        Err(Error::UnsuitableMemory { what, found, wanted })
    }
}
