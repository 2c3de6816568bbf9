//! The properties of an array: shape, element type, memory and addresses

use std::ops::Range;

use usm_memory::UsmBuffer;
use usm_memory::usm_core::{Context, Device, Event, Queue, UsmKind};

use super::UsmArray;
use crate::dtype::Dtype;
use crate::error::Result;
use crate::layout::Layout;

impl UsmArray {
    /// Number of indices along each axis.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// Elements from one index to the next along each axis.
    #[must_use]
    pub fn strides(&self) -> &[isize] {
        self.layout.strides()
    }

    /// Elements from the start of the buffer to index zero.
    #[must_use]
    pub const fn offset(&self) -> isize {
        self.layout.offset()
    }

    /// Shape, strides and offset, relative to the start of the buffer.
    #[must_use]
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Number of axes.
    #[must_use]
    pub fn ndim(&self) -> usize {
        self.layout.ndim()
    }

    /// Number of elements.
    #[must_use]
    pub fn size(&self) -> usize {
        self.layout.size()
    }

    /// True without elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.layout.is_empty()
    }

    /// Element type.
    #[must_use]
    pub const fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Bytes of one element.
    #[must_use]
    pub const fn itemsize_bytes(&self) -> usize {
        self.dtype.itemsize_bytes()
    }

    /// Bytes of all elements side by side, without gaps.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.size() * self.itemsize_bytes() // fits by A3
    }

    /// True when the elements follow each other in row-major order.
    #[must_use]
    pub fn is_c_contiguous(&self) -> bool {
        self.layout.is_c_contiguous()
    }

    /// True when the elements follow each other in column-major order.
    #[must_use]
    pub fn is_f_contiguous(&self) -> bool {
        self.layout.is_f_contiguous()
    }

    /// True when the elements follow each other in row-major or in column-major order: NumPy's `forc`.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        self.layout.is_contiguous()
    }

    /// True when the elements follow each other in column-major, but not in row-major order: NumPy's `fnc`.
    #[must_use]
    pub fn is_f_contiguous_only(&self) -> bool {
        self.layout.is_f_contiguous_only()
    }

    /// True when the elements may be changed through this array.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.buffer.is_writable()
    }

    /// The memory of the array, with the bytes between and beside its elements.
    #[must_use]
    pub const fn buffer(&self) -> &UsmBuffer {
        &self.buffer
    }

    /// Kind of the memory.
    #[must_use]
    pub fn kind(&self) -> UsmKind {
        self.buffer.kind()
    }

    /// True when host code can touch the elements: host and shared memory.
    #[must_use]
    pub fn is_host_accessible(&self) -> bool {
        self.buffer.is_host_accessible()
    }

    /// Whether host code of this library may follow pointers to the elements, under guards.
    #[must_use]
    pub fn is_host_reachable(&self) -> bool {
        self.buffer.is_host_reachable()
    }

    /// The queue that copies to and from this array are submitted to.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        self.buffer.queue()
    }

    /// The operations under way on the memory, such as an [`assign`](Self::assign) between arrays that only devices reach. A program that
    /// submits work of its own on the memory lets it depend on these. None for memory that host code reaches.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.buffer.events()
    }

    /// Waits for the operations under way on the memory. Reads, exports and drops do that by themselves.
    ///
    /// ```
    /// use usm_array::usm_core::{Runtime, UsmKind};
    /// use usm_array::{Dtype, UsmArray};
    ///
    /// let runtime = Runtime::global();
    /// let queue = runtime.default_queue(runtime.host_device())?;
    /// let array = UsmArray::zeros(&queue, UsmKind::Device, &[1000], Dtype::F32)?;
    /// array.wait()?;
    /// assert!(array.events().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Memory`](crate::Error::Memory): an operation failed; its error comes out once
    pub fn wait(&self) -> Result<()> {
        Ok(self.buffer.wait()?)
    }

    /// Waits until host code that holds no guard may read the elements, and write them too if `writes` is set: for pending work that
    /// writes them, and before a write also for work that reads the memory. Later work is not kept away.
    ///
    /// ```
    /// use usm_array::{Dtype, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let runtime = Runtime::global();
    /// let queue = runtime.default_queue(runtime.host_device())?;
    /// let array = UsmArray::zeros(&queue, UsmKind::Shared, &[1000], Dtype::F32)?;
    /// array.wait_for_host(false)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Memory`](crate::Error::Memory): the memory is borrowed for writing, or an operation failed
    pub fn wait_for_host(&self, writes: bool) -> Result<()> {
        drop(self.buffer.read_access(self.byte_range())?);
        if writes { self.wait() } else { Ok(()) }
    }

    /// The context the memory is bound to.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.buffer.context()
    }

    /// The device of the queue.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.buffer.device()
    }

    /// Address of the element with index zero, or where it would be.
    #[must_use]
    pub fn address(&self) -> usize {
        // Addresses do not wrap here, by A4.
        let bytes = self.layout.offset() * self.itemsize_bytes().cast_signed();
        self.buffer.address().wrapping_add_signed(bytes)
    }

    /// The byte of the buffer at which the element with index zero starts, if there is such an element.
    pub(crate) fn first_byte(&self) -> usize {
        self.layout.offset().cast_unsigned() * self.itemsize_bytes() // inside the buffer, by A1
    }

    /// The memory from the lowest to the highest element, gaps included, and the elements from its begin to the element with index zero.
    ///
    /// ```
    /// use usm_array::{SliceItem, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[4], &[1_i32, 2, 3, 4])?;
    /// let (memory, offset) = array.slice((SliceItem::every(-1),))?.span()?;
    /// assert_eq!((memory.len_bytes(), offset), (16, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// None so far: the elements are within the buffer.
    pub fn span(&self) -> Result<(UsmBuffer, usize)> {
        let range = self.byte_range();
        let before_bytes = self.address().saturating_sub(self.buffer.address() + range.start);
        let memory = self.buffer.sub_buffer(range.start, range.len())?;
        Ok((memory, before_bytes / self.itemsize_bytes()))
    }

    /// The bytes of the buffer from the lowest to the highest element, gaps included; empty
    /// without elements.
    #[must_use]
    pub fn byte_range(&self) -> Range<usize> {
        match self.layout.extent_with_offset() {
            None => 0..0,
            Some(extent) => {
                // Both are inside the buffer, by A1.
                let start = extent.min.cast_unsigned() * self.itemsize_bytes();
                start..start + extent.len() * self.itemsize_bytes()
            }
        }
    }
}
