//! Arrays to and from slices of host memory, whatever the kind of the array

use std::ops::Range;

use super::cast::Cast;
use super::execute::execute;
use super::place::{Place, addresses, is_small_in_order, overlap};
use super::plan::CopyPlan;
use super::view_slices::check_len;
use crate::array::{UsmArray, check_bounds};
use crate::dtype::{Dtype, Element};
use crate::error::{Error, Result};
use crate::layout::{Layout, Order};
use crate::view::{bytes_of, bytes_of_mut, zeroed_vec};

impl UsmArray {
    /// `array.to_vec::<f64>()?` is the elements in row-major order, copied to the host from any kind of memory.
    ///
    /// # Errors
    /// - [`Error::DtypeMismatch`]: the elements are no `T`
    /// - [`Error::OutOfHostMemory`]: no memory for the elements
    /// - [`Error::Memory`]: the memory is borrowed for writing, or the runtime failed
    pub fn to_vec<T>(&self) -> Result<Vec<T>>
    where
        // The compiler shows the next line to users who write no type.
        T: Element, // write the type of the elements, such as `array.to_vec::<f64>()?`
    {
        self.check_element::<T>()?;
        let mut elements = zeroed_vec::<T>(self.size())?;
        self.copy_to_host_contiguous(bytes_of_mut(&mut elements))?;
        Ok(elements)
    }

    /// Copies the elements in row-major order to a slice, whatever the kind of memory.
    ///
    /// ```
    /// # use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2, 2], &[1_u8, 2, 3, 4])?;
    /// let mut elements = [0_u8; 4];
    /// array.transpose().copy_to_slice(&mut elements)?;
    /// assert_eq!(elements, [1, 3, 2, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::LengthMismatch`]: not as many elements as [`UsmArray::size`]
    /// - the errors of [`UsmArray::to_vec`]
    pub fn copy_to_slice<T: Element>(&self, elements: &mut [T]) -> Result<()> {
        self.check_element::<T>()?;
        check_len(self.layout(), elements.len())?;
        self.copy_to_host_contiguous(bytes_of_mut(elements))
    }

    /// Changes the elements, in row-major order, to the elements of a slice, whatever the kind of memory.
    ///
    /// ```
    /// # use usm_array::{Dtype, UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::zeros(&queue, UsmKind::Device, &[2, 2], Dtype::U8)?;
    /// array.transpose().copy_from_slice(&[1_u8, 2, 3, 4])?;
    /// assert_eq!(array.to_vec::<u8>()?, [1, 3, 2, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::DtypeMismatch`]: the elements are no `T`
    /// - [`Error::LengthMismatch`]: not as many elements as [`UsmArray::size`]
    /// - [`Error::ReadOnly`]: the array is read-only
    /// - [`Error::OutOfHostMemory`]: no memory to put elements in their places in
    /// - [`Error::Memory`]: the memory is borrowed, or the runtime failed
    pub fn copy_from_slice<T: Element>(&self, elements: &[T]) -> Result<()> {
        self.check_element::<T>()?;
        check_len(self.layout(), elements.len())?;
        self.copy_from_host_contiguous(bytes_of(elements))
    }

    fn check_element<T: Element>(&self) -> Result<()> {
        match T::DTYPE == self.dtype() {
            true => Ok(()),
            false => Err(Error::DtypeMismatch { found: self.dtype(), expected: T::DTYPE }),
        }
    }

    /// The elements in row-major order, as bytes of the host without gaps.
    ///
    /// # Errors
    /// As [`UsmArray::to_vec`], for elements of any type.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = zeroed_vec::<u8>(self.size_bytes())?;
        self.copy_to_host_contiguous(&mut bytes)?;
        Ok(bytes)
    }

    /// Copies the elements in row-major order, without gaps, to bytes of the host. Device memory
    /// with gaps between its elements is sorted out by a kernel, or is copied with the gaps, piece by piece, and sorted out on the host.
    ///
    /// # Errors
    /// - [`Error::LengthMismatch`]: not as many bytes as [`UsmArray::size_bytes`]
    /// - [`Error::OutOfHostMemory`]: no memory to sort elements out in
    /// - [`Error::Memory`]: the memory is borrowed for writing, or the runtime failed
    pub fn copy_to_host_contiguous(&self, bytes: &mut [u8]) -> Result<()> {
        // SAFETY: promises 1 and 2: `bytes` is borrowed.
        unsafe { self.copy_to_host_memory_contiguous(bytes) }
    }

    /// As [`copy_to_host_contiguous`](Self::copy_to_host_contiguous), to host memory that is not borrowed as a slice: it may be a view of
    /// this very memory.
    ///
    /// # Safety
    /// 1. The bytes are writable until this returns.
    /// 2. Nobody else uses them meanwhile.
    ///
    /// # Errors
    /// As [`copy_to_host_contiguous`](Self::copy_to_host_contiguous).
    pub unsafe fn copy_to_host_memory_contiguous(&self, bytes: *mut [u8]) -> Result<()> {
        self.check_len_bytes(bytes.len())?;
        // SAFETY: promises 1 and 2.
        unsafe { self.read_to(self.dtype(), bytes) }
    }

    /// Copies the elements in row-major order, cast to a dtype, to bytes of the host: as many as the elements have in that dtype.
    pub(crate) fn read_as(&self, dtype: Dtype, bytes: &mut [u8]) -> Result<()> {
        // SAFETY: promises 1 and 2: `bytes` is borrowed.
        unsafe { self.read_to(dtype, bytes) }
    }

    /// # Safety
    /// Those of [`copy_to_host_memory_contiguous`](Self::copy_to_host_memory_contiguous).
    unsafe fn read_to(&self, dtype: Dtype, bytes: *mut [u8]) -> Result<()> {
        let start = bytes.cast::<u8>();
        if dtype == self.dtype() && is_small_in_order(self) {
            // SAFETY: promises 1 and 2.
            return Ok(unsafe { self.buffer().copy_to_host_memory(bytes, self.first_byte()) }?);
        }
        let contiguous = Layout::contiguous(self.shape(), Order::C)?;
        check_bounds(&contiguous, dtype, bytes.len())?;
        let Some(plan) = CopyPlan::new(&contiguous, &self.layout_from_lowest()?) else {
            return Ok(());
        };
        // `bytes` may be a view of this very memory that somebody else made.
        if overlap(&addresses(self), &addresses_of(bytes)) {
            if dtype == self.dtype() && self.is_c_contiguous() {
                // SAFETY: promises 1 and 2.
                return Ok(unsafe { self.buffer().copy_to_host_memory(bytes, self.byte_range().start) }?);
            }
            let mut copied = zeroed_vec::<u8>(bytes.len())?;
            self.read_as(dtype, &mut copied)?;
            // SAFETY: promises 1 and 2, and memory of our own of that length.
            unsafe { start.copy_from_nonoverlapping(copied.as_ptr(), copied.len()) };
            return Ok(());
        }
        let (cast, to) = (Cast::new(self.dtype(), dtype), Place::Host(start));
        // SAFETY: 1. By P1 the plan visits elements that were just checked to lie in the bytes, which are ours (promises 1 and 2). 2. Elements
        // of the array. 3. They do not overlap.
        unsafe { execute(plan, cast, to, Place::Array(self)) }
    }

    /// Copies bytes of the host, elements in row-major order without gaps, to the elements. What
    /// lies between the elements keeps its value. The bytes have been read when this returns; the elements of an array that only devices
    /// reach may be written later, as by [`assign`](Self::assign).
    ///
    /// ```
    /// use usm_array::usm_core::{Runtime, UsmKind};
    /// use usm_array::{Dtype, UsmArray};
    ///
    /// let runtime = Runtime::global();
    /// let queue = runtime.default_queue(runtime.host_device())?;
    /// let array = UsmArray::zeros(&queue, UsmKind::Device, &[2, 2], Dtype::U8)?;
    /// array.transpose().copy_from_host_contiguous(&[1, 2, 3, 4])?;
    /// assert_eq!(array.to_bytes()?, [1, 3, 2, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::LengthMismatch`]: not as many bytes as [`UsmArray::size_bytes`]
    /// - [`Error::ReadOnly`]: the array is read-only
    /// - [`Error::OutOfHostMemory`]: no memory to put elements in their places in
    /// - [`Error::Memory`]: the memory is borrowed, or the runtime failed
    pub fn copy_from_host_contiguous(&self, bytes: &[u8]) -> Result<()> {
        // SAFETY: promises 1 and 2: `bytes` is borrowed.
        unsafe { self.copy_from_host_memory_contiguous(bytes) }
    }

    /// As [`copy_from_host_contiguous`](Self::copy_from_host_contiguous), from host memory that is not borrowed as a slice: it may be a view
    /// of this very memory.
    ///
    /// # Safety
    /// 1. The bytes are readable until this returns.
    /// 2. Nobody else writes them meanwhile.
    ///
    /// # Errors
    /// As [`copy_from_host_contiguous`](Self::copy_from_host_contiguous).
    pub unsafe fn copy_from_host_memory_contiguous(&self, bytes: *const [u8]) -> Result<()> {
        self.check_len_bytes(bytes.len())?;
        // `bytes` may be a view of this very memory that somebody else made, which queues do not expect.
        let is_apart = || self.is_host_reachable() || !overlap(&addresses(self), &addresses_of(bytes));
        if is_small_in_order(self) && self.is_writable() && is_apart() {
            // SAFETY: promises 1 and 2.
            return Ok(unsafe { self.buffer().submit_copy_from_host_memory(bytes, self.first_byte()) }?);
        }
        let layout = Layout::contiguous(self.shape(), Order::C)?;
        // SAFETY: promises 1 and 2.
        unsafe { self.copy_from_host_memory(bytes.cast(), bytes.len(), self.dtype(), &layout) }
    }

    /// Copies elements out of bytes of the host, where a layout of the same shape says they are, and casts them as
    /// [`astype`](Self::astype) does. The bytes may be at any alignment.
    ///
    /// ```
    /// use usm_array::usm_core::{Runtime, UsmKind};
    /// use usm_array::{Dtype, Layout, Order, UsmArray};
    ///
    /// let runtime = Runtime::global();
    /// let queue = runtime.default_queue(runtime.host_device())?;
    /// let array = UsmArray::zeros(&queue, UsmKind::Device, &[3], Dtype::F32)?;
    /// let backwards = Layout::new(&[3], Some(&[-1]), 2, Order::C)?;
    /// array.copy_from_host_strided(&[1, 2, 3], Dtype::U8, &backwards)?;
    /// assert_eq!(array.to_vec::<f32>()?, [3.0, 2.0, 1.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::OutOfBuffer`]: an element of the layout would lie outside the bytes
    /// - [`Error::Layout`]: the layout does not broadcast to the shape of the array
    /// - those of [`copy_from_host_contiguous`](Self::copy_from_host_contiguous) but the first
    pub fn copy_from_host_strided(&self, bytes: &[u8], dtype: Dtype, source_layout: &Layout) -> Result<()> {
        // SAFETY: promises 1 and 2: the slice is readable, and nobody writes it as long as it is borrowed.
        unsafe { self.copy_from_host_memory(bytes.as_ptr(), bytes.len(), dtype, source_layout) }
    }

    /// As [`copy_from_host_strided`](Self::copy_from_host_strided), for `len_bytes` bytes of host memory from `start` on that are not
    /// borrowed as a slice: what lies between the elements may belong to others, who may write it meanwhile.
    ///
    /// # Safety
    /// 1. The bytes are readable until this returns.
    /// 2. Nobody writes the elements meanwhile.
    ///
    /// # Errors
    /// As [`copy_from_host_strided`](Self::copy_from_host_strided).
    pub unsafe fn copy_from_host_memory(
        &self,
        start: *const u8,
        len_bytes: usize,
        dtype: Dtype,
        source_layout: &Layout,
    ) -> Result<()> {
        if !self.is_writable() {
            return Err(Error::ReadOnly);
        }
        check_bounds(source_layout, dtype, len_bytes)?;
        let source_layout = &source_layout.broadcast_to(self.shape())?;
        let Some(plan) = CopyPlan::new(&self.layout_from_lowest()?, source_layout) else {
            return Ok(());
        };
        // The bytes may be a view of this very memory that somebody else made.
        let copied;
        let start = if overlap(&addresses(self), &(start.addr()..start.addr() + len_bytes)) {
            let mut bytes = zeroed_vec::<u8>(len_bytes)?;
            // SAFETY: the caller's promise 1, and fresh memory of that length.
            unsafe { start.copy_to_nonoverlapping(bytes.as_mut_ptr(), len_bytes) };
            copied = bytes;
            copied.as_ptr()
        } else {
            start
        };
        let (cast, from) = (Cast::new(dtype, self.dtype()), Place::Host(start.cast_mut()));
        // SAFETY: 1. By P1 the plan visits elements of the array. 2. Elements that were just checked to lie in the bytes, which are
        // readable, and written by nobody, by the caller's promises. 3. They do not overlap.
        unsafe { execute(plan, cast, Place::Array(self), from) }
    }

    /// The layout counted from the lowest element, as in a copy of [`UsmArray::byte_range`].
    pub(crate) fn layout_from_lowest(&self) -> Result<Layout> {
        let lowest = self.layout().extent_with_offset().map_or(0, |extent| extent.min);
        // The result is at most the reach of the elements. Without elements it does not matter.
        Ok(self.layout().with_offset(self.offset().saturating_sub(lowest))?)
    }

    fn check_len_bytes(&self, found: usize) -> Result<()> {
        let expected = self.size_bytes();
        if found == expected {
            return Ok(());
        }
        let shape = self.shape().to_vec();
        Err(Error::LengthMismatch { found, expected, unit: "bytes", shape })
    }
}

fn addresses_of(bytes: *const [u8]) -> Range<usize> {
    bytes.addr()..bytes.addr() + bytes.len()
}
