//! Host memory of the program: bytes that are read and written through the kernel, so that a bad pointer is an answer.

use crate::os;

/// The bytes of a range; `None` when some are not readable.
pub(crate) fn read(address: usize, len_bytes: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len_bytes).ok()?;
    bytes.resize(len_bytes, 0);
    transfer(bytes.as_mut_ptr(), address, len_bytes, true).then_some(bytes)
}

/// Writes to a range; false when some of it is not writable.
pub(crate) fn write(address: usize, bytes: &[u8]) -> bool {
    transfer(bytes.as_ptr().cast_mut(), address, bytes.len(), false)
}

fn transfer(local: *mut u8, address: usize, len_bytes: usize, is_read: bool) -> bool {
    let mut done = 0;
    while done < len_bytes {
        let left = len_bytes - done;
        // SAFETY: `local` has `len_bytes` bytes, which are ours.
        match unsafe { os::transfer(local.wrapping_add(done), address.wrapping_add(done), left, is_read) } {
            Some(0) => return false,
            Some(count) => done += count,
            None => return by_pointer(local, address, len_bytes, is_read),
        }
    }
    true
}

/// Where the system does not offer these calls, a bad pointer ends the process.
fn by_pointer(local: *mut u8, address: usize, len_bytes: usize, is_read: bool) -> bool {
    let theirs = std::ptr::with_exposed_provenance_mut::<u8>(address);
    let (from, to) = if is_read { (theirs, local) } else { (local, theirs) };
    // SAFETY: `local` has `len_bytes` bytes; the caller of this driver promises the same of the other side. A write changes none of
    // ours: `local` is only read then.
    unsafe { std::ptr::copy(from.cast_const(), to, len_bytes) };
    true
}
