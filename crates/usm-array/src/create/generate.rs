//! Elements computed by their number in row-major order, for any kind of memory
//!
//! Host code computes them. If it reaches the memory, and each element depends on its number only, several threads write them in
//! place. Otherwise host code computes a chunk at a time, and copies it. Small chunks stay in the cache; large ones keep the number of
//! queue operations small.

use half::f16;
use num_complex::{Complex32, Complex64};

use crate::array::UsmArray;
use crate::copy::compute;
use crate::dtype::{Dtype, Element, half_from_f64};
use crate::error::{Error, Result};
use crate::layout::{Order, SliceItem};
use crate::view::{bytes_of, zeroed_array, zeroed_vec};

/// Elements up to which a copy from the stack takes less time than a guard of the array.
const FEW: usize = 32;
const HOST_CHUNK_BYTES: usize = 64 << 10;
const DEVICE_CHUNK_BYTES: usize = 4 << 20;

/// Sets the elements of a C-contiguous array, one after the other, to the results of the function for 0, 1, 2, …
///
/// `T` has the item size of the array; its bytes are stored.
pub(super) fn generate<T: Element>(array: &UsmArray, mut value: impl FnMut(usize) -> T) -> Result<()> {
    in_chunks(array, |start, part: &mut [T]| {
        part.iter_mut().enumerate().for_each(|(i, element)| *element = value(start + i));
    })
}

/// As [`generate`], by functions of the number as a real one, which it exactly is: arrays have fewer than 2⁵³ elements. Small integers
/// become real numbers several at a time, large ones do not.
fn generate_reals<T: Element>(
    array: &UsmArray,
    value: impl Fn(f64) -> T + Copy + Send + Sync + 'static,
) -> Result<()> {
    in_any_order(array, move |start, part: &mut [T]| {
        let start = start as f64;
        // A part is short.
        let number = |i: usize| start + f64::from(i as i32);
        part.iter_mut().enumerate().for_each(|(i, element)| *element = value(number(i)));
    })
}

/// As [`generate`], for integer dtypes: the lowest bytes of `first + number * step`.
pub(super) fn generate_steps(array: &UsmArray, first: u64, step: u64) -> Result<()> {
    // A function for each, not a pointer to one: the loop computes several at a time.
    fn steps<T: Element>(
        array: &UsmArray,
        first: u64,
        step: u64,
        cast: impl Fn(u64) -> T + Copy + Send + Sync + 'static,
    ) -> Result<()> {
        in_any_order(array, move |start, part: &mut [T]| {
            let mut next = first.wrapping_add(step.wrapping_mul(start as u64));
            for element in part {
                *element = cast(next);
                next = next.wrapping_add(step);
            }
        })
    }
    match array.dtype() {
        Dtype::I8 | Dtype::U8 => steps(array, first, step, |value| value as u8),
        Dtype::I16 | Dtype::U16 => steps(array, first, step, |value| value as u16),
        Dtype::I32 | Dtype::U32 => steps(array, first, step, |value| value as u32),
        Dtype::I64 | Dtype::U64 => steps(array, first, step, |value| value),
        found @ (Dtype::Bool
        | Dtype::F16
        | Dtype::F32
        | Dtype::F64
        | Dtype::C64
        | Dtype::C128
        | Dtype::BF16
        | Dtype::F8E4M3Fn
        | Dtype::F8E4M3Fnuz
        | Dtype::F8E5M2
        | Dtype::F8E5M2Fnuz) => Err(not_allowed(found, "integer dtypes")),
    }
}

/// As [`generate_floating`] for `float32`, by whole numbers of 32 bits, which all elements have to be before they are rounded: twice as
/// many at a time.
pub(super) fn generate_whole(array: &UsmArray, first: i32, step: i32) -> Result<()> {
    in_any_order(array, move |start, part: &mut [f32]| {
        // Their lowest bytes are right whatever the products and sums above them are.
        let first = first.wrapping_add(step.wrapping_mul(start as i32));
        let number = |i: usize| first.wrapping_add(step.wrapping_mul(i as i32));
        part.iter_mut().enumerate().for_each(|(i, element)| *element = number(i) as f32);
    })
}

/// Sets the elements of a C-contiguous array. The function computes a run of elements from a number on. Runs have no order.
fn in_any_order<T: Element>(
    array: &UsmArray,
    fill: impl Fn(usize, &mut [T]) + Copy + Send + Sync + 'static,
) -> Result<()> {
    if array.size() <= FEW && array.is_host_reachable() {
        let elements = &mut zeroed_array::<T, FEW>()[..array.size()];
        fill(0, elements);
        return Ok(array.buffer().copy_from_host(bytes_of(elements), array.first_byte())?);
    }
    match compute(array, fill)? {
        true => Ok(()),
        false => in_chunks(array, fill),
    }
}

/// Sets the elements of a C-contiguous array chunk by chunk. The function gets the number of the first element.
fn in_chunks<T: Element>(array: &UsmArray, mut fill: impl FnMut(usize, &mut [T])) -> Result<()> {
    let chunk_bytes = if array.is_host_reachable() { HOST_CHUNK_BYTES } else { DEVICE_CHUNK_BYTES };
    let (size, len) = (array.size(), chunk_bytes / size_of::<T>());
    let flat = array.reshape_view(&[-1], Order::C)?;
    let mut chunk = zeroed_vec::<T>(len.min(size))?;
    for start in (0..size).step_by(len) {
        let part = &mut chunk[..len.min(size - start)];
        fill(start, part);
        let target = flat.slice(&[SliceItem::between(start, start + part.len())])?;
        target.copy_from_host_contiguous(bytes_of(part))?;
    }
    Ok(())
}

/// As [`generate`], for floating-point dtypes: numbers with these real and, if complex, imaginary parts.
pub(super) fn generate_floating(
    array: &UsmArray,
    re: impl Fn(f64) -> f64 + Copy + Send + Sync + 'static,
    im: impl Fn(f64) -> f64 + Copy + Send + Sync + 'static,
) -> Result<()> {
    match array.dtype() {
        Dtype::F16 => generate_reals::<f16>(array, move |i| half_from_f64(re(i))),
        Dtype::F32 => generate_reals(array, move |i| re(i) as f32),
        Dtype::F64 => generate_reals(array, re),
        Dtype::C64 => generate_reals(array, move |i| Complex32::new(re(i) as f32, im(i) as f32)),
        Dtype::C128 => generate_reals(array, move |i| Complex64::new(re(i), im(i))),
        found @ (Dtype::Bool
        | Dtype::I8
        | Dtype::I16
        | Dtype::I32
        | Dtype::I64
        | Dtype::U8
        | Dtype::U16
        | Dtype::U32
        | Dtype::U64
        | Dtype::BF16
        | Dtype::F8E4M3Fn
        | Dtype::F8E4M3Fnuz
        | Dtype::F8E5M2
        | Dtype::F8E5M2Fnuz) => Err(not_allowed(found, "floating-point dtypes that are not narrow")),
    }
}

/// Like [`generate`], for integer dtypes: stores the lowest bytes of each result.
pub(super) fn generate_integers(array: &UsmArray, mut value: impl FnMut(usize) -> u64) -> Result<()> {
    match array.dtype() {
        Dtype::I8 | Dtype::U8 => generate(array, |i| value(i) as u8),
        Dtype::I16 | Dtype::U16 => generate(array, |i| value(i) as u16),
        Dtype::I32 | Dtype::U32 => generate(array, |i| value(i) as u32),
        Dtype::I64 | Dtype::U64 => generate(array, value),
        found @ (Dtype::Bool
        | Dtype::F16
        | Dtype::F32
        | Dtype::F64
        | Dtype::C64
        | Dtype::C128
        | Dtype::BF16
        | Dtype::F8E4M3Fn
        | Dtype::F8E4M3Fnuz
        | Dtype::F8E5M2
        | Dtype::F8E5M2Fnuz) => Err(not_allowed(found, "integer dtypes")),
    }
}

/// The error for numbers that would be lost. Callers exclude it.
fn not_allowed(found: Dtype, allowed: &'static str) -> Error {
    Error::DtypeNotAllowed { operation: "range of numbers", found, allowed }
}

#[cfg(test)]
mod tests {
    use usm_memory::usm_core::{Runtime, UsmKind};

    use super::*;
    use crate::dtype::Class;

    #[test]
    fn no_dtype_is_left_without_its_numbers() {
        let runtime = Runtime::global();
        let queue = runtime.default_queue(runtime.host_device()).expect("the host is always there");
        for dtype in Dtype::ALL {
            let array = UsmArray::zeros(&queue, UsmKind::Shared, &[3], dtype).expect("small");
            let whole = generate_integers(&array, |i| i as u64 + 1);
            let steps = generate_steps(&array, 1, 1);
            let floating = generate_floating(&array, |i| i + 1.0, |_| 0.0);
            let is_refused = |result: Result<()>| matches!(result, Err(Error::DtypeNotAllowed { found, .. }) if found == dtype);
            let is_whole = dtype.class().is_whole();
            let is_floating = matches!(dtype.class(), Class::Real | Class::Complex);
            assert_eq!(is_refused(whole), !is_whole, "{dtype}");
            assert_eq!(is_refused(steps), !is_whole, "{dtype}");
            assert_eq!(is_refused(floating), !is_floating, "{dtype}");
            if is_whole || is_floating {
                assert_eq!(array.count_nonzero_total().expect("readable"), 3, "{dtype}");
            }
        }
    }

    /// Lengths around the ends of blocks and of a thread's parts, and around the thresholds of threads and caches.
    #[test]
    fn every_element_gets_its_own_number_whoever_computes_it() {
        let runtime = Runtime::global();
        let queue = runtime.default_queue(runtime.host_device()).expect("the host is always there");
        for kind in [UsmKind::Shared, UsmKind::Device] {
            for bytes in [0, 16 << 10, 512 << 10, 4 << 20, 8 << 20] {
                for len in [bytes / 8, bytes / 8 + 3, (bytes / 8_usize).saturating_sub(1)] {
                    let array = UsmArray::empty(&queue, kind, &[len], Dtype::I64).expect("a few megabytes");
                    generate_steps(&array, 7, (-3_i64) as u64).expect("integers");
                    let expected = |i: usize| 7 - 3 * i as i64;
                    let found = array.to_vec::<i64>().expect("integers");
                    assert!(found.iter().enumerate().all(|(i, &found)| found == expected(i)), "{kind} {len}");
                    let array = UsmArray::empty(&queue, kind, &[len], Dtype::F64).expect("a few megabytes");
                    generate_floating(&array, |i| 0.5 * i, |_| 0.0).expect("real numbers");
                    let found = array.to_vec::<f64>().expect("real numbers");
                    assert!(
                        found.iter().enumerate().all(|(i, &found)| found == 0.5 * i as f64),
                        "{kind} {len}"
                    );
                }
            }
        }
    }
}
