//! A launch that a plan leads to, and its arguments, one after the other; only arithmetic

use std::iter;

use usm_memory::usm_core::KernelArgument;

use super::divisor::Divisor;
use super::elements::Elements;
use crate::copy::plan::Loop;
use crate::kernel_engine::{self as modules, Module};

/// What a vector is.
pub(super) const VECTOR_BYTES: usize = 16;

/// What memory is read in at best.
pub(super) const LINE_BYTES: usize = 128;

/// Arguments for which a list has memory from the beginning: those of any kernel.
const ARGUMENTS: usize = 64;

/// The loop of a single step.
pub(super) const POINT: Loop = Loop { count: 1, dst: 0, src: 0 };

/// What a kernel does with the elements of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KernelWork<'a> {
    /// Copies or casts them.
    Copy(Elements),
    /// Sets those of the target to the bytes of one.
    Fill(&'a [u8]),
}

impl KernelWork<'_> {
    pub(crate) fn item_bytes(self) -> usize {
        match self {
            Self::Copy(elements) => elements.item_bytes,
            Self::Fill(element) => element.len(),
        }
    }

    pub(super) fn source_bytes(self) -> usize {
        match self {
            Self::Copy(elements) => elements.from_bytes,
            Self::Fill(_) => 0,
        }
    }

    pub(super) fn pair(self) -> Option<u32> {
        match self {
            Self::Copy(elements) => elements.pair,
            Self::Fill(_) => None,
        }
    }
}

/// A launch of a kernel that is not built yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Planned<'a> {
    // Invariant PG1: The kernel visits every pair of addresses of its part of the plan once.
    pub(super) kernel: &'static str,
    pub(super) work: KernelWork<'a>,
    /// In the kernel's order.
    pub(super) arguments: Vec<KernelArgument>,
    pub(super) items: usize,
    /// Work-items of a group.
    pub(super) group_items: usize,
    /// Whether a group cannot have fewer.
    pub(super) is_whole: bool,
}

impl Planned<'_> {
    /// The module of the kernel.
    pub(super) fn module(&self) -> Option<&'static Module> {
        match self.work {
            KernelWork::Copy(Elements { from_bytes, item_bytes, pair: Some(_) }) => match self.kernel {
                "cast_tile" => modules::cast_tile(from_bytes, item_bytes),
                _ => modules::cast(from_bytes, item_bytes),
            },
            KernelWork::Copy(elements) => modules::sized(self.kernel, elements.item_bytes),
            KernelWork::Fill(element) => {
                let module = if self.kernel == "rows" { "fill_rows" } else { "fill_elements" };
                modules::sized(module, element.len())
            }
        }
    }
}

/// Arguments under construction. A method gives `None` for a number that kernels cannot count with.
pub(super) struct Arguments {
    list: Vec<KernelArgument>,
    has_source: bool,
}

impl Arguments {
    /// The target; the source, or the value of a fill; the pair of dtypes of a cast.
    pub(super) fn new(work: KernelWork<'_>, dst: usize, src: usize) -> Self {
        let mut list = Vec::with_capacity(ARGUMENTS);
        list.push(KernelArgument::pointer(dst));
        if let KernelWork::Fill(element) = work {
            let mut value = [0; VECTOR_BYTES];
            value.chunks_exact_mut(element.len()).for_each(|place| place.copy_from_slice(element));
            list.extend(
                value.as_chunks().0.iter().map(|half| KernelArgument::from(u64::from_ne_bytes(*half))),
            );
        } else {
            list.push(KernelArgument::pointer(src));
        }
        list.extend(work.pair().map(KernelArgument::from));
        Self { list, has_source: matches!(work, KernelWork::Copy(_)) }
    }

    pub(super) fn into_list(self) -> Vec<KernelArgument> {
        self.list
    }

    pub(super) fn direction(&mut self, direction: isize) {
        self.list.push((direction as i32).into());
    }

    pub(super) fn count(&mut self, count: usize) -> Option<()> {
        self.list.push(u32::try_from(count).ok()?.into());
        Some(())
    }

    pub(super) fn counts<const N: usize>(&mut self, counts: [usize; N]) -> Option<()> {
        counts.into_iter().try_for_each(|count| self.count(count))
    }

    pub(super) fn stride(&mut self, stride: isize) {
        self.list.push((stride as i64).into());
    }

    pub(super) fn divisor(&mut self, number: usize) -> Option<()> {
        let divisor = (1..1 << 31).contains(&number).then(|| Divisor::new(number))?;
        self.list.extend(divisor.arguments());
        Some(())
    }

    /// The axes over the grid, innermost first, and as many of one step as are missing. So many of them have a divisor.
    pub(super) fn axes(&mut self, axes: &[Loop], most: usize, divisors: usize) -> Option<()> {
        let missing = most.checked_sub(axes.len())?;
        for (place, axis) in axes.iter().chain(iter::repeat_n(&POINT, missing)).enumerate() {
            if place < divisors {
                self.divisor(axis.count)?;
            }
            self.stride(axis.dst);
            if self.has_source {
                self.stride(axis.src);
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_kernels_cannot_count_with_are_refused() {
        let mut arguments = Arguments::new(KernelWork::Fill(&[1, 2]), 0, 0);
        assert_eq!([0, 1 << 31].map(|number| arguments.divisor(number)), [None; 2]);
        assert_eq!((arguments.divisor((1 << 31) - 1), arguments.count((1 << 32) - 1)), (Some(()), Some(())));
        assert_eq!(arguments.counts([1, 1 << 32]), None);
        assert_eq!(arguments.axes(&[POINT; 3], 2, 1), None);
    }
}
