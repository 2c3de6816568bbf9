//! Memory of the crate `cudarc` as buffers, and buffers as its memory.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use ::cudarc::driver::{CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr, DevicePtrMut, DriverError};
use usm_core::{Error as CoreError, Queue, UsmKind};

use crate::{Plain, ReadGuard, Result, TypedBuffer, UsmBuffer, WriteGuard};

impl<T: Plain> TypedBuffer<T> {
    /// The memory of a slice of `cudarc`, without a copy. It is freed as `cudarc` frees it, after the last buffer over it is gone.
    ///
    /// Waits for the work of `cudarc` on the slice.
    ///
    /// ```no_run
    /// use cudarc::driver::CudaContext;
    /// use usm_memory::TypedBuffer;
    /// use usm_memory::usm_core::Runtime;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let runtime = Runtime::global();
    /// let queue = runtime.default_queue(&runtime.select("cuda:gpu:0")?)?;
    /// let stream = CudaContext::new(0)?.default_stream();
    ///
    /// // Theirs becomes ours, and they borrow ours.
    /// let numbers = TypedBuffer::from_cudarc(&queue, stream.clone_htod(&[1.0_f32, 2.0])?)?;
    /// let mut writing = numbers.cudarc_write(&stream)?;
    /// stream.memcpy_htod(&[3.0_f32, 4.0], &mut writing.view_mut())?;
    /// drop(writing);
    /// assert_eq!(numbers.to_vec()?, [3.0, 4.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotUsm`](crate::Error::NotUsm) for a queue of another backend, and an error of the driver in the work on the slice.
    pub fn from_cudarc(queue: &Queue, mut slice: CudaSlice<T>) -> Result<Self> {
        let (stream, len_bytes) = (Arc::clone(slice.stream()), slice.num_bytes());
        // The stream waits for all accesses, and the host for the stream.
        let (address, record) = slice.device_ptr_mut(&stream);
        drop(record);
        stream.synchronize().map_err(driver_error)?;
        if len_bytes == 0 {
            return Self::empty(queue);
        }
        let owner = Arc::new(slice);
        // SAFETY: promise 1 of `borrow`: the owner frees the memory. 2. A slice is an allocation, or what its maker promised to be one. 3. The owner is
        // reachable from nowhere else, and its accesses are complete.
        let buffer = unsafe { UsmBuffer::borrow(queue, address_of(address), len_bytes, true, owner) }?;
        Self::from_buffer(buffer)
    }

    /// As [`from_cudarc`](Self::from_cudarc), of a slice that others read as well. The buffer is read-only.
    ///
    /// # Errors
    /// As for [`from_cudarc`](Self::from_cudarc).
    pub fn from_shared_cudarc(queue: &Queue, slice: Arc<CudaSlice<T>>) -> Result<Self> {
        let (stream, len_bytes) = (Arc::clone(slice.stream()), slice.num_bytes());
        let (address, record) = slice.device_ptr(&stream);
        drop(record);
        stream.synchronize().map_err(driver_error)?;
        if len_bytes == 0 {
            return Self::empty(queue);
        }
        // SAFETY: promise 1 of `borrow`: the owner frees the memory. 2. As above. 3. All writes are complete, and a shared slice is not written.
        let buffer = unsafe { UsmBuffer::borrow(queue, address_of(address), len_bytes, false, slice) }?;
        Self::from_buffer(buffer)
    }

    /// No elements: `cudarc` has no memory for none.
    fn empty(queue: &Queue) -> Result<Self> {
        Self::from_buffer(UsmBuffer::allocate_or_empty(queue, UsmKind::Device, 0)?)
    }

    /// Lets `cudarc` borrow the elements for reading, on a stream of the same GPU.
    ///
    /// # Errors
    /// As for [`UsmBuffer::read_range`], and [`usm_core::Error::NotSupported`] for a stream of another device.
    pub fn cudarc_read(&self, stream: &Arc<CudaStream>) -> Result<CudarcRead<T>> {
        let guard = self.as_buffer().read_range(0..self.as_buffer().len_bytes())?;
        Ok(CudarcRead(Borrowed::new(self, stream, guard)?))
    }

    /// Lets `cudarc` borrow the elements for reading and writing, on a stream of the same GPU. [`from_cudarc`](Self::from_cudarc) has an
    /// example.
    ///
    /// # Errors
    /// As for [`UsmBuffer::write_range`], and [`usm_core::Error::NotSupported`] for a stream of another device.
    pub fn cudarc_write(&self, stream: &Arc<CudaStream>) -> Result<CudarcWrite<T>> {
        let guard = self.as_buffer().write_range(0..self.as_buffer().len_bytes())?;
        Ok(CudarcWrite(Borrowed::new(self, stream, guard)?))
    }
}

/// Elements that `cudarc` has borrowed for reading, until this value drops: the drop waits for the reads.
#[derive(Debug)]
pub struct CudarcRead<T>(Borrowed<T, ReadGuard>);

impl<T> CudarcRead<T> {
    /// All elements.
    #[must_use]
    pub fn view(&self) -> CudaView<'_, T> {
        self.0.slice.as_view()
    }
}

/// Elements that `cudarc` has borrowed for writing, until this value drops: the drop waits for its work.
#[derive(Debug)]
pub struct CudarcWrite<T>(Borrowed<T, WriteGuard>);

impl<T> CudarcWrite<T> {
    /// All elements.
    #[must_use]
    pub fn view(&self) -> CudaView<'_, T> {
        self.0.slice.as_view()
    }

    /// All elements, to be written.
    #[must_use]
    pub fn view_mut(&mut self) -> CudaViewMut<'_, T> {
        self.0.slice.as_view_mut()
    }
}

/// Memory in the hands of `cudarc`.
#[derive(Debug)]
struct Borrowed<T, G> {
    /// Invariant L1: over the memory that `guard` has borrowed. Nobody gets the slice itself, which would free that memory.
    slice: ManuallyDrop<CudaSlice<T>>,
    stream: Arc<CudaStream>,
    /// Invariant L2: dropped after the work on the slice, and not at all where the wait for that fails.
    guard: ManuallyDrop<G>,
}

impl<T: Plain, G> Borrowed<T, G> {
    fn new(buffer: &TypedBuffer<T>, stream: &Arc<CudaStream>, guard: G) -> Result<Self> {
        let (device, context) = (buffer.queue().device(), stream.context());
        let ordinal = device.info().cuda_ordinal.and_then(|ordinal| usize::try_from(ordinal).ok());
        if !context.is_primary() || ordinal != Some(context.ordinal()) {
            let what =
                "memory on a stream of cudarc on another device, or in another context than the primary one";
            return Err(CoreError::NotSupported { backend: buffer.queue().backend_id(), what }.into());
        }
        let address = buffer.as_buffer().address() as u64;
        // SAFETY: P1 and L1: memory that the GPU reaches, with that many elements, for each of which any bytes are a value (`Plain`).
        let slice = unsafe { stream.upgrade_device_ptr::<T>(address, buffer.len()) };
        Ok(Self {
            slice: ManuallyDrop::new(slice),
            stream: Arc::clone(stream),
            guard: ManuallyDrop::new(guard),
        })
    }
}

impl<T, G> Drop for Borrowed<T, G> {
    fn drop(&mut self) {
        // SAFETY: L1: taken once, and not used any more.
        let slice = unsafe { ManuallyDrop::take(&mut self.slice) };
        // The stream waits for the accesses on other streams. The memory stays ours.
        slice.leak();
        if self.stream.synchronize().is_ok() {
            // SAFETY: L2: dropped once, and not used any more.
            unsafe { ManuallyDrop::drop(&mut self.guard) };
        }
    }
}

/// An address of the driver as one of this library.
fn address_of(address: u64) -> usize {
    usize::try_from(address).unwrap_or(0)
}

fn driver_error(error: DriverError) -> crate::Error {
    let text = |text: std::result::Result<&std::ffi::CStr, DriverError>| {
        text.map_or_else(|_| "unknown".to_owned(), |text| text.to_string_lossy().into_owned())
    };
    let (name, text) = (text(error.error_name()), text(error.error_string()));
    CoreError::Driver { call: "a call of cudarc", name, text }.into()
}
