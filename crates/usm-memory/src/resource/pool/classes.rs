//! Size classes: eight steps to a doubling, so that at most a ninth of a block is waste; and how many blocks make a slab.

use super::bits::Bits;

/// Smallest block, and what all block sizes are multiples of: a cache line, so that no two buffers share one.
const UNIT_BYTES: usize = 64;
/// Largest alignment that slabs are made for.
const MAX_ALIGN_BYTES: usize = 4096;
/// Bytes of a slab, unless one block has more or the most blocks have less.
const SLAB_BYTES: usize = 1024 * 1024;
/// Most blocks of a slab: a slab goes back only as a whole, and its blocks are the bits of one number.
const MAX_BLOCKS: usize = Bits::MOST;
/// Steps to a doubling, as a power of two.
const STEPS_LOG: u32 = 3;

/// The blocks of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SizeClass {
    /// Bytes of a block.
    pub(super) block_bytes: usize,
    /// Blocks of a slab.
    pub(super) blocks: usize,
}

impl SizeClass {
    /// The class of a request, or `None` when it is none for a pool: of no bytes, too large, aligned to more than slabs are, or
    /// to what is no power of two.
    pub(super) fn of(len_bytes: usize, align_bytes: usize) -> Option<Self> {
        let last = Self::last_byte(len_bytes, align_bytes)?;
        let block_bytes = (last | ((1 << (last.ilog2() - STEPS_LOG)) - 1)) + 1;
        Some(Self { block_bytes, blocks: (SLAB_BYTES / block_bytes).clamp(1, MAX_BLOCKS) })
    }

    /// The number of the class of a request, without the class: it is asked for at each allocation.
    #[inline(always)]
    pub(super) fn index_of(len_bytes: usize, align_bytes: usize) -> Option<usize> {
        // Of no bytes it is far behind the end of the table.
        let units = len_bytes.wrapping_sub(1) / UNIT_BYTES;
        match SMALL.get(units) {
            Some(&index) if align_bytes == 1 => Some(index.into()),
            _ => Some(Self::index_by(Self::last_byte(len_bytes, align_bytes)?)),
        }
    }

    /// The number of the class, counted from the smallest; without gaps except below the first doubling that has all steps.
    pub(super) fn index(self) -> usize {
        Self::index_by(self.block_bytes - 1)
    }

    /// The number of the last byte that a block for a request has at least.
    #[inline(always)]
    fn last_byte(len_bytes: usize, align_bytes: usize) -> Option<usize> {
        let is_possible = align_bytes.is_power_of_two() && align_bytes <= MAX_ALIGN_BYTES;
        if len_bytes == 0 || len_bytes > isize::MAX as usize / 2 || !is_possible {
            return None;
        }
        Some(match align_bytes > UNIT_BYTES {
            // That of a power of two, which is a multiple of the alignment.
            true => len_bytes.max(align_bytes).next_power_of_two() - 1,
            false => (len_bytes - 1) | (UNIT_BYTES - 1),
        })
    }

    /// The number of the class whose blocks have this byte, and those of the class below do not: which doubling, and which step of it.
    const fn index_by(byte: usize) -> usize {
        const FIRST: usize = SizeClass::place_of(UNIT_BYTES - 1);
        Self::place_of(byte) - FIRST
    }

    const fn place_of(byte: usize) -> usize {
        let log = byte.ilog2();
        ((log as usize) << STEPS_LOG) + (byte >> (log - STEPS_LOG))
    }

    /// Bytes of a slab. Requests are small enough that this does not overflow.
    pub(super) fn slab_bytes(self) -> usize {
        self.block_bytes * self.blocks
    }

    /// Alignment of a slab: with it, every block is as aligned as its size.
    pub(super) fn align_bytes(self) -> usize {
        (1 << self.block_bytes.trailing_zeros()).min(MAX_ALIGN_BYTES)
    }
}

/// The numbers of the classes for requests of so many units and one more, which are most.
static SMALL: [u8; 64] = {
    let mut indices = [0; 64];
    let mut units = 0;
    while units < indices.len() {
        indices[units] = SizeClass::index_by((units + 1) * UNIT_BYTES - 1) as u8;
        units += 1;
    }
    indices
};

#[cfg(test)]
mod tests {
    use super::{MAX_ALIGN_BYTES, SLAB_BYTES, SizeClass, UNIT_BYTES};

    #[test]
    fn classes_are_numbered_in_order() {
        let mut last: Option<SizeClass> = None;
        for len in (1..100_000).chain([1 << 30, (1 << 30) + 1, 5 << 40]) {
            let class = SizeClass::of(len, 1).unwrap();
            if let Some(last) = last.filter(|last| *last != class) {
                assert!(last.index() < class.index(), "{last:?} {class:?}");
            }
            last = Some(class);
        }
        assert_eq!(SizeClass::of(1, 1).unwrap().index(), 0);
        assert_eq!(
            SizeClass::of(1 << 20, 1).unwrap().index() + 1,
            SizeClass::of((1 << 20) + 1, 1).unwrap().index()
        );
    }

    #[test]
    fn blocks_fit_and_waste_little() {
        for len in (1..5000).chain([1 << 20, (1 << 20) + 1, 3 << 30, isize::MAX as usize / 4]) {
            let class = SizeClass::of(len, 1).unwrap();
            assert!(class.block_bytes >= len && class.block_bytes.is_multiple_of(UNIT_BYTES));
            assert!(class.block_bytes - len < UNIT_BYTES.max(class.block_bytes / 9 + 1), "{len}");
            assert!(class.slab_bytes() <= SLAB_BYTES.max(class.block_bytes));
            assert_eq!(SizeClass::of(class.block_bytes, 1).unwrap(), class, "a size of its own class");
            assert_eq!(SizeClass::index_of(len, 1), Some(class.index()), "{len}");
        }
    }

    #[test]
    fn every_block_is_aligned_as_asked() {
        for align in (0..13).map(|log| 1 << log) {
            for len in [1, 63, 64, 65, 100, 1000, 4097, 100_000] {
                let class = SizeClass::of(len, align).unwrap();
                assert!(class.align_bytes() >= align && class.block_bytes.is_multiple_of(align));
                assert!(class.block_bytes >= len);
                assert_eq!(SizeClass::index_of(len, align), Some(class.index()), "{len} {align}");
            }
        }
        assert_eq!((SizeClass::of(0, 1), SizeClass::of(1, 0), SizeClass::of(1, 3)), (None, None, None));
        assert_eq!(SizeClass::of(1, 2 * MAX_ALIGN_BYTES), None);
        assert_eq!((SizeClass::of(usize::MAX, 1), SizeClass::index_of(usize::MAX, 1)), (None, None));
    }
}
