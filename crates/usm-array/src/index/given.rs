//! What is given to an operation by kernels: values, and copies of arrays that kernels can use

use std::ops::Range;

use crate::array::{ArrayOrScalar, UsmArray};
use crate::copy::CopyMode;
use crate::error::Result;
use crate::kernel_engine::{Loops, is_operand};
use crate::layout::SliceItem;

/// What the picked elements become.
pub(super) enum PickedValue {
    One([u8; 16]),
    /// An array of the shape of the result.
    Each(UsmArray),
}

/// A value as elements of a target, broadcast to a shape. An array is where kernels reach it, and shares no memory with the target; its
/// elements along the axes `even` are at one distance from each other.
pub(super) fn value_for(
    target: &UsmArray,
    shape: &[usize],
    even: Range<usize>,
    value: ArrayOrScalar<'_>,
) -> Result<PickedValue> {
    let given = match value {
        ArrayOrScalar::Scalar(value) => return Ok(PickedValue::One(value.to_bytes(target.dtype())?)),
        ArrayOrScalar::Array(given) => given,
    };
    // As in NumPy, it may have more axes if the first ones have size 1.
    let excess = given.ndim().saturating_sub(shape.len());
    let units = given.shape().iter().take(excess).take_while(|&&size| size == 1).count();
    let given = given.slice(&vec![SliceItem::Index(0); units])?.astype(target.dtype(), CopyMode::IfNeeded)?;
    let is_shared = overlap(&given, target);
    let given = if is_shared { copied(&given, target)? } else { operand(&given, target, false)? };
    let value = given.broadcast_to(shape)?;
    let strides = &value.strides()[even.clone()];
    match Loops::over(&shape[even], strides, strides).rank() {
        0 | 1 => Ok(PickedValue::Each(value)),
        _ => copied(&value, target).map(PickedValue::Each),
    }
}

/// An array where kernels of the queue of another reach it, side by side if that is asked for.
pub(super) fn operand(given: &UsmArray, array: &UsmArray, dense: bool) -> Result<UsmArray> {
    if is_operand(given, array.queue()) && !given.is_host_reachable() && (!dense || given.is_c_contiguous()) {
        return Ok(given.clone());
    }
    copied(given, array)
}

/// A C-contiguous copy beside another array.
pub(super) fn copied(given: &UsmArray, array: &UsmArray) -> Result<UsmArray> {
    let copy = UsmArray::empty(array.queue(), array.kind(), given.shape(), given.dtype())?;
    copy.assign(given)?;
    Ok(copy)
}

/// Whether two arrays may have bytes in common.
pub(super) fn overlap(a: &UsmArray, b: &UsmArray) -> bool {
    let addresses = |array: &UsmArray| {
        let (start, range) = (array.buffer().address(), array.byte_range());
        start + range.start..start + range.end
    };
    let (a, b) = (addresses(a), addresses(b));
    a.start < b.end && b.start < a.end
}
