//! The table of the addresses that are borrowed at the moment, one for the process.
//!
//! It goes by addresses and not by buffers: the same external memory may be borrowed twice, and memory of our own may come back
//! through the interface as if it were external.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::shared::{BorrowFunctions, theirs};
use crate::{Error, Result};

/// Borrowed address ranges. Few at a time, so a list is faster than any tree.
#[derive(Debug)]
pub(super) struct BorrowTable {
    entries: Mutex<Entries>,
}

#[derive(Debug)]
pub(super) struct Entries {
    /// Invariant T1: ranges of two entries overlap only when both read, when one operation took both, or when the operation of
    /// the later entry is ordered after all that the operation of the earlier one does.
    list: Vec<Entry>,
    next_id: u64,
}

#[derive(Debug)]
struct Entry {
    id: u64,
    range: Range<usize>,
    writes: bool,
}

impl BorrowTable {
    pub(super) const fn new() -> Self {
        Self { entries: Mutex::new(Entries { list: Vec::new(), next_id: 0 }) }
    }

    /// Enters a range, unless it conflicts with one that is there. Those of the operations `after` which this one is ordered do
    /// not count.
    pub(super) fn acquire(&self, range: Range<usize>, writes: bool, after: &[u64]) -> Result<u64> {
        let mut entries = match self.ours() {
            Ok(entries) => entries,
            Err(theirs) => return theirs.enter(&range, writes, after),
        };
        entries.check(&range, writes, after)?;
        Ok(entries.add(range, writes))
    }

    /// Does something short while nobody holds a conflicting range, and keeps others from entering one meanwhile; `None` where another
    /// copy of this library has the table.
    pub(super) fn during<T>(
        &self,
        range: &Range<usize>,
        writes: bool,
        job: impl FnOnce() -> T,
    ) -> Result<Option<T>> {
        let Ok(entries) = self.ours() else { return Ok(None) };
        entries.check(range, writes, &[])?;
        Ok(Some(job()))
    }

    /// Enters a range that is written and one that is read, which may overlap each other; both or none.
    pub(super) fn acquire_pair(
        &self,
        written: Range<usize>,
        read: Range<usize>,
        after: &[u64],
    ) -> Result<(u64, u64)> {
        let mut entries = match self.ours() {
            Ok(entries) => entries,
            Err(theirs) => return theirs.enter_pair(&written, &read, after),
        };
        entries.check(&written, true, after)?;
        entries.check(&read, false, after)?;
        Ok((entries.add(written, true), entries.add(read, false)))
    }

    /// Enters the ranges of one operation, which may overlap each other, as so many numbers; all or none.
    pub(super) fn acquire_all(
        &self,
        ranges: impl Iterator<Item = (Range<usize>, bool)> + Clone,
        ids: &mut [u64],
    ) -> Result<()> {
        let mut entries = match self.ours() {
            Ok(entries) => entries,
            Err(theirs) => return enter_all(theirs, ranges, ids),
        };
        ranges.clone().try_for_each(|(range, writes)| entries.check(&range, writes, &[]))?;
        ids.iter_mut().zip(ranges).for_each(|(id, (range, writes))| *id = entries.add(range, writes));
        Ok(())
    }

    /// Takes ranges out.
    pub(super) fn release_all(&self, ids: &[u64]) {
        match self.ours() {
            Ok(mut entries) => ids.iter().for_each(|id| entries.remove(*id)),
            Err(theirs) => ids.iter().for_each(|id| theirs.leave(*id)),
        }
    }

    /// Takes out of a list of entries those that are gone.
    pub(super) fn retain_held(&self, ids: &mut Vec<u64>) {
        let entries = match self.ours() {
            Ok(entries) => entries,
            Err(theirs) => return theirs.held(ids),
        };
        ids.retain(|id| entries.list.iter().any(|entry| entry.id == *id));
    }

    /// Takes a range out.
    pub(super) fn release(&self, id: u64) {
        let mut entries = match self.ours() {
            Ok(entries) => entries,
            Err(theirs) => return theirs.leave(id),
        };
        entries.remove(id);
    }

    /// Our entries, unless all copies of this library in the process use those of another one.
    fn ours(&self) -> Result<MutexGuard<'_, Entries>, &'static BorrowFunctions> {
        let entries = self.lock();
        // Asked under the lock, under which the switch is made.
        theirs().map_or(Ok(entries), Err)
    }

    /// Does `switch` unless the table was used, and keeps others from using it meanwhile.
    pub(super) fn if_unused(&self, switch: impl FnOnce() -> bool) -> bool {
        let entries = self.lock();
        entries.next_id == 0 && switch()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Entries> {
        // No code unwinds while it holds the lock half done.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn check(&self, range: &Range<usize>, writes: bool, after: &[u64]) -> Result<()> {
        let overlaps =
            |other: &Range<usize>| !range.is_empty() && range.start < other.end && other.start < range.end;
        let conflict = self
            .list
            .iter()
            .find(|entry| (writes || entry.writes) && overlaps(&entry.range) && !after.contains(&entry.id));
        match conflict {
            None => Ok(()),
            Some(entry) => Err(Error::BorrowConflict {
                address: range.start,
                len_bytes: range.end - range.start,
                held: if entry.writes { "writing" } else { "reading" },
            }),
        }
    }

    fn add(&mut self, range: Range<usize>, writes: bool) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        // A range of no bytes conflicts with nothing, so it need not be there.
        if !range.is_empty() {
            self.list.push(Entry { id, range, writes });
        }
        id
    }

    fn remove(&mut self, id: u64) {
        // Mostly one of the newest.
        if let Some(index) = self.list.iter().rposition(|entry| entry.id == id) {
            self.list.swap_remove(index);
        }
    }
}

/// As [`BorrowTable::acquire_all`], in the table of another copy.
fn enter_all(
    theirs: &BorrowFunctions,
    ranges: impl Iterator<Item = (Range<usize>, bool)>,
    ids: &mut [u64],
) -> Result<()> {
    for (count, (range, writes)) in ranges.take(ids.len()).enumerate() {
        let entered = theirs.enter(&range, writes, &ids[..count]);
        match entered {
            Ok(id) => ids[count] = id,
            Err(error) => {
                ids[..count].iter().for_each(|id| theirs.leave(*id));
                return Err(error);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::BorrowTable;

    #[test]
    fn readers_share_and_writers_do_not() {
        let table = BorrowTable::new();
        let read = table.acquire(0..10, false, &[]).unwrap();
        let second = table.acquire(5..15, false, &[]).unwrap();
        assert!(table.acquire(9..12, true, &[]).is_err());
        let apart = table.acquire(15..20, true, &[]).unwrap();
        assert!(table.acquire(19..20, false, &[]).is_err());
        table.release(read);
        table.release(second);
        table.release(apart);
        table.acquire(0..20, true, &[]).unwrap();
    }

    #[test]
    fn ranges_of_no_bytes_conflict_with_nothing() {
        let table = BorrowTable::new();
        table.acquire(0..10, true, &[]).unwrap();
        table.acquire(10..10, true, &[]).unwrap();
        table.acquire(5..5, true, &[]).unwrap();
        table.acquire(0..0, true, &[]).unwrap();
    }

    #[test]
    fn what_is_ordered_after_an_entry_may_overlap_it() {
        let table = BorrowTable::new();
        let first = table.acquire(0..10, true, &[]).unwrap();
        let second = table.acquire(5..15, true, &[first]).unwrap();
        assert!(table.acquire(9..10, false, &[first]).is_err(), "not after the second");
        let third = table.acquire(9..10, false, &[first, second]).unwrap();
        table.release(second);
        let mut ids = vec![first, second, third];
        table.retain_held(&mut ids);
        assert_eq!(ids, [first, third]);
    }

    #[test]
    fn a_refused_pair_leaves_nothing_behind() {
        let table = BorrowTable::new();
        let held = table.acquire(8..12, true, &[]).unwrap();
        assert!(table.acquire_pair(0..4, 10..14, &[]).is_err());
        table.release(held);
        let (a, b) = table.acquire_pair(0..8, 4..12, &[]).unwrap();
        assert!(table.acquire(0..1, false, &[]).is_err());
        table.release(a);
        table.release(b);
        table.acquire(0..12, true, &[]).unwrap();
    }
}
