//! Windows: the functions of `kernel32.dll`.

// Invariant WN1: the system gets pointers to values that outlive its call, or addresses of the caller's own pages.

use std::io;
use std::mem;
use std::ptr;

use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, MEM_RESET, PAGE_NOACCESS, PAGE_READWRITE, VirtualAlloc,
    VirtualFree, VirtualUnlock,
};
use windows_sys::Win32::System::SystemInformation::{
    GetSystemInfo, GlobalMemoryStatusEx, MEMORYSTATUSEX, SYSTEM_INFO,
};
use windows_sys::Win32::System::Threading::GetCurrentProcessorNumber;

/// Bytes of a page.
pub(crate) fn page_bytes() -> Option<usize> {
    let mut facts = SYSTEM_INFO::default();
    // SAFETY: WN1: writes the facts.
    unsafe { GetSystemInfo(&raw mut facts) };
    usize::try_from(facts.dwPageSize).ok()
}

/// Memory of the machine.
pub(crate) fn physical_bytes() -> Option<u64> {
    let mut facts = MEMORYSTATUSEX::default();
    facts.dwLength = u32::try_from(mem::size_of_val(&facts)).ok()?;
    // SAFETY: WN1: writes the facts, whose length is there.
    let is_known = unsafe { GlobalMemoryStatusEx(&raw mut facts) } != 0;
    is_known.then_some(facts.ullTotalPhys)
}

/// The number of the processor that runs this thread.
pub(crate) fn current_cpu() -> usize {
    // SAFETY: WN1: takes nothing and cannot fail.
    let cpu = unsafe { GetCurrentProcessorNumber() };
    usize::try_from(cpu).unwrap_or_default()
}

/// Identity of the thread, without the standard library's thread-local values, which may be gone when exit handlers run.
#[cfg(any(feature = "sycl", feature = "cuda"))]
pub(crate) fn this_thread() -> u64 {
    // SAFETY: WN1: takes nothing and cannot fail.
    u64::from(unsafe { windows_sys::Win32::System::Threading::GetCurrentThreadId() })
}

/// Whether this is the thread whose end is the end of the process. No thread is: the end of the main thread ends the process by a call of
/// `exit`, whose handlers run before the values of the thread are dropped.
#[cfg(any(feature = "sycl", feature = "cuda"))]
pub(crate) fn is_main_thread() -> bool {
    false
}

/// Has the function called at the end of the process, after those that are registered later. In a library it runs when the system has
/// [ended all other threads](has_lost_threads).
#[cfg(any(feature = "sycl", feature = "cuda"))]
pub(crate) fn at_exit(handler: extern "C" fn()) {
    // SAFETY: LC2.
    unsafe { libc::atexit(handler) };
}

/// Whether the system has ended all other threads of the process: nobody can wait for their calls.
#[cfg(any(feature = "sycl", feature = "cuda"))]
pub(crate) fn has_lost_threads() -> bool {
    #[link(name = "ntdll", kind = "raw-dylib")]
    unsafe extern "system" {
        /// Whether the process is at its end.
        fn RtlDllShutdownInProgress() -> u8;
    }
    // SAFETY: WN1: takes nothing and cannot fail.
    unsafe { RtlDllShutdownInProgress() != 0 }
}

/// Nothing: no process is forked here.
pub(crate) fn at_fork(_before: extern "C" fn(), _in_parent: extern "C" fn(), _in_child: extern "C" fn()) {}

/// Address space that nobody can touch, at a new address.
pub(crate) fn reserve(len_bytes: usize) -> io::Result<*mut u8> {
    // SAFETY: WN1: new address space at an address of the system's choice affects no existing memory.
    let start = unsafe { VirtualAlloc(ptr::null(), len_bytes, MEM_RESERVE, PAGE_NOACCESS) };
    if start.is_null() { Err(io::Error::last_os_error()) } else { Ok(start.cast()) }
}

/// Makes reserved pages readable and writable.
///
/// # Safety
/// 1. The pages are reserved, and nobody has a reference to them.
pub(crate) unsafe fn commit(start: *mut u8, len_bytes: usize) -> io::Result<()> {
    // SAFETY: WN1, by promise 1.
    let pages = unsafe { VirtualAlloc(start.cast(), len_bytes, MEM_COMMIT, PAGE_READWRITE) };
    if pages.is_null() { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Gives reserved address space back.
///
/// # Safety
/// 1. [`reserve`] returned the range, which nobody uses any more.
pub(crate) unsafe fn release(start: *mut u8, _len_bytes: usize) {
    // SAFETY: WN1, by promise 1. The length 0 stands for all that was reserved.
    unsafe { VirtualFree(start.cast(), 0, MEM_RELEASE) };
}

/// Gives the memory of committed pages back to the system. They stay accessible, and their content is lost.
///
/// # Safety
/// 1. The pages are [committed](commit), and nobody uses their content.
pub(crate) unsafe fn discard(start: *mut u8, len_bytes: usize) {
    // SAFETY: WN1, by promise 1. A refusal keeps the memory.
    unsafe { VirtualAlloc(start.cast(), len_bytes, MEM_RESET, PAGE_READWRITE) };
    // For pages that are not locked this call takes the pages out of the working set, and says that they were not locked.
    // SAFETY: WN1, by promise 1.
    unsafe { VirtualUnlock(start.cast(), len_bytes) };
}

/// Nothing: large pages need a privilege here, which few programs have.
///
/// # Safety
/// 1. The pages are the caller's own.
pub(crate) unsafe fn prefer_huge_pages(_start: *mut u8, _len_bytes: usize) {}

/// A new block of the C allocator, or null. The alignment is a power of two of at least a word.
pub(crate) fn allocate_aligned(len_bytes: usize, align_bytes: usize) -> *mut u8 {
    // SAFETY: LC1.
    unsafe { libc::aligned_malloc(len_bytes, align_bytes) }.cast()
}

/// Frees a block.
///
/// # Safety
/// 1. [`allocate_aligned`] returned the block, which nobody uses any more.
pub(crate) unsafe fn free_aligned(block: *mut u8) {
    // SAFETY: the caller's promise 1.
    unsafe { libc::aligned_free(block.cast()) };
}

/// Reads this process's memory without ever faulting.
#[cfg(feature = "sycl")]
#[derive(Debug)]
pub(crate) struct OwnMemory;

#[cfg(feature = "sycl")]
impl OwnMemory {
    /// The memory of this process.
    pub(crate) fn open() -> Option<Self> {
        Some(Self)
    }

    /// Whether all bytes from the address on could be read.
    pub(crate) fn read(&self, address: usize, bytes: &mut [u8]) -> bool {
        use windows_sys::Win32::System::Diagnostics::Debug::ReadProcessMemory;
        use windows_sys::Win32::System::Threading::GetCurrentProcess;

        let from = ptr::with_exposed_provenance(address);
        let (to, len_bytes) = (bytes.as_mut_ptr().cast(), bytes.len());
        // SAFETY: WN1: takes nothing, and returns a number that stands for this process.
        let process = unsafe { GetCurrentProcess() };
        let mut read_bytes = 0;
        // SAFETY: WN1: writes to `bytes`; the system looks at the address itself.
        let is_read = unsafe { ReadProcessMemory(process, from, to, len_bytes, &raw mut read_bytes) } != 0;
        is_read && read_bytes == len_bytes
    }
}
