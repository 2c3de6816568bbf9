//! From and to the numbers of `__sycl_usm_array_interface__`

use usm_memory::UsmBuffer;
use usm_memory::usm_core::BackendId;

use super::UsmArray;
use super::construct::address_of;
use crate::error::{Error, Result};
use crate::interface::{
    CUDA_INTERFACE_VERSION, CudaArrayInterface, InterfaceRef, UsmArrayInterface, ValidInterface,
};

const SYCL_INTERFACE: &str = "__sycl_usm_array_interface__";

impl UsmArray {
    /// An array over imported memory.
    ///
    /// The buffer has to cover [`ValidInterface::span`]; for an array without elements any buffer
    /// at the published address will do. The array is writable if both the interface and the
    /// buffer are. [`UsmArray::interface`] publishes the same address again.
    ///
    /// # Errors
    /// - [`Error::NotTheDescribedMemory`]: the buffer does not cover the span, or is not a whole
    ///   number of elements away from the published address
    /// - the errors of [`UsmArray::from_parts`]
    pub fn from_interface(valid: &ValidInterface, buffer: UsmBuffer) -> Result<Self> {
        let refused = || Error::NotTheDescribedMemory {
            span: valid.span(),
            address: valid.address(),
            dtype: valid.dtype(),
            buffer_address: buffer.address(),
            buffer_len_bytes: buffer.len_bytes(),
        };
        if !valid.lies_within(buffer.address(), buffer.len_bytes()) {
            return Err(refused());
        }
        let origin = elements_between(buffer.address(), valid.address(), valid.dtype().itemsize_bytes())
            .ok_or_else(refused)?;
        let layout = match origin {
            0 => valid.layout().clone(),
            _ => {
                let offset = valid.layout().offset().checked_add(origin);
                valid.layout().with_offset(offset.ok_or_else(refused)?)?
            }
        };
        let buffer = if valid.is_read_only() { buffer.read_only() } else { buffer };
        Self::from_parts(buffer, valid.dtype(), layout, origin)
    }

    /// Elements from the published address to the element with index zero.
    #[must_use]
    pub fn published_offset(&self) -> isize {
        self.offset() - self.origin // in range by A4
    }

    /// The address that the interface names: the start of the memory, or of what it was imported from. Element `[0, ..., 0]` is
    /// [`published_offset`](Self::published_offset) elements further.
    #[must_use]
    pub fn published_address(&self) -> usize {
        address_of(self.buffer.address(), self.origin, self.dtype).unwrap_or(self.buffer.address())
    }

    /// The entries of the interface: of an imported array those it was imported from, except that
    /// strides are `None` exactly when the array is C-contiguous.
    ///
    /// ```
    /// use usm_array::{Dtype, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::zeros(&queue, UsmKind::Shared, &[2, 3], Dtype::F32)?;
    /// let published = array.flip(None)?.interface()?;
    /// assert_eq!(published.address, array.address() as u64, "the offset leads to the last element");
    /// assert_eq!(published.offset, 5);
    /// assert_eq!((published.typestr.as_str(), published.strides), ("|f4", Some(vec![-3, -1])));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Operations under way on the memory are waited for. Consumers of CUDA memory get no queue, so all work of the queue is waited for.
    /// Consumers may submit work to the queue, so from now on access to the memory waits for the queue first ([`UsmBuffer::publish`]).
    ///
    /// # Errors
    /// - [`Error::NotDescribed`]: elements of a narrow dtype
    /// - [`Error::Memory`]: the memory came from a pool with work pending on it, which failed
    pub fn interface(&self) -> Result<UsmArrayInterface> {
        self.interface_ref().map(UsmArrayInterface::from)
    }

    /// As [`interface`](Self::interface), without copies.
    ///
    /// # Errors
    /// Those of [`interface`](Self::interface)
    pub fn interface_ref(&self) -> Result<InterfaceRef<'_>> {
        let found = self.described()?;
        self.buffer.publish()?;
        if self.is_of_cuda() {
            self.queue().wait().map_err(usm_memory::Error::from)?;
        }
        Ok(found)
    }

    /// As [`interface_ref`](Self::interface_ref), where nothing has to be waited for. `None` where it has.
    ///
    /// # Errors
    /// Those of [`interface`](Self::interface)
    pub fn interface_at_once(&self) -> Result<Option<InterfaceRef<'_>>> {
        let found = self.described()?;
        let is_quiet = self.buffer.publish_at_once() && (!self.is_of_cuda() || self.queue().is_surely_idle());
        Ok(is_quiet.then_some(found))
    }

    fn described(&self) -> Result<InterfaceRef<'_>> {
        Ok(InterfaceRef {
            shape: self.shape(),
            dtype: self.dtype,
            typestr: self.typestr_for(SYCL_INTERFACE)?,
            address: self.published_address(),
            read_only: !self.is_writable(),
            strides: (!self.is_c_contiguous()).then(|| self.strides()),
            offset: self.published_offset(),
        })
    }

    /// The entries of `__cuda_array_interface__`, or `None` for memory of other devices than CUDA's.
    ///
    /// The stream is that of the array's queue, which is ordered after the operations under way on the memory; nothing is waited for.
    /// Memory of a SYCL runtime names none: work on it is waited for. Consumers may
    /// use the memory, so from now on access to it waits for the queue first ([`UsmBuffer::publish`]).
    ///
    /// # Errors
    /// - [`Error::Memory`]: the memory is borrowed for writing, or work on it failed
    pub fn cuda_interface(&self) -> Result<Option<CudaArrayInterface>> {
        // SYCL devices of CUDA use the same context of the GPU as CUDA's libraries.
        if self.device().info().backend_name != "cuda" {
            return Ok(None);
        }
        let typestr = self.typestr_for("__cuda_array_interface__")?;
        let stream = self.queue().native_stream();
        match stream {
            Some(_) => {
                // Published first: who writes from then on comes after the consumer's work.
                self.buffer.publish_in_order()?;
                self.buffer.check_unwritten(self.byte_range())?;
            }
            None => {
                self.buffer.publish()?;
                self.wait_for_host(false)?;
            }
        }
        let itemsize_bytes = self.dtype.itemsize_bytes();
        let typestr = match itemsize_bytes {
            1 => typestr.to_owned(),
            _ => typestr.replace('|', "<"),
        };
        // By A1 the strides in bytes fit, as no machine counts further than 64 bits. Nobody uses those of axes of one index, which wrap.
        let in_bytes = |&stride: &isize| (stride as i64).wrapping_mul(itemsize_bytes as i64);
        let strides = (!self.is_c_contiguous()).then(|| self.strides().iter().map(in_bytes).collect());
        Ok(Some(CudaArrayInterface {
            shape: self.shape().iter().map(|&size| size as i64).collect(),
            typestr,
            address: if self.is_empty() { 0 } else { self.address() as u64 },
            read_only: !self.is_writable(),
            strides_bytes: strides,
            version: CUDA_INTERFACE_VERSION,
            stream: stream.map(|stream| stream as u64),
        }))
    }
}

impl UsmArray {
    /// Whether the memory is of the CUDA driver, whose interface names no queue.
    fn is_of_cuda(&self) -> bool {
        self.queue().backend_id() == BackendId::Cuda
    }

    /// The typestr of the elements, for an interface with this name.
    fn typestr_for(&self, interface: &'static str) -> Result<&'static str> {
        self.dtype.typestr().ok_or(Error::NotDescribed { interface, found: self.dtype })
    }
}

/// Elements from one address to another, if it is a whole number of them.
fn elements_between(from: usize, to: usize, itemsize_bytes: usize) -> Option<isize> {
    let distance_bytes = to.abs_diff(from);
    if !distance_bytes.is_multiple_of(itemsize_bytes) {
        return None;
    }
    let elements = isize::try_from(distance_bytes / itemsize_bytes).ok()?;
    Some(if to < from { -elements } else { elements })
}
