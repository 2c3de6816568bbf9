//! The table of the addresses that host code uses at the moment, one for the process.
//!
//! It goes by addresses and not by buffers: the same external memory may be imported twice, and memory of our own may come back as if
//! it were external.
//!
//! There are three uses ([`Use`]). Only a view is held by a user, for as long as the user likes, so a conflict with a view is an error.
//! An operation ends by itself, so others wait for its entries to leave. The rules of these waits exclude a deadlock:
//!
//! 1. A thread with a [`Use::Closed`] entry never waits: it gets an error. So does a host task, for which such a thread may wait.
//! 2. A thread with [`Use::Open`] entries waits for closed ones alone. Their threads do not wait (1).
//! 3. A thread without entries waits for the operations of others, and for threads without entries that came earlier. So no
//!    succession of readers of one range keeps a writer waiting for ever.
//!
//! Hence nobody waits here for a thread that waits here for him. With an entry a thread may wait for an event, so a host task counts as
//! rule 1 says. Functions of the program may run while a thread has an entry: the operation of a submission, resources for staging memory,
//! hooks of a release. They get an error in place of a wait.

use std::ops::Range;

use usm_core::HostTask;

use super::sync::{Condvar, Duration, Mutex, MutexGuard, PoisonError};
use super::thread::{Held, Use, count, held, this_thread};

/// The table of another copy of this library in the process, which this one uses in place of its own.
pub(crate) trait OtherTable: Send + Sync {
    /// As [`BorrowTable::try_acquire`], without a place in the order of those that wait.
    fn enter(&self, kind: Use, wanted: &[Wanted], ids: &mut [u64]) -> Result<(), Conflict>;

    /// As [`BorrowTable::release`].
    fn leave(&self, kind: Use, ids: &[u64]);

    /// Waits until an entry leaves, at most for a time.
    fn wait(&self, time: Duration);
}

/// A range that an operation or a view uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) range: Range<usize>,
    pub(crate) writes: bool,
}

/// Why a range was not entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// The range that was wanted.
    pub(crate) range: Range<usize>,
    /// Whether the entry in the way writes.
    pub(crate) is_written: bool,
    /// Whether the entry in the way ends by itself, so that the thread may wait for that.
    pub(crate) may_wait: bool,
}

/// The longest wait at the table of another copy: it may have told of an entry that left just before.
const OTHER_TABLE: Duration = Duration::from_millis(10);

/// The ranges that are used.
pub(crate) struct BorrowTable {
    entries: Mutex<Entries>,
    /// Told of each entry that leaves while somebody waits.
    left: Condvar,
    other: fn() -> Option<&'static dyn OtherTable>,
}

#[derive(Debug)]
pub(crate) struct Entries {
    /// Invariant T1: ranges of two entries overlap only when both read, or when one operation entered both.
    list: Vec<Entry>,
    /// What threads without entries wait for, in the order of their arrival.
    waiting: Vec<Waiting>,
    /// Threads that wait.
    waiters: usize,
    next_id: u64,
}

#[derive(Debug)]
struct Entry {
    id: u64,
    wanted: Wanted,
    kind: Use,
    thread: usize,
}

#[derive(Debug)]
struct Waiting {
    ticket: u64,
    wanted: Wanted,
}

impl Held {
    /// Whether the thread may wait for an entry: the rules 1 to 3.
    fn may_wait_for(self, kind: Use) -> bool {
        match kind {
            Use::View => false,
            Use::Open => self.is_none(),
            Use::Closed => self.closed == 0,
        }
    }
}

impl BorrowTable {
    pub(crate) const fn over(
        entries: Mutex<Entries>,
        left: Condvar,
        other: fn() -> Option<&'static dyn OtherTable>,
    ) -> Self {
        Self { entries, left, other }
    }

    /// Enters all ranges of an operation, or a view, under as many numbers, or none. Waits for operations that are in the way: `wait` gets
    /// a function that does so for a time, and returns whether another attempt may succeed.
    pub(crate) fn acquire<E: From<Conflict>>(
        &self,
        kind: Use,
        wanted: &[Wanted],
        ids: &mut [u64],
        wait: impl Fn(&(dyn Fn(Duration) -> bool + Sync)) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut ticket = None;
        loop {
            match self.try_acquire(kind, wanted, ids, &mut ticket) {
                Ok(()) => return Ok(()),
                Err(conflict) if conflict.may_wait => {
                    wait(&|time| self.wait_once(wanted, ticket, time))?;
                }
                Err(conflict) => return Err(conflict.into()),
            }
        }
    }

    /// As [`acquire`](Self::acquire), without a wait. Who has to wait gets a ticket, unless the thread has entries.
    pub(crate) fn try_acquire(
        &self,
        kind: Use,
        wanted: &[Wanted],
        ids: &mut [u64],
        ticket: &mut Option<u64>,
    ) -> Result<(), Conflict> {
        let mut entries = match self.ours() {
            Ok(entries) => entries,
            Err(theirs) => {
                let entered = theirs.enter(kind, wanted, ids);
                // That copy knows nothing of host tasks of this one.
                return entered.map_err(|conflict| Conflict {
                    may_wait: conflict.may_wait && !HostTask::is_running(),
                    ..conflict
                });
            }
        };
        let held = held();
        let found = entries.conflict(wanted, held, *ticket);
        match found {
            None => {
                for (id, one) in ids.iter_mut().zip(wanted) {
                    *id = entries.add(kind, one);
                }
                count(kind, |number| number + ids.len() as u32);
                Ok(())
            }
            Some(conflict) => {
                if conflict.may_wait && held.is_none() && ticket.is_none() {
                    *ticket = Some(entries.next_number());
                }
                Err(conflict)
            }
        }
    }

    /// Waits until an entry leaves, unless nothing is in the way any more; returns whether another attempt may succeed.
    fn wait_once(&self, wanted: &[Wanted], ticket: Option<u64>, time: Duration) -> bool {
        let mut entries = match self.ours() {
            Ok(entries) => entries,
            // Only another attempt tells whether that copy has something in the way.
            Err(theirs) => {
                if !time.is_zero() {
                    theirs.wait(time.min(OTHER_TABLE));
                }
                return !time.is_zero();
            }
        };
        let is_over = |entries: &Entries| {
            entries.conflict(wanted, held(), ticket).is_none_or(|conflict| !conflict.may_wait)
        };
        let is_free = is_over(&entries);
        if is_free || time.is_zero() {
            return is_free;
        }
        // In the queue during the wait alone: in between the caller may run code of the user, which shall not stand behind its own thread.
        entries.enter_queue(ticket, wanted);
        let mut entries = self.wait_for(entries, time);
        entries.leave_queue(ticket);
        // Those behind may read, too.
        self.tell(&entries);
        is_over(&entries)
    }

    /// Does something short while nobody uses a range in a conflicting way, and keeps others from it meanwhile. `None` where somebody
    /// does, and where another copy of this library has the table.
    pub(crate) fn during<T>(&self, wanted: &Wanted, job: impl FnOnce() -> T) -> Option<T> {
        let entries = self.ours().ok()?;
        let is_free = entries.list.iter().all(|entry| !entry.wanted.conflicts_with(wanted));
        is_free.then(job)
    }

    /// Takes the entries of one operation, or view, out.
    pub(crate) fn release(&self, kind: Use, ids: &[u64]) {
        let mut entries = match self.ours() {
            Ok(entries) => entries,
            Err(theirs) => return theirs.leave(kind, ids),
        };
        ids.iter().for_each(|id| entries.remove(*id));
        count(kind, |number| number.saturating_sub(ids.len() as u32));
        self.tell(&entries);
    }

    /// Waits until an entry leaves, at most for a time.
    pub(crate) fn wait_for_any(&self, time: Duration) {
        drop(self.wait_for(self.lock(), time));
    }

    fn wait_for<'a>(&self, mut entries: MutexGuard<'a, Entries>, time: Duration) -> MutexGuard<'a, Entries> {
        entries.waiters += 1;
        let (mut entries, _) = self.left.wait_timeout(entries, time).unwrap_or_else(PoisonError::into_inner);
        entries.waiters = entries.waiters.saturating_sub(1);
        entries
    }

    fn tell(&self, entries: &Entries) {
        if entries.waiters > 0 {
            self.left.notify_all();
        }
    }

    /// Our entries, unless all copies of this library in the process use those of another one.
    fn ours(&self) -> Result<MutexGuard<'_, Entries>, &'static dyn OtherTable> {
        let entries = self.lock();
        // Asked under the lock, under which the switch is made.
        (self.other)().map_or(Ok(entries), Err)
    }

    /// Does `switch` unless the table was used, and keeps others from using it meanwhile.
    pub(crate) fn if_unused(&self, switch: impl FnOnce() -> bool) -> bool {
        let entries = self.lock();
        entries.next_id == 0 && switch()
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Entries> {
        // No code unwinds while it holds the lock half done.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wanted {
    fn conflicts_with(&self, other: &Self) -> bool {
        (self.writes || other.writes)
            // A range of no bytes conflicts with nothing.
            && !self.range.is_empty()
            && !other.range.is_empty()
            && self.range.start < other.range.end
            && other.range.start < self.range.end
    }
}

impl Entries {
    pub(crate) const fn new() -> Self {
        Self { list: Vec::new(), waiting: Vec::new(), waiters: 0, next_id: 0 }
    }

    /// What is in the way: something that does not end by itself first.
    fn conflict(&self, wanted: &[Wanted], held: Held, ticket: Option<u64>) -> Option<Conflict> {
        let mut found = None;
        for one in wanted {
            let conflict = |is_written, may_wait| Conflict { range: one.range.clone(), is_written, may_wait };
            for entry in self.list.iter().filter(|entry| entry.wanted.conflicts_with(one)) {
                if !held.may_wait_for(entry.kind) {
                    return Some(conflict(entry.wanted.writes, false));
                }
                found.get_or_insert_with(|| conflict(entry.wanted.writes, true));
            }
            if found.is_none() && held.is_none() {
                let is_earlier = |other: &&Waiting| ticket.is_none_or(|ticket| other.ticket < ticket);
                let earlier = self.waiting.iter().filter(is_earlier);
                found = earlier
                    .filter(|other| other.wanted.conflicts_with(one))
                    .map(|other| conflict(other.wanted.writes, true))
                    .next();
            }
        }
        found
    }

    fn add(&mut self, kind: Use, wanted: &Wanted) -> u64 {
        let id = self.next_number();
        // A range of no bytes conflicts with nothing, so it need not be there.
        if !wanted.range.is_empty() {
            self.list.push(Entry { id, wanted: wanted.clone(), kind, thread: this_thread() });
        }
        id
    }

    fn remove(&mut self, id: u64) {
        // Mostly one of the newest.
        if let Some(index) = self.list.iter().rposition(|entry| entry.id == id) {
            self.list.swap_remove(index);
        }
    }

    fn next_number(&mut self) -> u64 {
        let number = self.next_id;
        self.next_id += 1;
        number
    }

    fn enter_queue(&mut self, ticket: Option<u64>, wanted: &[Wanted]) {
        if let Some(ticket) = ticket {
            self.waiting.extend(wanted.iter().map(|one| Waiting { ticket, wanted: one.clone() }));
        }
    }

    fn leave_queue(&mut self, ticket: Option<u64>) {
        if let Some(ticket) = ticket {
            self.waiting.retain(|other| other.ticket != ticket);
        }
    }

    /// Keeps what this thread and views use: the operations of other threads never end in a forked child.
    pub(crate) fn forget_other_threads(&mut self) {
        let this = this_thread();
        self.list.retain(|entry| entry.kind == Use::View || entry.thread == this);
        self.waiting.clear();
        self.waiters = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    fn table() -> BorrowTable {
        BorrowTable::over(Mutex::new(Entries::new()), Condvar::new(), || None)
    }

    fn wanted(range: Range<usize>, writes: bool) -> Wanted {
        Wanted { range, writes }
    }

    /// Enters without a wait.
    fn enter(table: &BorrowTable, kind: Use, range: Range<usize>, writes: bool) -> Result<u64, Conflict> {
        let mut id = [0];
        table.try_acquire(kind, &[wanted(range, writes)], &mut id, &mut None).map(|()| id[0])
    }

    /// Enters, and waits for others.
    fn wait(table: &BorrowTable, kind: Use, range: Range<usize>, writes: bool) -> Result<u64, Conflict> {
        let mut id = [0];
        let patiently = |wait: &(dyn Fn(Duration) -> bool + Sync)| {
            while !wait(Duration::from_millis(10)) {}
            Ok(())
        };
        table.acquire(kind, &[wanted(range, writes)], &mut id, patiently).map(|()| id[0])
    }

    #[test]
    fn readers_share_and_writers_do_not() {
        let table = table();
        let read = enter(&table, Use::View, 0..10, false).unwrap();
        let second = enter(&table, Use::View, 5..15, false).unwrap();
        assert!(!enter(&table, Use::View, 9..12, true).unwrap_err().may_wait);
        let apart = enter(&table, Use::View, 15..20, true).unwrap();
        assert!(enter(&table, Use::View, 19..20, false).unwrap_err().is_written);
        for id in [read, second, apart] {
            table.release(Use::View, &[id]);
        }
        enter(&table, Use::View, 0..20, true).unwrap();
    }

    #[test]
    fn ranges_of_no_bytes_conflict_with_nothing() {
        let table = table();
        enter(&table, Use::View, 0..10, true).unwrap();
        for range in [10..10, 5..5, 0..0] {
            enter(&table, Use::View, range, true).unwrap();
        }
    }

    #[test]
    fn the_ranges_of_one_operation_may_overlap_and_enter_together_or_not_at_all() {
        let table = table();
        let held = enter(&table, Use::View, 8..12, true).unwrap();
        let mut ids = [0; 2];
        let both = [wanted(0..4, true), wanted(10..14, false)];
        assert!(table.try_acquire(Use::Closed, &both, &mut ids, &mut None).is_err());
        table.release(Use::View, &[held]);
        table
            .try_acquire(Use::Closed, &[wanted(0..8, true), wanted(4..12, false)], &mut ids, &mut None)
            .unwrap();
        table.release(Use::Closed, &ids);
        enter(&table, Use::View, 0..12, true).unwrap();
    }

    #[test]
    fn an_operation_is_waited_for_and_a_view_is_not() {
        let table = table();
        thread::scope(|scope| {
            let write = enter(&table, Use::Closed, 0..10, true).unwrap();
            let (sender, entered) = mpsc::channel();
            let table = &table;
            let waiter = scope.spawn(move || {
                let read = wait(table, Use::Open, 5..6, false).unwrap();
                sender.send(()).unwrap();
                table.release(Use::Open, &[read]);
            });
            assert!(entered.recv_timeout(Duration::from_millis(30)).is_err(), "it did not wait");
            table.release(Use::Closed, &[write]);
            waiter.join().unwrap();
            entered.recv().unwrap();
            let view = enter(table, Use::View, 0..10, false).unwrap();
            let refused = scope.spawn(|| wait(table, Use::Closed, 5..6, true).unwrap_err()).join().unwrap();
            assert_eq!(refused, Conflict { range: 5..6, is_written: false, may_wait: false });
            table.release(Use::View, &[view]);
        });
    }

    /// The rules 1 and 2 for what this thread and another one hold.
    #[test]
    fn who_holds_something_waits_for_nobody_that_may_wait() {
        let table = table();
        let other = |kind, range: Range<usize>, writes| {
            thread::scope(|scope| scope.spawn(|| enter(&table, kind, range, writes).unwrap()).join().unwrap())
        };
        other(Use::Closed, 0..1, true);
        other(Use::Open, 1..2, false);
        let may_wait =
            |range: Range<usize>, writes| enter(&table, Use::Closed, range, writes).unwrap_err().may_wait;
        assert!(may_wait(0..1, true) && may_wait(1..2, true));
        let open = enter(&table, Use::Open, 10..11, false).unwrap();
        assert!(may_wait(0..1, false) && !may_wait(1..2, true));
        assert!(!may_wait(10..11, true), "it would wait for itself");
        let closed = enter(&table, Use::Closed, 20..21, true).unwrap();
        assert!(!may_wait(0..1, false) && !may_wait(1..2, true));
        table.release(Use::Closed, &[closed]);
        table.release(Use::Open, &[open]);
        assert!(may_wait(1..2, true));
    }

    #[test]
    fn readers_that_come_later_stand_behind_a_writer() {
        let table = table();
        thread::scope(|scope| {
            let reading = scope.spawn(|| enter(&table, Use::Open, 0..1, false).unwrap()).join().unwrap();
            let writer = scope.spawn(|| {
                let write = wait(&table, Use::Closed, 0..1, true).unwrap();
                table.release(Use::Closed, &[write]);
            });
            while table.lock().waiting.is_empty() {
                thread::yield_now();
            }
            assert!(enter(&table, Use::Open, 0..1, false).unwrap_err().may_wait || writer.is_finished());
            // An operation that reads already comes to its end.
            let own = enter(&table, Use::Open, 8..9, false).unwrap();
            let further = enter(&table, Use::Open, 0..1, false).unwrap();
            table.release(Use::Open, &[further]);
            table.release(Use::Open, &[own]);
            table.release(Use::Open, &[reading]);
            writer.join().unwrap();
        });
        assert!(table.lock().waiting.is_empty());
    }

    #[test]
    fn code_that_runs_between_the_waits_of_its_thread_is_not_behind_it() {
        let table = table();
        let reading = thread::scope(|scope| {
            scope.spawn(|| enter(&table, Use::Open, 0..1, false).unwrap()).join().unwrap()
        });
        let handler = |wait_once: &(dyn Fn(Duration) -> bool + Sync)| {
            assert!(!wait_once(Duration::from_millis(1)));
            let read = enter(&table, Use::Open, 0..1, false)?;
            table.release(Use::Open, &[read]);
            table.release(Use::Open, &[reading]);
            Ok::<_, Conflict>(())
        };
        table.acquire(Use::Closed, &[wanted(0..1, true)], &mut [0], handler).unwrap();
    }

    #[test]
    fn a_forked_child_keeps_what_does_not_end_with_other_threads() {
        let table = table();
        let view = thread::scope(|scope| {
            let enter = |kind, at: usize| enter(&table, kind, at..at + 1, true).unwrap();
            scope.spawn(move || enter(Use::Closed, 0)).join().unwrap();
            scope.spawn(move || enter(Use::View, 1)).join().unwrap()
        });
        let own = enter(&table, Use::Closed, 2..3, true).unwrap();
        table.lock().forget_other_threads();
        assert!(table.during(&wanted(0..1, true), || ()).is_some());
        assert!(table.during(&wanted(1..2, true), || ()).is_none());
        assert!(table.during(&wanted(2..3, true), || ()).is_none());
        table.release(Use::View, &[view]);
        table.release(Use::Closed, &[own]);
        assert!(table.during(&wanted(0..9, true), || ()).is_some());
    }
}
