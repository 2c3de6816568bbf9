//! Linux: libc, and the file system of processes.

// Invariant OS1: the system gets pointers to values that outlive its call, or addresses of the caller's own pages.

use std::ffi::c_int;
#[cfg(feature = "sycl")]
use std::fs::File;
use std::io;
#[cfg(feature = "sycl")]
use std::os::unix::fs::FileExt;
use std::ptr;

/// Bytes of a page.
pub(crate) fn page_bytes() -> Option<usize> {
    // SAFETY: LC1.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).ok()
}

/// Memory of the machine.
pub(crate) fn physical_bytes() -> Option<u64> {
    // SAFETY: a query without side effects (LC1).
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    // SAFETY: a query without side effects (LC1).
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let known = u64::try_from(pages).ok().zip(u64::try_from(page_bytes).ok());
    known.and_then(|(pages, bytes)| pages.checked_mul(bytes))
}

/// The number of the processor that runs this thread; 0 where the system does not tell.
pub(crate) fn current_cpu() -> usize {
    // SAFETY: takes nothing and answers with a number, negative where it has none (LC1).
    let cpu = unsafe { libc::sched_getcpu() };
    usize::try_from(cpu).unwrap_or_default()
}

/// Identity of the thread, without the standard library's thread-local values, which may be gone when exit handlers run.
#[cfg(any(feature = "sycl", feature = "cuda"))]
pub(crate) fn this_thread() -> u64 {
    // SAFETY: takes nothing and cannot fail (LC1).
    unsafe { libc::pthread_self() }
}

/// Whether this is the thread whose end is the end of the process.
#[cfg(any(feature = "sycl", feature = "cuda"))]
pub(crate) fn is_main_thread() -> bool {
    // C libraries before 2.30 have no function for it, and a module that needs one does not load there.
    // SAFETY: takes nothing and cannot fail (LC1).
    let thread = unsafe { libc::syscall(libc::SYS_gettid) };
    // The main thread's number is the number of the process.
    u32::try_from(thread) == Ok(std::process::id())
}

/// Has the function called at the end of the process, after those that are registered later.
#[cfg(any(feature = "sycl", feature = "cuda"))]
pub(crate) fn at_exit(handler: extern "C" fn()) {
    // SAFETY: LC2.
    unsafe { libc::atexit(handler) };
}

/// Whether the system has ended all other threads of the process. Here exit handlers run beside them.
#[cfg(any(feature = "sycl", feature = "cuda"))]
pub(crate) fn has_lost_threads() -> bool {
    false
}

/// Has the functions called at each `fork`: before it, after it in the parent, and in the child.
pub(crate) fn at_fork(before: extern "C" fn(), in_parent: extern "C" fn(), in_child: extern "C" fn()) {
    // SAFETY: LC2.
    unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
}

/// Address space that nobody can touch, at a new address.
pub(crate) fn reserve(len_bytes: usize) -> io::Result<*mut u8> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: OS1: a new anonymous mapping at an address of the kernel's choice affects no existing memory.
    let start = unsafe { libc::mmap(ptr::null_mut(), len_bytes, libc::PROT_NONE, flags, -1, 0) };
    if start == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(start.cast()) }
}

/// Makes reserved pages readable and writable.
///
/// # Safety
/// 1. The pages are reserved, and nobody has a reference to them.
pub(crate) unsafe fn commit(start: *mut u8, len_bytes: usize) -> io::Result<()> {
    // SAFETY: OS1, by promise 1.
    match unsafe { libc::mprotect(start.cast(), len_bytes, libc::PROT_READ | libc::PROT_WRITE) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Gives reserved address space back.
///
/// # Safety
/// 1. [`reserve`] returned the range, which nobody uses any more.
pub(crate) unsafe fn release(start: *mut u8, len_bytes: usize) {
    // SAFETY: OS1, by promise 1.
    unsafe { libc::munmap(start.cast(), len_bytes) };
}

/// Gives the memory of committed pages back to the system. They stay accessible, and their content is lost.
///
/// # Safety
/// 1. The pages are [committed](commit), and nobody uses their content.
pub(crate) unsafe fn discard(start: *mut u8, len_bytes: usize) {
    // SAFETY: the caller's promise 1.
    unsafe { advise(start, len_bytes, libc::MADV_DONTNEED) };
}

/// Asks for huge pages. The content stays.
///
/// # Safety
/// 1. The pages are the caller's own.
pub(crate) unsafe fn prefer_huge_pages(start: *mut u8, len_bytes: usize) {
    // SAFETY: the caller's promise 1.
    unsafe { advise(start, len_bytes, libc::MADV_HUGEPAGE) };
}

/// # Safety
/// 1. The pages are the caller's own. Nobody uses their content if the advice drops it.
unsafe fn advise(start: *mut u8, len_bytes: usize, advice: c_int) {
    // SAFETY: OS1, by promise 1. The advice may be refused: it is only a hint, or frees memory a little later.
    unsafe { libc::madvise(start.cast(), len_bytes, advice) };
}

/// A new block of the C allocator, or null. The alignment is a power of two of at least a word.
pub(crate) fn allocate_aligned(len_bytes: usize, align_bytes: usize) -> *mut u8 {
    let mut block = ptr::null_mut();
    // SAFETY: OS1: writes an address into `block`.
    let status = unsafe { libc::posix_memalign(&raw mut block, align_bytes, len_bytes) };
    if status == 0 { block.cast() } else { ptr::null_mut() }
}

/// Frees a block.
///
/// # Safety
/// 1. [`allocate_aligned`] returned the block, which nobody uses any more.
pub(crate) unsafe fn free_aligned(block: *mut u8) {
    // SAFETY: the caller's promise 1.
    unsafe { libc::free(block.cast()) };
}

/// Reads this process's memory without ever faulting.
#[cfg(feature = "sycl")]
#[derive(Debug)]
pub(crate) struct OwnMemory(File);

#[cfg(feature = "sycl")]
impl OwnMemory {
    /// Opened at each use: a file kept over a `fork` would show the parent's memory.
    pub(crate) fn open() -> Option<Self> {
        File::open("/proc/self/mem").ok().map(Self)
    }

    /// Whether all bytes from the address on could be read.
    pub(crate) fn read(&self, address: usize, bytes: &mut [u8]) -> bool {
        u64::try_from(address).is_ok_and(|at| self.0.read_exact_at(bytes, at).is_ok())
    }
}
