//! `bcryptprimitives.dll`, which Rust's standard library needs and Wine before version 9 does not have. Only for tests under Wine.
#![no_std]

#[link(name = "advapi32")]
unsafe extern "system" {
    /// `RtlGenRandom`: fills the bytes, and returns 0 where it cannot.
    fn SystemFunction036(bytes: *mut u8, len_bytes: u32) -> u8;
}

/// Fills the bytes with random numbers. Returns 0 where it cannot.
///
/// # Safety
/// 1. So many bytes can be written.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn ProcessPrng(bytes: *mut u8, len_bytes: usize) -> i32 {
    let Ok(len_bytes) = u32::try_from(len_bytes) else { return 0 };
    // SAFETY: the caller's promise 1.
    i32::from(unsafe { SystemFunction036(bytes, len_bytes) })
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
