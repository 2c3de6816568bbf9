//! Size classes of small blocks: four steps to a doubling, so that at most a fifth of a block is waste.

/// Bytes that a slab of small blocks takes from the arena; also its alignment.
pub(super) const SLAB_BYTES: usize = 256 * 1024;
/// Largest block that comes from a slab.
pub(super) const MAX_SMALL_BYTES: usize = 32 * 1024;
/// Number of classes.
pub(super) const CLASSES: usize = index(MAX_SMALL_BYTES) + 1;

const MIN_BYTES: usize = 64;
const MIN_LOG: u32 = MIN_BYTES.ilog2();

/// The class of blocks of at least `len_bytes`, 1 ..= `MAX_SMALL_BYTES`.
pub(super) const fn index(len_bytes: usize) -> usize {
    if len_bytes <= MIN_BYTES {
        return 0;
    }
    // Classes within (2^log, 2^(log+1)] are quarters of 2^log.
    let log = (len_bytes - 1).ilog2();
    let quarter = (len_bytes - 1 - (1 << log)) >> (log - 2);
    ((log - MIN_LOG) as usize) * 4 + quarter + 1
}

/// Bytes of the blocks of a class.
pub(super) const fn block_bytes(index: usize) -> usize {
    if index == 0 {
        return MIN_BYTES;
    }
    let (log, quarter) = (MIN_LOG as usize + (index - 1) / 4, (index - 1) % 4);
    (1 << log) + ((quarter + 1) << (log - 2))
}

/// The class for a block of `len_bytes` at a multiple of `align_bytes` (a power of two), if it is a small one.
pub(super) fn for_request(len_bytes: usize, align_bytes: usize) -> Option<usize> {
    let need = if align_bytes <= 16 {
        len_bytes
    } else {
        // Only blocks of a power of two lie at multiples of their size within a slab.
        len_bytes.max(align_bytes).checked_next_power_of_two()?
    };
    (need <= MAX_SMALL_BYTES).then(|| index(need))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_gets_the_smallest_class_that_holds_it() {
        for len in 1..=MAX_SMALL_BYTES {
            let class = index(len);
            assert!(block_bytes(class) >= len, "{len}");
            assert!(class == 0 || block_bytes(class - 1) < len, "{len}");
            assert!(len < MIN_BYTES || block_bytes(class) * 4 <= len * 5 + 4, "{len}");
        }
        assert_eq!(block_bytes(CLASSES - 1), MAX_SMALL_BYTES);
    }

    #[test]
    fn blocks_are_aligned_as_asked() {
        for align in (0..16).map(|log| 1 << log) {
            for len in [1, 63, 64, 100, 5000] {
                let Some(class) = for_request(len, align) else {
                    assert!(align > MAX_SMALL_BYTES);
                    continue;
                };
                assert!(block_bytes(class).is_multiple_of(align.max(16)), "{len} at {align}");
                assert!(block_bytes(class) >= len);
            }
        }
    }
}
