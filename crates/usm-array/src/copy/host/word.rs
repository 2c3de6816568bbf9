//! Words: unsigned integers in the place of elements of their size; and a buffer for a block of them

use std::mem::MaybeUninit;

/// An unsigned integer as large as an element. Every pattern of bytes is one, and none of its bytes is padding.
pub(super) trait Word: Copy + 'static {}

impl Word for u8 {}
impl Word for u16 {}
impl Word for u32 {}
impl Word for u64 {}
impl Word for u128 {}

/// Bytes of a block: two of them fit into the first level of any cache.
pub(super) const BLOCK_BYTES: usize = 4096;

/// Memory for a block of `N` bytes, on the stack and uninitialised.
#[repr(C, align(64))]
pub(super) struct Block<const N: usize = BLOCK_BYTES>([MaybeUninit<u8>; N]);

impl<const N: usize> Block<N> {
    pub(super) const fn new() -> Self {
        Self([MaybeUninit::uninit(); N])
    }

    /// Start of `N` writable bytes, at a multiple of 64.
    pub(super) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}
