//! Compute follows data: queue, kind, dtype and order of the result of an operation on several arrays

use usm_memory::usm_core::UsmKind;

use crate::array::UsmArray;
use crate::copy::Conversion;
use crate::dtype::{Casting, Dtype, PromotionOperand, default_dtypes};
use crate::error::{ManipulateError, Result};
use crate::layout::{CopyOrder, Order};

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

/// The order of memory that arrays have in common: column-major, if all of them are that only.
///
/// ```
/// use usm_array::{Order, UsmArray, common_order, usm_core::{Runtime, UsmKind}};
///
/// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
/// let rows = UsmArray::from_nested(&queue, UsmKind::Device, &[[1_u8, 2], [3, 4]])?;
/// let columns = rows.transpose();
/// assert_eq!(common_order(&[&columns, &columns]), Order::F);
/// assert_eq!(common_order(&[&columns, &rows]), Order::C);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn common_order(arrays: &[&UsmArray]) -> Order {
    if arrays.iter().all(|array| array.is_f_contiguous_only()) { Order::F } else { Order::C }
}

impl UsmArray {
    /// Whether the result of an operation on both arrays is in memory of this array's kind, and not of the other's: where a result is
    /// in memory of the first operand's kind, this array comes first.
    ///
    /// ```
    /// use usm_array::{Dtype, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let host = UsmArray::zeros(&queue, UsmKind::Host, &[2], Dtype::I8)?;
    /// let device = UsmArray::zeros(&queue, UsmKind::Device, &[2], Dtype::I8)?;
    /// assert!(device.leads(&host) && !host.leads(&device) && !host.leads(&host));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn leads(&self, other: &Self) -> bool {
        coerced_kind([self.kind(), other.kind()]) != Some(other.kind())
    }

    /// The result of an operation in memory of the kind that [follows](coerced_kind) from its operands; this array itself where it is
    /// there.
    ///
    /// ```
    /// use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Host, &[2], &[1, 2])?;
    /// let other = UsmArray::from_slice(&queue, UsmKind::Shared, &[2], &[1, 3])?;
    /// let equal = array.equal(&other)?.in_kind_of(&[&array, &other])?;
    /// assert_eq!(equal.kind(), UsmKind::Shared);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`UsmArray::copy`].
    pub fn in_kind_of(self, operands: &[&Self]) -> Result<Self> {
        match coerced_kind(operands.iter().map(|array| array.kind())) {
            Some(kind) if kind != self.kind() => self.copy_to(self.queue(), kind),
            _ => Ok(self),
        }
    }

    /// The result of an operation with the axes in an order of memory: `Any` and `Keep` stand for the one that the operands
    /// [have in common](common_order). This array itself where it is in that order.
    ///
    /// # Errors
    /// Those of [`UsmArray::copy`].
    pub fn in_order_of(self, order: CopyOrder, operands: &[&Self]) -> Result<Self> {
        let order = match (order, common_order(operands)) {
            (CopyOrder::C, _) | (CopyOrder::Any | CopyOrder::Keep, Order::C) => CopyOrder::C,
            (CopyOrder::F, _) | (CopyOrder::Any | CopyOrder::Keep, Order::F) => CopyOrder::F,
        };
        self.converted(&Conversion { order, ..Conversion::default() })
    }
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
