//! The order in which a plan is carried out: row-major in the result, single elements or runs of them

use super::Plan;
use crate::error::Result;
use crate::layout::{Layout, SliceItem};
use crate::view::with_capacity;

/// An operation on elements, with displacements in the array and in the values.
pub(super) trait Mover {
    /// One element. As a run of one it would be a call that copies so few bytes.
    fn one(&mut self, element: isize, value: isize);

    /// Elements that follow each other on both sides, as many as given.
    fn run(&mut self, element: isize, value: isize, len: usize);
}

/// Values taken out of an array: `values` and `elements` hold elements of `N` bytes.
pub(super) struct Gather<'a, const N: usize> {
    pub(super) elements: &'a [[u8; N]],
    pub(super) values: &'a mut [[u8; N]],
}

impl<const N: usize> Mover for Gather<'_, N> {
    #[inline(always)]
    fn one(&mut self, element: isize, value: isize) {
        self.values[value.cast_unsigned()] = self.elements[element.cast_unsigned()];
    }

    #[inline(always)]
    fn run(&mut self, element: isize, value: isize, len: usize) {
        let (from, to) = (element.cast_unsigned(), value.cast_unsigned());
        self.values[to..to + len].copy_from_slice(&self.elements[from..from + len]);
    }
}

/// Values put into an array.
pub(super) struct Scatter<'a, const N: usize> {
    pub(super) elements: &'a mut [[u8; N]],
    pub(super) values: &'a [[u8; N]],
}

impl<const N: usize> Mover for Scatter<'_, N> {
    #[inline(always)]
    fn one(&mut self, element: isize, value: isize) {
        self.elements[element.cast_unsigned()] = self.values[value.cast_unsigned()];
    }

    #[inline(always)]
    fn run(&mut self, element: isize, value: isize, len: usize) {
        let (to, from) = (element.cast_unsigned(), value.cast_unsigned());
        self.elements[to..to + len].copy_from_slice(&self.values[from..from + len]);
    }
}

/// Carries out a plan. `first` is the displacement of the first element that the mover has; `values` says where the value of each
/// index of the result is.
pub(super) fn walk(plan: &Plan, first: isize, values: &Layout, mover: &mut impl Mover) -> Result<()> {
    let [outer, picked, inner] = plan.cut(values)?;
    if values.is_empty() {
        return Ok(());
    }
    let rows = PickedRows::new(&plan.inner, &inner)?;
    let uniform = uniform_step(&picked);
    let mut places = Vec::new();
    if uniform.is_none() {
        places = with_capacity(picked.size())?;
        places.extend(picked.offsets());
    }
    for (element, value) in plan.outer.offsets().zip(outer.offsets()) {
        let element = element - first;
        let start = value + values.offset();
        match uniform {
            Some(step) => {
                let places = (0..).map(|i| start + i * step);
                rows.walk(plan.picked.iter().map(|picked| element + picked).zip(places), mover);
            }
            None => {
                let places = places.iter().map(|place| start + place);
                rows.walk(plan.picked.iter().map(|picked| element + picked).zip(places), mover);
            }
        }
    }
    Ok(())
}

/// The axes behind the picked places, on both sides.
enum PickedRows {
    /// None, or only such of size 1.
    One,
    /// Elements that follow each other on both sides, as many as given.
    Run(usize),
    /// Rows of the last axis, and where they start.
    Strided { starts: Box<[Layout; 2]>, len: usize, steps: [isize; 2] },
}

impl PickedRows {
    fn new(elements: &Layout, values: &Layout) -> Result<Self> {
        let size = elements.size();
        if size == 1 {
            return Ok(Self::One);
        }
        if elements.is_c_contiguous() && values.is_c_contiguous() {
            return Ok(Self::Run(size));
        }
        let last = [SliceItem::Ellipsis, SliceItem::Index(0)];
        let step = |layout: &Layout| layout.strides().last().copied().unwrap_or(0);
        Ok(Self::Strided {
            starts: Box::new([elements.slice(&last)?, values.slice(&last)?]),
            len: elements.shape().last().copied().unwrap_or(1),
            steps: [step(elements), step(values)],
        })
    }

    #[inline]
    fn walk(&self, places: impl Iterator<Item = (isize, isize)>, mover: &mut impl Mover) {
        match self {
            Self::One => places.for_each(|(element, value)| mover.one(element, value)),
            // A length that the compiler knows needs no call for each run.
            Self::Run(2) => places.for_each(|(element, value)| mover.run(element, value, 2)),
            Self::Run(3) => places.for_each(|(element, value)| mover.run(element, value, 3)),
            Self::Run(4) => places.for_each(|(element, value)| mover.run(element, value, 4)),
            Self::Run(8) => places.for_each(|(element, value)| mover.run(element, value, 8)),
            Self::Run(16) => places.for_each(|(element, value)| mover.run(element, value, 16)),
            Self::Run(len) => places.for_each(|(element, value)| mover.run(element, value, *len)),
            Self::Strided { starts, len, steps } => {
                for (element, value) in places {
                    for (row, value_row) in starts[0].offsets().zip(starts[1].offsets()) {
                        let (element, value) = (element + row, value + value_row);
                        if *steps == [1, 1] {
                            mover.run(element, value, *len);
                            continue;
                        }
                        for i in 0..len.cast_signed() {
                            mover.one(element + i * steps[0], value + i * steps[1]);
                        }
                    }
                }
            }
        }
    }
}

/// The distance of the places of a layout, if it is the same from each to the next in row-major order.
fn uniform_step(layout: &Layout) -> Option<isize> {
    let mut axes = layout.shape().iter().zip(layout.strides()).rev().filter(|&(&size, _)| size != 1);
    let Some((&size, &step)) = axes.next() else { return Some(0) };
    let mut expected = step.checked_mul(size.cast_signed())?;
    for (&size, &stride) in axes {
        if stride != expected {
            return None;
        }
        expected = expected.checked_mul(size.cast_signed())?;
    }
    Some(step)
}
