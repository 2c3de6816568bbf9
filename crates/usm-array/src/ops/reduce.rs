//! One result for all elements along some axes

use std::cmp::Reverse;

use super::sink::Sink;
use super::source::{Source, block_len_of};
use crate::array::UsmArray;
use crate::dtype::Element;
use crate::error::{Error, Result};
use crate::layout::{Axes, blocks, normalise_axes};

/// What a number of elements become.
pub(super) trait Reduction {
    /// Elements as they are read
    type Item: Element;
    /// Elements of the result
    type Output: Element;

    /// Of no elements.
    fn start() -> Self;

    /// With more elements.
    fn fold(&mut self, elements: &[Self::Item]);

    fn finish(self) -> Self::Output;

    /// True when further elements change nothing.
    fn is_decided(&self) -> bool {
        false
    }
}

/// Which axes go away.
#[derive(Clone, Debug)]
pub(super) struct Reduced {
    /// The axes that stay, then those that go away, counted from 0
    order: Axes<isize>,
    /// How many of them stay
    kept: usize,
    /// Elements that become one
    count: usize,
    shape: Axes<usize>,
}

impl Reduced {
    /// All axes if none are given.
    pub(super) fn new(array: &UsmArray, axes: Option<&[isize]>, keepdims: bool) -> Result<Self> {
        let ndim = array.ndim();
        let mut gone: Axes<usize> = match axes {
            Some(axes) => normalise_axes("axis", axes, ndim)?,
            None => (0..ndim).collect(),
        };
        // In the order in which they lie in memory, so that blocks are dense where they can be.
        gone.sort_by_key(|&axis| (Reverse(array.strides()[axis].unsigned_abs()), axis));
        let is_gone = |axis: &usize| gone.contains(axis);
        let kept = (0..ndim).filter(|axis| !is_gone(axis));
        let shape = array.shape();
        Ok(Self {
            order: kept.chain(gone.iter().copied()).map(|axis| axis.cast_signed()).collect(),
            kept: ndim - gone.len(),
            count: gone.iter().map(|&axis| shape[axis]).product(),
            shape: (0..ndim)
                .filter(|axis| keepdims || !is_gone(axis))
                .map(|axis| if is_gone(&axis) { 1 } else { shape[axis] })
                .collect(),
        })
    }

    pub(super) fn order(&self) -> &[isize] {
        &self.order
    }

    pub(super) const fn kept(&self) -> usize {
        self.kept
    }

    pub(super) fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// # Errors
    /// [`Error::NothingToReduce`] if no elements would become one.
    pub(super) fn check_not_empty(&self, array: &UsmArray, operation: &'static str) -> Result<()> {
        if self.count > 0 {
            return Ok(());
        }
        Err(Error::NothingToReduce { operation, shape: array.shape().to_vec() })
    }
}

/// The array that a reduction makes of another.
pub(super) fn reduce<R: Reduction>(array: &UsmArray, reduced: &Reduced) -> Result<UsmArray> {
    let ordered = array.permute(&reduced.order)?;
    let limit = block_len_of::<R::Item>(&ordered);
    let mut sink = Sink::<R::Output>::like(array, &reduced.shape)?;
    if reduced.count == 0 {
        let size = reduced.shape.iter().product::<usize>();
        for start in (0..size).step_by(limit) {
            let len = limit.min(size - start);
            sink.next(len, |results| results.fill_with(|| R::start().finish()))?;
        }
        return Ok(sink.finish());
    }
    let mut source = Source::<R::Item>::array(&ordered, ordered.shape())?;
    let (mut state, mut folded) = (R::start(), 0);
    for (items, len) in blocks(ordered.shape(), limit) {
        let mut elements = source.block(&items, len)?;
        // A block ends one result, makes some, and begins another; each of them may be missing.
        let finished = (folded + len) / reduced.count;
        sink.next(finished, |results| {
            for result in results {
                let (rest, next) = elements.split_at(reduced.count - folded);
                state.fold(rest);
                *result = std::mem::replace(&mut state, R::start()).finish();
                (folded, elements) = (0, next);
            }
        })?;
        state.fold(elements);
        folded += elements.len();
    }
    Ok(sink.finish())
}

/// What a reduction makes of all elements.
pub(super) fn reduce_all<R: Reduction>(array: &UsmArray) -> Result<R::Output> {
    let reduced = Reduced::new(array, None, false)?;
    let ordered = array.permute(&reduced.order)?;
    let mut source = Source::<R::Item>::array(&ordered, ordered.shape())?;
    let mut state = R::start();
    for (items, len) in blocks(ordered.shape(), block_len_of::<R::Item>(&ordered)) {
        state.fold(source.block(&items, len)?);
        if state.is_decided() {
            break;
        }
    }
    Ok(state.finish())
}
