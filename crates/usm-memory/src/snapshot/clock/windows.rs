//! Windows: one clock for both. Its coarse clock has another origin, so that differences would be wrong.

use std::sync::LazyLock;
use std::time::Instant;

/// Nanoseconds, to a few milliseconds.
pub(super) fn coarse() -> u64 {
    exact()
}

/// Nanoseconds since the first call.
pub(super) fn exact() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
