//! A shape cut into blocks that follow each other in row-major order

use std::ops::ControlFlow;

use crate::array::UsmArray;
use crate::error::Result;
use crate::layout::SliceItem;

/// Elements of a block in memory that host code reaches: a few blocks of the largest elements stay in the caches.
const BLOCK_LEN: usize = 8 << 10;

/// Elements of a block that a queue copies: an operation of a queue costs about as much as copying 64 KiB.
pub(super) const STAGED_BLOCK_LEN: usize = 256 << 10;

/// The most elements of a block for an operation on some arrays.
pub(super) fn block_len(arrays: &[&UsmArray]) -> usize {
    if arrays.iter().all(|array| array.is_host_reachable()) { BLOCK_LEN } else { STAGED_BLOCK_LEN }
}

/// Calls `visit` with the slice that each block is and with its number of elements, at most `limit`, until it breaks. Blocks in
/// a row are all elements in row-major order.
pub(super) fn for_each_block(
    shape: &[usize],
    limit: usize,
    mut visit: impl FnMut(&[SliceItem], usize) -> Result<ControlFlow<()>>,
) -> Result<()> {
    if shape.contains(&0) {
        return Ok(());
    }
    // Axes from `whole` on are part of every block, the one before is cut, those before that are walked.
    let (mut whole, mut inner) = (shape.len(), 1_usize);
    while let Some(outer) = whole.checked_sub(1)
        && let Some(len) = inner.checked_mul(shape[outer]).filter(|&len| len <= limit)
    {
        (whole, inner) = (outer, len);
    }
    let Some(cut) = whole.checked_sub(1) else {
        return visit(&[], inner).map(|_| ());
    };
    let step = (limit / inner).max(1);
    let mut items: Vec<SliceItem> = vec![SliceItem::Index(0); whole];
    let mut index = vec![0; cut];
    loop {
        for start in (0..shape[cut]).step_by(step) {
            let stop = shape[cut].min(start + step);
            let bounds = (Some(start.cast_signed()), Some(stop.cast_signed()));
            items[cut] = SliceItem::Slice { start: bounds.0, stop: bounds.1, step: 1 };
            if visit(&items, (stop - start) * inner)?.is_break() {
                return Ok(());
            }
        }
        // The last walked axis that has an index left takes it, those behind it start again.
        let mut axis = cut;
        loop {
            let Some(outer) = axis.checked_sub(1) else {
                return Ok(());
            };
            axis = outer;
            index[axis] = if index[axis] + 1 < shape[axis] { index[axis] + 1 } else { 0 };
            items[axis] = SliceItem::Index(index[axis].cast_signed());
            if index[axis] != 0 {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::layout::{Layout, Order};

    fn visited(shape: &[usize], limit: usize) -> Vec<isize> {
        let layout = Layout::contiguous(shape, Order::C).expect("small");
        let mut all = vec![];
        let visit = |items: &[SliceItem], len| {
            let block = layout.slice(items)?;
            assert_eq!(block.size(), len);
            assert!(len <= limit);
            all.extend(block.offsets());
            Ok(ControlFlow::Continue(()))
        };
        for_each_block(shape, limit, visit).expect("valid slices");
        all
    }

    proptest! {
        #[test]
        fn blocks_in_a_row_are_all_elements(shape in prop::collection::vec(0_usize..6, 0..5), limit in 1_usize..40) {
            let size = shape.iter().product::<usize>().cast_signed();
            prop_assert_eq!(visited(&shape, limit), (0..size).collect::<Vec<_>>());
        }
    }

    #[test]
    fn nothing_is_visited_after_a_break() {
        let mut count = 0;
        let visit = |_: &[SliceItem], _| {
            count += 1;
            Ok(ControlFlow::Break(()))
        };
        for_each_block(&[3, 4], 2, visit).expect("valid slices");
        assert_eq!(count, 1);
    }
}
