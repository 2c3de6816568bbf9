//! The parsed `__cuda_array_interface__`, with nothing of Python in it
//!
//! Version 3 of [Numba's protocol](https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html): strides count bytes, the
//! pointer leads to the element with index zero, and `stream` is where work on the memory may be pending.

// Numbers of others: arithmetic is checked, wraps or saturates by its name.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

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
    /// An array of the USM array interface, without an offset, in the numbers of this protocol: the other way of
    /// [`elements`](Self::elements), which refuses a typestr that is not supported.
    ///
    /// ```
    /// use usm_array::{CudaArrayInterface, UsmArrayInterface};
    ///
    /// let (shape, typestr, strides) = (vec![2], "<f4".to_owned(), Some(vec![3]));
    /// let (address, read_only, offset, version) = (0x1000, false, 0, 1);
    /// let found = UsmArrayInterface { shape, typestr, address, read_only, strides, offset, version };
    /// assert_eq!(CudaArrayInterface::of_elements(found, None).strides_bytes, Some(vec![12]));
    /// ```
    #[must_use]
    pub fn of_elements(found: UsmArrayInterface, stream: Option<u64>) -> Self {
        let itemsize_bytes = found.typestr.parse().map_or(1, Dtype::itemsize_bytes) as i64;
        let in_bytes = |strides: Vec<i64>| {
            strides.into_iter().map(|stride| stride.wrapping_mul(itemsize_bytes)).collect()
        };
        Self {
            shape: found.shape,
            typestr: found.typestr,
            address: found.address,
            read_only: found.read_only,
            strides_bytes: found.strides.map(in_bytes),
            version: CUDA_INTERFACE_VERSION,
            stream,
        }
    }

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
        let divided = |found: i64| (found.checked_rem(itemsize_bytes), found.checked_div(itemsize_bytes));
        let in_elements = |(axis, &found): (usize, &i64)| match divided(found) {
            (Some(0), Some(elements)) => Ok(elements),
            // Nobody steps along an axis of one index.
            _ if self.shape.get(axis) == Some(&1) => Ok(0),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_a_handle_in_version_3() {
        let interface = |version, stream| CudaArrayInterface {
            shape: vec![],
            typestr: "<f4".to_owned(),
            address: 0x1000,
            read_only: false,
            strides_bytes: None,
            version,
            stream,
        };
        for (version, stream, expected) in [
            (2, None, Ok(Some(1))),
            (2, Some(7), Ok(Some(1))),
            (3, None, Ok(None)),
            (3, Some(1), Ok(Some(1))),
            (3, Some(7), Ok(Some(7))),
            (3, Some(0), Err(InterfaceError::Stream { found: 0 })),
        ] {
            assert_eq!(interface(version, stream).checked_stream(), expected);
        }
        for (version, is_known) in [(-1, false), (0, false), (1, false), (2, true), (3, true), (4, true)] {
            let refused = interface(version, None).elements().err();
            let expected = (!is_known).then_some(InterfaceError::CudaVersion { found: version });
            assert_eq!(refused, expected);
        }
    }

    #[test]
    fn strides_that_nobody_uses_may_be_any_number() {
        let elements = |shape: &[i64], strides_bytes: &[i64]| {
            let interface = CudaArrayInterface {
                shape: shape.to_vec(),
                typestr: "<f4".to_owned(),
                address: 0x1000,
                read_only: false,
                strides_bytes: Some(strides_bytes.to_vec()),
                version: 3,
                stream: None,
            };
            interface.elements()
        };
        for (shape, strides, expected) in [
            (&[1, 8][..], &[3, 4][..], &[0, 1][..]),
            (&[1, 8], &[64, 4], &[16, 1]),
            (&[8, 1, 1], &[-4, i64::MAX, i64::MIN + 1], &[-1, 0, 0]),
            (&[1], &[-1], &[0]),
        ] {
            let found = elements(shape, strides).expect("only unused strides are odd");
            assert_eq!(found.strides.as_deref(), Some(expected));
            let valid = found.validate().expect("the elements are side by side");
            assert_eq!(
                valid.span().len_bytes,
                4 * usize::try_from(shape.iter().product::<i64>()).expect("small")
            );
        }
        for shape in [[0, 8], [8, 0]] {
            let found = elements(&shape, &[3, 5]).expect("there is no element");
            assert_eq!(found.strides, None);
            assert!(found.validate().is_ok());
        }
        for (shape, strides, axis) in [([2, 8], [3, 4], 0), ([2, 8], [32, 5], 1), ([1, 8], [3, 5], 1)] {
            let refused = elements(&shape, &strides);
            assert!(
                matches!(refused, Err(InterfaceError::StrideBytes { axis: found, .. }) if found == axis),
                "{shape:?} {strides:?}"
            );
        }
    }
}
