//! The time since the first allocation, cheap enough to be asked for at each.
//!
//! | file | job |
//! |---|---|
//! | `linux.rs` | the two clocks of Linux |
//! | `windows.rs` | the clock of the standard library |

use std::time::Duration;

#[cfg(not(windows))]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(not(windows))]
use linux as system;
#[cfg(windows)]
use windows as system;

/// A point in time; only differences mean something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    nanoseconds: u64,
}

/// A [`Moment`] of the last weeks to two milliseconds, in half the size: programs have a million records of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timestamp(u32);

impl Timestamp {
    /// Nanoseconds of a step, as a power of two: the steps are all used after a hundred days.
    const STEP_LOG: u32 = 21;
    /// A timestamp that is later than the clock by up to this counts as now: another thread may have written it after the clock was
    /// read. About two minutes.
    const MAX_STEPS_AHEAD: u32 = 1 << 16;

    /// Now, to a few milliseconds.
    #[inline]
    pub(crate) fn now() -> Self {
        Self::of(Moment::now_coarse())
    }

    const fn of(moment: Moment) -> Self {
        Self((moment.nanoseconds >> Self::STEP_LOG) as u32)
    }

    pub(crate) const fn number(self) -> u32 {
        self.0
    }

    /// The one that has that number.
    pub(crate) const fn of_number(number: u32) -> Self {
        Self(number)
    }

    /// The moment, at most `now`.
    pub(crate) const fn moment(self, now: Moment) -> Moment {
        let steps = match Self::of(now).0.wrapping_sub(self.0) {
            steps if steps > u32::MAX - Self::MAX_STEPS_AHEAD => 0,
            steps => steps as u64,
        };
        Moment { nanoseconds: now.nanoseconds.saturating_sub(steps << Self::STEP_LOG) }
    }
}

impl Moment {
    /// Now, to a few milliseconds: the exact clock takes 36 ns, much of an allocation from a pool.
    pub(crate) fn now_coarse() -> Self {
        Self { nanoseconds: system::coarse() }
    }

    /// Now, as exactly as the system tells.
    pub(crate) fn now() -> Self {
        Self { nanoseconds: system::exact() }
    }

    /// The time from an earlier moment to this one; none when that one was later.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.nanoseconds.saturating_sub(earlier.nanoseconds))
    }
}

#[cfg(test)]
mod tests {
    use super::{Moment, Timestamp};

    #[test]
    fn timestamps_lead_back_to_their_moments() {
        for nanoseconds in [0, 1, 5 << 21, (1 << 53) - 1, 1 << 53, u64::MAX >> 2] {
            let moment = Moment { nanoseconds };
            for age in [0, 1, 1 << 21, 86_400_000_000_000, 100 * 86_400_000_000_000] {
                let now = Moment { nanoseconds: nanoseconds + age };
                let found = now.since(Timestamp::of(moment).moment(now)).as_nanos();
                assert!(found.abs_diff(u128::from(age)) <= 1 << 21, "{nanoseconds} {age} {found}");
            }
        }
    }

    #[test]
    fn a_timestamp_after_the_clock_was_read_is_of_now() {
        for nanoseconds in [0, 1 << 40, 1 << 53, u64::MAX >> 2] {
            let now = Moment { nanoseconds };
            for ahead in [1 << 21, 1 << 30, 60_000_000_000] {
                let later = Timestamp::of(Moment { nanoseconds: nanoseconds + ahead });
                assert_eq!(later.moment(now), now, "{nanoseconds} {ahead}");
            }
        }
    }
}
