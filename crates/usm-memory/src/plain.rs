//! Which Rust types can be elements of a typed buffer.

use crate::{Error, Result};

/// A type whose values are nothing but their bytes, so that any memory can hold them and any bytes are one.
///
/// Implemented for the integers of 8 to 64 bits, `usize`, `isize`, `f32`, `f64`, and arrays of such types. `bool`, `char`, enums,
/// references and structures with padding are no plain data.
///
/// ```
/// use usm_memory::Plain;
///
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Particle {
///     position: [f32; 3],
///     charge: f32,
/// }
/// // SAFETY: 1. and 2. Four floats, one after the other. 3. 16 bytes.
/// unsafe impl Plain for Particle {}
/// ```
///
/// # Safety
/// 1. Every pattern of bytes is a valid value.
/// 2. There is no padding: every byte of a value is initialised.
/// 3. Nothing in a value can be changed through a shared reference, and nothing in it is bound to a process or a thread.
pub unsafe trait Plain: Copy + Send + Sync + 'static {}

macro_rules! plain {
    ($($type:ty),*) => {$(
        // SAFETY: promises 1 and 2 of `Plain`: a primitive number has neither invalid patterns nor padding. 3. It has no inner mutability.
        unsafe impl Plain for $type {}
    )*};
}

plain!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize, f32, f64);

// SAFETY: promises 1 to 3 of `Plain`: an array is its elements, one after the other, without anything between them; each of them keeps the conditions.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// The bytes of some elements.
pub(crate) fn bytes_of<T: Plain>(elements: &[T]) -> &[u8] {
    // SAFETY: the same memory, of which every byte is initialised (promise 2 of `Plain`); bytes have no alignment.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

/// The bytes of some elements, to be written.
pub(crate) fn bytes_of_mut<T: Plain>(elements: &mut [T]) -> &mut [u8] {
    let len_bytes = size_of_val(elements);
    // SAFETY: the same memory, of which every byte is initialised (promise 2 of `Plain`); any bytes written make valid elements
    // (`Plain`, 1).
    unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), len_bytes) }
}

/// So many elements of zero bytes.
pub(crate) fn zeroed<T: Plain>(len: usize) -> Result<Vec<T>> {
    // Invariant PL1: `elements` has capacity for `len` elements.
    let mut elements = Vec::new();
    reserve(&mut elements, len)?;
    let start: *mut T = elements.as_mut_ptr();
    // SAFETY: PL1: within the capacity reserved.
    unsafe { start.write_bytes(0, len) };
    // SAFETY: promise 1 of `Plain`: within the capacity reserved, and zero bytes are valid elements (`Plain`, 1).
    unsafe { elements.set_len(len) };
    Ok(elements)
}

/// Reserves capacity for `additional` more elements. A failure is an error like any other.
pub(crate) fn reserve<T>(elements: &mut Vec<T>, additional: usize) -> Result<()> {
    let len_bytes = additional.saturating_mul(size_of::<T>());
    elements.try_reserve(additional).map_err(|_| Error::OutOfHostMemory { len_bytes })
}
