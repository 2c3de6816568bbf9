//! Comparisons and reductions by kernels, on memory that host code does not reach
//!
//! All give `None` where they are not for kernels.

use super::elementwise::common_shape;
use super::reduce::Reduced;
use super::relation::Relation;
use crate::array::{ArrayOrScalar, UsmArray};
use crate::copy::CopyMode;
use crate::dtype::{Class, Dtype};
use crate::error::Result;
use crate::kernel_engine::{Answer, KernelCall, Loops, REDUCE, RELATE, code, is_for_kernels, is_operand};
use crate::layout::Axes;
use crate::scalar::Scalar;

/// What is asked of elements: as in `kernels/src/relate.cl`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asked {
    Relation(Relation),
    /// The results of an operation of two booleans, the one of `a` and `b` in bit `2 a + b`.
    Logic(u32),
    IsNan,
    IsInfinite,
    IsFinite,
    HasSign,
    IsClose(super::Tolerance),
}

/// Logical operations.
pub(super) const AND: Asked = Asked::Logic(0b1000);
pub(super) const OR: Asked = Asked::Logic(0b1110);
pub(super) const XOR: Asked = Asked::Logic(0b0110);
pub(super) const NOT: Asked = Asked::Logic(0b0011);

impl Asked {
    /// The number of the question, the answers that hold, and two real numbers.
    fn numbers(self) -> (u32, u32, [f64; 2]) {
        match self {
            Self::Relation(relation) => (0, relation.orders(), [0.0; 2]),
            Self::Logic(results) => (1, results, [0.0; 2]),
            Self::IsNan => (2, 0, [0.0; 2]),
            Self::IsInfinite => (3, 0, [0.0; 2]),
            Self::IsFinite => (4, 0, [0.0; 2]),
            Self::HasSign => (5, 0, [0.0; 2]),
            Self::IsClose(tolerance) => {
                (6, u32::from(tolerance.equal_nan), [tolerance.relative, tolerance.absolute])
            }
        }
    }
}

/// A boolean for each element.
pub(super) fn ask(array: &UsmArray, asked: Asked) -> Result<Option<UsmArray>> {
    ask_pairs(array, ArrayOrScalar::Scalar(Scalar::Bool(false)), Dtype::Bool, asked)
}

/// Whether elements are not zero.
pub(crate) fn truth(array: &UsmArray) -> Result<Option<UsmArray>> {
    ask(array, Asked::Logic(0b1100))
}

/// A boolean for each pair of elements. A number is one of the given dtype.
pub(super) fn ask_pairs(
    array: &UsmArray,
    other: ArrayOrScalar<'_>,
    dtype: Dtype,
    asked: Asked,
) -> Result<Option<UsmArray>> {
    let (queue, kind) = (array.queue(), array.kind_with([other]));
    // The larger kind decides: memory of the host beside that of a device comes to the device.
    let leads = |other: &UsmArray| {
        other.context() == array.context() && other.device() == array.device() && is_for_kernels(other)
    };
    if !is_for_kernels(array) && !matches!(other, ArrayOrScalar::Array(other) if leads(other)) {
        return Ok(None);
    }
    let shape = common_shape(array, other)?;
    let operand = |array: &UsmArray| match is_operand(array, queue) {
        true => computed(array),
        false => computed(&array.copy_to(queue, kind)?),
    };
    let wide = match dtype.class() {
        Class::Signed => Dtype::I64,
        Class::Bool | Class::Unsigned => Dtype::U64,
        Class::Real | Class::Narrow => Dtype::F64,
        Class::Complex => Dtype::C128,
    };
    let array = &operand(array)?;
    let (other, dtype, one) = match other {
        ArrayOrScalar::Array(other) => {
            let other = operand(other)?;
            let dtype = other.dtype();
            (Some(other), dtype, None)
        }
        ArrayOrScalar::Scalar(value) => (None, wide, Some(value.to_bytes(wide)?)),
    };
    let result = UsmArray::empty(queue, kind, &shape, Dtype::Bool)?;
    if result.is_empty() {
        return Ok(Some(result));
    }
    let a = array.broadcast_to(&shape)?;
    let none: Axes<isize> = shape.iter().map(|_| 0).collect();
    let b = other.map(|other| other.broadcast_to(&shape)).transpose()?;
    let loops = Loops::over(&shape, a.strides(), b.as_ref().map_or(&none[..], UsmArray::strides));
    let Some(call) = KernelCall::new(queue, &RELATE, "relate")?.filter(|_| loops.is_for_kernels()) else {
        return Ok(None);
    };
    let (number, answers, [relative, absolute]) = asked.numbers();
    let call = call.write(&result).number(number).number(answers);
    let call = call.number(relative.to_bits()).number(absolute.to_bits());
    let call = call.read(&a).number(code(array.dtype())).read_if(b.as_ref()).number(code(dtype));
    let call = call.number(u32::from(one.is_some()));
    let halves = one.unwrap_or_default();
    let (halves, _) = halves.as_chunks::<8>();
    let call = halves.iter().fold(call, |call, half| call.number(u64::from_ne_bytes(*half)));
    let call = call.count(result.size()).loops(&loops);
    // SAFETY: promise 1 of `run`: as in `kernels/src/relate.cl`. 2. The loops visit the elements of both, and each element of the result is one work-item's.
    // 3. Both are operands for the queue, and the result is memory of it.
    let _event = unsafe { call.run() }?;
    Ok(Some(result))
}

/// The array with elements that kernels compute with: narrow ones as `float32`, in new memory.
fn computed(array: &UsmArray) -> Result<UsmArray> {
    array.astype(array.dtype().computed(), CopyMode::IfNeeded)
}

/// What elements become: as in `kernels/src/reduce.cl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    Sum,
    Least,
    Greatest,
    All,
    Any,
    Count,
}

/// An operation of the kernel, whether it counts true elements, where it starts, and the dtype that has its results in 64 bits.
type Operation = (u32, bool, u64, Dtype);

impl Fold {
    fn operation(self, dtype: Dtype) -> Option<Operation> {
        use Dtype::{F64, I64, U64};
        Some(match (self, dtype.class()) {
            (_, Class::Narrow) => return None, // their elements are cast before
            (Self::Sum, Class::Signed) => (0, false, 0, I64),
            (Self::Sum, Class::Bool | Class::Unsigned) => (0, false, 0, U64),
            (Self::Sum, Class::Real | Class::Complex) => (1, false, 0, F64),
            (Self::Least, Class::Signed) => (2, false, i64::MAX as u64, I64),
            (Self::Greatest, Class::Signed) => (3, false, i64::MIN as u64, I64),
            (Self::Least, Class::Bool | Class::Unsigned) => (4, false, u64::MAX, U64),
            (Self::Greatest, Class::Bool | Class::Unsigned) => (5, false, 0, U64),
            (Self::Least, Class::Real) => (6, false, f64::INFINITY.to_bits(), F64),
            (Self::Greatest, Class::Real) => (7, false, f64::NEG_INFINITY.to_bits(), F64),
            (Self::Least | Self::Greatest, Class::Complex) => return None,
            (Self::All, _) => (4, true, 1, U64),
            (Self::Any, _) => (5, true, 0, U64),
            (Self::Count, _) => (0, true, 0, U64),
        })
    }
}

/// The array that a reduction makes of another, with elements of the given dtype, or of `float32` for a narrow one.
pub(super) fn reduce(
    array: &UsmArray,
    reduced: &Reduced,
    fold: Fold,
    dtype: Dtype,
) -> Result<Option<UsmArray>> {
    if !is_for_kernels(array) || array.is_empty() {
        return Ok(None);
    }
    let (array, dtype) = (&computed(array)?, dtype.computed());
    let result = UsmArray::empty(array.queue(), array.kind(), reduced.shape(), dtype)?;
    // Of a copy the order of the axes is right, too; it only suits the strides of the array.
    Ok(reduce_to(array, reduced, fold, &result, dtype)?.then_some(result))
}

/// The bytes, at most 16 of them, of what a reduction makes of all elements, in the given dtype.
pub(super) fn reduce_all(array: &UsmArray, fold: Fold, dtype: Dtype) -> Result<Option<Vec<u8>>> {
    if !is_for_kernels(array) || array.is_empty() {
        return Ok(None);
    }
    let (array, dtype) = (&computed(array)?, dtype.computed());
    let answer = Answer::new(array.queue(), 2)?;
    if !reduce_to(array, &Reduced::new(array, None, false)?, fold, answer.array(), dtype)? {
        return Ok(None);
    }
    let bytes = answer.wait()?.into_iter().flat_map(u64::to_ne_bytes);
    Ok(Some(bytes.take(dtype.itemsize_bytes()).collect()))
}

fn reduce_to(
    array: &UsmArray,
    reduced: &Reduced,
    fold: Fold,
    result: &UsmArray,
    dtype: Dtype,
) -> Result<bool> {
    let Some(operation) = fold.operation(array.dtype()) else { return Ok(false) };
    let ordered = array.permute(reduced.order())?;
    let (mut sizes, mut strides) = (ordered.shape().to_vec(), ordered.strides().to_vec());
    let (gone, gone_strides) = (sizes.split_off(reduced.kept()), strides.split_off(reduced.kept()));
    let (mut dtypes, mut factor) = ([array.dtype(), dtype].map(code), 1);
    if fold == Fold::Sum && array.dtype().class() == Class::Complex {
        // The sums of both parts, as those of real numbers that lie side by side.
        sizes.push(2);
        dtypes = dtypes.map(|dtype| (dtype & 0xffff) | (1 << 16));
        factor = 2;
    }
    let scaled = |strides: &[isize]| strides.iter().map(|stride| stride * factor).collect::<Vec<_>>();
    let (mut strides, gone_strides) = (scaled(&strides), scaled(&gone_strides));
    strides.resize(sizes.len(), 1);
    let kept = Loops::over(&sizes, &strides, &strides);
    let gone = Loops::over(&gone, &gone_strides, &gone_strides);
    let side = DeviceReduction { array: &ordered, dtype: dtypes[0], kept, gone };
    side.reduce_to(operation, result, dtypes[1])
}

/// What is reduced: loops over results, and over the elements of one.
struct DeviceReduction<'a> {
    array: &'a UsmArray,
    dtype: u32,
    kept: Loops,
    gone: Loops,
}

/// Work-items that read elements side by side.
const ADJACENT_ITEMS: usize = 32;

/// Elements that a work-item takes before it is worth another.
const ITEM_ELEMENTS: usize = 16;

/// The most work-items of a group: `MAX_ITEMS` in `kernels/src/reduce.cl`.
const MOST_ITEMS: usize = 1024;

impl DeviceReduction<'_> {
    fn reduce_to(&self, operation: Operation, result: &UsmArray, dtype: u32) -> Result<bool> {
        let queue = self.array.queue();
        let Some(call) = KernelCall::new(queue, &REDUCE, "reduce")? else { return Ok(false) };
        if !self.kept.is_for_kernels() || !self.gone.is_for_kernels() {
            return Ok(false);
        }
        let (results, count) = (self.kept.count(), self.gone.count());
        // One group waits for memory as often as its work-items have batches of elements.
        let is_of_one_group = results == 1 && count <= MOST_ITEMS * ITEM_ELEMENTS;
        let call = if is_of_one_group { call.up_to_items(MOST_ITEMS) } else { call };
        let distance = |loops: &Loops| {
            loops.innermost().map_or(usize::MAX, |innermost| innermost.steps[0].unsigned_abs())
        };
        // Adjacent work-items are to have adjacent elements.
        let most = count.next_power_of_two().min(call.group_items());
        let (lanes, spread) = match distance(&self.kept) < distance(&self.gone) {
            true => {
                let lanes = most.min(call.group_items() / ADJACENT_ITEMS).max(1);
                (lanes, call.group_items() / lanes)
            }
            false => (most, 1),
        };
        let groups = results.div_ceil(call.group_items() / lanes);
        let units = usize::try_from(queue.device().info().compute_units).unwrap_or(1);
        let wanted = 8 * units / groups;
        let segments = wanted.min(count / (lanes * ITEM_ELEMENTS)).max(1);
        let per_segment = count.div_ceil(segments);
        let segments = count.div_ceil(per_segment);
        let (number, counts_true, start, wide) = operation;
        let parts = match segments {
            1 => None,
            _ => Some(UsmArray::empty(queue, self.array.kind(), &[segments, results], wide)?),
        };
        let call = match &parts {
            None => call.write(result).number(dtype),
            Some(parts) => call.write(parts).number(code(wide)),
        };
        let call = call.read(self.array).number(self.dtype).number(number).number(u32::from(counts_true));
        let call = [start, results as u64, count as u64, segments as u64, per_segment as u64]
            .into_iter()
            .fold(call, KernelCall::number);
        let call = call
            .number(lanes as u32)
            .number(spread as u32)
            .loops(&self.kept)
            .loops(&self.gone)
            .groups(groups * segments);
        // SAFETY: promise 1 of `run`: as in `kernels/src/reduce.cl`. 2. The loops visit elements of the array; each result of a segment is one work-item's. 3. The array is
        // for kernels of the queue, and the others are beside it or are for its answers.
        let _event = unsafe { call.run() }?;
        let Some(parts) = parts else { return Ok(true) };
        let strides = parts.strides();
        let side = DeviceReduction {
            array: &parts,
            dtype: code(wide),
            kept: Loops::over(&[results], &strides[1..], &strides[1..]),
            gone: Loops::over(&[segments], &strides[..1], &strides[..1]),
        };
        side.reduce_to((number, false, start, wide), result, dtype)
    }
}
