//! The resource below all others: the runtime itself.

use super::{AllocationRequest, MemoryResource, Usage};
use crate::{Result, UsmBuffer};

/// Every buffer is an allocation of the runtime, and is freed with its last clone.
#[derive(Clone, Copy, Debug, Default)]
pub struct DirectResource;

impl MemoryResource for DirectResource {
    fn allocate(&self, request: AllocationRequest<'_>) -> Result<UsmBuffer> {
        let AllocationRequest { queue, kind, len_bytes, align_bytes } = request;
        let allocated = match align_bytes {
            1 => UsmBuffer::allocate_direct(queue, kind, len_bytes, None),
            // No less than any element type needs.
            2 | 4 | 8 => UsmBuffer::allocate_direct(queue, kind, len_bytes, Some(16)),
            _ => UsmBuffer::allocate_direct(queue, kind, len_bytes, Some(align_bytes)),
        };
        allocated.map_err(|error| error.explained(Usage::default()))
    }
}
