//! Memory that host code cannot touch, through a copy of exactly the bytes an array spans

use crate::array::UsmArray;
use crate::error::{Error, Result};
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
    let guard = array.buffer().write_range(range)?;
    let queue = array.queue();
    // SAFETY: the guard's range is USM of the queue's context, kept for us; `span` is host memory
    // of our own of the same length, and the wait ends the copy before either can go away.
    let reading = unsafe { queue.memcpy(span.as_mut_ptr(), guard.as_mut_ptr(), span.len(), &[]) };
    reading.and_then(|event| event.wait()).map_err(in_runtime)?;
    change(&mut span)?;
    // SAFETY: as above.
    let writing = unsafe { queue.memcpy(guard.as_mut_ptr(), span.as_ptr(), span.len(), &[]) };
    writing.and_then(|event| event.wait()).map_err(in_runtime)
}

fn in_runtime(error: usm_memory::usm_core::Error) -> Error {
    Error::Memory(error.into())
}
