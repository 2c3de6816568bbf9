//! A set of small numbers: the blocks of a slab.

/// Numbers below [`Bits::MOST`], as bits of two words.
///
/// One word of 128 bits would be changed by half words and read as whole ones right after, for which a processor has to wait until the
/// change has reached its cache: a tenth of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bits([u64; 2]);

impl Bits {
    /// How many numbers there are.
    pub(super) const MOST: usize = 128;
    pub(super) const NONE: Self = Self([0, 0]);

    /// The first `count` numbers.
    pub(super) fn first(count: usize) -> Self {
        let word = |below: usize| match count.saturating_sub(below) {
            0 => 0,
            count => u64::MAX >> (64 - count.min(64)),
        };
        Self([word(0), word(64)])
    }

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.0[0] | self.0[1] == 0
    }

    #[cfg(test)]
    fn count(self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    #[cfg(test)]
    fn contains(self, number: u32) -> bool {
        self.0[word(number)] & bit(number) != 0
    }

    /// The least number; [`Bits::MOST`] where there is none.
    #[inline]
    pub(super) fn lowest(self) -> u32 {
        match self.0[0] {
            0 => 64 + self.0[1].trailing_zeros(),
            low => low.trailing_zeros(),
        }
    }

    #[inline]
    pub(super) fn insert(&mut self, number: u32) {
        self.0[word(number)] |= bit(number);
    }

    #[inline]
    pub(super) fn remove(&mut self, number: u32) {
        self.0[word(number)] &= !bit(number);
    }
}

fn word(number: u32) -> usize {
    (number >> 6) as usize & 1
}

fn bit(number: u32) -> u64 {
    1 << (number & 63)
}

#[cfg(test)]
mod tests {
    use super::Bits;

    #[test]
    fn a_set_of_numbers() {
        for count in 0..=Bits::MOST {
            let mut bits = Bits::first(count);
            let mut same = Bits::NONE;
            (0..count as u32).for_each(|number| same.insert(number));
            assert_eq!((bits, bits.count(), bits.is_empty()), (same, count, count == 0));
            for number in 0..count as u32 {
                assert_eq!(bits.lowest(), number);
                assert!(bits.contains(number) && !bits.contains(count as u32 & 127) || count == Bits::MOST);
                bits.remove(number);
                assert!(!bits.contains(number));
            }
            assert_eq!((bits, bits.lowest()), (Bits::NONE, Bits::MOST as u32));
        }
    }
}
