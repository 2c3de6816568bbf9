//! Elements computed by their number in row-major order, for any kind of memory
//!
//! They are computed on the host, a chunk at a time, and copied: small chunks stay in the cache where host code reaches the
//! memory, large ones keep the number of queue operations small where it does not.

use half::f16;
use num_complex::{Complex, Complex64};

use crate::array::UsmArray;
use crate::copy::half_from_f64;
use crate::dtype::{Dtype, Element};
use crate::error::Result;
use crate::layout::{Order, SliceItem};
use crate::view::{bytes_of, zeroed_vec};

const HOST_CHUNK_BYTES: usize = 64 << 10;
const DEVICE_CHUNK_BYTES: usize = 4 << 20;

/// Sets the elements of a C-contiguous array, one after the other, to what the function gives for 0, 1, 2, …
///
/// `T` has the item size of the array; its bytes are what is stored.
pub(super) fn generate<T: Element>(array: &UsmArray, mut value: impl FnMut(usize) -> T) -> Result<()> {
    let chunk_bytes = if array.is_host_reachable() { HOST_CHUNK_BYTES } else { DEVICE_CHUNK_BYTES };
    let (size, len) = (array.size(), chunk_bytes / size_of::<T>());
    let flat = array.reshape_view(&[-1], Order::C)?;
    let mut chunk = zeroed_vec::<T>(len.min(size))?;
    for start in (0..size).step_by(len) {
        let part = &mut chunk[..len.min(size - start)];
        part.iter_mut().enumerate().for_each(|(i, element)| *element = value(start + i));
        let target = flat.slice(&[SliceItem::between(start, start + part.len())])?;
        target.copy_from_host_contiguous(bytes_of(part))?;
    }
    Ok(())
}

/// As [`generate`], for real floating-point dtypes; others are left alone.
pub(super) fn generate_real(array: &UsmArray, value: impl Fn(usize) -> f64) -> Result<()> {
    match array.dtype() {
        Dtype::F16 => generate::<f16>(array, |i| half_from_f64(value(i))),
        Dtype::F32 => generate(array, |i| value(i) as f32),
        Dtype::F64 => generate(array, value),
        _ => Ok(()),
    }
}

/// As [`generate`], for complex dtypes; others are left alone.
pub(super) fn generate_complex(array: &UsmArray, value: impl Fn(usize) -> Complex64) -> Result<()> {
    match array.dtype() {
        Dtype::C64 => generate(array, |i| {
            let value = value(i);
            Complex::new(value.re as f32, value.im as f32)
        }),
        Dtype::C128 => generate(array, value),
        _ => Ok(()),
    }
}

/// As [`generate`], for integer dtypes: the lowest bytes of what the function gives.
pub(super) fn generate_integers(array: &UsmArray, mut value: impl FnMut(usize) -> u64) -> Result<()> {
    match array.itemsize_bytes() {
        1 => generate(array, |i| value(i) as u8),
        2 => generate(array, |i| value(i) as u16),
        4 => generate(array, |i| value(i) as u32),
        _ => generate(array, value),
    }
}
