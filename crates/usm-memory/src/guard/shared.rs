//! One table of borrows for several copies of this library in a process, through C functions.
//!
//! A Python extension that links this library has a copy of its own. Guards of one copy keep out those of another because the
//! copies that come later enter their borrows into the table of the first.

use std::ops::Range;
use std::slice;

use usm_core::Error as CoreError;
use usm_core::fork::ForkOnce;

use super::{BORROWS, borrows};
use crate::{Error, Result};

/// Version of [`BorrowFunctions`]. Any change of a function or of what its numbers mean makes it another one.
const VERSION: u32 = 1;

/// Result of a function: entered.
const ENTERED: u32 = 0;
/// Result of a function: a borrow for reading, or one for writing, is in the way of the first range; 2 more for the second range.
const READING: u32 = 1;
const WRITING: u32 = 2;
const OF_SECOND: u32 = 2;

/// The table of borrows of one copy of this library, for the others.
///
/// Invariant N1: a copy of this library made the table with `of_this_copy`, and it lives as long as the process. Its functions get as many
/// numbers, and places for them, as they are told.
///
/// The first two fields stay what they are in every version.
#[repr(C)]
#[derive(Debug)]
pub struct BorrowFunctions {
    version: u32,
    size_bytes: u32,
    acquire: unsafe extern "C" fn(usize, usize, u32, *const u64, usize, *mut u64) -> u32,
    acquire_pair:
        unsafe extern "C" fn(usize, usize, usize, usize, *const u64, usize, *mut u64, *mut u64) -> u32,
    retain_held: unsafe extern "C" fn(*mut u64, usize) -> usize,
    release: extern "C" fn(u64),
}

static OURS: BorrowFunctions = BorrowFunctions {
    version: VERSION,
    size_bytes: size_of::<BorrowFunctions>() as u32,
    acquire,
    acquire_pair,
    retain_held,
    release,
};

/// The table of another copy that this one uses in place of its own.
static THEIRS: ForkOnce<&'static BorrowFunctions> = ForkOnce::new();

impl BorrowFunctions {
    /// Those of this copy.
    #[must_use]
    pub fn of_this_copy() -> &'static Self {
        &OURS
    }

    /// Enters all borrows of this copy into the table of another one from now on. False when this copy has guards of its own
    /// already, or had: then it is too late.
    ///
    /// # Safety
    /// 1. `table` is null, or [`of_this_copy`](Self::of_this_copy) of another copy of this library, of any version, which is never
    ///    unloaded.
    ///
    /// # Errors
    /// [`SharedVersion`](CoreError::SharedVersion) for a table of another version.
    pub unsafe fn use_of_copy(table: *const Self) -> Result<bool> {
        let wrong =
            |found| CoreError::SharedVersion { what: "the table of borrows", found, expected: VERSION };
        if table.is_null() {
            return Err(wrong(0).into());
        }
        // SAFETY: N1 for a table of any version (1): each starts with its number.
        let version = unsafe { table.cast::<u32>().read() };
        if version != VERSION {
            return Err(wrong(version).into());
        }
        if std::ptr::eq(table, &raw const OURS) {
            return Ok(true); // the same copy
        }
        // SAFETY: N1 (1), and the version is this one.
        let table = unsafe { &*table };
        if table.size_bytes != OURS.size_bytes {
            return Err(wrong(version).into());
        }
        // Threads may join at the same time.
        let is_theirs = || theirs().is_some_and(|known| std::ptr::eq(known, table));
        Ok(BORROWS.if_unused(|| THEIRS.set(table)) || is_theirs())
    }
}

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

fn number(error: &Error, second: &Range<usize>, pair: bool) -> u32 {
    let Error::BorrowConflict { address, len_bytes, held } = error else { return READING };
    let way = if *held == "writing" { WRITING } else { READING };
    let is_second = pair && *address == second.start && *len_bytes == second.end - second.start;
    if is_second { way + OF_SECOND } else { way }
}

unsafe fn ids<'a>(first: *const u64, count: usize) -> &'a [u64] {
    if count == 0 {
        return &[];
    }
    // SAFETY: N1: the caller of the C function passes as many numbers as it says.
    unsafe { slice::from_raw_parts(first, count) }
}

unsafe extern "C" fn acquire(
    start: usize,
    end: usize,
    writes: u32,
    after: *const u64,
    count: usize,
    id: *mut u64,
) -> u32 {
    // SAFETY: as many numbers as are said.
    let after = unsafe { ids(after, count) };
    match borrows().acquire(start..end, writes != 0, after) {
        Ok(entered) => {
            // SAFETY: a place for a number.
            unsafe { id.write(entered) };
            ENTERED
        }
        Err(error) => number(&error, &(start..end), false),
    }
}

unsafe extern "C" fn acquire_pair(
    written_start: usize,
    written_end: usize,
    read_start: usize,
    read_end: usize,
    after: *const u64,
    count: usize,
    written_id: *mut u64,
    read_id: *mut u64,
) -> u32 {
    // SAFETY: as many numbers as are said.
    let after = unsafe { ids(after, count) };
    match borrows().acquire_pair(written_start..written_end, read_start..read_end, after) {
        Ok((written, read)) => {
            // SAFETY: a place for a number.
            unsafe { written_id.write(written) };
            // SAFETY: a place for a number.
            unsafe { read_id.write(read) };
            ENTERED
        }
        Err(error) => number(&error, &(read_start..read_end), true),
    }
}

unsafe extern "C" fn retain_held(first: *mut u64, count: usize) -> usize {
    // SAFETY: as many numbers as are said.
    let mut held = unsafe { ids(first, count) }.to_vec();
    BORROWS.retain_held(&mut held);
    for (i, id) in held.iter().enumerate() {
        let place = first.wrapping_add(i);
        // SAFETY: no more than there were.
        unsafe { place.write(*id) };
    }
    held.len()
}

extern "C" fn release(id: u64) {
    BORROWS.release(id);
}

#[cfg(test)]
mod tests {
    use super::*;

    // Addresses that no other test of this process borrows.
    const START: usize = 0x10;

    #[test]
    fn borrows_through_the_functions_are_in_the_table() {
        let table = BorrowFunctions::of_this_copy();
        let held = table.enter(&(START..START + 4), true, &[]).unwrap();
        let error = BORROWS.acquire(START + 1..START + 2, false, &[]).unwrap_err();
        assert!(matches!(error, Error::BorrowConflict { held: "writing", .. }), "{error}");
        let ordered = table.enter(&(START..START + 1), false, &[held]).unwrap();
        let mut ids = vec![held, ordered];
        table.leave(held);
        table.held(&mut ids);
        assert_eq!(ids, [ordered]);
        let error = table.enter(&(START..START + 8), true, &[]).unwrap_err();
        assert!(matches!(error, Error::BorrowConflict { held: "reading", len_bytes: 8, .. }), "{error}");
        table.leave(ordered);
        BORROWS.release(BORROWS.acquire(START..START + 8, true, &[]).unwrap());
    }

    #[test]
    fn pairs_tell_which_range_was_in_the_way() {
        let table = BorrowFunctions::of_this_copy();
        let (written, read) = (START + 16..START + 24, START + 32..START + 40);
        let held = table.enter(&(START + 39..START + 41), true, &[]).unwrap();
        let error = table.enter_pair(&written, &read, &[]).unwrap_err();
        assert!(
            matches!(error, Error::BorrowConflict { address, held: "writing", .. } if address == read.start),
            "{error}"
        );
        let (a, b) = table.enter_pair(&written, &read, &[held]).unwrap();
        for id in [a, b, held] {
            table.leave(id);
        }
        let free = table.enter(&(written.start..read.end + 1), true, &[]).unwrap();
        table.leave(free);
    }

    #[test]
    fn other_versions_are_refused_and_this_copy_is_no_other() {
        static OTHER: [u32; 32] = [9; 32];
        for (table, number) in [(OTHER.as_ptr().cast(), 9), (std::ptr::null(), 0)] {
            // SAFETY: null, or something that starts with a version.
            let error = unsafe { BorrowFunctions::use_of_copy(table) }.unwrap_err();
            assert!(
                matches!(error, Error::Core(CoreError::SharedVersion { found, .. }) if found == number),
                "{error}"
            );
        }
        // SAFETY: the table of this copy.
        assert!(unsafe { BorrowFunctions::use_of_copy(BorrowFunctions::of_this_copy()) }.unwrap());
        assert!(theirs().is_none());
    }
}
