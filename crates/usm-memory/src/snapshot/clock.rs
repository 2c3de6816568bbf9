//! The time since the first allocation, cheap enough to be asked for at each.

use std::mem::MaybeUninit;
use std::time::Duration;

/// A point in time; only differences mean something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    nanoseconds: u64,
}

impl Moment {
    pub(crate) const NEVER: Self = Self { nanoseconds: 0 };

    /// Now, to a few milliseconds: the exact clock takes 36 ns, much of an allocation from a pool.
    #[cfg(target_os = "linux")]
    pub(crate) fn now_coarse() -> Self {
        Self::of(libc::CLOCK_MONOTONIC_COARSE)
    }

    /// Now, as exactly as the system tells.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn now_coarse() -> Self {
        Self::now()
    }

    /// Now, as exactly as the system tells.
    pub(crate) fn now() -> Self {
        Self::of(libc::CLOCK_MONOTONIC)
    }

    fn of(clock: libc::clockid_t) -> Self {
        let mut time = MaybeUninit::<libc::timespec>::zeroed();
        // SAFETY: writes the time to `time`.
        unsafe { libc::clock_gettime(clock, time.as_mut_ptr()) };
        // SAFETY: two integers, which are zero or what the call wrote.
        let time = unsafe { time.assume_init() };
        let part = |value: i64| u64::try_from(value).unwrap_or_default();
        Self { nanoseconds: part(time.tv_sec).wrapping_mul(1_000_000_000).wrapping_add(part(time.tv_nsec)) }
    }

    /// The time from an earlier moment to this one; none when that one was later.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.nanoseconds.saturating_sub(earlier.nanoseconds))
    }
}
