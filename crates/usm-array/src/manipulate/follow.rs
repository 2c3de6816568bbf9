//! Compute follows data: queue, kind and dtype of the result of an operation on several arrays

use usm_memory::usm_core::UsmKind;

use crate::array::UsmArray;
use crate::dtype::{Casting, Dtype, PromotionOperand, default_dtypes};
use crate::error::{ManipulateError, Result};

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

/// The queue, kind and dtype of an operation on several arrays.
pub(super) struct Followed<'a> {
    pub(super) first: &'a UsmArray,
    pub(super) kind: UsmKind,
    pub(super) dtype: Dtype,
}

impl<'a> Followed<'a> {
    /// The promoted dtype and coerced kind of arrays of one queue.
    pub(super) fn data(arrays: &[&'a UsmArray]) -> Result<Self> {
        let first = *arrays.first().ok_or(ManipulateError::NoArrays)?;
        for (place, array) in arrays.iter().enumerate().skip(1) {
            // The name is for the error only.
            if !array.queue().computes_with(first.queue()) {
                same_queue(("arrays[0]", first), (&format!("arrays[{place}]"), array))?;
            }
        }
        let operands: Vec<PromotionOperand> = arrays.iter().map(|array| array.dtype().into()).collect();
        let dtype = match arrays.iter().all(|array| array.dtype() == first.dtype()) {
            true => first.dtype(),
            false => default_dtypes(first.device()).result_type(&operands).unwrap_or(first.dtype()),
        };
        let kind = coerced_kind(arrays.iter().map(|array| array.kind())).unwrap_or(first.kind());
        Ok(Self { first, kind, dtype })
    }

    /// A new array of that queue, kind and dtype.
    pub(super) fn empty(&self, shape: &[usize]) -> Result<UsmArray> {
        UsmArray::empty(self.first.queue(), self.kind, shape, self.dtype)
    }
}

/// Refuses arrays whose queues do not compute together ([`Queue::computes_with`](usm_memory::usm_core::Queue::computes_with)).
pub(super) fn same_queue(first: (&str, &UsmArray), other: (&str, &UsmArray)) -> Result<()> {
    let [found, expected] = [other.1.queue(), first.1.queue()];
    if found.computes_with(expected) {
        return Ok(());
    }
    let [found, expected] = [found, expected].map(ToString::to_string);
    let (name, first) = (other.0.to_owned(), first.0.to_owned());
    Err(ManipulateError::QueuesDiffer { name, first, found, expected }.into())
}

/// Copies elements into a part of a result, cast to its dtype, to which they were promoted.
pub(super) fn put(target: &UsmArray, source: &UsmArray) -> Result<()> {
    target.assign_cast(source, Casting::Unsafe)
}
