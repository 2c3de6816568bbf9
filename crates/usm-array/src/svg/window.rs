//! Which part of the memory is drawn

use super::MAX_CELLS;
use crate::layout::Layout;

/// Cells at either end of the elements, where not all are drawn.
const END_CELLS: i128 = 96;
/// Cells on either side of index zero then.
const SIDE_CELLS: i128 = 12;

const _: () = assert!(2 * END_CELLS + 2 * SIDE_CELLS < MAX_CELLS as i128);

/// Ranges of displacements, both ends inclusive, in order and apart from each other.
pub(super) fn windows(layout: &Layout, capacity: usize) -> Vec<(i128, i128)> {
    let memory = (0, capacity as i128 - 1);
    let elements = layout.extent_with_offset().map(|extent| (extent.min as i128, extent.max as i128));
    let Some((min, max)) = elements else {
        return [(0, memory.1.min(MAX_CELLS as i128 - 1))]
            .into_iter()
            .filter(|(first, last)| first <= last)
            .collect();
    };
    let all = (memory.0.min(min), memory.1.max(max));
    if all.1 - all.0 < MAX_CELLS as i128 {
        return vec![all];
    }
    let zero = layout.offset() as i128;
    // Some elements beside the touched ones, where the memory has them.
    let around = |first: i128, last: i128| (first.max(all.0), last.min(all.1));
    let mut parts = vec![
        around(min - SIDE_CELLS, min + END_CELLS - SIDE_CELLS - 1),
        around(zero - SIDE_CELLS, zero + SIDE_CELLS),
        around(max - END_CELLS + SIDE_CELLS + 1, max + SIDE_CELLS),
    ];
    parts.sort_unstable();
    let mut windows: Vec<(i128, i128)> = Vec::new();
    for (first, last) in parts {
        match windows.last_mut() {
            Some(before) if first <= before.1 + 1 => before.1 = before.1.max(last),
            _ => windows.push((first, last)),
        }
    }
    windows
}
