//! Memory that other processes can open from the start.

use super::{AllocationRequest, DirectResource, MemoryResource};
use crate::{Result, UsmBuffer};

/// Shorter memory has no pages of its own.
const FEWEST_BYTES: usize = 8192;

/// The runtime, as [`DirectResource`], with memory that other processes can open at any length, without a copy at the first
/// [`UsmBuffer::share`]. A [`PoolResource`](super::PoolResource) over it gives such memory for small buffers, too; a buffer of it that others have open is used
/// again when they have closed all of its slab.
///
/// Processes that are forked have copies of slabs up to 2 MiB, and share larger ones.
///
/// ```
/// use std::sync::Arc;
/// use usm_memory::UsmBuffer;
/// use usm_memory::resource::{PoolOptions, PoolResource, ShareableResource};
/// use usm_memory::usm_core::{Runtime, UsmKind};
///
/// let runtime = Runtime::global();
/// let queue = runtime.default_queue(runtime.host_device())?;
/// let pool = PoolResource::new(Arc::new(ShareableResource), PoolOptions::new());
/// let buffer = UsmBuffer::allocate_in(&pool, &queue, UsmKind::Shared, 16)?;
/// assert_eq!(buffer.share()?.len_bytes, 16);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ShareableResource;

impl MemoryResource for ShareableResource {
    fn allocate(&self, request: AllocationRequest<'_>) -> Result<UsmBuffer> {
        let len_bytes = match request.len_bytes {
            0 => return DirectResource.allocate(request),
            len => len.max(FEWEST_BYTES),
        };
        let buffer = DirectResource.allocate(AllocationRequest { len_bytes, ..request })?;
        // SAFETY: promise 1 of `share_new`: a new allocation.
        unsafe { buffer.block().share_new() }?;
        match request.len_bytes {
            len if len == len_bytes => Ok(buffer),
            len => UsmBuffer::lease(buffer.sub_buffer(0, len)?, request.queue, drop),
        }
    }
}
