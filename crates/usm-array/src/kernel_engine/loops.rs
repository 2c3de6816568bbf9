//! Loops over the elements of two operands, as the kernels take them: numbers only

use usm_memory::usm_core::KernelArgument;

use crate::layout::Axes;

/// As many as kernels have: `MAX_RANK` in `kernels/src/elements.h`.
pub(crate) const MAX_RANK: usize = 8;

/// So many steps, and how far each goes in both operands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KernelLoop {
    pub(crate) count: usize,
    pub(crate) steps: [isize; 2],
}

/// A nest of loops, the innermost one first. The elements that it visits come in row-major order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Loops(Axes<KernelLoop>);

impl Loops {
    /// Loops over axes of some sizes, with the strides that both operands have along them.
    pub(crate) fn over(sizes: &[usize], a: &[isize], b: &[isize]) -> Self {
        let mut loops = Self::default();
        loops.surround(sizes, a, b);
        loops
    }

    /// Adds loops around those that there are. Those that continue each other on both sides become one.
    pub(crate) fn surround(&mut self, sizes: &[usize], a: &[isize], b: &[isize]) {
        let first = self.0.len();
        for ((&count, &a), &b) in sizes.iter().zip(a).zip(b).rev().filter(|((size, _), _)| **size != 1) {
            match self.0[first..].last_mut() {
                Some(inner) if inner.is_continued([a, b]) => inner.count = inner.count.saturating_mul(count),
                _ => self.0.push(KernelLoop { count, steps: [a, b] }),
            }
        }
    }

    pub(crate) fn push(&mut self, around: KernelLoop) {
        self.0.push(around);
    }

    pub(crate) fn rank(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_for_kernels(&self) -> bool {
        self.rank() <= MAX_RANK
    }

    /// How often the innermost one is entered for one step of each.
    pub(crate) fn count(&self) -> usize {
        self.0.iter().map(|one| one.count).product()
    }

    /// Whether every step of the first operand leads to an element of its own: each loop goes further than all smaller ones together.
    pub(crate) fn is_injective(&self) -> bool {
        let mut steps: Vec<_> = self.0.iter().map(|one| (one.steps[0].unsigned_abs(), one.count)).collect();
        steps.sort_unstable();
        let mut reach = 0_usize;
        steps.into_iter().all(|(step, count)| {
            let is_further = step > reach || count <= 1;
            reach = reach.saturating_add(step.saturating_mul(count.saturating_sub(1)));
            is_further
        })
    }

    pub(crate) fn innermost(&self) -> Option<&KernelLoop> {
        self.0.first()
    }

    /// The same bytes of elements of `bytes`, in units of another size, in loops with one more around each element if `has_run` is false:
    /// else the innermost loop is along elements side by side. `None` if something is no whole unit.
    pub(crate) fn in_units(&self, bytes: usize, unit_bytes: usize, has_run: bool) -> Option<Self> {
        let scaled = |step: isize| {
            let step_bytes = step.checked_mul(bytes.cast_signed())?;
            (step_bytes % unit_bytes.cast_signed() == 0).then(|| step_bytes / unit_bytes.cast_signed())
        };
        let (run, rest) = match self.0.split_first() {
            Some((run, rest)) if has_run => (run.count, rest),
            _ => (1, &self.0[..]),
        };
        let run_bytes = run.checked_mul(bytes)?;
        if run_bytes % unit_bytes != 0 {
            return None;
        }
        let mut loops = Axes::from(&[KernelLoop { count: run_bytes / unit_bytes, steps: [1, 1] }][..]);
        for one in rest {
            loops
                .push(KernelLoop { count: one.count, steps: [scaled(one.steps[0])?, scaled(one.steps[1])?] });
        }
        Some(Self(loops))
    }

    /// The numbers of all loops that a kernel has.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = KernelArgument> {
        let none = KernelLoop { count: 1, steps: [0, 0] };
        let padded = self.0.iter().copied().chain(std::iter::repeat(none)).take(MAX_RANK);
        padded.flat_map(|one| {
            let [a, b] = one.steps.map(|step| step as i64);
            [one.count as i64, a, b].map(KernelArgument::from)
        })
    }
}

impl KernelLoop {
    /// Whether the steps of a loop around this one go where its own would go next.
    fn is_continued(&self, around: [isize; 2]) -> bool {
        let count = self.count.cast_signed();
        (0..2).all(|side| self.steps[side].checked_mul(count) == Some(around[side]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_that_continue_each_other_become_one_loop() {
        let loops = Loops::over(&[4, 1, 3, 2], &[6, 9, 2, 1], &[12, 9, 2, 1]);
        let expected = [KernelLoop { count: 6, steps: [1, 1] }, KernelLoop { count: 4, steps: [6, 12] }];
        assert_eq!((&loops.0[..], loops.rank(), loops.count()), (&expected[..], 2, 24));
        assert_eq!(Loops::over(&[1, 1], &[3, 4], &[5, 6]).rank(), 0);
        let mut inner = Loops::over(&[2], &[1], &[1]);
        inner.surround(&[3], &[2], &[2]);
        assert_eq!(inner.rank(), 2, "what was there stays a loop of its own");
    }

    #[test]
    fn loops_that_meet_are_found() {
        let is_injective =
            |sizes: &[usize], strides: &[isize]| Loops::over(sizes, strides, strides).is_injective();
        assert!(
            is_injective(&[4, 3], &[-3, 1])
                && is_injective(&[3, 4], &[1, 3])
                && is_injective(&[1, 5], &[0, -2])
        );
        assert!(!is_injective(&[4, 3], &[2, 1]) && !is_injective(&[2], &[0]) && is_injective(&[], &[]));
    }

    #[test]
    fn rows_become_larger_units_where_everything_is_a_multiple() {
        let loops = Loops::over(&[5, 8], &[-16, 1], &[8, 1]);
        let expected = [KernelLoop { count: 2, steps: [1, 1] }, KernelLoop { count: 5, steps: [-4, 2] }];
        assert_eq!(loops.in_units(4, 16, true).map(|units| units.0), Some(Axes::from(&expected[..])));
        assert_eq!(loops.in_units(2, 32, true), None, "rows of half a unit");
        assert_eq!(
            Loops::over(&[5, 8], &[-18, 1], &[8, 1]).in_units(4, 16, true),
            None,
            "a distance of 4.5 units"
        );
        let halves = [KernelLoop { count: 2, steps: [1, 1] }, KernelLoop { count: 5, steps: [6, 2] }];
        assert_eq!(
            Loops::over(&[5], &[3], &[1]).in_units(16, 8, false).map(|units| units.0),
            Some(Axes::from(&halves[..]))
        );
    }
}
