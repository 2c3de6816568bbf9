//! What a pool may keep, and what it has.

/// Options of a [`PoolResource`](super::PoolResource).
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct PoolOptions {
    pub(super) max_retained_bytes: usize,
    pub(super) limit_bytes: Option<usize>,
}

impl PoolOptions {
    /// Keep up to 256 MiB for later use, without a limit.
    pub fn new() -> Self {
        Self { max_retained_bytes: 256 * 1024 * 1024, limit_bytes: None }
    }

    /// Bytes of slabs without a buffer that are kept for later use, for each context, device and kind. What comes back beyond
    /// that goes to the upstream resource at once; larger requests are not pooled at all. The cache of each thread may keep a
    /// sixteenth of this beside it, at most 16 MiB, and nothing of slabs larger than that.
    pub fn max_retained_bytes(mut self, bytes: usize) -> Self {
        self.max_retained_bytes = bytes;
        self
    }

    /// Bytes that the pool takes from its upstream resource at most, over all devices and kinds, as through a
    /// [`LimitingResource`](crate::resource::LimitingResource).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use usm_memory::resource::{DirectResource, PoolOptions, PoolResource};
    /// use usm_memory::usm_core::{Runtime, UsmKind};
    /// use usm_memory::{Error, UsmBuffer};
    ///
    /// # let runtime = Runtime::global();
    /// # let queue = runtime.default_queue(runtime.host_device())?;
    /// let pool = PoolResource::new(Arc::new(DirectResource), PoolOptions::new().limit_bytes(1000));
    /// let small = UsmBuffer::allocate_in(&pool, &queue, UsmKind::Shared, 600)?;
    /// let refused = UsmBuffer::allocate_in(&pool, &queue, UsmKind::Shared, 600);
    /// assert!(matches!(refused, Err(Error::OutOfMemory { .. })));
    /// # drop(small);
    /// # Ok::<(), usm_memory::Error>(())
    /// ```
    pub fn limit_bytes(mut self, bytes: usize) -> Self {
        self.limit_bytes = Some(bytes);
        self
    }
}

impl Default for PoolOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// What a [`PoolResource`](super::PoolResource) has at the moment, and did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStatistics {
    /// Bytes in live buffers, as asked for.
    pub used_bytes: usize,
    /// The most bytes in live buffers at a time: a high-water mark, which may differ by what the caches of threads hold when several
    /// threads use the pool.
    pub peak_bytes: usize,
    /// Bytes in all buffers ever allocated.
    pub total_bytes: u64,
    /// Live buffers.
    pub used_count: usize,
    /// The most live buffers at a time, a high-water mark like `peak_bytes`.
    pub peak_count: usize,
    /// All buffers ever allocated.
    pub total_count: u64,
    /// Allocations that failed, for whatever reason.
    pub failed_count: u64,
    /// Bytes of all slabs.
    pub slab_bytes: usize,
    /// Bytes of slabs without a buffer: what [`trim`](super::MemoryResource::trim) gives back.
    pub idle_bytes: usize,
    /// Allocations that were served without asking the upstream resource.
    pub reused_count: u64,
}
