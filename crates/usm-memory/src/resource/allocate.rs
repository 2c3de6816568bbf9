//! Buffers from memory resources, and from the default resource of a device.

use usm_core::{Queue, UsmKind};

use super::default::chosen;
use super::process_pool::pool_for;
use super::{AllocationRequest, DirectResource, MemoryResource};
use crate::{Result, UsmBuffer};

impl UsmBuffer {
    /// Allocates `len_bytes` bytes, aligned for every element type, with the resource that was set for the device
    /// ([`set_default_resource`](crate::resource::set_default_resource)), else from the [pool of the
    /// process](crate::resource::process_pool). The content is undefined.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core) with the errors of [`Queue::allocate`]; those of the resource.
    #[inline]
    pub fn allocate(queue: &Queue, kind: UsmKind, len_bytes: usize) -> Result<Self> {
        Self::allocate_default(queue, kind, len_bytes, None)
    }

    /// New memory, as [`allocate`](Self::allocate), also of no bytes: then an empty part of an allocation, since runtimes have no
    /// allocations of no bytes.
    ///
    /// ```
    /// use usm_memory::UsmBuffer;
    /// use usm_memory::usm_core::{Runtime, UsmKind};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let empty = UsmBuffer::allocate_or_empty(&queue, UsmKind::Shared, 0)?;
    /// assert!(empty.len_bytes() == 0 && empty.address() != 0);
    /// # Ok::<(), usm_memory::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate).
    pub fn allocate_or_empty(queue: &Queue, kind: UsmKind, len_bytes: usize) -> Result<Self> {
        match len_bytes {
            0 => Self::allocate(queue, kind, 1)?.sub_buffer(0, 0),
            _ => Self::allocate(queue, kind, len_bytes),
        }
    }

    /// As [`allocate`](Self::allocate), at a multiple of `align_bytes`, a power of two.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core) with the errors of [`Queue::allocate_aligned`]; those of the resource.
    pub fn allocate_aligned(
        queue: &Queue,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: usize,
    ) -> Result<Self> {
        Self::allocate_default(queue, kind, len_bytes, Some(align_bytes))
    }

    #[inline(always)]
    fn allocate_default(
        queue: &Queue,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: Option<usize>,
    ) -> Result<Self> {
        usm_core::release_from_graphs();
        let request = AllocationRequest::new(queue, kind, len_bytes).aligned(align_bytes.unwrap_or(1));
        if let Some(resource) = chosen(queue.device()) {
            return Self::allocate_from(&*resource, request);
        }
        match pool_for(queue) {
            Some(pool) => pool.allocate(request),
            None => DirectResource.allocate(request),
        }
    }

    /// As [`allocate`](Self::allocate), from memory that the pool has at hand: neither the runtime nor a queue is asked. `None` where
    /// there is none, or the resource that was set has no such memory ([`MemoryResource::allocate_at_once`]) or gives something else than
    /// it was asked for.
    #[must_use]
    pub fn allocate_at_once(queue: &Queue, kind: UsmKind, len_bytes: usize) -> Option<Self> {
        let request = AllocationRequest::new(queue, kind, len_bytes);
        match chosen(queue.device()) {
            None => pool_for(queue)?.allocate_at_once(request),
            Some(resource) => {
                let found = resource.allocate_at_once(request)?;
                request.check(&found).is_ok().then_some(found)
            }
        }
    }

    /// Takes `len_bytes` bytes from a memory resource, aligned for every element type. The content is undefined.
    ///
    /// # Errors
    /// As [`allocate_aligned_in`](Self::allocate_aligned_in).
    #[inline]
    pub fn allocate_in(
        resource: &dyn MemoryResource,
        queue: &Queue,
        kind: UsmKind,
        len_bytes: usize,
    ) -> Result<Self> {
        Self::allocate_from(resource, AllocationRequest::new(queue, kind, len_bytes))
    }

    /// Takes `len_bytes` bytes at a multiple of `align_bytes`, a power of two, from a memory resource.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Core`](crate::Error::Core) as the resource has them;
    /// [`Error::UnsuitableMemory`](crate::Error::UnsuitableMemory) when the resource gives something else than it was asked for.
    #[inline]
    pub fn allocate_aligned_in(
        resource: &dyn MemoryResource,
        queue: &Queue,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: usize,
    ) -> Result<Self> {
        Self::allocate_from(resource, AllocationRequest::new(queue, kind, len_bytes).aligned(align_bytes))
    }

    #[inline]
    fn allocate_from(resource: &dyn MemoryResource, request: AllocationRequest<'_>) -> Result<Self> {
        usm_core::release_from_graphs();
        // A pool gives what it was asked for.
        if let Some(pool) = resource.as_pool() {
            return pool.allocate(request);
        }
        let buffer = resource.allocate(request)?;
        request.check(&buffer)?;
        Ok(buffer)
    }
}
