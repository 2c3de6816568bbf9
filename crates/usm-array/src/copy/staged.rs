//! Memory that host code cannot touch, through a copy of exactly the bytes an array spans

use crate::array::UsmArray;
use crate::error::Result;
use crate::view::zeroed_vec;

/// The bytes from the lowest to the highest element.
pub(super) fn read(array: &UsmArray) -> Result<Vec<u8>> {
    let range = array.byte_range();
    let mut span = zeroed_vec::<u8>(range.len())?;
    array.buffer().copy_to_host(&mut span, range.start)?;
    Ok(span)
}

/// Changes the bytes from the lowest to the highest element.
///
/// They are borrowed for writing from the first byte read to the last one written, so that nobody
/// else's write to the bytes between the elements gets lost.
pub(super) fn update(array: &UsmArray, change: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()> {
    let range = array.byte_range();
    let mut span = zeroed_vec::<u8>(range.len())?;
    let mut guard = array.buffer().write_range(range)?;
    guard.copy_to_host(&mut span)?;
    change(&mut span)?;
    Ok(guard.copy_from_host(&span)?)
}
