//! New elements by kernels, in memory that host code does not reach
//!
//! All do nothing, and tell so, where they are not for kernels.

use super::line::Line;
use crate::array::UsmArray;
use crate::error::Result;
use crate::kernel_engine::{CREATE, KernelCall, Loops, code, is_for_kernels};

fn call<'a>(array: &'a UsmArray, name: &'static str) -> Result<Option<Box<KernelCall<'a>>>> {
    if !is_for_kernels(array) || array.is_empty() || !array.is_c_contiguous() {
        return Ok(None);
    }
    KernelCall::new(array.queue(), &CREATE, name)
}

/// Integers `start + quotient * i + floor(remainder * i / steps)`, as many bytes of them as the elements of a new array have.
///
/// The remainder is below the steps, and no number is above the steps.
pub(super) fn integers(
    array: &UsmArray,
    start: u64,
    quotient: u64,
    remainder: u64,
    steps: u64,
) -> Result<bool> {
    let fits = remainder == 0 || u32::try_from(steps).is_ok();
    let Some(call) = call(array, "integers")?.filter(|_| fits) else { return Ok(false) };
    let call = call.write(array).number(array.itemsize_bytes() as u32);
    let call =
        [start, quotient, remainder, steps].into_iter().fold(call, KernelCall::number).count(array.size());
    // SAFETY: promise 1 of `run`: as in `kernels/src/create.cl`. 2. The elements lie side by side, and each is one work-item's. 3. It is for kernels of its queue.
    let _event = unsafe { call.run() }?;
    Ok(true)
}

/// The points of a line, those of real numbers or of both parts of complex ones, or rounded down.
pub(super) fn points(array: &UsmArray, re: Line, im: Line) -> Result<bool> {
    let Some(call) = call(array, "points")? else { return Ok(false) };
    let mut call = call.write(array).number(code(array.dtype()));
    for line in [re, im] {
        let step = line.step.unwrap_or(0.0);
        let numbers = [line.start, line.stop, line.steps, step].map(f64::to_bits);
        call = numbers.into_iter().fold(call, KernelCall::number);
        call = call.number(u32::from(line.step.is_some())).number(line.end.to_bits());
    }
    let call = call.count(array.size());
    // SAFETY: promises 1 to 3 of `run`, as above.
    let _event = unsafe { call.run() }?;
    Ok(true)
}

/// The triangles of the matrices of an array of at least two axes.
pub(super) fn triangle(result: &UsmArray, array: &UsmArray, diagonal: isize, lower: bool) -> Result<bool> {
    let (shape, strides) = (array.shape(), array.strides());
    let loops = Loops::over(shape, strides, strides);
    let (Some(call), [.., rows, columns]) =
        (call(result, "triangle")?.filter(|_| loops.is_for_kernels()), shape)
    else {
        return Ok(false);
    };
    let parts = array.itemsize_bytes().div_ceil(8);
    let call =
        call.write(result).read(array).number((array.itemsize_bytes() / parts) as u32).number(parts as u32);
    let call = call.number(*rows as u64).number(*columns as u64).number(diagonal as i64);
    let call = call.number(u32::from(lower)).count(result.size()).loops(&loops);
    // SAFETY: promise 1 of `run`: as in `kernels/src/create.cl`. 2. The loops visit the elements of the array, and each of the result is one work-item's. 3. Both are in
    // memory of one kind and queue, for kernels.
    let _event = unsafe { call.run() }?;
    Ok(true)
}
