//! Compute follows data: queue, kind, dtype and order of the result of an operation on several arrays

use usm_memory::usm_core::{Queue, UsmKind};

use crate::array::{UsmArray, coerced_kind};
use crate::copy::Conversion;
use crate::dtype::{Casting, Dtype, PromotionOperand, default_dtypes};
use crate::error::{ManipulateError, Result};
use crate::layout::{CopyOrder, Order};

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

/// Where the result of an operation on arrays is.
///
/// ```
/// use usm_array::{Order, ResultPlace, UsmArray, usm_core::{Runtime, UsmKind}};
///
/// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
/// let rows = |kind| UsmArray::from_nested(&queue, kind, &[[1_u8, 2], [3, 4]]);
/// let (host, device) = (rows(UsmKind::Host)?.transpose(), rows(UsmKind::Device)?.transpose());
/// let place = ResultPlace::of(&[&host, &device], &[2, 2]).ok_or("no arrays")?;
/// assert_eq!((place.kind, place.order), (UsmKind::Device, Order::F));
/// let broadcast = ResultPlace::of(&[&host], &[3, 2, 2]).ok_or("no arrays")?;
/// assert_eq!(broadcast.order, Order::C);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ResultPlace<'a> {
    /// The queue of the first array
    pub queue: &'a Queue,
    /// The kind that [follows](coerced_kind) from all
    pub kind: UsmKind,
    /// The order that all arrays [have in common](common_order), if all have the shape of the result
    pub order: Order,
}

impl<'a> ResultPlace<'a> {
    /// The place of a result of that shape. `None` without an array.
    #[must_use]
    pub fn of(operands: &[&'a UsmArray], shape: &[usize]) -> Option<Self> {
        let queue = operands.first()?.queue();
        let kind = coerced_kind(operands.iter().map(|array| array.kind()))?;
        let is_elementwise = operands.iter().all(|array| array.shape() == shape);
        let order = if is_elementwise { common_order(operands) } else { Order::C };
        Some(Self { queue, kind, order })
    }
}

impl UsmArray {
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
