//! A new array, written block by block from its first element to its last

use usm_memory::usm_core::UsmKind;

use crate::array::UsmArray;
use crate::dtype::Element;
use crate::error::Result;
use crate::layout::{Order, SliceItem};
use crate::view::{HostWrite, bytes_of, elements_of_mut, zeroed_vec};

/// A new C-contiguous array and how far it is written.
#[derive(Debug)]
pub(super) struct Sink<R> {
    array: UsmArray,
    written: usize,
    /// In memory that host code reaches, aligned for every element: over all of them. Nobody else knows the array, so nobody waits
    guard: Option<HostWrite>,
    /// In other memory: elements of a block on their way
    block: Vec<R>,
}

impl<R: Element> Sink<R> {
    /// A new array with the queue and the kind of memory of another.
    pub(super) fn like(array: &UsmArray, shape: &[usize]) -> Result<Self> {
        Self::of_kind(array, array.kind(), shape)
    }

    /// A new array with the queue of another.
    pub(super) fn of_kind(array: &UsmArray, kind: UsmKind, shape: &[usize]) -> Result<Self> {
        let array = UsmArray::empty(array.queue(), kind, shape, R::DTYPE)?;
        let is_aligned = array.address().is_multiple_of(align_of::<R>());
        let is_in_place = is_aligned && array.is_host_reachable();
        let guard = if is_in_place { Some(HostWrite::lock(&array)?) } else { None };
        Ok(Self { array, written: 0, guard, block: Vec::new() })
    }

    /// Lets `write` write the next elements.
    // Its only part that is compiled for each `write`: there are hundreds.
    pub(super) fn next(&mut self, len: usize, write: impl FnOnce(&mut [R])) -> Result<()> {
        write(self.place(len)?);
        self.put(len)
    }

    /// Where the next elements are to be written.
    fn place(&mut self, len: usize) -> Result<&mut [R]> {
        match &mut self.guard {
            Some(guard) => {
                let range = self.written * size_of::<R>()..(self.written + len) * size_of::<R>();
                // They are aligned, as `of_kind` has seen.
                Ok(elements_of_mut(&mut guard.bytes_mut()[range]).unwrap_or_default())
            }
            None => {
                if self.block.len() < len {
                    self.block = zeroed_vec(len)?;
                }
                Ok(&mut self.block[..len])
            }
        }
    }

    /// The elements that were just written at their `place` get into the array.
    fn put(&mut self, len: usize) -> Result<()> {
        let start = self.written;
        self.written += len;
        if self.guard.is_some() {
            return Ok(());
        }
        let flat = self.array.reshape_view(&[-1], Order::C)?;
        let part = flat.slice(&[SliceItem::between(start, self.written)])?;
        part.copy_from_host_contiguous(bytes_of(&self.block[..len]))
    }

    /// The array, all of whose elements have been written.
    pub(super) fn finish(self) -> UsmArray {
        debug_assert_eq!(self.written, self.array.size());
        self.array
    }
}
