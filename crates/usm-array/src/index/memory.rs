//! Elements to and from memory of any kind: in place under a guard, or in copies of the pieces that a plan needs

use super::read::HostBytes;
use super::staging::Pieces;
use super::walk::{Gather, Scatter, walk};
use super::{Plan, Values};
use crate::array::UsmArray;
use crate::error::Result;
use crate::layout::{Layout, Order};
use crate::view::{Reading, Writing, zeroed_vec};

/// Calls a function with slices of elements of `N` bytes, for the item size at run time.
macro_rules! by_itemsize {
    ($itemsize:expr, $function:ident($($argument:expr),*)) => {
        match $itemsize {
            1 => $function::<1>($($argument),*),
            2 => $function::<2>($($argument),*),
            4 => $function::<4>($($argument),*),
            8 => $function::<8>($($argument),*),
            _ => $function::<16>($($argument),*),
        }
    };
}
pub(super) use by_itemsize;

impl Plan {
    /// The elements in a new C-contiguous array of the same dtype, kind and queue.
    pub(super) fn gather(&self, source: &UsmArray) -> Result<UsmArray> {
        let result = UsmArray::empty(source.queue(), source.kind(), self.shape(), source.dtype())?;
        let Some(span) = self.span() else { return Ok(result) };
        let itemsize = source.itemsize_bytes();
        if source.is_host_reachable() {
            let elements = Reading::of(source, bytes_of_span(source, &span))?;
            fill(&result, |values| by_itemsize!(itemsize, gather(self, span.start, &elements, values)))?;
        } else {
            let pieces = Pieces::of(self, itemsize)?;
            let (plan, elements) = (pieces.side_by_side(self)?, pieces.read(source)?);
            fill(&result, |values| by_itemsize!(itemsize, gather(&plan, 0, &elements, values)))?;
        }
        Ok(result)
    }

    /// Writes values to elements. An element at several indices gets the value of the last one.
    pub(super) fn scatter(&self, target: &UsmArray, values: &Values) -> Result<()> {
        target.check_writable()?;
        let Some(span) = self.span() else { return Ok(()) };
        let itemsize = target.itemsize_bytes();
        let (in_place, layout) = (values.elements.array(), &values.layout);
        if target.is_host_reachable() {
            let range = bytes_of_span(target, &span);
            let (mut elements, from) = match in_place {
                Some(source) => {
                    let (elements, from) = Writing::with_read(target, range, source)?;
                    (elements, HostBytes::Reading(from))
                }
                None => (Writing::of(target, range)?, values.elements.read()?),
            };
            return by_itemsize!(itemsize, scatter(self, span.start, elements.bytes(), &from, layout));
        }
        let pieces = Pieces::of(self, itemsize)?;
        let plan = pieces.side_by_side(self)?;
        pieces.change(target, in_place, |bytes, from| {
            let from = from.map_or_else(|| values.elements.read(), |from| Ok(HostBytes::Reading(from)))?;
            by_itemsize!(itemsize, scatter(&plan, 0, bytes, &from, layout))
        })
    }
}

/// Writes all bytes of a C-contiguous array with elements, in place where that is possible.
pub(super) fn fill(array: &UsmArray, write: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()> {
    if array.is_host_reachable() {
        return write(Writing::of(array, array.byte_range())?.bytes());
    }
    let mut bytes = zeroed_vec::<u8>(array.size_bytes())?;
    write(&mut bytes)?;
    array.copy_from_host_contiguous(&bytes)
}

/// The bytes of the buffer from one element to another, counted from the lowest one.
fn bytes_of_span(array: &UsmArray, span: &std::ops::Range<usize>) -> std::ops::Range<usize> {
    let (lowest, itemsize) = (array.byte_range().start, array.itemsize_bytes());
    lowest + span.start * itemsize..lowest + span.end * itemsize
}

fn gather<const N: usize>(plan: &Plan, first: usize, elements: &[u8], values: &mut [u8]) -> Result<()> {
    let dense = Layout::contiguous(plan.shape(), Order::C)?;
    let mut mover = Gather { elements: elements.as_chunks::<N>().0, values: values.as_chunks_mut::<N>().0 };
    walk(plan, first.cast_signed(), &dense, &mut mover)
}

fn scatter<const N: usize>(
    plan: &Plan,
    first: usize,
    elements: &mut [u8],
    values: &[u8],
    layout: &Layout,
) -> Result<()> {
    let mut mover = Scatter { elements: elements.as_chunks_mut::<N>().0, values: values.as_chunks::<N>().0 };
    walk(plan, first.cast_signed(), layout, &mut mover)
}
