//! Host memory that a transfer keeps: whose bytes stay where they are.

use crate::plain::Plain;

/// Host memory that a transfer can read while it owns the value.
///
/// # Safety
/// 1. `start` leads to `len_bytes` initialised bytes of host memory, or of no USM that the transfer writes. They stay there, also
///    when the value moves, until it is dropped.
/// 2. Nobody writes them while a transfer owns the value.
pub unsafe trait HostMemory: Send + 'static {
    /// The first byte.
    fn start(&self) -> *const u8;
    /// Number of bytes.
    fn len_bytes(&self) -> usize;
}

/// Host memory that a transfer can write while it owns the value.
///
/// # Safety
/// 1. `start_mut` leads to the bytes of [`HostMemory`], which may be written and may hold anything.
/// 2. Nobody reads or writes them while a transfer owns the value.
pub unsafe trait HostMemoryMut: HostMemory {
    /// The first byte.
    fn start_mut(&mut self) -> *mut u8;
}

// SAFETY: promise 1 of `HostMemory`: elements without padding (`Plain`, 2) in memory of the heap. 2. Whoever owns a vector has it alone.
unsafe impl<T: Plain> HostMemory for Vec<T> {
    fn start(&self) -> *const u8 {
        self.as_ptr().cast()
    }

    fn len_bytes(&self) -> usize {
        size_of_val(&**self)
    }
}

// SAFETY: promise 1 of `HostMemoryMut`: any bytes are elements (`Plain`, 1). 2. As for `HostMemory`.
unsafe impl<T: Plain> HostMemoryMut for Vec<T> {
    fn start_mut(&mut self) -> *mut u8 {
        self.as_mut_ptr().cast()
    }
}
