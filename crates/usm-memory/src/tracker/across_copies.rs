//! One table of borrows for several copies of this library in a process, through C functions.
//!
//! A Python extension that links this library has a copy of its own. The copies that come later enter their borrows into the table of
//! the first, so that those of one copy meet those of another.

use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};

use usm_core::Error as CoreError;
use usm_core::unwind::contained;

use super::process::{BORROWS, borrows, theirs, use_theirs};
use super::stripes::Stripes;
use super::sync::Duration;
use super::table::{Caller, Conflict, OtherTable, Use, Wanted};
use crate::Result;

/// Version of [`BorrowFunctions`]. Any change of a function or of what its numbers mean makes it another one.
const VERSION: u32 = 4;

/// Result of `enter`: entered. Any other one has the bit `IN_THE_WAY`.
const ENTERED: u32 = 0;
const IN_THE_WAY: u32 = 1;
const IS_WRITTEN: u32 = 2;
const MAY_WAIT: u32 = 4;
/// How far the number of the refused range is shifted.
const NUMBER_SHIFT: u32 = 3;
/// Who has no ticket.
const NO_TICKET: u64 = 0;

/// Bits of a [`Caller`].
const IS_OPERATION: u32 = 1;
const IS_HOST_TASK: u32 = 2;

/// A [`Wanted`], for C. A period of no bytes stands for all bytes of the range.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct WantedRange {
    start: usize,
    end: usize,
    period_bytes: usize,
    width_bytes: usize,
    writes: u32,
}

impl From<&Wanted> for WantedRange {
    fn from(one: &Wanted) -> Self {
        let (period_bytes, width_bytes) =
            one.stripes.map_or((0, 0), |stripes| (stripes.period_bytes, stripes.width_bytes));
        let writes = one.writes.into();
        Self { start: one.range.start, end: one.range.end, period_bytes, width_bytes, writes }
    }
}

impl From<&WantedRange> for Wanted {
    fn from(one: &WantedRange) -> Self {
        let stripes = Stripes { period_bytes: one.period_bytes, width_bytes: one.width_bytes };
        let stripes = (one.period_bytes != 0).then_some(stripes);
        Self { range: one.start..one.end, stripes, writes: one.writes != 0 }
    }
}

/// The table of borrows of one copy of this library, for the others.
///
/// Invariant N1: a copy of this library made the table with `of_this_copy`, and it lives as long as the process. Its functions get as many
/// ranges and numbers, and places for them, as they are told, and `enter` a place with a ticket.
///
/// The first two fields stay what they are in every version.
#[repr(C)]
#[derive(Debug)]
pub struct BorrowFunctions {
    version: u32,
    size_bytes: u32,
    enter: unsafe extern "C" fn(u32, *const WantedRange, usize, *mut u64, *mut u64) -> u32,
    wait: extern "C" fn(u64, u64) -> u32,
    give_up: extern "C" fn(u64),
    leave: unsafe extern "C" fn(*const u64, usize),
}

/// Whether another copy of this library may use the table of this one.
static HAS_OTHERS: AtomicBool = AtomicBool::new(false);

/// Whether other copies of this library in the process use memory. They do not know the operations of this one.
pub(crate) fn has_other_copies() -> bool {
    HAS_OTHERS.load(Ordering::Relaxed) || theirs().is_some()
}

static OURS: BorrowFunctions = BorrowFunctions {
    version: VERSION,
    size_bytes: size_of::<BorrowFunctions>() as u32,
    enter,
    wait,
    give_up,
    leave,
};

/// Operands of which no list is made.
const FEW: usize = 4;

impl BorrowFunctions {
    /// Those of this copy, for another one. Its operations on published memory are complete when they return from now on.
    #[must_use]
    pub fn of_this_copy() -> &'static Self {
        HAS_OTHERS.store(true, Ordering::Relaxed);
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
        Ok(borrows().if_unused(|| use_theirs(table)) || is_theirs())
    }
}

/// Does something with ranges for C.
fn with_ranges<T>(wanted: &[Wanted], job: impl FnOnce(&[WantedRange]) -> T) -> T {
    let mut few = [WantedRange::default(); FEW];
    match few.get_mut(..wanted.len()) {
        Some(few) => {
            few.iter_mut().zip(wanted).for_each(|(to, one)| *to = one.into());
            job(few)
        }
        None => job(&wanted.iter().map(WantedRange::from).collect::<Vec<_>>()),
    }
}

impl OtherTable for BorrowFunctions {
    fn enter(
        &self,
        caller: Caller,
        wanted: &[Wanted],
        ids: &mut [u64],
        ticket: &mut Option<u64>,
    ) -> Result<(), Conflict> {
        let wanted = &wanted[..wanted.len().min(ids.len())];
        let mut number = ticket.unwrap_or(NO_TICKET);
        let result = with_ranges(wanted, |ranges| {
            let (first, count) = (ranges.as_ptr(), ranges.len());
            // SAFETY: N1: ranges, as many as are said, a place for the number of each, and one with a ticket.
            unsafe { (self.enter)(bits_of(caller), first, count, ids.as_mut_ptr(), &raw mut number) }
        });
        *ticket = (number != NO_TICKET).then_some(number);
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

    fn wait(&self, ticket: u64, time: Duration) -> bool {
        (self.wait)(ticket, u64::try_from(time.as_micros()).unwrap_or(u64::MAX)) != 0
    }

    fn give_up(&self, ticket: u64) {
        (self.give_up)(ticket);
    }

    fn leave(&self, ids: &[u64]) {
        // SAFETY: N1: numbers, as many as are said.
        unsafe { (self.leave)(ids.as_ptr(), ids.len()) };
    }
}

fn bits_of(caller: Caller) -> u32 {
    let kind = if caller.kind == Use::Operation { IS_OPERATION } else { 0 };
    kind | if caller.is_host_task { IS_HOST_TASK } else { 0 }
}

fn caller_of(bits: u32) -> Caller {
    let kind = if bits & IS_OPERATION != 0 { Use::Operation } else { Use::View };
    Caller { kind, is_host_task: bits & IS_HOST_TASK != 0 }
}

unsafe fn list<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: N1: the caller of the C function passes as many values as it says.
    unsafe { slice::from_raw_parts(first, count) }
}

fn ticket_of(number: u64) -> Option<u64> {
    (number != NO_TICKET).then_some(number)
}

unsafe extern "C" fn enter(
    caller: u32,
    first: *const WantedRange,
    count: usize,
    ids: *mut u64,
    ticket: *mut u64,
) -> u32 {
    let answer = contained("enter", || {
        // SAFETY: N1: as many ranges as are said.
        let wanted: Vec<_> = unsafe { list(first, count) }.iter().map(Wanted::from).collect();
        // SAFETY: N1: a place with a ticket.
        let mut number = ticket_of(unsafe { ticket.read() });
        let mut entered = vec![0; count];
        let result = borrows().try_acquire(caller_of(caller), &wanted, &mut entered, &mut number);
        // SAFETY: N1: the place of the ticket.
        unsafe { ticket.write(number.unwrap_or(NO_TICKET)) };
        match result {
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
    });
    answer.unwrap_or(IN_THE_WAY)
}

extern "C" fn wait(ticket: u64, micros: u64) -> u32 {
    let is_over = contained("wait", || borrows().wait_once(ticket, Duration::from_micros(micros)));
    is_over.unwrap_or(true).into()
}

extern "C" fn give_up(ticket: u64) {
    _ = contained("give_up", || borrows().give_up(ticket));
}

unsafe extern "C" fn leave(first: *const u64, count: usize) {
    // SAFETY: N1: as many numbers as are said.
    _ = contained("leave", || BORROWS.release(unsafe { list(first, count) }));
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use usm_core::unwind::{is_armed, panic_in};

    use super::*;

    // Addresses that no other test of this process borrows.
    const START: usize = 0x10;

    const VIEW: Caller = Caller { kind: Use::View, is_host_task: false };
    const OPERATION: Caller = Caller { kind: Use::Operation, is_host_task: false };

    fn wanted(range: Range<usize>, writes: bool) -> Wanted {
        Wanted { range, stripes: None, writes }
    }

    fn enter(table: &BorrowFunctions, range: Range<usize>, writes: bool) -> Result<u64, Conflict> {
        let mut id = [0];
        table.enter(VIEW, &[wanted(range, writes)], &mut id, &mut None).map(|()| id[0])
    }

    #[test]
    fn borrows_through_the_functions_are_in_the_table() {
        let table = BorrowFunctions::of_this_copy();
        let held = enter(table, START..START + 4, true).unwrap();
        let free = |range, writes| BORROWS.during(&wanted(range, writes), || ()).is_some();
        assert!(!free(START + 1..START + 2, false) && free(START + 4..START + 5, true));
        let conflict = enter(table, START..START + 8, false).unwrap_err();
        assert_eq!(conflict, Conflict { range: START..START + 8, is_written: true, may_wait: false });
        table.leave(&[held]);
        assert!(free(START..START + 8, true));
    }

    #[test]
    fn several_ranges_enter_together_and_tell_which_one_was_in_the_way() {
        let table = BorrowFunctions::of_this_copy();
        let held = enter(table, START + 139..START + 141, true).unwrap();
        let wanted: Vec<_> =
            (0..6).map(|i| wanted(START + 100 + 8 * i..START + 108 + 8 * i, i == 0)).collect();
        let mut ids = [0; 6];
        let conflict = table.enter(OPERATION, &wanted, &mut ids, &mut None).unwrap_err();
        assert_eq!(conflict, Conflict { range: START + 132..START + 140, is_written: true, may_wait: false });
        table.leave(&[held]);
        table.enter(OPERATION, &wanted, &mut ids, &mut None).unwrap();
        table.leave(&ids);
        let held = enter(table, START + 100..START + 150, true).unwrap();
        table.leave(&[held]);
    }

    #[test]
    fn stripes_and_tickets_cross_and_a_wait_tells_whether_it_is_over() {
        let table = BorrowFunctions::of_this_copy();
        let columns = |index: usize| {
            let start = START + 200 + 8 * index;
            let stripes = Some(Stripes { period_bytes: 32, width_bytes: 8 });
            [Wanted { range: start..start + 200, stripes, writes: true }]
        };
        let (mut ids, mut ticket) = ([[0]; 2], None);
        for (index, ids) in ids.iter_mut().enumerate() {
            table.enter(OPERATION, &columns(index), ids, &mut ticket).unwrap();
        }
        assert_eq!(ticket, None);
        let conflict = std::thread::scope(|scope| {
            let other = || {
                let conflict = table.enter(OPERATION, &columns(1), &mut [0], &mut ticket).unwrap_err();
                assert!(!table.wait(ticket.unwrap_or_default(), Duration::from_millis(1)));
                conflict
            };
            scope.spawn(other).join().unwrap()
        });
        assert!(conflict.may_wait && conflict.is_written);
        let ticket = ticket.unwrap();
        ids.iter().for_each(|ids| table.leave(ids));
        assert!(table.wait(ticket, Duration::ZERO) && BORROWS.lock().is_waiting(ticket));
        table.give_up(ticket);
        assert!(!BORROWS.lock().is_waiting(ticket));
    }

    #[test]
    fn a_retry_keeps_its_ticket_and_nobody_waits_for_a_view() {
        let table = BorrowFunctions::of_this_copy();
        let range = START + 500..START + 504;
        let enter_as = |caller, ticket: &mut Option<u64>| {
            let mut id = [0];
            table.enter(caller, &[wanted(range.clone(), true)], &mut id, ticket).map(|()| id[0])
        };
        for (held, may_wait) in [(VIEW, false), (OPERATION, true)] {
            let id = enter_as(held, &mut None).unwrap();
            let other = || {
                let mut ticket = None;
                let tries =
                    [(); 2].map(|()| (enter_as(OPERATION, &mut ticket).unwrap_err().may_wait, ticket));
                ticket.inspect(|ticket| table.give_up(*ticket));
                tries
            };
            let [first, second] = std::thread::scope(|scope| scope.spawn(other).join().unwrap());
            assert_eq!(first, second);
            assert_eq!((first.0, first.1.is_some()), (may_wait, may_wait));
            table.leave(&[id]);
        }
    }

    #[test]
    fn a_panic_in_a_function_of_the_table_ends_there() {
        let table = BorrowFunctions::of_this_copy();
        let range = START + 450..START + 454;
        panic_in("enter");
        let refused = enter(table, range.clone(), true).unwrap_err();
        assert_eq!(refused, Conflict { range: range.clone(), is_written: false, may_wait: false });
        let id = enter(table, range.clone(), true).unwrap();
        panic_in("wait");
        assert!(table.wait(1 << 40, Duration::ZERO), "the caller tries again");
        panic_in("give_up");
        table.give_up(1 << 40);
        panic_in("leave");
        table.leave(&[id]);
        assert!(!is_armed());
        assert!(enter(table, range.clone(), true).is_err(), "it has not left");
        table.leave(&[id]);
        let id = enter(table, range, true).unwrap();
        table.leave(&[id]);
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
