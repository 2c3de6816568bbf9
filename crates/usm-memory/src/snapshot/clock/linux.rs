//! Linux: a clock to a few milliseconds, and an exact one, which agree.

use std::mem::MaybeUninit;

/// Nanoseconds, to a few milliseconds.
pub(super) fn coarse() -> u64 {
    nanoseconds(libc::CLOCK_MONOTONIC_COARSE)
}

/// Nanoseconds, as exactly as the system tells.
pub(super) fn exact() -> u64 {
    nanoseconds(libc::CLOCK_MONOTONIC)
}

fn nanoseconds(clock: libc::clockid_t) -> u64 {
    // Invariant CK1: `time` is a place for two integers, which are zero or what the call wrote.
    let mut time = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: CK1: the call writes there.
    unsafe { libc::clock_gettime(clock, time.as_mut_ptr()) };
    // SAFETY: CK1: any integers are a time.
    let time = unsafe { time.assume_init() };
    // Neither is ever negative.
    let [seconds, nanoseconds] = [time.tv_sec, time.tv_nsec].map(i64::cast_unsigned);
    seconds.wrapping_mul(1_000_000_000).wrapping_add(nanoseconds)
}
