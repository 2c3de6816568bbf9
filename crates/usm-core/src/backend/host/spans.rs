//! A set of free address ranges that coalesces adjacent ones and finds the best fit.

use std::collections::{BTreeMap, BTreeSet};

/// Disjoint ranges of addresses, none adjacent to another.
#[derive(Debug, Default)]
pub(super) struct SpanSet {
    by_start: BTreeMap<usize, usize>,
    by_len: BTreeSet<(usize, usize)>,
    total: usize,
}

impl SpanSet {
    /// Sum of all lengths, in bytes.
    pub(super) fn total(&self) -> usize {
        self.total
    }

    /// Adds a range that overlaps none of the set, and merges it with adjacent ones.
    pub(super) fn insert(&mut self, mut start: usize, mut len: usize) {
        if let Some((&before, &before_len)) = self.by_start.range(..start).next_back()
            && before + before_len == start
        {
            self.remove(before, before_len);
            start = before;
            len += before_len;
        }
        if let Some(&after_len) = self.by_start.get(&(start + len)) {
            self.remove(start + len, after_len);
            len += after_len;
        }
        self.by_start.insert(start, len);
        self.by_len.insert((len, start));
        self.total += len;
    }

    /// Takes `len` bytes at a multiple of `align` (a power of two) out of the smallest range that is large enough.
    pub(super) fn take(&mut self, len: usize, align: usize) -> Option<usize> {
        // A range of `len + align - 1` is always large enough; a shorter one may be, so look at them in order of length.
        let (found_len, found, start) = self.by_len.range((len, 0)..).find_map(|&(span_len, span)| {
            let start = span.checked_next_multiple_of(align)?;
            (start - span).checked_add(len).filter(|&need| need <= span_len)?;
            Some((span_len, span, start))
        })?;
        self.remove(found, found_len);
        if start > found {
            self.insert(found, start - found);
        }
        let (end, found_end) = (start + len, found + found_len);
        if end < found_end {
            self.insert(end, found_end - end);
        }
        Some(start)
    }

    /// Empties the set.
    pub(super) fn drain(&mut self) -> BTreeMap<usize, usize> {
        self.by_len.clear();
        self.total = 0;
        std::mem::take(&mut self.by_start)
    }

    fn remove(&mut self, start: usize, len: usize) {
        self.by_start.remove(&start);
        self.by_len.remove(&(len, start));
        self.total -= len;
    }
}

#[cfg(test)]
mod tests {
    use super::SpanSet;

    #[test]
    fn adjacent_ranges_merge_in_any_order() {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut set = SpanSet::default();
            for i in order {
                set.insert(i * 10, 10);
            }
            assert_eq!(set.total(), 30);
            assert_eq!(set.drain().into_iter().collect::<Vec<_>>(), [(0, 30)], "{order:?}");
            assert_eq!(set.total(), 0);
        }
    }

    #[test]
    fn best_fit_with_alignment_keeps_the_rest() {
        let mut set = SpanSet::default();
        set.insert(100, 1000);
        set.insert(5000, 64);
        assert_eq!(set.take(64, 8), Some(5000), "the smallest range that is large enough");
        assert_eq!(set.take(64, 256), Some(256));
        assert_eq!(set.total(), 1000 - 64);
        assert_eq!(set.take(2000, 1), None);
        assert_eq!(set.drain().into_iter().collect::<Vec<_>>(), [(100, 156), (320, 780)]);
    }
}
