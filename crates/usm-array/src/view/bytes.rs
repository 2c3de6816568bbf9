//! Elements as bytes and back

use std::mem;

use crate::dtype::Element;
use crate::error::{Error, Result};

/// The bytes of some elements.
pub(crate) fn bytes_of<T: Element>(elements: &[T]) -> &[u8] {
    // SAFETY: the same memory, of which every byte is initialised (promise 3 of `Element`); bytes have no
    // alignment.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

/// The bytes of some elements, to be written.
pub(crate) fn bytes_of_mut<T: Element>(elements: &mut [T]) -> &mut [u8] {
    let len_bytes = size_of_val(elements);
    // SAFETY: the same memory, of which every byte is initialised (promise 3 of `Element`); any bytes
    // written make valid elements (promise 2 of `Element`).
    unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), len_bytes) }
}

/// The bytes as elements, if they are a whole number of aligned ones.
pub(crate) fn elements_of<T: Element>(bytes: &[u8]) -> Option<&[T]> {
    // SAFETY: any bytes make valid elements (promise 2 of `Element`).
    let (before, elements, after) = unsafe { bytes.align_to::<T>() };
    (before.is_empty() && after.is_empty()).then_some(elements)
}

/// The bytes as elements to be written, if they are a whole number of aligned ones.
pub(crate) fn elements_of_mut<T: Element>(bytes: &mut [u8]) -> Option<&mut [T]> {
    // SAFETY: any bytes make valid elements (promise 2 of `Element`), and every byte of those written is initialised (promise 3 of `Element`).
    let (before, elements, after) = unsafe { bytes.align_to_mut::<T>() };
    (before.is_empty() && after.is_empty()).then_some(elements)
}

/// An empty vector with capacity for `len` numbers.
pub(crate) fn with_capacity<T>(len: usize) -> Result<Vec<T>> {
    let mut numbers = Vec::new();
    let failed = |_| Error::OutOfHostMemory { len_bytes: len.saturating_mul(size_of::<T>()) };
    numbers.try_reserve_exact(len).map_err(failed)?;
    Ok(numbers)
}

/// Elements of zero bytes.
pub(crate) const fn zeroed_array<T: Element, const LEN: usize>() -> [T; LEN] {
    // SAFETY: zero bytes are valid elements (promise 2 of `Element`).
    unsafe { mem::zeroed() }
}

/// A vector of elements of zero bytes. The system maps the pages of a large one at the first write, by any thread.
///
/// Invariant ZV1: the memory is asked for, and freed by the vector, with one layout, whose size is not 0.
pub(crate) fn zeroed_vec<T: Element>(len: usize) -> Result<Vec<T>> {
    let failed = || Error::OutOfHostMemory { len_bytes: len.saturating_mul(size_of::<T>()) };
    let layout = std::alloc::Layout::array::<T>(len).map_err(|_| failed())?;
    if layout.size() == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: ZV1: the size is not 0.
    let start = unsafe { std::alloc::alloc_zeroed(layout) };
    if start.is_null() {
        return Err(failed());
    }
    // SAFETY: ZV1: from the global allocator with the layout of so many elements; zero bytes are valid ones (promise 2 of `Element`).
    Ok(unsafe { Vec::from_raw_parts(start.cast::<T>(), len, len) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_the_elements() {
        let mut elements = [1_u16, 0x0203];
        assert_eq!(bytes_of(&elements), [1_u16, 0x0203].map(u16::to_ne_bytes).as_flattened());
        assert_eq!(elements_of::<u16>(bytes_of(&elements)), Some(&elements[..]));
        assert_eq!(elements_of::<u16>(&bytes_of(&elements)[1..]), None);
        assert_eq!(elements_of_mut::<u16>(&mut bytes_of_mut(&mut elements)[..3]), None);
        bytes_of_mut(&mut elements).fill(0xff);
        assert_eq!(elements, [u16::MAX; 2]);
    }

    #[test]
    fn too_many_elements_are_an_error() {
        assert_eq!(zeroed_vec::<f64>(3).ok(), Some(vec![0.0; 3]));
        assert!(matches!(zeroed_vec::<f64>(isize::MAX as usize / 8), Err(Error::OutOfHostMemory { .. })));
        assert!(zeroed_vec::<f64>(usize::MAX).is_err());
    }
}
