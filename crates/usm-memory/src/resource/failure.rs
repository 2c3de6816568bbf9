//! A resource that lets the application free something when there is no memory left.

use std::fmt;
use std::sync::Arc;

use super::out_of_memory::after_refusal;
use super::{AllocationRequest, MemoryResource};
use crate::{Error, Result, UsmBuffer};

/// An allocation for which there was no memory.
#[derive(Debug)]
#[non_exhaustive]
pub struct AllocationFailure<'a> {
    /// What was asked for.
    pub request: AllocationRequest<'a>,
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

type FailureCallback = Box<dyn Fn(&AllocationFailure<'_>) -> OnFailure + Send + Sync>;

/// Calls back when `upstream` has no memory left. Other errors, which freeing does not help, pass through.
///
/// The callback runs on the thread that asked for memory, without any lock held: it may drop buffers, trim resources and allocate.
pub struct FailureCallbackResource {
    upstream: Arc<dyn MemoryResource>,
    callback: FailureCallback,
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
    fn allocate(&self, request: AllocationRequest<'_>) -> Result<UsmBuffer> {
        let allocate = || self.upstream.allocate(request);
        let step = |error: &Error| match (self.callback)(&AllocationFailure { request, error }) {
            OnFailure::GiveUp => None,
            OnFailure::RetryOnce => Some(allocate()),
        };
        after_refusal(allocate(), &[&step])
    }

    fn upstream(&self) -> Option<&dyn MemoryResource> {
        Some(&*self.upstream)
    }
}

impl fmt::Debug for FailureCallbackResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FailureCallbackResource").field("upstream", &self.upstream).finish_non_exhaustive()
    }
}
