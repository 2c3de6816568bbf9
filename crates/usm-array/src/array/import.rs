//! External memory as an array: a look-up in the runtime, then the proof of the bounds

use std::any::Any;
use std::sync::Arc;

use usm_memory::usm_core::Queue;
use usm_memory::{UsmBuffer, pointer_info};

use super::UsmArray;
use crate::error::{Error, Result};
use crate::interface::ValidInterface;

impl UsmArray {
    /// An array over external memory that `owner` keeps alive, as its interface describes it.
    ///
    /// The runtime must know both ends of the elements as USM of one kind in the context of `queue`. A producer that publishes
    /// the start of its allocation and an offset gets a buffer from there, so that the offset keeps its meaning.
    ///
    /// # Safety
    /// 1. The memory stays allocated as long as `owner` lives.
    /// 2. All bytes between the two ends belong to the allocation, and so do those from the published address to the first element.
    /// 3. No other code writes it while a guard of this array reads it, or touches it while a guard writes it.
    ///
    /// # Errors
    /// - [`Error::NotImportable`]: the memory is not what the interface says
    /// - the errors of [`UsmArray::from_interface`]
    pub unsafe fn import(
        valid: &ValidInterface,
        queue: &Queue,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Result<Self> {
        let span = valid.span();
        let published = valid.address();
        let info = |address| pointer_info(queue.context(), address);
        let from_published = published < span.start_address
            && info(published).is_some_and(|found| info(span.start_address) == Some(found));
        let start = if from_published { published } else { span.start_address };
        // In range: the interface is valid, so the end of the span is an address.
        let len_bytes = span.start_address - start + span.len_bytes;
        // SAFETY: the caller's promises 1 and 3 are the same, and promise 2 covers the bytes from the published address on.
        let buffer = unsafe { UsmBuffer::borrow(queue, start, len_bytes, !valid.is_read_only(), owner) };
        Self::from_interface(valid, buffer.map_err(Error::NotImportable)?)
    }
}
