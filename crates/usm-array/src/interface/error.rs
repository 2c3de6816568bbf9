//! Why an interface is refused; every message starts with the key it is about

use thiserror::Error;
use usm_derive::ErrorDebug;

use crate::dtype::DtypeError;
use crate::layout::MAX_NDIM;

/// An entry of `__sycl_usm_array_interface__`, or of `__cuda_array_interface__`, that cannot be trusted.
///
/// The message starts with the name of the key, then says what was found and what is allowed.
#[derive(Clone, PartialEq, Eq, Error, ErrorDebug)]
#[non_exhaustive]
pub enum InterfaceError {
    /// A version other than 1.
    #[error("version: found {found}, allowed is 1")]
    Version {
        /// The version
        found: i64,
    },
    /// A version of `__cuda_array_interface__` without the keys that matter.
    #[error("version: found {found}, allowed are 2, 3 and later ones")]
    CudaVersion {
        /// The version
        found: i64,
    },
    /// A stride of `__cuda_array_interface__` that ends between two elements.
    #[error(
        "strides: found {found} bytes along axis {axis}, allowed are multiples of the {itemsize_bytes} bytes of an element"
    )]
    StrideBytes {
        /// The axis, counted from 0
        axis: usize,
        /// Its stride in bytes
        found: i64,
        /// Bytes of one element
        itemsize_bytes: usize,
    },
    /// A number that stands for no stream.
    #[error("stream: found {found}, allowed are None, 1, 2 and the handle of a stream")]
    Stream {
        /// The number
        found: u64,
    },
    /// An element type that is not supported.
    #[error("typestr: {0}")]
    Typestr(#[source] DtypeError),
    /// More axes than [`MAX_NDIM`].
    #[error("shape: found {found} axes, allowed are at most {MAX_NDIM}")]
    TooManyAxes {
        /// Number of axes
        found: usize,
    },
    /// A size below zero, or one that the machine cannot count.
    #[error("shape: found size {found} of axis {axis}, allowed is 0 to {}", isize::MAX)]
    Size {
        /// The axis, counted from 0
        axis: usize,
        /// Its size
        found: i64,
    },
    /// More elements or bytes than memory can have.
    #[error(
        "shape: found {shape:?} with elements of {itemsize_bytes} bytes, \
         allowed are at most {} bytes in total",
        isize::MAX
    )]
    TooLarge {
        /// The shape
        shape: Vec<i64>,
        /// Bytes of one element
        itemsize_bytes: usize,
    },
    /// Not one stride for each axis.
    #[error("strides: found {found} strides, allowed are {ndim}, one for each axis of shape")]
    StridesLength {
        /// Number of axes
        ndim: usize,
        /// Number of strides
        found: usize,
    },
    /// Strides that reach further than memory can.
    #[error(
        "strides: found {strides:?} for shape {shape:?} with elements of {itemsize_bytes} bytes, \
         allowed are at most {} bytes from the lowest to the highest element",
        isize::MAX
    )]
    Reach {
        /// The strides, in elements
        strides: Vec<i64>,
        /// The shape
        shape: Vec<i64>,
        /// Bytes of one element
        itemsize_bytes: usize,
    },
    /// An offset that moves elements out of the address space.
    #[error(
        "offset: found {offset} elements of {itemsize_bytes} bytes from address {address:#x}, \
         allowed are offsets that keep every element inside the address space"
    )]
    Offset {
        /// The offset, in elements
        offset: i64,
        /// Bytes of one element
        itemsize_bytes: usize,
        /// The address it counts from
        address: u64,
    },
    /// The null pointer.
    #[error("data: found address 0, allowed is a USM pointer, also for an empty array")]
    Null,
    /// An address that is not one of this machine.
    #[error("data: found address {address:#x}, allowed are addresses up to {:#x}", usize::MAX)]
    AddressTooLarge {
        /// The address
        address: u64,
    },
    /// An address between two places for an element.
    #[error("data: found address {address:#x}, allowed are multiples of {align_bytes} bytes")]
    Misaligned {
        /// The address
        address: u64,
        /// What it has to be a multiple of
        align_bytes: usize,
    },
    /// Elements outside the address space although nothing is wrong with the offset.
    #[error(
        "data: found address {address:#x} with elements from {min_bytes} to {max_bytes} bytes \
         around it, allowed are addresses that keep every element inside the address space"
    )]
    OutsideAddressSpace {
        /// The address
        address: u64,
        /// First byte of the lowest element, relative to the address
        min_bytes: isize,
        /// Last byte of the highest element, relative to the address
        max_bytes: isize,
    },
}
