//! A resource that lets the application free something when there is no memory left.

use std::fmt;
use std::sync::Arc;

use usm_core::{Queue, UsmKind};

use super::MemoryResource;
use crate::{Error, Result, UsmBuffer};

/// An allocation for which there was no memory.
#[derive(Debug)]
#[non_exhaustive]
pub struct AllocationFailure<'a> {
    /// The queue it was asked for with.
    pub queue: &'a Queue,
    /// Kind of the memory.
    pub kind: UsmKind,
    /// Bytes asked for.
    pub len_bytes: usize,
    /// Alignment asked for, in bytes.
    pub align_bytes: usize,
    /// The out-of-memory error.
    pub error: &'a Error,
}

/// What a failure callback wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// The error goes to who asked for memory.
    GiveUp,
    /// The allocation is tried once more; a second failure is final.
    RetryOnce,
}

type Callback = Box<dyn Fn(&AllocationFailure<'_>) -> OnFailure + Send + Sync>;

/// Calls back when `upstream` has no memory left. Other errors, which freeing does not help, pass through.
///
/// The callback runs on the thread that asked for memory, without any lock held: it may drop buffers, trim resources and allocate.
pub struct FailureCallbackResource {
    upstream: Arc<dyn MemoryResource>,
    callback: Callback,
}

impl FailureCallbackResource {
    /// Asks `callback` what to do when `upstream` has no memory left.
    #[must_use]
    pub fn new(
        upstream: Arc<dyn MemoryResource>,
        callback: impl Fn(&AllocationFailure<'_>) -> OnFailure + Send + Sync + 'static,
    ) -> Self {
        Self { upstream, callback: Box::new(callback) }
    }
}

impl MemoryResource for FailureCallbackResource {
    fn allocate(
        &self,
        queue: &Queue,
        kind: UsmKind,
        len_bytes: usize,
        align_bytes: usize,
    ) -> Result<UsmBuffer> {
        let error = match self.upstream.allocate(queue, kind, len_bytes, align_bytes) {
            Err(error) if error.is_out_of_memory() => error,
            other => return other,
        };
        let failure = AllocationFailure { queue, kind, len_bytes, align_bytes, error: &error };
        match (self.callback)(&failure) {
            OnFailure::GiveUp => Err(error),
            OnFailure::RetryOnce => self.upstream.allocate(queue, kind, len_bytes, align_bytes),
        }
    }

    fn trim(&self) -> usize {
        self.upstream.trim()
    }
}

impl fmt::Debug for FailureCallbackResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FailureCallbackResource").field("upstream", &self.upstream).finish_non_exhaustive()
    }
}
