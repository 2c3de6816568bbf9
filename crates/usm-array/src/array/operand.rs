//! An operand of an operation: an array or one value

use num_complex::Complex64;
use usm_memory::usm_core::{Queue, UsmKind};

use super::UsmArray;
use crate::scalar::Scalar;

/// An operand beside an array, or what is assigned to elements: an array, which is broadcast, or one value, which takes part as a
/// Python number does: by its kind only, see [`WeakScalar`](crate::WeakScalar).
///
/// ```
/// use usm_array::{Bool8, UsmArray, usm_core::{Runtime, UsmKind}};
///
/// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
/// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[3], &[1_u8, 2, 3])?;
/// let last = UsmArray::from_slice(&queue, UsmKind::Device, &[], &[3_i64])?;
/// assert_eq!(array.equal(&last)?.to_vec::<Bool8>()?, [false, false, true].map(Bool8::from));
/// assert_eq!(array.equal(2)?.to_vec::<Bool8>()?, [false, true, false].map(Bool8::from));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ArrayOrScalar<'a> {
    /// Elements in USM of any kind, each beside the one at the same index after broadcasting.
    Array(&'a UsmArray),
    /// One value beside every element.
    Scalar(Scalar),
}

impl<'a> ArrayOrScalar<'a> {
    /// The array, unless it is one value.
    #[must_use]
    pub const fn array(self) -> Option<&'a UsmArray> {
        match self {
            Self::Array(array) => Some(array),
            Self::Scalar(_) => None,
        }
    }
}

impl<'a> From<&'a UsmArray> for ArrayOrScalar<'a> {
    fn from(array: &'a UsmArray) -> Self {
        Self::Array(array)
    }
}

impl From<Scalar> for ArrayOrScalar<'_> {
    fn from(value: Scalar) -> Self {
        Self::Scalar(value)
    }
}

macro_rules! scalars {
    ($($value:ty => $kind:ident,)*) => {$(
        impl From<$value> for ArrayOrScalar<'_> {
            fn from(value: $value) -> Self {
                Self::Scalar(Scalar::$kind(value.into()))
            }
        }
    )*};
}

// `i32` is the type of literals without a suffix.
scalars!(bool => Bool, i128 => Int, i32 => Int, f64 => Float, Complex64 => Complex,);

/// The kind of memory that an operation on memory of several kinds gives: device before shared before host. `None` for no kinds.
///
/// This is the rule of `dpctl.utils.get_coerced_usm_type`.
///
/// ```
/// use usm_array::{coerced_kind, usm_core::UsmKind};
///
/// assert_eq!(coerced_kind([UsmKind::Host, UsmKind::Shared]), Some(UsmKind::Shared));
/// assert_eq!(coerced_kind([UsmKind::Shared, UsmKind::Device, UsmKind::Host]), Some(UsmKind::Device));
/// assert_eq!(coerced_kind([]), None);
/// ```
#[must_use]
pub fn coerced_kind(kinds: impl IntoIterator<Item = UsmKind>) -> Option<UsmKind> {
    let rank = |kind: &UsmKind| match kind {
        UsmKind::Host => 0,
        UsmKind::Shared => 1,
        UsmKind::Device => 2,
    };
    kinds.into_iter().max_by_key(rank)
}

/// The queue on which to compute with arrays of the given queues: the first one if all are the same. `None` for several, and for none.
///
/// This is the rule of `dpctl.utils.get_execution_queue`.
///
/// ```
/// use usm_array::{execution_queue, usm_core::{Queue, QueueProperties, Runtime}};
///
/// let device = Runtime::global().host_device();
/// let queue = Runtime::global().default_queue(device)?;
/// let other = queue.context().create_queue(device, QueueProperties::default())?;
/// assert_eq!(execution_queue(&[queue.clone(), queue.clone()]), Some(&queue));
/// assert_eq!(execution_queue(&[queue, other]), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn execution_queue(queues: &[Queue]) -> Option<&Queue> {
    let (first, others) = queues.split_first()?;
    others.iter().all(|queue| queue == first).then_some(first)
}

impl UsmArray {
    /// The kind of memory that an operation on this array and other operands gives. One value has no memory.
    pub(crate) fn kind_with<const N: usize>(&self, others: [ArrayOrScalar<'_>; N]) -> UsmKind {
        let kinds = others.into_iter().filter_map(|operand| operand.array().map(Self::kind));
        coerced_kind(kinds.chain([self.kind()])).unwrap_or(self.kind())
    }
}
