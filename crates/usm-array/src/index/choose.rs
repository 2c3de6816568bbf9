//! where: elements of one array or of another, by a condition

use super::Values;
use super::by_kernels;
use super::memory::{by_itemsize, fill};
use super::read::ReadElements;
use crate::array::{ArrayOrScalar, UsmArray};
use crate::dtype::{Dtype, PromotionOperand, default_dtypes};
use crate::error::Result;
use crate::layout::{Layout, Order, SliceItem, broadcast_shapes};

/// Elements of `x` where a condition is not zero, of `y` elsewhere: NumPy's `where`. The three are broadcast.
///
/// The result is C-contiguous, on the queue of the condition, in memory of the kind that [follows](crate::coerced_kind) from the three. Its dtype is what `x` and `y` are promoted to, on
/// the condition's device; a [`Scalar`](crate::Scalar) takes part by its kind only, two of them give the default dtype of the higher kind.
///
/// ```
/// use usm_array::{Dtype, Scalar, UsmArray, where_, usm_core::{Runtime, UsmKind}};
///
/// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
/// let condition = UsmArray::from_slice(&queue, UsmKind::Device, &[2, 1], &[1_u8, 0])?;
/// let x = UsmArray::from_slice(&queue, UsmKind::Shared, &[2], &[1.5_f32, 2.5])?;
/// let chosen = where_(&condition, &x, Scalar::Int(0))?;
/// assert_eq!(chosen.dtype(), Dtype::F32);
/// assert_eq!(chosen.shape(), [2, 2]);
/// assert_eq!(chosen.to_vec::<f32>()?, [1.5, 2.5, 0.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// - [`Error::Layout`](crate::Error::Layout): the shapes do not broadcast
/// - [`Error::ScalarRange`](crate::Error::ScalarRange): an integer outside the range of the dtype of the other operand
/// - [`Error::TooManyBytes`](crate::Error::TooManyBytes): a result of more than `isize::MAX` bytes
/// - [`Error::OutOfHostMemory`](crate::Error::OutOfHostMemory): no host memory for a copy of elements
/// - [`Error::Memory`](crate::Error::Memory): the allocation failed, memory is borrowed for writing, or the runtime failed
pub fn where_<'a, 'b>(
    condition: &UsmArray,
    x: impl Into<ArrayOrScalar<'a>>,
    y: impl Into<ArrayOrScalar<'b>>,
) -> Result<UsmArray> {
    let (x, y) = (x.into(), y.into());
    let shape = broadcast_shapes(&[condition.shape(), shape_of(x), shape_of(y)])?;
    let dtype = where_dtype(condition, x, y);
    let result = UsmArray::empty(condition.queue(), condition.kind_with([x, y]), &shape, dtype)?;
    if by_kernels::choose(&result, condition, x, y)? {
        return Ok(result);
    }
    let (x, y) = (Values::broadcast(&result, x, &shape)?, Values::broadcast(&result, y, &shape)?);
    if result.is_empty() {
        return Ok(result);
    }
    let truth = ReadElements::truth(condition)?;
    let layout = Layout::contiguous(condition.shape(), Order::C)?.broadcast_to(&shape)?;
    let itemsize = dtype.itemsize_bytes();
    // All are read before the result is written: who writes does not wait.
    let (truth, from_x, from_y) = (truth.read()?, x.elements.read()?, y.elements.read()?);
    let (x, y) = ((&*from_x, &x.layout), (&*from_y, &y.layout));
    fill(&result, |values| by_itemsize!(itemsize, choose(&truth, &layout, x, y, values)))?;
    Ok(result)
}

fn shape_of(operand: ArrayOrScalar<'_>) -> &[usize] {
    match operand {
        ArrayOrScalar::Array(array) => array.shape(),
        ArrayOrScalar::Scalar(_) => &[],
    }
}

/// The dtype of [`where_`] of these operands.
///
/// ```
/// use usm_array::{Dtype, UsmArray, where_dtype, usm_core::{Runtime, UsmKind}};
///
/// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
/// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2], &[1_u8, 0])?;
/// assert_eq!(where_dtype(&array, &array, 7), Dtype::U8);
/// assert_eq!(where_dtype(&array, 7, 0.5), Dtype::F64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn where_dtype<'a, 'b>(
    condition: &UsmArray,
    x: impl Into<ArrayOrScalar<'a>>,
    y: impl Into<ArrayOrScalar<'b>>,
) -> Dtype {
    let operands: [PromotionOperand; 2] = [x.into(), y.into()].map(|operand| match operand {
        ArrayOrScalar::Array(array) => PromotionOperand::Dtype(array.dtype()),
        ArrayOrScalar::Scalar(value) => value.kind().into(),
    });
    // Two operands have a dtype.
    default_dtypes(condition.device()).result_type_or_default(&operands).unwrap_or(Dtype::Bool)
}

fn choose<const N: usize>(
    truth: &[u8],
    condition: &Layout,
    (from_x, x): (&[u8], &Layout),
    (from_y, y): (&[u8], &Layout),
    values: &mut [u8],
) -> Result<()> {
    let (from_x, from_y) = (from_x.as_chunks::<N>().0, from_y.as_chunks::<N>().0);
    let (values, _) = values.as_chunks_mut::<N>();
    let len = condition.shape().last().copied().unwrap_or(1);
    let (condition, x, y) = (RowLayout::of(condition)?, RowLayout::of(x)?, RowLayout::of(y)?);
    let starts = condition.starts.offsets().zip(x.starts.offsets()).zip(y.starts.offsets());
    for (row, ((condition_start, x_start), y_start)) in values.chunks_exact_mut(len).zip(starts) {
        for (i, value) in (0..).zip(row) {
            let holds = truth[(condition_start + i * condition.step).cast_unsigned()] != 0;
            let from_x = from_x[(x_start + i * x.step).cast_unsigned()];
            let from_y = from_y[(y_start + i * y.step).cast_unsigned()];
            *value = if holds { from_x } else { from_y };
        }
    }
    Ok(())
}

/// A layout row by row: where the rows start, and the distance of elements in them.
struct RowLayout {
    starts: Layout,
    step: isize,
}

impl RowLayout {
    fn of(layout: &Layout) -> Result<Self> {
        Ok(match layout.strides().last() {
            None => Self { starts: layout.clone(), step: 0 },
            Some(&step) => Self { starts: layout.slice(&[SliceItem::Ellipsis, SliceItem::Index(0)])?, step },
        })
    }
}
