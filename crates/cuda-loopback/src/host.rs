//! Host memory of the program: bytes that are read and written through the kernel, so that a bad pointer is an answer.

use std::io;

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

type Transfer = unsafe extern "C" fn(
    libc::pid_t,
    *const libc::iovec,
    libc::c_ulong,
    *const libc::iovec,
    libc::c_ulong,
    libc::c_ulong,
) -> isize;

fn transfer(local: *mut u8, address: usize, len_bytes: usize, is_read: bool) -> bool {
    let call: Transfer = if is_read { libc::process_vm_readv } else { libc::process_vm_writev };
    let process = libc::pid_t::try_from(std::process::id()).unwrap_or_default();
    let mut done = 0;
    while done < len_bytes {
        let side = |start: *mut u8| libc::iovec {
            iov_base: start.wrapping_add(done).cast(),
            iov_len: len_bytes - done,
        };
        let (ours, theirs) = (side(local), side(std::ptr::with_exposed_provenance_mut(address)));
        // SAFETY: `local` has `len_bytes` bytes, which are ours. The kernel refuses what it cannot access of the other side, which no
        // Rust value owns: it is memory of the program that calls this driver.
        let count = unsafe { call(process, &raw const ours, 1, &raw const theirs, 1, 0) };
        if let Some(count) = usize::try_from(count).ok().filter(|&count| count > 0) {
            done += count;
            continue;
        }
        match io::Error::last_os_error().raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::ENOSYS | libc::EPERM) => return by_pointer(local, address, len_bytes, is_read),
            _ => return false,
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
