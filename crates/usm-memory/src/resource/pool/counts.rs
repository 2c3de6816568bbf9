//! What a pool counts, as a whole and in the cache of each thread.

/// A number that goes up and down, and the largest it was. Less than nothing where more came back than was allocated.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Level {
    pub(super) now: isize,
    pub(super) peak: isize,
}

impl Level {
    #[inline(always)]
    fn add(&mut self, count: isize) {
        self.now += count;
        self.peak = self.peak.max(self.now);
    }

    /// Whether there is a new peak when this one goes on with `later`.
    fn rises_with(self, later: Self) -> bool {
        self.now + later.peak > self.peak
    }

    /// Goes on with what was counted elsewhere. Others have so much beside it.
    fn append(&mut self, later: Self, beside: isize) {
        if self.rises_with(later) {
            self.peak = self.peak.max(self.now + later.peak + beside);
        }
        self.now += later.now;
    }

    /// Adds what was counted elsewhere at the same time. The peak is the one after the last change of either.
    fn join(&mut self, other: Self) {
        let headroom = (self.peak - self.now).max(other.peak - other.now);
        self.now += other.now;
        self.peak = self.now + headroom;
    }

    /// Lets the peak start again.
    fn restart(&mut self) {
        self.peak = self.now;
    }
}

/// Buffers that were allocated, less those that came back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) bytes: Level,
    pub(super) buffers: Level,
    /// Of all buffers ever allocated.
    pub(super) total_bytes: u64,
    pub(super) total_count: u64,
}

impl Counts {
    /// A buffer is there.
    #[inline(always)]
    pub(super) fn add(&mut self, len_bytes: usize) {
        self.bytes.add(len_bytes as isize);
        self.buffers.add(1);
        self.total_bytes += len_bytes as u64;
        self.total_count += 1;
    }

    /// A buffer is gone.
    #[inline(always)]
    pub(super) fn remove(&mut self, len_bytes: usize) {
        self.bytes.now -= len_bytes as isize;
        self.buffers.now -= 1;
    }

    /// Goes on with what was counted elsewhere. `beside` tells what others have at the moment; it is asked at new peaks.
    pub(super) fn append(&mut self, later: Self, beside: impl FnOnce() -> Self) {
        let rises = self.bytes.rises_with(later.bytes) || self.buffers.rises_with(later.buffers);
        let beside = if rises { beside() } else { Self::default() };
        self.bytes.append(later.bytes, beside.bytes.now);
        self.buffers.append(later.buffers, beside.buffers.now);
        self.add_totals(later);
    }

    /// Adds what was counted elsewhere at the same time.
    pub(super) fn join(mut self, other: Self) -> Self {
        self.bytes.join(other.bytes);
        self.buffers.join(other.buffers);
        self.add_totals(other);
        self
    }

    fn add_totals(&mut self, other: Self) {
        self.total_bytes += other.total_bytes;
        self.total_count += other.total_count;
    }

    /// Lets the peaks start again.
    pub(super) fn restart(mut self) -> Self {
        self.bytes.restart();
        self.buffers.restart();
        self
    }
}
