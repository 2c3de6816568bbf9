//! One table of borrows for several copies of this library in a process, through C functions.
//!
//! A Python extension that links this library has a copy of its own. The copies that come later enter their borrows into the table of
//! the first, so that those of one copy meet those of another.

use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};

use usm_core::Error as CoreError;

use super::process::{BORROWS, borrows, theirs, use_theirs};
use super::sync::Duration;
use super::table::{Conflict, OtherTable, Wanted};
use super::thread::Use;
use crate::Result;

/// Version of [`BorrowFunctions`]. Any change of a function or of what its numbers mean makes it another one.
const VERSION: u32 = 2;

/// Result of `enter`: entered. Any other one has the bit `IN_THE_WAY`.
const ENTERED: u32 = 0;
const IN_THE_WAY: u32 = 1;
const IS_WRITTEN: u32 = 2;
const MAY_WAIT: u32 = 4;
/// How far the number of the refused range is shifted.
const NUMBER_SHIFT: u32 = 3;

/// A [`Wanted`], for C.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct WantedRange {
    start: usize,
    end: usize,
    writes: u32,
}

/// The table of borrows of one copy of this library, for the others.
///
/// Invariant N1: a copy of this library made the table with `of_this_copy`, and it lives as long as the process. Its functions get as many
/// ranges and numbers, and places for them, as they are told.
///
/// The first two fields stay what they are in every version.
#[repr(C)]
#[derive(Debug)]
pub struct BorrowFunctions {
    version: u32,
    size_bytes: u32,
    enter: unsafe extern "C" fn(u32, *const WantedRange, usize, *mut u64) -> u32,
    leave: unsafe extern "C" fn(u32, *const u64, usize),
    wait: extern "C" fn(u64),
}

/// Whether another copy of this library has used the table of this one.
static IS_SHARED: AtomicBool = AtomicBool::new(false);

/// Whether other copies of this library in the process use memory. They do not know the operations of this one.
pub(crate) fn has_other_copies() -> bool {
    IS_SHARED.load(Ordering::Relaxed) || theirs().is_some()
}

static OURS: BorrowFunctions =
    BorrowFunctions { version: VERSION, size_bytes: size_of::<BorrowFunctions>() as u32, enter, leave, wait };

/// Operands of which no list is made.
const FEW: usize = 4;

impl BorrowFunctions {
    /// Those of this copy.
    #[must_use]
    pub fn of_this_copy() -> &'static Self {
        &OURS
    }

    /// Enters all borrows of this copy into the table of another one from now on. False when this copy has borrows of its own
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
        let is_theirs = || theirs().is_some_and(|known| std::ptr::addr_eq(known, table));
        Ok(BORROWS.if_unused(|| use_theirs(table)) || is_theirs())
    }
}

impl OtherTable for BorrowFunctions {
    fn enter(&self, kind: Use, wanted: &[Wanted], ids: &mut [u64]) -> Result<(), Conflict> {
        let range = |one: &Wanted| WantedRange {
            start: one.range.start,
            end: one.range.end,
            writes: one.writes.into(),
        };
        let count = wanted.len().min(ids.len());
        let mut few = [WantedRange { start: 0, end: 0, writes: 0 }; FEW];
        let many: Vec<_>;
        let ranges = match few.get_mut(..count) {
            Some(few) => {
                few.iter_mut().zip(wanted).for_each(|(to, one)| *to = range(one));
                &*few
            }
            None => {
                many = wanted[..count].iter().map(range).collect();
                &many[..]
            }
        };
        // SAFETY: N1: ranges, as many as are said, and a place for the number of each.
        let result = unsafe { (self.enter)(number_of(kind), ranges.as_ptr(), count, ids.as_mut_ptr()) };
        if result == ENTERED {
            return Ok(());
        }
        let refused = wanted.get((result >> NUMBER_SHIFT) as usize).or(wanted.first());
        Err(Conflict {
            range: refused.map_or(0..0, |one| one.range.clone()),
            is_written: result & IS_WRITTEN != 0,
            may_wait: result & MAY_WAIT != 0,
        })
    }

    fn leave(&self, kind: Use, ids: &[u64]) {
        // SAFETY: N1: numbers, as many as are said.
        unsafe { (self.leave)(number_of(kind), ids.as_ptr(), ids.len()) };
    }

    fn wait(&self, time: Duration) {
        (self.wait)(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }
}

fn number_of(kind: Use) -> u32 {
    match kind {
        Use::View => 0,
        Use::Open => 1,
        Use::Closed => 2,
    }
}

fn kind_of(number: u32) -> Use {
    match number {
        1 => Use::Open,
        2 => Use::Closed,
        _ => Use::View,
    }
}

unsafe fn list<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: N1: the caller of the C function passes as many values as it says.
    unsafe { slice::from_raw_parts(first, count) }
}

unsafe extern "C" fn enter(kind: u32, first: *const WantedRange, count: usize, ids: *mut u64) -> u32 {
    IS_SHARED.store(true, Ordering::Relaxed);
    // SAFETY: N1: as many ranges as are said.
    let ranges = unsafe { list(first, count) };
    let wanted: Vec<_> =
        ranges.iter().map(|one| Wanted { range: one.start..one.end, writes: one.writes != 0 }).collect();
    let mut entered = vec![0; count];
    match borrows().try_acquire(kind_of(kind), &wanted, &mut entered, &mut None) {
        Ok(()) => {
            for (place, id) in entered.iter().enumerate() {
                // SAFETY: N1: places for as many numbers.
                unsafe { ids.wrapping_add(place).write(*id) };
            }
            ENTERED
        }
        Err(conflict) => {
            let number = wanted.iter().position(|one| one.range == conflict.range).unwrap_or(0);
            let is_written = if conflict.is_written { IS_WRITTEN } else { 0 };
            let may_wait = if conflict.may_wait { MAY_WAIT } else { 0 };
            IN_THE_WAY | is_written | may_wait | (number as u32) << NUMBER_SHIFT
        }
    }
}

unsafe extern "C" fn leave(kind: u32, first: *const u64, count: usize) {
    // SAFETY: N1: as many numbers as are said.
    BORROWS.release(kind_of(kind), unsafe { list(first, count) });
}

extern "C" fn wait(micros: u64) {
    BORROWS.wait_for_any(Duration::from_micros(micros));
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    // Addresses that no other test of this process borrows.
    const START: usize = 0x10;

    fn enter(table: &BorrowFunctions, range: Range<usize>, writes: bool) -> Result<u64, Conflict> {
        let mut id = [0];
        table.enter(Use::View, &[Wanted { range, writes }], &mut id).map(|()| id[0])
    }

    #[test]
    fn borrows_through_the_functions_are_in_the_table() {
        let table = BorrowFunctions::of_this_copy();
        let held = enter(table, START..START + 4, true).unwrap();
        let free = |range, writes| BORROWS.during(&Wanted { range, writes }, || ()).is_some();
        assert!(!free(START + 1..START + 2, false) && free(START + 4..START + 5, true));
        let conflict = enter(table, START..START + 8, false).unwrap_err();
        assert_eq!(conflict, Conflict { range: START..START + 8, is_written: true, may_wait: false });
        table.leave(Use::View, &[held]);
        assert!(free(START..START + 8, true));
    }

    #[test]
    fn several_ranges_enter_together_and_tell_which_one_was_in_the_way() {
        let table = BorrowFunctions::of_this_copy();
        let held = enter(table, START + 139..START + 141, true).unwrap();
        let wanted: Vec<_> = (0..6)
            .map(|i| Wanted { range: START + 100 + 8 * i..START + 108 + 8 * i, writes: i == 0 })
            .collect();
        let mut ids = [0; 6];
        let conflict = table.enter(Use::Closed, &wanted, &mut ids).unwrap_err();
        assert_eq!(conflict, Conflict { range: START + 132..START + 140, is_written: true, may_wait: false });
        table.leave(Use::View, &[held]);
        table.enter(Use::Closed, &wanted, &mut ids).unwrap();
        table.leave(Use::Closed, &ids);
        let held = enter(table, START + 100..START + 150, true).unwrap();
        table.leave(Use::View, &[held]);
    }

    #[test]
    fn other_versions_are_refused_and_this_copy_is_no_other() {
        static OTHER: [u32; 32] = [9; 32];
        for (table, number) in [(OTHER.as_ptr().cast(), 9), (std::ptr::null(), 0)] {
            // SAFETY: null, or something that starts with a version.
            let error = unsafe { BorrowFunctions::use_of_copy(table) }.unwrap_err();
            assert!(
                matches!(error, crate::Error::Core(CoreError::SharedVersion { found, .. }) if found == number),
                "{error}"
            );
        }
        // SAFETY: the table of this copy.
        assert!(unsafe { BorrowFunctions::use_of_copy(BorrowFunctions::of_this_copy()) }.unwrap());
        assert!(theirs().is_none());
    }
}
