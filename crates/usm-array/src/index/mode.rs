//! Modes for integers outside of an axis

/// The treatment of integers outside of their axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IndexMode {
    /// They are refused. Negative ones count from the end.
    #[default]
    Raise,
    /// They are taken modulo the size of the axis.
    Wrap,
    /// They become the first or the last place of the axis, negative ones the first.
    Clip,
}

usm_memory::usm_core::texts!(IndexMode, "mode": Raise = "raise", Wrap = "wrap", Clip = "clip");

impl IndexMode {
    /// The place along an axis of the given size, `None` if the index is refused. An axis of size 0 has no places.
    #[inline]
    pub(super) fn place(self, index: i128, size: usize) -> Option<usize> {
        let wide = size as i128;
        if (0..wide).contains(&index) {
            return Some(index as usize);
        }
        match self {
            // No overflow: indices have 64 bits.
            Self::Raise => usize::try_from(index + wide).ok().filter(|&place| place < size),
            Self::Wrap => index.checked_rem_euclid(wide).map(|place| place as usize),
            Self::Clip => size.checked_sub(1).map(|last| if index < 0 { 0 } else { last }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::IndexMode::{Clip, Raise, Wrap};

    #[test]
    fn places_are_those_of_numpy() {
        let places = |mode: super::IndexMode, size| [-7, -5, -1, 0, 4, 5, 13].map(|i| mode.place(i, size));
        assert_eq!(places(Raise, 5), [None, Some(0), Some(4), Some(0), Some(4), None, None]);
        assert_eq!(places(Wrap, 5), [3, 0, 4, 0, 4, 0, 3].map(Some));
        assert_eq!(places(Clip, 5), [0, 0, 0, 0, 4, 4, 4].map(Some));
        for mode in [Raise, Wrap, Clip] {
            assert_eq!(places(mode, 0), [None; 7]);
            assert!(mode.place((i64::MIN + 1).into(), usize::MAX / 2).is_some());
            assert_eq!(mode.place(u64::MAX.into(), 7).is_none(), mode == Raise);
        }
    }
}
