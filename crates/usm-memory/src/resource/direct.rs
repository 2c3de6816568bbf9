//! The resource below all others: the runtime itself.

use super::out_of_memory::after_refusal;
use super::process_pool::{self, RuntimeResource};
use super::{AllocationRequest, MemoryResource};
use crate::{Result, UsmBuffer};

/// Every buffer is an allocation of the runtime, and is freed with its last clone. When the runtime has no memory left, the [pool of the
/// process](super::process_pool) gives up its idle memory, and the runtime is asked once more.
#[derive(Clone, Copy, Debug, Default)]
pub struct DirectResource;

impl MemoryResource for DirectResource {
    fn allocate(&self, request: AllocationRequest<'_>) -> Result<UsmBuffer> {
        let allocate = || RuntimeResource.allocate(request);
        after_refusal(allocate(), &[&|_| (process_pool::trim() > 0).then(allocate)])
    }
}
