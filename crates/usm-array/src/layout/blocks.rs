//! A shape cut into blocks that follow each other in row-major order

use super::SliceItem;
use super::inner::unravel;

/// The slice that each block is, with its number of elements, at most `limit`. Blocks in a row are all elements in row-major
/// order. The shape is one of a layout.
pub(crate) fn blocks(shape: &[usize], limit: usize) -> impl Iterator<Item = (Vec<SliceItem>, usize)> {
    // Axes from `whole` on are part of every block, the one before is cut, those before that are walked.
    let (mut whole, mut inner) = (shape.len(), 1_usize);
    while let Some(outer) = whole.checked_sub(1)
        && let Some(len) = inner.checked_mul(shape[outer]).filter(|&len| len <= limit)
    {
        (whole, inner) = (outer, len);
    }
    let (cut, walked) =
        shape[..whole].split_last().map_or((None, &[][..]), |(&cut, walked)| (Some(cut), walked));
    let size = cut.unwrap_or(1);
    let step = limit.checked_div(inner).unwrap_or(1).max(1);
    let count = if shape.contains(&0) { 0 } else { walked.iter().product::<usize>() };
    (0..count).flat_map(move |number| {
        (0..size).step_by(step).map(move |start| {
            let stop = size.min(start + step);
            let index = unravel(number, walked);
            let items = index.iter().map(|&i| SliceItem::Index(i.cast_signed()));
            (items.chain(cut.map(|_| SliceItem::between(start, stop))).collect(), (stop - start) * inner)
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Layout, Order};
    use super::*;

    proptest! {
        #[test]
        fn blocks_in_a_row_are_all_elements(shape in prop::collection::vec(0_usize..6, 0..5), limit in 1_usize..40) {
            let layout = Layout::contiguous(&shape, Order::C).expect("small");
            let mut all = vec![];
            for (items, len) in blocks(&shape, limit) {
                let block = layout.slice(&items).expect("a valid slice");
                prop_assert_eq!(block.size(), len);
                prop_assert!(len <= limit);
                all.extend(block.offsets());
            }
            prop_assert!(layout.offsets().eq(all));
        }
    }
}
