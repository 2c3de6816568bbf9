//! Whether two layouts, or two indices of one layout, share memory
//!
//! Both questions are whether a sum of bounded multiples of the strides has a given value (`solver.rs`), as in NumPy's
//! `solve_may_share_memory` and `solve_may_have_internal_overlap`. The problem is NP-complete in the number of axes, so the
//! work is limited; the layouts that occur need a few steps.

mod solver;

use std::cmp::Reverse;

use self::solver::{Problem, Term};
use super::Layout;

/// Whether memory is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Overlap {
    /// Not a single byte.
    No,
    /// At least one byte.
    Yes,
    /// Not found out within the limit of work. Treat it as [`Overlap::Yes`].
    Maybe,
}

impl Overlap {
    /// False only if the layouts certainly share no element.
    #[must_use]
    pub fn is_possible(self) -> bool {
        self != Self::No
    }
}

/// Elements as bytes at addresses.
#[derive(Clone, Copy, Debug)]
pub struct StridedBytes<'a> {
    /// Shape, strides and offset, in elements
    pub layout: &'a Layout,
    /// Bytes of one element
    pub itemsize_bytes: usize,
    /// Address that the layout's offset counts from
    pub address: usize,
}

impl Overlap {
    /// Steps of search that are made where no other limit is given.
    pub const DEFAULT_WORK_LIMIT: usize = 10_000;

    /// Whether two strided layouts have a byte in common, exactly, whatever their item sizes, signs and alignment.
    ///
    /// The answer is [`Overlap::Maybe`] when the search takes more than `work_limit` steps; `usize::MAX` never gives up. Items of more
    /// than `isize::MAX` bytes are in no memory, and give that answer, too. Layouts whose spans do not meet, or that are contiguous, need
    /// no search.
    ///
    /// ```
    /// use usm_array::{Layout, Order, Overlap, StridedBytes};
    ///
    /// let even = Layout::new(&[4], Some(&[2]), 0, Order::C)?;
    /// let odd = even.with_offset(1)?;
    /// let floats = |layout| StridedBytes { layout, itemsize_bytes: 4, address: 0x1000 };
    /// assert_eq!(Overlap::between(floats(&even), floats(&odd), usize::MAX), Overlap::No);
    /// // As elements of 8 bytes at the same distances in bytes they meet.
    /// let wide = Layout::new(&[4], Some(&[1]), 0, Order::C)?;
    /// let wide = StridedBytes { layout: &wide, itemsize_bytes: 8, address: 0x1000 };
    /// assert_eq!(Overlap::between(wide, floats(&odd), usize::MAX), Overlap::Yes);
    /// # Ok::<(), usm_array::LayoutError>(())
    /// ```
    #[must_use]
    pub fn between(a: StridedBytes<'_>, b: StridedBytes<'_>, work_limit: usize) -> Self {
        if isize::try_from(a.itemsize_bytes.max(b.itemsize_bytes)).is_err() {
            return Self::Maybe;
        }
        let (Some(span_a), Some(span_b)) = (a.span(), b.span()) else { return Self::No };
        if span_a.0 >= span_b.1 || span_b.0 >= span_a.1 {
            return Self::No;
        }
        // Without gaps a span is full of elements.
        if a.fills_its_span() && b.fills_its_span() {
            return Self::Yes;
        }
        // Elements that lie on one grid are counted in steps of it, others in bytes.
        let (small, large) = (a.itemsize_bytes.min(b.itemsize_bytes), a.itemsize_bytes.max(b.itemsize_bytes));
        let on_grid = large.is_multiple_of(small) && (span_b.0 - span_a.0) % small as i128 == 0;
        let unit = if on_grid { small } else { 1 };
        // Counted from the lowest one, each element of `a` is at a sum of multiples x of its strides, each of `b` at one of
        // multiples y, and their parts are r and s further on. With y and s counted from the other end it is one sum:
        // Σ a·x + r + Σ b·y' + s' = the distance of the last part of `b` from the first of `a`.
        let mut problem = Problem::new((span_b.1 - unit as i128 - span_a.0) / unit as i128);
        for side in [&a, &b] {
            let parts = (side.itemsize_bytes / unit) as u128;
            for (size, stride) in side.layout.axes() {
                problem.add(Term { step: stride.unsigned_abs() as u128 * parts, most: size as u128 - 1 });
            }
            problem.add(Term { step: 1, most: parts - 1 });
        }
        let mut work = work_limit;
        problem.solve(&mut work)
    }
}

impl StridedBytes<'_> {
    /// First byte and the one behind the last, which 64 bits may not hold; `None` without bytes.
    fn span(&self) -> Option<(i128, i128)> {
        let extent = self.layout.extent_with_offset().filter(|_| self.itemsize_bytes > 0)?;
        let place = |element: isize| self.address as i128 + element as i128 * self.itemsize_bytes as i128;
        Some((place(extent.min), place(extent.max) + self.itemsize_bytes as i128))
    }

    fn fills_its_span(&self) -> bool {
        self.layout.is_contiguous()
    }
}

impl Layout {
    /// Whether two different indices reach the same element, exactly.
    ///
    /// The answer is [`Overlap::Maybe`] only when the search takes more than `work_limit` steps; `usize::MAX` never gives up.
    /// Views of a contiguous layout without repeats and windows need no search.
    ///
    /// ```
    /// use usm_array::{Layout, Order, Overlap};
    ///
    /// let windows = Layout::contiguous(&[6], Order::C)?.sliding_window_view(&[3], None)?;
    /// assert_eq!(windows.internal_overlap(usize::MAX), Overlap::Yes);
    /// // Strides with common multiples that the layouts do not reach.
    /// let layout = Layout::new(&[3, 2], Some(&[2, 3]), 0, Order::C)?;
    /// assert_eq!(layout.internal_overlap(usize::MAX), Overlap::No);
    /// # Ok::<(), usm_array::LayoutError>(())
    /// ```
    #[must_use]
    pub fn internal_overlap(&self, work_limit: usize) -> Overlap {
        if self.is_empty() {
            return Overlap::No;
        }
        let mut axes: super::Axes<Term> = self
            .axes()
            .filter(|&(size, _)| size > 1)
            .map(|(size, stride)| Term { step: stride.unsigned_abs() as u128, most: size as u128 - 1 })
            .collect();
        if axes.iter().any(|axis| axis.step == 0) {
            return Overlap::Yes;
        }
        axes.sort_unstable_by_key(|axis| Reverse(axis.step));
        // Two indices differ by d, not all of them zero. Let the first one that is not zero belong to axis k, and be positive,
        // else the two change places: s[k]·(1 + x) + Σ s[j]·d[j] = 0 over the axes j behind it, with d[j] from -most to most.
        // With d[j] counted from its upper end all unknowns start at 0.
        let mut work = work_limit;
        let mut answer = Overlap::No;
        for (k, first) in axes.iter().enumerate() {
            let behind = &axes[k + 1..];
            let reach: u128 = behind.iter().map(|axis| axis.step * axis.most).sum();
            if reach < first.step {
                continue; // what is behind does not reach the next place of this axis
            }
            let mut problem = Problem::new((reach - first.step).cast_signed());
            problem.add(Term { step: first.step, most: first.most - 1 });
            for axis in behind {
                problem.add(Term { step: axis.step, most: 2 * axis.most });
            }
            match problem.solve(&mut work) {
                Overlap::Yes => return Overlap::Yes,
                Overlap::Maybe => answer = Overlap::Maybe,
                Overlap::No => {}
            }
        }
        answer
    }
}

#[cfg(test)]
mod tests;
