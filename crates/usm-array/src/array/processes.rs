//! Arrays of several processes: handles that say dtype and layout, too.

// Numbers of others: arithmetic is checked, wraps or saturates by its name.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use usm_memory::processes::{self, Handle, LEN_BYTES};
use usm_memory::usm_core::{Device, Queue, Runtime};

use super::UsmArray;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::layout::{Layout, MAX_NDIM, Order};

/// An array that other processes open by the [bytes](Self::bytes) of the handle. The handle keeps the memory, as
/// [`processes::Handle`] does.
#[derive(Debug)]
pub struct ArrayHandle {
    memory: Handle,
    description: Vec<u8>,
}

impl ArrayHandle {
    /// A handle of an array, whose memory becomes that of several processes as by [`UsmBuffer::share`](usm_memory::UsmBuffer::share).
    ///
    /// ```
    /// use usm_array::{ArrayHandle, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[4096, 2], &[1.0_f64; 8192])?;
    /// let handle = ArrayHandle::new(&array)?;
    /// let same = UsmArray::open(&handle.bytes(), None)?; // in any process of this user
    /// assert_eq!((same.shape(), same.address()), (array.shape(), array.address()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Memory`] as for [`Handle::new`].
    pub fn new(array: &UsmArray) -> Result<Self> {
        Ok(Self { memory: Handle::new(array.buffer())?, description: describe(array) })
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        [&self.memory.bytes()[..], &self.description].concat()
    }
}

impl UsmArray {
    /// The bytes of a handle that can be opened once, as [`processes::bytes_for_one`].
    ///
    /// # Errors
    /// As [`ArrayHandle::new`].
    pub fn bytes_for_one(&self, may_end: bool) -> Result<Vec<u8>> {
        Ok([&processes::bytes_for_one(self.buffer(), may_end)?[..], &describe(self)].concat())
    }

    /// The array of a handle, on `queue` or the default queue of its device: in the process of the handle over its own memory, elsewhere
    /// over the same bytes.
    ///
    /// # Errors
    /// [`Error::Memory`] as for [`processes::open`]; those of [`from_parts`](Self::from_parts) for a layout that does not fit the memory.
    pub fn open(bytes: &[u8], queue: Option<&Queue>) -> Result<Self> {
        Self::open_on(bytes, |device| match queue {
            Some(queue) => Ok(queue.clone()),
            None => Ok(Runtime::global().default_queue(device)?),
        })
    }

    /// As [`open`](Self::open), on the queue that `queue_of` gives for the device of the memory.
    ///
    /// # Errors
    /// As [`open`](Self::open), and those of `queue_of`.
    pub fn open_on(
        bytes: &[u8],
        queue_of: impl FnOnce(&Device) -> usm_memory::Result<Queue>,
    ) -> Result<Self> {
        let (handle, description) =
            bytes.split_at_checked(LEN_BYTES).ok_or_else(|| malformed(bytes.len()))?;
        // Before the memory is asked for, which some handles allow once.
        let (dtype, layout) = described(description).ok_or_else(|| malformed(bytes.len()))?;
        let layout = layout?;
        Self::from_parts(processes::open_on(handle, queue_of)?, dtype, layout, 0)
    }
}

fn malformed(len_bytes: usize) -> Error {
    let found = format!("{len_bytes} bytes that describe no array");
    let allowed = "all bytes of a handle of an array".to_owned();
    usm_memory::Error::InvalidHandle { found, allowed }.into()
}

/// Dtype and layout, as bytes: the length of the dtype's name and the name, the number of axes, then shape, strides and offset.
fn describe(array: &UsmArray) -> Vec<u8> {
    let name = array.dtype().name().as_bytes();
    let layout = array.layout();
    let mut bytes = vec![name.len() as u8];
    bytes.extend(name);
    bytes.push(layout.ndim() as u8);
    let strides_and_offset = layout.strides().iter().copied().chain([layout.offset()]);
    let numbers = layout.shape().iter().map(|&size| size as u64).chain(strides_and_offset.map(|n| n as u64));
    bytes.extend(numbers.flat_map(u64::to_le_bytes));
    bytes
}

/// The other way; `None` for bytes that are too few or too many, or name no dtype.
fn described(bytes: &[u8]) -> Option<(Dtype, Result<Layout>)> {
    let (&len, rest) = bytes.split_first()?;
    let (name, rest) = rest.split_at_checked(usize::from(len))?;
    let (&ndim, rest) = rest.split_first()?;
    let ndim = usize::from(ndim);
    let (numbers, []) = rest.as_chunks::<8>() else { return None };
    if ndim > MAX_NDIM {
        return None;
    }
    let numbers: Vec<u64> = numbers.iter().map(|number| u64::from_le_bytes(*number)).collect();
    let (shape, rest) = numbers.split_at_checked(ndim)?;
    let (strides, &[offset]) = rest.split_at_checked(ndim)? else { return None };
    let shape: Vec<usize> = shape.iter().map(|&size| size as usize).collect();
    let strides: Vec<isize> = strides.iter().map(|&stride| stride as isize).collect();
    let dtype = std::str::from_utf8(name).ok()?.parse().ok()?;
    let layout = Layout::new(&shape, Some(&strides), offset as isize, Order::C).map_err(Error::from);
    Some((dtype, layout))
}
