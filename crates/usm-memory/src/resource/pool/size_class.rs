//! Size classes: eight steps to a doubling, so that at most a ninth of a slot is waste; and how many slots make a slab.

/// Smallest slot, and what all slot sizes are multiples of: a cache line, so that no two buffers share one.
const UNIT_BYTES: usize = 64;
/// Largest alignment that slabs are made for.
const MAX_ALIGN_BYTES: usize = 4096;
/// Bytes of a slab, unless one slot has more or the most slots have less.
const SLAB_BYTES: usize = 1024 * 1024;
/// Most slots of a slab: a slab goes back only as a whole, and its free slots are the bits of one number.
const MAX_SLOTS: usize = u128::BITS as usize;
/// Steps to a doubling, as a power of two.
const STEPS_LOG: usize = 3;

/// A size class, by its number: counted from the smallest, without gaps except below the first doubling that has all steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SizeClass(u8);

impl SizeClass {
    /// The class of a request, or `None` where no slot is for it: of no bytes, of more than 240 GiB, aligned to more than slabs are, or
    /// to what is no power of two.
    #[inline(always)]
    pub(super) fn of(len_bytes: usize, align_bytes: usize) -> Option<Self> {
        if len_bytes == 0 || len_bytes > isize::MAX as usize / 2 {
            return None;
        }
        let last_byte = if align_bytes <= UNIT_BYTES && align_bytes.is_power_of_two() {
            (len_bytes - 1) | (UNIT_BYTES - 1)
        } else if align_bytes <= MAX_ALIGN_BYTES && align_bytes.is_power_of_two() {
            // A slot of a power of two, which is a multiple of the alignment.
            len_bytes.max(align_bytes).next_power_of_two() - 1
        } else {
            return None;
        };
        // The class whose slots have this byte, and the slots of the class below do not: which doubling, and which step of it.
        u8::try_from(Self::position_of(last_byte) - Self::FIRST).ok().map(Self)
    }

    /// The class with that number.
    pub(super) const fn numbered(number: u8) -> Self {
        Self(number)
    }

    pub(super) const fn number(self) -> u8 {
        self.0
    }

    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }

    const FIRST: usize = Self::position_of(UNIT_BYTES - 1);

    const fn position_of(byte: usize) -> usize {
        let log = byte.ilog2() as usize;
        (log << STEPS_LOG) + (byte >> (log - STEPS_LOG))
    }

    /// Bytes of a slot: what [`of`](Self::of) does, backwards.
    pub(super) const fn slot_bytes(self) -> usize {
        let steps = 1 << STEPS_LOG;
        let position = self.index() + Self::FIRST - steps;
        (steps + position % steps + 1) << (position / steps - STEPS_LOG)
    }

    /// Slots of a slab.
    pub(super) fn slots(self) -> usize {
        (SLAB_BYTES / self.slot_bytes()).clamp(1, MAX_SLOTS)
    }

    /// Bytes of a slab. Requests are small enough that this does not overflow.
    pub(super) fn slab_bytes(self) -> usize {
        self.slot_bytes() * self.slots()
    }

    /// Alignment of a slab: with it, every slot is as aligned as its size.
    pub(super) fn align_bytes(self) -> usize {
        (1 << self.slot_bytes().trailing_zeros()).min(MAX_ALIGN_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_ALIGN_BYTES, SLAB_BYTES, SizeClass, UNIT_BYTES};

    #[test]
    fn classes_are_numbered_in_order() {
        let mut last: Option<SizeClass> = None;
        for len in (1..100_000).chain([1 << 30, (1 << 30) + 1, 240 << 30]) {
            let class = SizeClass::of(len, 1).unwrap();
            assert!(last.is_none_or(|last| last <= class), "{last:?} {class:?}");
            assert_eq!(SizeClass::numbered(class.number()), class);
            last = Some(class);
        }
        assert_eq!(SizeClass::of(1, 1).unwrap().index(), 0);
        let of = |len| SizeClass::of(len, 1).unwrap().index();
        assert_eq!(of(1 << 20) + 1, of((1 << 20) + 1));
    }

    #[test]
    fn slots_fit_and_waste_little() {
        for len in (1..5000).chain([1 << 20, (1 << 20) + 1, 3 << 30, 240 << 30]) {
            let class = SizeClass::of(len, 1).unwrap();
            let slot_bytes = class.slot_bytes();
            assert!(slot_bytes >= len && slot_bytes.is_multiple_of(UNIT_BYTES), "{len} {slot_bytes}");
            assert!(slot_bytes - len < UNIT_BYTES.max(slot_bytes / 9 + 1), "{len}");
            assert!(class.slab_bytes() <= SLAB_BYTES.max(slot_bytes));
            assert_eq!(SizeClass::of(slot_bytes, 1).unwrap(), class, "a size of its own class");
        }
    }

    #[test]
    fn every_slot_is_aligned_as_asked() {
        for align in (0..13).map(|log| 1 << log) {
            for len in [1, 63, 64, 65, 100, 1000, 4097, 100_000] {
                let class = SizeClass::of(len, align).unwrap();
                assert!(class.align_bytes() >= align && class.slot_bytes().is_multiple_of(align));
                assert!(class.slot_bytes() >= len);
            }
        }
        assert_eq!((SizeClass::of(0, 1), SizeClass::of(1, 0), SizeClass::of(1, 3)), (None, None, None));
        assert_eq!((SizeClass::of(1, 2 * MAX_ALIGN_BYTES), SizeClass::of(usize::MAX, 1)), (None, None));
        assert_eq!(SizeClass::of((240 << 30) + 1, 1), None);
        assert_eq!(SizeClass::of(usize::MAX, MAX_ALIGN_BYTES), None, "no power of two is above");
    }
}
