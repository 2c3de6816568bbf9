//! How many work-items run a kernel, and in which work-groups.

use std::fmt;

use crate::{Error, Result};

/// Sizes along one to three dimensions, `sycl::range`.
///
/// As in SYCL and in C, the last dimension varies fastest: it is dimension 0 of OpenCL C's `get_global_id`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Range {
    /// The first `dimensions` count.
    sizes: [usize; 3],
    dimensions: usize,
}

impl Range {
    /// A range of as many dimensions as there are sizes.
    ///
    /// # Errors
    /// [`Error::KernelRange`] unless there are one to three.
    pub fn from_slice(sizes: &[usize]) -> Result<Self> {
        match *sizes {
            [a] => Ok([a].into()),
            [a, b] => Ok([a, b].into()),
            [a, b, c] => Ok([a, b, c].into()),
            _ => Err(refused(format!("a range of {} dimensions; allowed are 1, 2 and 3", sizes.len()))),
        }
    }

    /// Sizes, the slowest dimension first.
    #[must_use]
    pub fn sizes(&self) -> &[usize] {
        self.sizes.get(..self.dimensions).unwrap_or_default()
    }

    /// Number of work-items; `None` when `usize` cannot count them.
    fn items(&self) -> Option<usize> {
        self.sizes().iter().try_fold(1_usize, |product, &size| product.checked_mul(size))
    }

    fn check_not_empty(&self) -> Result<()> {
        if self.sizes().contains(&0) {
            return Err(refused(format!("{self}: every size must be at least 1")));
        }
        Ok(())
    }
}

impl From<usize> for Range {
    fn from(size: usize) -> Self {
        [size].into()
    }
}

macro_rules! from_array {
    ($($dimensions:literal: $sizes:pat => $all:expr;)+) => {$(
        impl From<[usize; $dimensions]> for Range {
            fn from($sizes: [usize; $dimensions]) -> Self {
                Self { sizes: $all, dimensions: $dimensions }
            }
        }
    )+};
}

from_array!(
    1: [a] => [a, 1, 1];
    2: [a, b] => [a, b, 1];
    3: all => all;
);

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.sizes())
    }
}

impl fmt::Debug for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Range({self})")
    }
}

/// A range cut into work-groups of equal size, `sycl::nd_range`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NdRange {
    global: Range,
    local: Range,
}

impl NdRange {
    /// All work-items, and those of one work-group. Both have the same number of dimensions and each local size divides the
    /// global one, which [`Queue::submit_kernel`](crate::Queue::submit_kernel) checks.
    pub fn new(global: impl Into<Range>, local: impl Into<Range>) -> Self {
        Self { global: global.into(), local: local.into() }
    }

    /// All work-items.
    #[must_use]
    pub const fn global(&self) -> Range {
        self.global
    }

    /// The work-items of one work-group.
    #[must_use]
    pub const fn local(&self) -> Range {
        self.local
    }
}

/// What a kernel is run over: a range whose work-groups the runtime chooses, or an nd-range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExecutionRange {
    /// Work-groups as the runtime likes them.
    Range(Range),
    /// Work-groups of a given size.
    NdRange(NdRange),
}

impl ExecutionRange {
    /// All work-items.
    #[must_use]
    pub const fn global(&self) -> Range {
        match self {
            Self::Range(range) => *range,
            Self::NdRange(range) => range.global,
        }
    }

    /// The work-items of one work-group, where they are given.
    #[must_use]
    pub const fn local(&self) -> Option<Range> {
        match self {
            Self::Range(_) => None,
            Self::NdRange(range) => Some(range.local),
        }
    }

    /// Refuses what no kernel runs over, and work-groups of more than `max_work_group_size` work-items.
    pub(super) fn check(&self, max_work_group_size: usize) -> Result<()> {
        let global = self.global();
        global.check_not_empty()?;
        if global.items().is_none() {
            return Err(refused(format!("{self}: more work-items than can be counted")));
        }
        let Some(local) = self.local() else { return Ok(()) };
        local.check_not_empty()?;
        if global.dimensions != local.dimensions {
            return Err(refused(format!("{self}: both must have the same number of dimensions")));
        }
        let mut sizes = global.sizes().iter().zip(local.sizes());
        if let Some((size, part)) = sizes.find(|(size, part)| !size.is_multiple_of(**part)) {
            return Err(refused(format!("{self}: {size} is not a multiple of {part}")));
        }
        match local.items() {
            Some(items) if items <= max_work_group_size => Ok(()),
            _ => Err(refused(format!(
                "{self}: a work-group has at most {max_work_group_size} work-items on this device"
            ))),
        }
    }
}

fn refused(reason: String) -> Error {
    Error::KernelRange { reason }
}

impl<T: Into<Range>> From<T> for ExecutionRange {
    fn from(range: T) -> Self {
        Self::Range(range.into())
    }
}

impl From<NdRange> for ExecutionRange {
    fn from(range: NdRange) -> Self {
        Self::NdRange(range)
    }
}

impl fmt::Display for ExecutionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range(range) => write!(f, "range {range}"),
            Self::NdRange(range) => write!(f, "range {} in work-groups of {}", range.global, range.local),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ExecutionRange, NdRange, Range};

    #[test]
    fn ranges_have_one_to_three_dimensions() {
        assert_eq!(Range::from(7).sizes(), [7]);
        assert_eq!(Range::from_slice(&[2, 3]).unwrap(), [2, 3].into());
        assert_eq!(Range::from_slice(&[2, 3, 4]).unwrap().sizes(), [2, 3, 4]);
        for sizes in [&[][..], &[1, 1, 1, 1]] {
            let error = Range::from_slice(sizes).unwrap_err().to_string();
            assert!(error.contains(&format!("{} dimensions", sizes.len())), "{error}");
        }
    }

    #[test]
    fn what_no_kernel_runs_over_is_refused_with_the_reason() {
        let good: [ExecutionRange; 4] =
            [5.into(), [1, 2, 3].into(), NdRange::new(8, 4).into(), NdRange::new([4, 6], [4, 2]).into()];
        for range in good {
            range.check(8).unwrap();
        }
        let bad: [(ExecutionRange, &str); 8] = [
            (0.into(), "[0]: every size must be at least 1"),
            ([3, 0].into(), "[3, 0]: every size must be at least 1"),
            ([usize::MAX, 2].into(), "more work-items than can be counted"),
            (NdRange::new(8, 0).into(), "[0]: every size must be at least 1"),
            (NdRange::new([8, 1], 4).into(), "same number of dimensions"),
            (NdRange::new([8, 10], [4, 3]).into(), "10 is not a multiple of 3"),
            (NdRange::new(16, 16).into(), "at most 8 work-items"),
            (NdRange::new([4, 4], [4, 4]).into(), "at most 8 work-items"),
        ];
        for (range, reason) in bad {
            let error = range.check(8).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
