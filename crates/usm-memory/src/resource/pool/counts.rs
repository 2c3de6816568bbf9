//! What a pool counts, as a whole and in the cache of each thread.

/// Bytes or buffers. Sums of all that was ever allocated may wrap around, their difference does not.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Level {
    pub(super) allocated: u64,
    freed: u64,
    /// The largest value of `now`.
    pub(super) peak: i64,
}

impl Level {
    /// Less than nothing where more came back than was allocated.
    #[inline(always)]
    pub(super) fn now(self) -> i64 {
        self.allocated.wrapping_sub(self.freed).cast_signed()
    }

    #[inline(always)]
    fn add(&mut self, count: usize) {
        self.allocated = self.allocated.wrapping_add(count as u64);
        self.peak = self.peak.max(self.now());
    }

    #[inline(always)]
    fn remove(&mut self, count: usize) {
        self.freed = self.freed.wrapping_add(count as u64);
    }

    /// Whether there is a new peak when this one goes on with `later`.
    fn rises_with(self, later: Self) -> bool {
        self.now() + later.peak > self.peak
    }

    /// Goes on with what was counted elsewhere. Others have so much beside it.
    fn append(&mut self, later: Self, beside: i64) {
        if self.rises_with(later) {
            self.peak = self.peak.max(self.now() + later.peak + beside);
        }
        self.add_sums(later);
    }

    fn add_sums(&mut self, other: Self) {
        self.allocated = self.allocated.wrapping_add(other.allocated);
        self.freed = self.freed.wrapping_add(other.freed);
    }

    /// Adds what was counted elsewhere at the same time. The peak is the one after the last change of either. What never rose there has
    /// no peak of its own.
    fn join(&mut self, other: Self) {
        let other_headroom = if other.peak > 0 { other.peak - other.now() } else { 0 };
        let headroom = (self.peak - self.now()).max(other_headroom);
        self.add_sums(other);
        self.peak = self.now() + headroom;
    }
}

/// Buffers that were allocated and that came back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) bytes: Level,
    pub(super) buffers: Level,
}

impl Counts {
    /// The counts of one new buffer.
    pub(super) fn of(len_bytes: usize) -> Self {
        let mut counts = Self::default();
        counts.add(len_bytes);
        counts
    }

    /// A buffer is there.
    #[inline(always)]
    pub(super) fn add(&mut self, len_bytes: usize) {
        self.bytes.add(len_bytes);
        self.buffers.add(1);
    }

    /// A buffer is gone.
    #[inline(always)]
    pub(super) fn remove(&mut self, len_bytes: usize) {
        self.bytes.remove(len_bytes);
        self.buffers.remove(1);
    }

    /// Goes on with what was counted elsewhere. `beside` tells what others have at the moment; it is asked at new peaks.
    pub(super) fn append(&mut self, later: Self, beside: impl FnOnce() -> Self) {
        let rises = self.bytes.rises_with(later.bytes) || self.buffers.rises_with(later.buffers);
        let beside = if rises { beside() } else { Self::default() };
        self.bytes.append(later.bytes, beside.bytes.now());
        self.buffers.append(later.buffers, beside.buffers.now());
    }

    /// Adds what was counted elsewhere at the same time.
    pub(super) fn join(mut self, other: Self) -> Self {
        self.bytes.join(other.bytes);
        self.buffers.join(other.buffers);
        self
    }

    /// Lets the peaks start again.
    pub(super) fn restart(mut self) -> Self {
        self.bytes.peak = self.bytes.now();
        self.buffers.peak = self.buffers.now();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_that_only_gave_back_raises_no_peak() {
        let mut cache = Counts::default();
        cache.remove(100);
        let mut all = Counts::of(100);
        all.append(Counts::of(100), || cache);
        assert_eq!((all.bytes.peak, all.buffers.peak), (100, 1));
        let seen = all.restart().join(cache);
        assert_eq!((seen.bytes.now(), seen.bytes.peak, seen.buffers.peak), (100, 100, 1));
        cache.add(300);
        cache.remove(300);
        assert_eq!(all.restart().join(cache).bytes.peak, 400);
    }
}
