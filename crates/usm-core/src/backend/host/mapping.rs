//! Address space for device memory: a public half that nobody can touch and a private half that holds the bytes.

use std::io;
use std::ops::Range;
use std::ptr::NonNull;

use crate::os;

/// Both halves start at a multiple of this, so that huge pages and large alignments fit.
const BASE_ALIGN_BYTES: usize = 4 * 1024 * 1024;
/// Private pages become accessible in steps of this many bytes.
const COMMIT_STEP_BYTES: usize = 64 * 1024 * 1024;
const SMALLEST_HALF_BYTES: usize = 64 * 1024 * 1024;

/// `2 * half` bytes of reserved address space. Addresses below are public ones, those of the first half.
#[derive(Debug)]
pub(super) struct Mapping {
    /// Invariant M1: `reserved` starts a mapping of `reserved_bytes` bytes that only this value unmaps.
    reserved: NonNull<u8>,
    reserved_bytes: usize,
    /// Invariant M2: a multiple of `BASE_ALIGN_BYTES`, and `base .. base + 2 * half` lies within the mapping. The first half
    /// stays inaccessible for ever.
    base: NonNull<u8>,
    half: usize,
    /// Invariant M3: the first `committed` bytes of the second half are readable and writable.
    committed: usize,
}

// SAFETY: M1: exclusive ownership of a mapping, which is not tied to a thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Reserves two halves of up to `half_bytes` (a power of two) each; less where address space is limited.
    pub(super) fn reserve(half_bytes: usize) -> io::Result<Self> {
        let mut half = half_bytes.max(SMALLEST_HALF_BYTES);
        loop {
            let reserved_bytes = 2 * half + BASE_ALIGN_BYTES;
            let start = match os::reserve(reserved_bytes) {
                Ok(start) => start,
                Err(error) if half == SMALLEST_HALF_BYTES => return Err(error),
                Err(_) => {
                    half /= 2;
                    continue;
                }
            };
            let Some(reserved) = NonNull::new(start) else {
                return Err(io::Error::other("the system reserved address 0"));
            };
            let skip = reserved.as_ptr().align_offset(BASE_ALIGN_BYTES);
            // SAFETY: M2: `skip` is below `BASE_ALIGN_BYTES`, which the mapping holds beyond the two halves.
            let base = unsafe { reserved.add(skip) };
            return Ok(Self { reserved, reserved_bytes, base, half, committed: 0 });
        }
    }

    /// The public addresses.
    pub(super) fn addresses(&self) -> Range<usize> {
        let start = self.base.addr().get();
        start..start + self.half
    }

    /// The pointer to a public address. It carries no right to access anything.
    pub(super) fn public(&self, address: usize) -> NonNull<u8> {
        debug_assert!(self.addresses().contains(&address));
        self.base.map_addr(|base| base.saturating_add(address - base.get()))
    }

    /// Where the bytes of `address .. address + len_bytes` are, or `None` when some are not public addresses or were never
    /// committed.
    pub(super) fn backing(&self, address: usize, len_bytes: usize) -> Option<NonNull<u8>> {
        let offset = address.checked_sub(self.base.addr().get())?;
        offset.checked_add(len_bytes).filter(|&end| end <= self.committed)?;
        // SAFETY: `half + offset` lies within the second half (M2, M3).
        Some(unsafe { self.base.add(self.half + offset) })
    }

    /// Makes the bytes behind all addresses below `end` accessible.
    pub(super) fn commit(&mut self, end: usize) -> io::Result<()> {
        let end = end.saturating_sub(self.base.addr().get());
        if end <= self.committed {
            return Ok(());
        }
        let target = end.next_multiple_of(COMMIT_STEP_BYTES).min(self.half);
        // SAFETY: within the second half (M2).
        let start = unsafe { self.base.add(self.half + self.committed) };
        // SAFETY: pages of our own mapping (M1) which nobody has a reference to: none could be accessed before.
        unsafe { os::commit(start.as_ptr(), target - self.committed) }?;
        self.committed = target;
        Ok(())
    }

    /// Gives the pages of a free range back to the system; their content is lost.
    pub(super) fn discard(&self, address: usize, len_bytes: usize) {
        if let Some(start) = self.backing(address, len_bytes) {
            // SAFETY: M1, M3: private pages of our own mapping, in a range that no live block uses.
            unsafe { os::discard(start.as_ptr(), len_bytes) };
        }
    }

    /// Asks for huge pages behind a range.
    pub(super) fn prefer_huge_pages(&self, address: usize, len_bytes: usize) {
        if let Some(start) = self.backing(address, len_bytes) {
            // SAFETY: M1: private pages of our own mapping.
            unsafe { os::prefer_huge_pages(start.as_ptr(), len_bytes) };
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: M1: our own mapping, unmapped once; its blocks keep the backend, and so this value, alive.
        unsafe { os::release(self.reserved.as_ptr(), self.reserved_bytes) };
    }
}
