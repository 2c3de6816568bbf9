//! New arrays as the container specification constructs them

use usm_memory::UsmBuffer;
use usm_memory::usm_core::{Queue, UsmKind};

use super::UsmArray;
use super::construct::check_bounds;
use crate::dtype::Dtype;
use crate::error::{CreateError, Error, Result};
use crate::layout::{Layout, Order};

/// Where a new array takes its memory from.
#[derive(Clone, Debug)]
pub enum BufferSource<'a> {
    /// New memory, exactly as large as the layout needs.
    Allocate {
        /// Kind of the memory
        kind: UsmKind,
        /// Queue of the array, in whose context the memory is allocated
        queue: &'a Queue,
    },
    /// Memory that exists.
    Existing(UsmBuffer),
    /// The memory of another array; offsets count from the address that one publishes. A view that begins elsewhere needs an
    /// explicit offset: without one, nobody knows which start is meant.
    SharedWith(&'a UsmArray),
}

/// The arguments of the array constructor, made by [`UsmArray::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct UsmArrayBuilder<'a> {
    shape: &'a [usize],
    dtype: Dtype,
    strides: Option<&'a [isize]>,
    offset: Option<isize>,
    order: Order,
    align_bytes: Option<usize>,
}

impl UsmArray {
    /// Starts the construction of an array: without further arguments C-contiguous.
    ///
    /// ```
    /// use usm_array::{BufferSource, Dtype, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let source = BufferSource::Allocate { kind: UsmKind::Host, queue: &queue };
    /// let array = UsmArray::builder(&[2, 2], Dtype::U8)
    ///     .strides(&[2, -1])
    ///     .build(source)?;
    /// assert_eq!(array.offset(), 1);
    /// assert_eq!(array.buffer().len_bytes(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn builder(shape: &[usize], dtype: Dtype) -> UsmArrayBuilder<'_> {
        UsmArrayBuilder { shape, dtype, strides: None, offset: None, order: Order::C, align_bytes: None }
    }
}

impl<'a> UsmArrayBuilder<'a> {
    /// Elements from one index to the next along each axis. By default there are no gaps.
    pub const fn strides(mut self, strides: &'a [isize]) -> Self {
        self.strides = Some(strides);
        self
    }

    /// Elements from the start of the memory to index zero. The number is taken as it is, and new
    /// memory is as large as it takes. The default is 0 in existing memory; in new memory it makes
    /// the lowest element the first one.
    pub const fn offset(mut self, offset: isize) -> Self {
        self.offset = Some(offset);
        self
    }

    /// Order of the axes when no strides are given.
    pub const fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// What the address of new memory has to be a multiple of, in bytes. The default is up to the
    /// backend. Existing memory stays where it is.
    pub const fn align_bytes(mut self, align_bytes: usize) -> Self {
        self.align_bytes = Some(align_bytes);
        self
    }

    /// A hint at strides that seem to count bytes: as many times the item size as elements without gaps have.
    ///
    /// New memory for them is as large as they need, so that no bound refuses them. `None` for other strides.
    ///
    /// ```
    /// use usm_array::{Dtype, UsmArray};
    ///
    /// let hint = UsmArray::builder(&[4], Dtype::F64).strides(&[8]).hint_at_byte_strides();
    /// assert!(hint.is_some_and(|hint| hint.contains("200 bytes in place of 32")));
    /// assert_eq!(UsmArray::builder(&[4], Dtype::F64).strides(&[2]).hint_at_byte_strides(), None);
    /// ```
    #[must_use]
    pub fn hint_at_byte_strides(&self) -> Option<String> {
        let (strides, itemsize) = (self.strides?, self.dtype.itemsize_bytes());
        let long = || self.shape.iter().zip(strides).filter(|&(&n, _)| n > 1);
        let divided = long().map(|(&n, &stride)| {
            let is_whole = stride.unsigned_abs() % itemsize == 0;
            is_whole.then_some((stride.unsigned_abs() / itemsize, n))
        });
        let mut axes = divided.collect::<Option<Vec<_>>>()?;
        axes.sort_unstable();
        // Without gaps each stride is the number of elements of the axes before.
        let mut elements = Some(1_usize);
        for (stride, n) in &axes {
            elements =
                elements.filter(|elements| elements == stride).and_then(|elements| elements.checked_mul(*n));
        }
        let dense_bytes = elements?.checked_mul(itemsize)?;
        let is_suspect =
            itemsize > 1 && !axes.is_empty() && self.shape.len() == strides.len() && !self.shape.contains(&0);
        let (len_bytes, _) = is_suspect.then(|| self.extent().ok())??;
        Some(format!(
            "strides {strides:?} of shape {:?} take {len_bytes} bytes in place of {dense_bytes}; strides count elements, not \
             bytes: divide them by the item size of {itemsize}",
            self.shape
        ))
    }

    /// Makes the array.
    ///
    /// An array without elements gets memory for one, so that it has an address.
    ///
    /// # Errors
    /// - [`Error::Layout`]: shape, strides and offset do not go together
    /// - [`Error::TooManyBytes`]: more than `isize::MAX` bytes
    /// - [`Error::OutOfBuffer`]: an element would lie outside the memory
    /// - [`Error::BufferMisaligned`]: the memory is not aligned for the dtype
    /// - [`CreateError::ViewOffset`]: the memory of a view that does not begin at the published address, and no offset
    /// - [`Error::Memory`]: the allocation failed
    pub fn build(self, source: BufferSource<'_>) -> Result<UsmArray> {
        self.over_memory(source, |buffer, origin, offset| {
            let mut array = UsmArray { buffer, dtype: self.dtype, layout: Layout::no_axes(), origin };
            self.place(&mut array, offset)?;
            Ok(array)
        })
    }

    /// As [`build`](Self::build), in a box, where the array is made and stays: for objects that hold arrays, which are moved often.
    ///
    /// # Errors
    /// The errors of [`build`](Self::build).
    #[inline]
    pub fn build_boxed(self, source: BufferSource<'_>) -> Result<Box<UsmArray>> {
        self.over_memory(source, |buffer, origin, offset| self.place_boxed(buffer, origin, offset))
    }

    /// As [`build_boxed`](Self::build_boxed), in new memory that a pool has at hand ([`UsmBuffer::allocate_at_once`]): nothing waits. `None` where
    /// there is none, and for wrong arguments, which [`build_boxed`](Self::build_boxed) refuses by name.
    #[must_use]
    pub fn build_at_once(&self, kind: UsmKind, queue: &Queue) -> Option<Box<UsmArray>> {
        if self.align_bytes.is_some() {
            return None;
        }
        let (len_bytes, offset) = self.extent().ok()?;
        let buffer = UsmBuffer::allocate_at_once(queue, kind, len_bytes)?;
        self.place_boxed(buffer, 0, offset).ok()
    }

    fn place_boxed(&self, buffer: UsmBuffer, origin: isize, offset: isize) -> Result<Box<UsmArray>> {
        let layout = Layout::no_axes();
        let mut array = Box::write(Box::new_uninit(), UsmArray { buffer, dtype: self.dtype, layout, origin });
        self.place(&mut array, offset)?;
        Ok(array)
    }

    /// Gives an array over the memory its layout, and A1 to A4 with it.
    #[inline]
    fn place(&self, array: &mut UsmArray, offset: isize) -> Result<()> {
        match self.strides {
            Some(strides) => array.layout.set_strided(self.shape, strides, offset)?,
            None => {
                let reach = array.layout.set_dense(self.shape, offset, self.order)?;
                if array.is_surely_valid(reach) {
                    return Ok(());
                }
            }
        }
        array.check()
    }

    /// Makes something of the memory, the origin of the array and its offset, both in elements from the start of the memory.
    // Inlined instead of returned: moving a value that was just written in parts is slow.
    #[inline]
    fn over_memory<T>(
        &self,
        source: BufferSource<'_>,
        make: impl FnOnce(UsmBuffer, isize, isize) -> Result<T>,
    ) -> Result<T> {
        match source {
            BufferSource::Allocate { kind, queue } => {
                let (buffer, offset) = self.allocate(kind, queue)?;
                make(buffer, 0, offset)
            }
            BufferSource::Existing(buffer) => make(buffer, 0, self.offset.unwrap_or(0)),
            BufferSource::SharedWith(array) => {
                let offset = match (self.offset, array.published_offset()) {
                    // A sum out of range is as far outside the buffer as a sum in range can be.
                    (Some(offset), _) => offset.saturating_add(array.origin),
                    (None, 0) => array.origin,
                    (None, offset) => {
                        return Err(CreateError::ViewOffset { offset, dtype: array.dtype }.into());
                    }
                };
                make(array.buffer.clone(), array.origin, offset)
            }
        }
    }

    /// New memory, and the offset in it.
    fn allocate(&self, kind: UsmKind, queue: &Queue) -> Result<(UsmBuffer, isize)> {
        let (len_bytes, offset) = self.extent()?;
        let buffer = match self.align_bytes {
            None => UsmBuffer::allocate(queue, kind, len_bytes)?,
            Some(align_bytes) => UsmBuffer::allocate_aligned(queue, kind, len_bytes, align_bytes)?,
        };
        Ok((buffer, offset))
    }

    /// How many bytes new memory needs, and the offset in it.
    fn extent(&self) -> Result<(usize, isize)> {
        let layout = match self.offset {
            None if self.strides.is_none() => {
                return Ok((self.bytes_of(Layout::contiguous_len(self.shape)?)?, 0));
            }
            None => Layout::with_automatic_offset(self.shape, self.strides, self.order)?,
            Some(offset) => Layout::new(self.shape, self.strides, offset, self.order)?,
        };
        let len_bytes = self.bytes_of(layout.required_len())?;
        // Before anything is allocated: a given offset may leave elements below the start.
        check_bounds(&layout, self.dtype, len_bytes)?;
        Ok((len_bytes, layout.offset()))
    }

    fn bytes_of(&self, len: usize) -> Result<usize> {
        len.checked_mul(self.dtype.itemsize_bytes())
            .filter(|&bytes| isize::try_from(bytes).is_ok())
            .ok_or_else(|| Error::TooManyBytes { shape: self.shape.to_vec(), len, dtype: self.dtype })
    }
}
