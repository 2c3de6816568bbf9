//! Pairs of all small layouts, at all distances and with items of several sizes

use usm_array::{Layout, Overlap, StridedBytes};

use super::layouts::each_small;
use super::reference::places;
use super::{bound, tell};

/// The bytes of all elements around an address: bit `CENTRE` is the byte there.
const CENTRE: i128 = 64;

fn bytes(layout: &Layout, itemsize_bytes: usize) -> u128 {
    let of_element = |place: i128| {
        let first = CENTRE + place * itemsize_bytes as i128;
        assert!(first >= 0 && first + itemsize_bytes as i128 <= 128, "{layout:?} is too long");
        ((1_u128 << itemsize_bytes) - 1) << first
    };
    places(layout).into_iter().fold(0, |all, place| all | of_element(place))
}

fn moved(bytes: u128, distance: isize) -> u128 {
    let shift = distance.unsigned_abs() as u32;
    let moved = if distance < 0 { bytes.checked_shr(shift) } else { bytes.checked_shl(shift) };
    moved.unwrap_or(0)
}

type Known = (Layout, [u128; 3]);
const ITEMSIZES: [usize; 3] = [1, 2, 4];

/// All small layouts of so many axes, with their bytes for items of each size.
fn all(ndim: usize, bound: usize) -> Vec<Known> {
    let mut all = Vec::new();
    each_small(ndim, bound, &mut |layout| {
        let layout = layout.with_offset(0).unwrap();
        let bytes = ITEMSIZES.map(|itemsize| bytes(&layout, itemsize));
        all.push((layout, bytes));
    });
    all
}

/// Compares two layouts at each distance at which their spans may meet. Returns the number of distances.
fn check_pair(first: &Known, second: &Known, [one, other]: [usize; 2]) -> usize {
    let reach =
        |known: &Known, place: usize| known.0.extent().map_or(0, |extent| extent.len()) * ITEMSIZES[place];
    let most = (reach(first, one) + reach(second, other)).cast_signed() + 1;
    for distance in -most..=most {
        let address = 4096_usize.wrapping_add_signed(distance);
        let a = StridedBytes { layout: &first.0, itemsize_bytes: ITEMSIZES[one], address: 4096 };
        let b = StridedBytes { layout: &second.0, itemsize_bytes: ITEMSIZES[other], address };
        let is_shared = first.1[one] & moved(second.1[other], distance) != 0;
        let expected = if is_shared { Overlap::Yes } else { Overlap::No };
        assert_eq!(Overlap::between(a, b, usize::MAX), expected, "{a:?} {b:?}");
    }
    (2 * most + 1).unsigned_abs()
}

#[test]
fn layouts_overlap_where_they_have_a_byte_in_common() {
    // Longer ones have no place in 128 bits.
    let bound = bound(1).min(3);
    let few: Vec<_> = (0..2).flat_map(|ndim| all(ndim, bound)).collect();
    let flat: Vec<_> = few.iter().cloned().chain(all(2, bound)).collect();
    let deep = all(3, (bound - 1).max(1));
    let mut count = 0;
    for (firsts, seconds) in [(&flat, &flat), (&deep, &few), (&few, &deep)] {
        for first in firsts {
            for second in seconds {
                for items in (0..9).map(|pair| [pair % 3, pair / 3]) {
                    count += check_pair(first, second, items);
                }
            }
        }
    }
    tell(format!(
        "{count} pairs of {} layouts of up to 3 axes, sizes and strides up to {bound} in two of them, byte by byte",
        flat.len() + deep.len()
    ));
}
