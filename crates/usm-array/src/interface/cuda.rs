//! The parsed `__cuda_array_interface__`, with nothing of Python in it
//!
//! Version 3 of [Numba's protocol](https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html): strides count bytes, the
//! pointer leads to the element with index zero, and `stream` is where work on the memory may be pending.

use super::{InterfaceError, UsmArrayInterface, VERSION};
use crate::dtype::Dtype;

/// The number of CUDA's legacy default stream.
const LEGACY_STREAM: usize = 1;

/// The version of the protocol that exports follow.
pub const CUDA_INTERFACE_VERSION: i64 = 3;

/// The entries of `__cuda_array_interface__` as they came, types checked but not values.
///
/// ```
/// use usm_array::CudaArrayInterface;
///
/// let interface = CudaArrayInterface {
///     shape: vec![2, 3],
///     typestr: "<f4".to_owned(),
///     address: 0x1000,
///     read_only: false,
///     strides_bytes: Some(vec![4, 8]),
///     version: 3,
///     stream: Some(1),
/// };
/// assert_eq!(interface.checked_stream()?, Some(1));
/// assert_eq!(interface.elements()?.strides, Some(vec![1, 2]));
/// # Ok::<(), usm_array::InterfaceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaArrayInterface {
    /// Number of indices along each axis
    pub shape: Vec<i64>,
    /// Element type as a typestr, like `"<f8"`
    pub typestr: String,
    /// First entry of `data`: the address of the element with index zero; 0 without elements
    pub address: u64,
    /// Second entry of `data`
    pub read_only: bool,
    /// Bytes from one index to the next along each axis; `None` is C-contiguous
    pub strides_bytes: Option<Vec<i64>>,
    /// Version of the protocol
    pub version: i64,
    /// The stream: 1 is the legacy default stream, 2 that of the thread, greater ones are handles; `None` needs no order
    pub stream: Option<u64>,
}

impl CudaArrayInterface {
    /// The same array in the numbers of the USM array interface, whose checks are still to come. Without elements the address is one that
    /// passes them, and there are no strides.
    ///
    /// # Errors
    /// - [`InterfaceError::CudaVersion`]: below 2
    /// - [`InterfaceError::Typestr`]: an element type that is not supported
    /// - [`InterfaceError::StrideBytes`]: a stride that is not a whole number of elements
    pub fn elements(self) -> Result<UsmArrayInterface, InterfaceError> {
        if self.version < 2 {
            return Err(InterfaceError::CudaVersion { found: self.version });
        }
        let dtype = Dtype::from_typestr(&self.typestr).map_err(InterfaceError::Typestr)?;
        let is_empty = self.shape.contains(&0);
        let itemsize_bytes = dtype.itemsize_bytes() as i64; // at most 16
        let in_elements = |(axis, &found): (usize, &i64)| match found % itemsize_bytes {
            0 => Ok(found / itemsize_bytes),
            _ => Err(InterfaceError::StrideBytes { axis, found, itemsize_bytes: dtype.itemsize_bytes() }),
        };
        // The strides of an empty array have no meaning.
        let strides = self.strides_bytes.filter(|_| !is_empty);
        let strides =
            strides.map(|strides| strides.iter().enumerate().map(in_elements).collect()).transpose()?;
        Ok(UsmArrayInterface {
            shape: self.shape,
            typestr: self.typestr,
            address: if is_empty { dtype.align_bytes() as u64 } else { self.address },
            read_only: self.read_only,
            strides,
            offset: 0,
            version: VERSION,
        })
    }

    /// The stream whose work comes before accesses to the memory. Version 2 has no entry for it: its producers, such as PyTorch, work on
    /// the legacy default stream unless told otherwise. `None` in version 3 says that there is nothing to wait for.
    ///
    /// # Errors
    /// - [`InterfaceError::Stream`]: 0, which could be either default stream, or no handle of this machine
    pub fn checked_stream(&self) -> Result<Option<usize>, InterfaceError> {
        if self.version < 3 {
            return Ok(Some(LEGACY_STREAM));
        }
        let Some(found) = self.stream else { return Ok(None) };
        let stream = usize::try_from(found).ok().filter(|&stream| stream != 0);
        stream.map(Some).ok_or(InterfaceError::Stream { found })
    }
}
