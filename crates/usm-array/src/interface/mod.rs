//! The parsed `__sycl_usm_array_interface__`, with nothing of Python in it
//!
//! | file | job |
//! |---|---|
//! | `validate.rs` | every check on the numbers, before any of them is trusted |
//! | `cuda.rs` | the numbers of `__cuda_array_interface__` |
//! | `error.rs` | the refusals, each starting with the key it is about |

mod cuda;
mod error;
mod validate;

pub use cuda::{CUDA_INTERFACE_VERSION, CudaArrayInterface};
pub use error::InterfaceError;
pub use validate::{ByteSpan, VERSION, ValidInterface};

use crate::dtype::Dtype;

/// The entries of `__sycl_usm_array_interface__` as they came, types checked but not values.
///
/// The entry `syclobj` is kept by whoever talks to Python: it names the context, not the layout.
///
/// ```
/// use usm_array::{Dtype, UsmArrayInterface};
///
/// let interface = UsmArrayInterface {
///     shape: vec![4],
///     typestr: "|f8".to_owned(),
///     address: 0x1000,
///     read_only: false,
///     strides: Some(vec![-2]),
///     offset: 7,
///     version: 1,
/// };
/// let valid = interface.validate()?;
/// assert_eq!(valid.dtype(), Dtype::F64);
/// assert_eq!(valid.span().start_address, 0x1000 + 8);
/// assert_eq!(valid.span().len_bytes, 7 * 8);
/// # Ok::<(), usm_array::InterfaceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsmArrayInterface {
    /// Number of indices along each axis
    pub shape: Vec<i64>,
    /// Element type as a typestr, like `"|f8"`
    pub typestr: String,
    /// First entry of `data`: the USM pointer
    pub address: u64,
    /// Second entry of `data`
    pub read_only: bool,
    /// Elements from one index to the next along each axis; `None` is C-contiguous
    pub strides: Option<Vec<i64>>,
    /// Elements from the pointer to the element with index zero
    pub offset: i64,
    /// Version of the protocol
    pub version: i64,
}

/// What an array publishes: the numbers of [`UsmArrayInterface`], where the array has them.
#[derive(Clone, Copy, Debug)]
pub struct InterfaceRef<'a> {
    /// Number of indices along each axis
    pub shape: &'a [usize],
    /// Element type
    pub dtype: Dtype,
    /// Its typestr
    pub typestr: &'static str,
    /// First entry of `data`: the USM pointer
    pub address: usize,
    /// Second entry of `data`
    pub read_only: bool,
    /// Elements from one index to the next along each axis; `None` exactly for C-contiguous arrays
    pub strides: Option<&'a [isize]>,
    /// Elements from the pointer to the element with index zero
    pub offset: isize,
}

impl From<InterfaceRef<'_>> for UsmArrayInterface {
    fn from(found: InterfaceRef<'_>) -> Self {
        // No machine counts further than 64 bits.
        Self {
            shape: found.shape.iter().map(|&size| size as i64).collect(),
            typestr: found.typestr.to_owned(),
            address: found.address as u64,
            read_only: found.read_only,
            strides: found.strides.map(|strides| strides.iter().map(|&stride| stride as i64).collect()),
            offset: found.offset as i64,
            version: VERSION,
        }
    }
}
