//! Whether arrays share memory

use crate::array::UsmArray;
use crate::layout::{Overlap, StridedBytes};

impl UsmArray {
    /// Whether the two have a byte of memory in common, exactly, as [`Overlap::between`] with a limit of work.
    ///
    /// ```
    /// use usm_array::{Dtype, Overlap, SliceItem, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::zeros(&queue, UsmKind::Device, &[10], Dtype::F32)?;
    /// let every_other = |start| array.slice(&[SliceItem::Slice { start: Some(start), stop: None, step: 2 }]);
    /// let (even, odd) = (every_other(0)?, every_other(1)?);
    /// assert_eq!(even.shares_memory(&odd, Overlap::DEFAULT_WORK_LIMIT), Overlap::No);
    /// assert_eq!(even.shares_memory(&array, Overlap::DEFAULT_WORK_LIMIT), Overlap::Yes);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Addresses tell, and not buffers: the same external memory may be borrowed twice. Device memory of two devices may have
    /// the same addresses, then the answer is [`Overlap::Yes`] though the bytes are not the same.
    #[must_use]
    pub fn shares_memory(&self, other: &Self, work_limit: usize) -> Overlap {
        Overlap::between(self.strided_bytes(), other.strided_bytes(), work_limit)
    }

    /// Whether some element is at more than one index, exactly, as [`Layout::internal_overlap`](crate::Layout::internal_overlap)
    /// with a limit of work.
    #[must_use]
    pub fn internal_overlap(&self, work_limit: usize) -> Overlap {
        self.layout.internal_overlap(work_limit)
    }

    /// Where the elements are in memory.
    #[must_use]
    pub fn strided_bytes(&self) -> StridedBytes<'_> {
        StridedBytes {
            layout: &self.layout,
            itemsize_bytes: self.itemsize_bytes(),
            address: self.buffer.address(),
        }
    }
}
