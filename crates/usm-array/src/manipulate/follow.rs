//! Compute follows data: queue, kind, dtype and order of the result of an operation on several arrays

use usm_memory::usm_core::{Queue, UsmKind};

use crate::array::{ArrayOrScalar, UsmArray, coerced_kind};
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
                check_queues([("arrays[0]", first.into()), (&format!("arrays[{place}]"), (*array).into())])?;
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

/// Refuses operands, each with its name for the message, whose queues do not [compute together](Queue::computes_with). All are compared with the
/// first array. One value has no queue.
///
/// ```
/// use usm_array::{Scalar, UsmArray, check_queues, usm_core::{Runtime, UsmKind}};
///
/// let host = Runtime::global().host_device();
/// let array = UsmArray::from_slice(&Runtime::global().default_queue(host)?, UsmKind::Host, &[1], &[1_u8])?;
/// check_queues([("a", (&array).into()), ("b", Scalar::Int(1).into())])?;
///
/// let elsewhere = array.on_queue(&array.context().create_queue(host, Default::default())?)?;
/// let refused = check_queues([("a", (&array).into()), ("b", (&elsewhere).into())]);
/// assert!(refused.is_err_and(|error| error.to_string().starts_with("b is on another queue")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// - [`ManipulateError::QueuesDiffer`]: the first array whose queue does not compute with that of the first of all
pub fn check_queues<'a>(operands: impl IntoIterator<Item = (&'a str, ArrayOrScalar<'a>)>) -> Result<()> {
    let mut arrays =
        operands.into_iter().filter_map(|(name, operand)| Some((name, operand.array()?.queue())));
    let Some((first, expected)) = arrays.next() else { return Ok(()) };
    match arrays.find(|(_, queue)| !queue.computes_with(expected)) {
        None => Ok(()),
        Some((name, found)) => Err(ManipulateError::queues_differ((name, found), (first, expected)).into()),
    }
}

/// Copies elements into a part of a result, cast to its dtype, to which they were promoted.
pub(super) fn put(target: &UsmArray, source: &UsmArray) -> Result<()> {
    target.assign_cast(source, Casting::Unsafe)
}
