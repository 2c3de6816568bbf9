//! One table of borrows for several copies of this library in a process, through C functions.
//!
//! A Python extension that links this library has a copy of its own. Guards of one copy keep out those of another because the
//! copies that come later enter their borrows into the table of the first.

use std::ops::Range;

use usm_core::fork::ForkOnce;

use crate::{Error, Result};

/// Version of [`BorrowFunctions`]. Any change of a function or of what its numbers mean makes it another one.
pub(super) const VERSION: u32 = 1;

/// Result of a function: entered.
pub(super) const ENTERED: u32 = 0;
/// Result of a function: a borrow for reading, or one for writing, is in the way of the first range; 2 more for the second range.
pub(super) const READING: u32 = 1;
pub(super) const WRITING: u32 = 2;
pub(super) const OF_SECOND: u32 = 2;

/// The table of borrows of one copy of this library, for the others.
///
/// Invariant N1: a copy of this library made the table with `of_this_copy`, and it lives as long as the process. Its functions get as many
/// numbers, and places for them, as they are told.
///
/// The first two fields stay what they are in every version.
#[repr(C)]
#[derive(Debug)]
pub struct BorrowFunctions {
    pub(super) version: u32,
    pub(super) size_bytes: u32,
    pub(super) acquire: unsafe extern "C" fn(usize, usize, u32, *const u64, usize, *mut u64) -> u32,
    pub(super) acquire_pair:
        unsafe extern "C" fn(usize, usize, usize, usize, *const u64, usize, *mut u64, *mut u64) -> u32,
    pub(super) retain_held: unsafe extern "C" fn(*mut u64, usize) -> usize,
    pub(super) release: extern "C" fn(u64),
}

/// The table of another copy that this one uses in place of its own.
pub(super) static THEIRS: ForkOnce<&'static BorrowFunctions> = ForkOnce::new();

/// The table to use in place of our own.
pub(super) fn theirs() -> Option<&'static BorrowFunctions> {
    THEIRS.get().copied()
}

impl BorrowFunctions {
    pub(super) fn enter(&self, range: &Range<usize>, writes: bool, after: &[u64]) -> Result<u64> {
        let mut id = 0;
        let (first, count, flag) = (after.as_ptr(), after.len(), u32::from(writes));
        // SAFETY: N1: numbers, as many as are said, and a place for one.
        let result = unsafe { (self.acquire)(range.start, range.end, flag, first, count, &raw mut id) };
        told(result, range, range).map(|()| id)
    }

    pub(super) fn enter_pair(
        &self,
        written: &Range<usize>,
        read: &Range<usize>,
        after: &[u64],
    ) -> Result<(u64, u64)> {
        let (mut a, mut b) = (0, 0);
        let (first, count) = (after.as_ptr(), after.len());
        let (a_out, b_out) = (&raw mut a, &raw mut b);
        // SAFETY: N1: numbers, as many as are said, and places for one each.
        let result = unsafe {
            (self.acquire_pair)(written.start, written.end, read.start, read.end, first, count, a_out, b_out)
        };
        told(result, written, read).map(|()| (a, b))
    }

    pub(super) fn held(&self, ids: &mut Vec<u64>) {
        // SAFETY: N1: numbers, as many as are said.
        let count = unsafe { (self.retain_held)(ids.as_mut_ptr(), ids.len()) };
        ids.truncate(count);
    }

    pub(super) fn leave(&self, id: u64) {
        (self.release)(id);
    }
}

fn told(result: u32, first: &Range<usize>, second: &Range<usize>) -> Result<()> {
    let (range, way) = if result > OF_SECOND { (second, result - OF_SECOND) } else { (first, result) };
    match way {
        ENTERED => Ok(()),
        _ => Err(Error::BorrowConflict {
            address: range.start,
            len_bytes: range.end - range.start,
            held: if way == WRITING { "writing" } else { "reading" },
        }),
    }
}
