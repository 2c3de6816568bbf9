//! Elements moved around along axes

use super::follow::put;
use super::join::signed;
use crate::array::UsmArray;
use crate::copy::CopyMode;
use crate::error::{ManipulateError, Result};
use crate::layout::{Order, SliceItem, normalise_axis};

impl UsmArray {
    /// The elements moved by shifts along axes. Elements that leave at one end come in again at the other. Without axes all elements are
    /// moved in row-major order, by the sum of the shifts.
    ///
    /// One shift goes for all axes, and one axis takes all shifts. An axis may be named several times, its shifts add up.
    ///
    /// ```
    /// use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_nested(&queue, UsmKind::Device, &[[1_u8, 2, 3], [4, 5, 6]])?;
    /// assert_eq!(array.roll(&[1], None)?.to_vec::<u8>()?, [6, 1, 2, 3, 4, 5]);
    /// assert_eq!(array.roll(&[1, -1], Some(&[0, 1]))?.to_vec::<u8>()?, [5, 6, 4, 2, 3, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`ManipulateError::ShiftsLength`]: shifts and axes do not pair up
    /// - [`Error::Layout`](crate::Error::Layout): no such axis
    /// - the errors of [`UsmArray::copy`]
    pub fn roll(&self, shifts: &[isize], axes: Option<&[isize]>) -> Result<Self> {
        let Some(axes) = axes else {
            let flat = self.reshape(&[-1], Order::C, CopyMode::IfNeeded)?;
            let rolled = flat.rolled(&[sum(shifts.iter().copied(), self.size())])?;
            return rolled.reshape_view(&signed(self.shape()), Order::C);
        };
        let pairs = match (shifts.len(), axes.len()) {
            (shifts, axes) if shifts == axes => axes,
            (1, axes) => axes,
            (shifts, 1) => shifts,
            (shifts, axes) => return Err(ManipulateError::ShiftsLength { shifts, axes }.into()),
        };
        let mut offsets = vec![0; self.ndim()];
        for k in 0..pairs {
            let (shift, axis) = (shifts[k % shifts.len()], axes[k % axes.len()]);
            let axis = normalise_axis("axis", axis, self.ndim())?;
            let before = offsets[axis];
            offsets[axis] = sum([shift, before].into_iter(), self.shape()[axis]);
        }
        self.rolled(&offsets)
    }

    /// Rolled by one offset for each axis, from 0 to below its size.
    fn rolled(&self, offsets: &[isize]) -> Result<Self> {
        let result = Self::empty(self.queue(), self.kind(), self.shape(), self.dtype())?;
        if !self.is_empty() {
            roll_from(&result, self, offsets, &mut Vec::with_capacity(offsets.len()))?;
        }
        Ok(result)
    }
}

/// The sum of shifts, from 0 to below a size.
fn sum(shifts: impl Iterator<Item = isize>, size: usize) -> isize {
    let size = size.max(1) as i128;
    let sum = shifts.fold(0_i128, |sum, shift| (sum + shift as i128).rem_euclid(size));
    sum as isize // below the size, which fits by L2
}

/// Copies the two blocks of each rolled axis to where they belong; `items` are what was decided for the axes before, as slices of
/// the source and the target.
fn roll_from(
    target: &UsmArray,
    source: &UsmArray,
    offsets: &[isize],
    blocks: &mut Vec<(SliceItem, SliceItem)>,
) -> Result<()> {
    let Some(&offset) = offsets.get(blocks.len()) else {
        let (from, to): (Vec<_>, Vec<_>) = blocks.iter().copied().unzip();
        return put(&target.slice(&to)?, &source.slice(&from)?);
    };
    let halves = match offset.cast_unsigned() {
        0 => vec![(SliceItem::FULL, SliceItem::FULL)],
        offset => {
            let size = source.shape()[blocks.len()];
            let stay = size - offset;
            vec![
                (SliceItem::between(0, stay), SliceItem::between(offset, size)),
                (SliceItem::between(stay, size), SliceItem::between(0, offset)),
            ]
        }
    };
    for block in halves {
        blocks.push(block);
        roll_from(target, source, offsets, blocks)?;
        blocks.pop();
    }
    Ok(())
}
