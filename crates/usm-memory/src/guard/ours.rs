//! The table of borrows of this copy, as C functions for other copies of this library in the process.

use std::ops::Range;
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};

use usm_core::Error as CoreError;

use super::process::{BORROWS, borrows};
use super::shared::{BorrowFunctions, ENTERED, OF_SECOND, READING, THEIRS, VERSION, WRITING, theirs};
use crate::{Error, Result};

/// Whether another copy of this library has used the table of this one.
static IS_SHARED: AtomicBool = AtomicBool::new(false);

/// Whether other copies of this library in the process borrow memory. They do not know the operations of this one.
pub(crate) fn has_other_copies() -> bool {
    IS_SHARED.load(Ordering::Relaxed) || theirs().is_some()
}

static OURS: BorrowFunctions = BorrowFunctions {
    version: VERSION,
    size_bytes: size_of::<BorrowFunctions>() as u32,
    acquire,
    acquire_pair,
    retain_held,
    release,
};

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
    IS_SHARED.store(true, Ordering::Relaxed);
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
    IS_SHARED.store(true, Ordering::Relaxed);
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
