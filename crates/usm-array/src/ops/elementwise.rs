//! One result for each element, or for each pair of elements, by host code

use super::sink::Sink;
use super::source::{Source, block_len};
use crate::array::{ArrayOrScalar, UsmArray};
use crate::dtype::{Bool8, Element};
use crate::error::Result;
use crate::layout::{blocks, broadcast_shapes};

/// A boolean for each element of an array, read as `T`.
pub(super) fn map<T: Element>(array: &UsmArray, function: impl Fn(T) -> bool) -> Result<UsmArray> {
    map_to(array, |element| Bool8::from(function(element)))
}

/// A result for each element of an array, read as `T`.
pub(super) fn map_to<T: Element, R: Element>(
    array: &UsmArray,
    function: impl Fn(T) -> R,
) -> Result<UsmArray> {
    let mut source = Source::<T>::array(array, array.shape())?;
    let mut sink = Sink::like(array, array.shape())?;
    for (items, len) in blocks(array.shape(), block_len(&[array])) {
        let elements = source.block(&items, len)?;
        sink.next(len, |results| {
            for (result, &element) in results.iter_mut().zip(elements) {
                *result = function(element);
            }
        })?;
    }
    Ok(sink.finish())
}

/// The same boolean for each element of an array.
pub(super) fn constant(array: &UsmArray, value: bool) -> Result<UsmArray> {
    UsmArray::full(array.queue(), array.kind(), array.shape(), Bool8::from(value))
}

/// The shape of the results for two operands.
pub(super) fn common_shape(array: &UsmArray, other: ArrayOrScalar<'_>) -> Result<Vec<usize>> {
    match other {
        ArrayOrScalar::Array(other) => Ok(broadcast_shapes(&[array.shape(), other.shape()])?),
        ArrayOrScalar::Scalar(_) => Ok(array.shape().to_vec()),
    }
}

/// A boolean for each pair of elements of two operands, read as `A` and `B`, in memory of the kind that follows from both.
pub(super) fn map_pairs<A: Element, B: Element>(
    array: &UsmArray,
    other: ArrayOrScalar<'_>,
    function: impl Fn(A, B) -> bool,
) -> Result<UsmArray> {
    let shape = common_shape(array, other)?;
    let (mut left, mut right) = Source::<A>::pair::<B>(array, other, &shape)?;
    let mut sink = Sink::of_kind(array, array.kind_with([other]), &shape)?;
    let limit = match other {
        ArrayOrScalar::Array(other) => block_len(&[array, other]),
        ArrayOrScalar::Scalar(_) => block_len(&[array]),
    };
    for (items, len) in blocks(&shape, limit) {
        let (left, right) = (left.block(&items, len)?, right.block(&items, len)?);
        sink.next(len, |results| {
            for ((result, &a), &b) in results.iter_mut().zip(left).zip(right) {
                *result = Bool8::from(function(a, b));
            }
        })?;
    }
    Ok(sink.finish())
}
