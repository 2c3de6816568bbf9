//! The table of the addresses that host code uses at the moment, one for the process.
//!
//! It goes by addresses and not by buffers: the same external memory may be imported twice, and memory of our own may come back as if
//! it were external.
//!
//! There are two uses ([`Use`]). A user holds a view for as long as the user likes, so a conflict with a view is an error. An operation ends
//! by itself, so others wait for its entries to leave.
//!
//! A thread that has entries may wait, too. Such threads could wait in a circle, each for an entry of the next one. The thread that would
//! close the circle gets an error in place of the wait. For that the table has a list of those that wait, and of threads that work for
//! another one ([`Entries::is_circle`]). An operation that enters all its ranges at once has no entries while it waits, so it is in no circle.
//! A host task gets an error in place of each wait, since a thread that has entries may wait for the event of the task.
//!
//! A thread without entries also waits for those that came earlier and still wait. So no succession of readers of one range keeps a writer
//! waiting for ever. Nobody waits for an entry of such a thread, so this adds no circle. A thread that waits may do something else in between,
//! such as code of the user for a signal; those behind it wait for that only [shortly](AWAY). A thread that has entries may come to such
//! code, too, in a wait for an operation of a queue. That code may wait in turn for a thread that waits for the entries, in a way that nobody
//! sees here. After [a while](LONG_INTERLUDE) the other thread gets an error in place of its wait.

use std::ops::Range;

use usm_core::HostTask;

use super::stripes::Stripes;
use super::sync::{Condvar, Duration, Instant, Mutex, MutexGuard, PoisonError};
use super::thread::this_thread;

/// The table of another copy of this library in the process, which this one uses in place of its own.
pub(crate) trait OtherTable: Send + Sync {
    /// As [`BorrowTable::try_acquire`].
    fn enter(
        &self,
        caller: Caller,
        wanted: &[Wanted],
        ids: &mut [u64],
        ticket: &mut Option<u64>,
    ) -> Result<(), Conflict>;

    /// As [`BorrowTable::wait_once`].
    fn wait(&self, ticket: u64, time: Duration) -> bool;

    /// As [`BorrowTable::give_up`].
    fn give_up(&self, ticket: u64);

    /// As [`BorrowTable::release`].
    fn leave(&self, ids: &[u64]);
}

/// How host code uses addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// A view that a user holds. It may last for ever, and may move to another thread.
    View,
    /// An operation of the thread that entered it.
    Operation,
}

/// Who wants to enter the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) kind: Use,
    /// A host task waits for nobody.
    pub(crate) is_host_task: bool,
}

/// A range that an operation or a view uses, or those of its bytes that it uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) range: Range<usize>,
    pub(crate) stripes: Option<Stripes>,
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
    /// What threads wait for.
    waiting: Vec<Waiting>,
    /// Threads that do nothing but wait for what another one does for them: the one that waits, and the other one.
    errands: Vec<(u64, u64)>,
    /// Threads that run code of the user in a wait, and since when.
    interludes: Vec<(u64, Instant)>,
    /// The next number of an entry or a ticket. Zero is none.
    next_number: u64,
}

#[derive(Debug)]
struct Entry {
    id: u64,
    wanted: Wanted,
    kind: Use,
    thread: u64,
}

#[derive(Debug)]
struct Waiting {
    /// In the order of their arrival.
    ticket: u64,
    thread: u64,
    wanted: Vec<Wanted>,
    /// Since when the thread does something else than to wait.
    away_since: Option<Instant>,
}

/// So long others stand behind a thread that does something else than to wait: the other thread may wait for them in a way that nobody
/// sees here.
const AWAY: Duration = Duration::from_millis(100);

/// So long others wait for the entries of a thread that runs code of the user in a wait.
const LONG_INTERLUDE: Duration = Duration::from_secs(5);

/// The turn of a thread that waits, until the end of the wait.
struct Turn<'a> {
    table: &'a BorrowTable,
    ticket: Option<u64>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.table.give_up(ticket);
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
        let mut turn = Turn { table: self, ticket: None };
        let caller = Caller { kind, is_host_task: HostTask::is_running() };
        loop {
            match (self.try_acquire(caller, wanted, ids, &mut turn.ticket), turn.ticket) {
                (Ok(()), _) => return Ok(()),
                (Err(conflict), Some(ticket)) if conflict.may_wait => {
                    wait(&|time| self.wait_once(ticket, time))?;
                }
                (Err(conflict), _) => return Err(conflict.into()),
            }
        }
    }

    /// As [`acquire`](Self::acquire), without a wait. Who has to wait gets a ticket, and [gives it up](Self::give_up) unless an attempt
    /// succeeds.
    pub(crate) fn try_acquire(
        &self,
        caller: Caller,
        wanted: &[Wanted],
        ids: &mut [u64],
        ticket: &mut Option<u64>,
    ) -> Result<(), Conflict> {
        let mut entries = match self.ours() {
            Ok(entries) => entries,
            Err(theirs) => return theirs.enter(caller, wanted, ids, ticket),
        };
        match entries.conflict(wanted, *ticket, caller.is_host_task) {
            None => {
                for (id, one) in ids.iter_mut().zip(wanted) {
                    *id = entries.add(caller.kind, one);
                }
                if let Some(ticket) = ticket.take() {
                    entries.give_up(ticket);
                }
                Ok(())
            }
            Some(conflict) => {
                if conflict.may_wait && ticket.is_none() {
                    *ticket = Some(entries.stand_in_line(wanted));
                }
                Err(conflict)
            }
        }
    }

    /// Waits, at most for a time, until nothing is in the way any more; returns whether another attempt may succeed, or has an error.
    pub(crate) fn wait_once(&self, ticket: u64, time: Duration) -> bool {
        let start = Instant::now();
        let mut entries = match self.ours() {
            Ok(entries) => entries,
            Err(theirs) => return theirs.wait(ticket, time),
        };
        loop {
            let is_over = entries.is_over(ticket);
            let left = time.saturating_sub(start.elapsed());
            if is_over || left.is_zero() {
                if !time.is_zero() {
                    entries.set_away(ticket, Some(Instant::now()));
                }
                return is_over;
            }
            entries.set_away(ticket, None);
            (entries, _) = self.left.wait_timeout(entries, left).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends a wait without an entry.
    pub(crate) fn give_up(&self, ticket: u64) {
        match self.ours() {
            Ok(mut entries) => {
                entries.give_up(ticket);
                self.tell(&entries);
            }
            Err(theirs) => theirs.give_up(ticket),
        }
    }

    /// From now on the thread `waiting` does nothing but wait for what `working` does for it, until [`end_errand`](Self::end_errand).
    pub(crate) fn begin_errand(&self, waiting: u64, working: u64) {
        if let Ok(mut entries) = self.ours() {
            entries.errands.push((waiting, working));
        }
    }

    pub(crate) fn end_errand(&self, working: u64) {
        if let Ok(mut entries) = self.ours() {
            entries.errands.retain(|errand| errand.1 != working);
        }
    }

    /// From now on this thread runs code of the user in a wait, until [`end_interlude`](Self::end_interlude).
    pub(crate) fn begin_interlude(&self) {
        if let Ok(mut entries) = self.ours() {
            entries.interludes.push((this_thread(), Instant::now()));
        }
    }

    pub(crate) fn end_interlude(&self) {
        if let Ok(mut entries) = self.ours() {
            let this = this_thread();
            if let Some(index) = entries.interludes.iter().rposition(|(thread, _)| *thread == this) {
                entries.interludes.remove(index);
            }
        }
    }

    /// Does something short while nobody uses a range in a conflicting way, and keeps others from it meanwhile. `None` where somebody
    /// does, and where another copy of this library has the table.
    pub(crate) fn during<T>(&self, wanted: &Wanted, job: impl FnOnce() -> T) -> Option<T> {
        let entries = self.ours().ok()?;
        let is_free = entries.list.iter().all(|entry| !entry.wanted.conflicts_with(wanted));
        is_free.then(job)
    }

    /// Takes the entries of one operation, or view, out.
    pub(crate) fn release(&self, ids: &[u64]) {
        let mut entries = match self.ours() {
            Ok(entries) => entries,
            Err(theirs) => return theirs.leave(ids),
        };
        ids.iter().for_each(|id| entries.remove(*id));
        self.tell(&entries);
    }

    fn tell(&self, entries: &Entries) {
        if !entries.waiting.is_empty() {
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
        entries.next_number == 1 && switch()
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
            && !Stripes::are_apart((&self.range, self.stripes), (&other.range, other.stripes))
    }
}

impl Entries {
    pub(crate) const fn new() -> Self {
        Self {
            list: Vec::new(),
            waiting: Vec::new(),
            errands: Vec::new(),
            interludes: Vec::new(),
            next_number: 1,
        }
    }

    /// What is in the way: something that does not end by itself first.
    fn conflict(&self, wanted: &[Wanted], ticket: Option<u64>, is_host_task: bool) -> Option<Conflict> {
        let pairs = wanted.iter().flat_map(|one| self.in_the_way_of(one).map(move |entry| (one, entry)));
        let (one, is_written, may_wait) = match pairs.min_by_key(|(_, entry)| entry.kind != Use::View) {
            Some((one, entry)) => {
                let ends = entry.kind == Use::Operation && !is_host_task;
                let may_wait = ends && !self.is_circle(wanted) && !self.is_in_long_interlude(wanted);
                (one, entry.wanted.writes, may_wait)
            }
            None if is_host_task => return None,
            None => {
                let (one, earlier) = self.earlier(wanted, ticket)?;
                (one, earlier.writes, true)
            }
        };
        Some(Conflict { range: one.range.clone(), is_written, may_wait })
    }

    /// What somebody waits for who came earlier, unless this thread has entries, or one that it works for.
    fn earlier<'a>(&'a self, wanted: &'a [Wanted], ticket: Option<u64>) -> Option<(&'a Wanted, &'a Wanted)> {
        let this = this_thread();
        if self.waiting.is_empty() || self.has_entries(this) {
            return None;
        }
        let is_earlier = |other: &&Waiting| {
            // Code that runs in a wait of this thread does not stand behind it.
            other.thread != this
                && ticket.is_none_or(|ticket| other.ticket < ticket)
                && other.away_since.is_none_or(|since| since.elapsed() < AWAY)
        };
        let earlier = self.waiting.iter().filter(is_earlier).flat_map(|other| &other.wanted);
        let mut pairs = earlier.flat_map(|other| wanted.iter().map(move |one| (one, other)));
        pairs.find(|(one, other)| one.conflicts_with(other))
    }

    /// Whether a thread has entries of operations, or one that it works for.
    fn has_entries(&self, thread: u64) -> bool {
        let mut owners = vec![thread];
        let mut next = 0;
        while let Some(&owner) = owners.get(next) {
            if self.list.iter().any(|entry| entry.kind == Use::Operation && entry.thread == owner) {
                return true;
            }
            owners.extend(self.errands.iter().filter(|errand| errand.1 == owner).map(|errand| errand.0));
            next += 1;
        }
        false
    }

    /// Whether the thread of an operation that is in the way has run code of the user for long.
    fn is_in_long_interlude(&self, wanted: &[Wanted]) -> bool {
        let long: Vec<u64> = self
            .interludes
            .iter()
            .filter(|(_, since)| since.elapsed() > LONG_INTERLUDE)
            .map(|(thread, _)| *thread)
            .collect();
        !long.is_empty() && self.threads_in_the_way_of(wanted).any(|thread| long.contains(&thread))
    }

    fn in_the_way_of(&self, wanted: &Wanted) -> impl Iterator<Item = &Entry> {
        self.list.iter().filter(move |entry| entry.wanted.conflicts_with(wanted))
    }

    /// The threads of the operations that are in the way.
    fn threads_in_the_way_of(&self, wanted: &[Wanted]) -> impl Iterator<Item = u64> {
        let entries = wanted.iter().flat_map(|one| self.in_the_way_of(one));
        entries.filter(|entry| entry.kind == Use::Operation).map(|entry| entry.thread)
    }

    /// Whether this thread would wait for itself: for its own entry, or for that of a thread that waits for this one, maybe by way of
    /// others.
    fn is_circle(&self, wanted: &[Wanted]) -> bool {
        let this = this_thread();
        let (mut reached, mut next) = (Vec::new(), self.threads_in_the_way_of(wanted).collect::<Vec<_>>());
        while let Some(thread) = next.pop() {
            if thread == this {
                return true;
            }
            if !reached.contains(&thread) {
                reached.push(thread);
                let waits = self.waiting.iter().filter(|other| other.thread == thread);
                next.extend(waits.flat_map(|other| self.threads_in_the_way_of(&other.wanted)));
                let errands = self.errands.iter().filter(|(waiting, _)| *waiting == thread);
                next.extend(errands.map(|(_, working)| *working));
            }
        }
        false
    }

    fn stand_in_line(&mut self, wanted: &[Wanted]) -> u64 {
        let (ticket, thread) = (self.next_number(), this_thread());
        let away_since = Some(Instant::now());
        self.waiting.push(Waiting { ticket, thread, wanted: wanted.to_vec(), away_since });
        ticket
    }

    fn is_over(&self, ticket: u64) -> bool {
        let waiting = self.waiting.iter().find(|one| one.ticket == ticket);
        let conflict = waiting.and_then(|one| self.conflict(&one.wanted, Some(ticket), false));
        conflict.is_none_or(|conflict| !conflict.may_wait)
    }

    fn set_away(&mut self, ticket: u64, away_since: Option<Instant>) {
        let waiting = self.waiting.iter_mut().filter(|one| one.ticket == ticket);
        waiting.for_each(|one| one.away_since = away_since);
    }

    #[cfg(test)]
    pub(super) fn is_waiting(&self, ticket: u64) -> bool {
        self.waiting.iter().any(|waiting| waiting.ticket == ticket)
    }

    fn give_up(&mut self, ticket: u64) {
        self.waiting.retain(|one| one.ticket != ticket);
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
        let number = self.next_number;
        self.next_number += 1;
        number
    }

    /// Keeps what this thread and views use: the operations and waits of other threads never end in a forked child.
    pub(crate) fn forget_other_threads(&mut self) {
        let this = this_thread();
        self.list.retain(|entry| entry.kind == Use::View || entry.thread == this);
        self.waiting.retain(|waiting| waiting.thread == this);
        self.errands.clear();
        self.interludes.retain(|(thread, _)| *thread == this);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::sync::{LazyLock, mpsc};
    use std::thread;

    use super::super::thread::{as_thread, new_number};
    use super::*;

    fn table() -> BorrowTable {
        BorrowTable::over(Mutex::new(Entries::new()), Condvar::new(), || None)
    }

    fn wanted(range: Range<usize>, writes: bool) -> Wanted {
        Wanted { range, stripes: None, writes }
    }

    const fn caller(kind: Use) -> Caller {
        Caller { kind, is_host_task: false }
    }

    /// Enters without a wait, nor a place in the line.
    fn enter(table: &BorrowTable, kind: Use, range: Range<usize>, writes: bool) -> Result<u64, Conflict> {
        let mut id = [0];
        let mut ticket = None;
        let result = table.try_acquire(caller(kind), &[wanted(range, writes)], &mut id, &mut ticket);
        ticket.into_iter().for_each(|ticket| table.give_up(ticket));
        result.map(|()| id[0])
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
            table.release(&[id]);
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
        assert!(table.try_acquire(caller(Use::Operation), &both, &mut ids, &mut None).is_err());
        table.release(&[held]);
        table
            .try_acquire(
                caller(Use::Operation),
                &[wanted(0..8, true), wanted(4..12, false)],
                &mut ids,
                &mut None,
            )
            .unwrap();
        table.release(&ids);
        enter(&table, Use::View, 0..12, true).unwrap();
    }

    #[test]
    fn an_operation_is_waited_for_and_a_view_is_not() {
        let table = table();
        thread::scope(|scope| {
            let write = enter(&table, Use::Operation, 0..10, true).unwrap();
            let (sender, entered) = mpsc::channel();
            let table = &table;
            let waiter = scope.spawn(move || {
                let read = wait(table, Use::Operation, 5..6, false).unwrap();
                sender.send(()).unwrap();
                table.release(&[read]);
            });
            assert!(entered.recv_timeout(Duration::from_millis(30)).is_err(), "it did not wait");
            table.release(&[write]);
            waiter.join().unwrap();
            entered.recv().unwrap();
            let view = enter(table, Use::View, 0..10, false).unwrap();
            let refused =
                scope.spawn(|| wait(table, Use::Operation, 5..6, true).unwrap_err()).join().unwrap();
            assert_eq!(refused, Conflict { range: 5..6, is_written: false, may_wait: false });
            table.release(&[view]);
        });
    }

    /// Another thread that has entries, and then wants `range`.
    fn holder(
        table: &'static BorrowTable,
        held: Range<usize>,
        range: Range<usize>,
    ) -> thread::JoinHandle<Result<(), Conflict>> {
        let (sender, entered) = mpsc::channel();
        let thread = thread::spawn(move || {
            let id = enter(table, Use::Operation, held, true)?;
            sender.send(()).unwrap();
            let wanted = wait(table, Use::Operation, range, true);
            table.release(&[id]);
            wanted.map(|id| table.release(&[id]))
        });
        entered.recv().unwrap();
        thread
    }

    #[test]
    fn who_holds_something_waits_unless_that_closes_a_circle() {
        static TABLE: LazyLock<BorrowTable> = LazyLock::new(table);
        let table: &'static BorrowTable = &TABLE;
        let own = enter(table, Use::Operation, 0..1, true).unwrap();
        let conflict = wait(table, Use::Operation, 0..1, false).unwrap_err();
        assert!(!conflict.may_wait, "it would wait for itself");
        // Each of them waits for the one before, and the first one for this thread.
        let others = [1, 2].map(|at| holder(table, at..at + 1, at - 1..at));
        let num_waiting = |number| {
            while table.lock().waiting.len() < number {
                thread::yield_now()
            }
        };
        num_waiting(2);
        for at in [1, 2] {
            let conflict = wait(table, Use::Operation, at..at + 1, true).unwrap_err();
            assert_eq!(conflict, Conflict { range: at..at + 1, is_written: true, may_wait: false });
        }
        // Who has no entries waits for all of them, and this thread for one that waits for nobody.
        let waiter = thread::spawn(|| wait(table, Use::Operation, 0..3, true).map(|id| table.release(&[id])));
        num_waiting(3);
        let free = holder(table, 8..9, 9..10);
        let id = wait(table, Use::Operation, 8..9, true).unwrap();
        table.release(&[id]);
        free.join().unwrap().unwrap();
        table.release(&[own]);
        waiter.join().unwrap().unwrap();
        others.into_iter().for_each(|other| other.join().unwrap().unwrap());
        assert!(table.lock().waiting.is_empty() && table.lock().list.is_empty());
    }

    #[test]
    fn a_thread_that_works_for_another_one_does_not_wait_for_it() {
        let table = table();
        let own = enter(&table, Use::Operation, 0..1, true).unwrap();
        let (this, working) = (this_thread(), new_number());
        let wants = || {
            thread::scope(|scope| {
                let work = || as_thread(working, || enter(&table, Use::Operation, 0..1, false));
                scope.spawn(work).join().unwrap().unwrap_err().may_wait
            })
        };
        assert!(wants());
        table.begin_errand(this, working);
        assert!(!wants());
        // The other way round the work comes to its end.
        let theirs = thread::scope(|scope| {
            let work = || as_thread(working, || enter(&table, Use::Operation, 4..5, true).unwrap());
            scope.spawn(work).join().unwrap()
        });
        assert!(enter(&table, Use::Operation, 4..5, true).unwrap_err().may_wait);
        table.end_errand(working);
        assert!(wants());
        table.release(&[own, theirs]);
    }

    #[test]
    fn a_host_task_reads_beside_readers_that_a_writer_waits_for() {
        let table = table();
        let reading = enter(&table, Use::Operation, 0..1, false).unwrap();
        let mut ticket = None;
        let write = [wanted(0..1, true)];
        thread::scope(|scope| {
            let write =
                || table.try_acquire(caller(Use::Operation), &write, &mut [0], &mut ticket).unwrap_err();
            assert!(scope.spawn(write).join().unwrap().may_wait);
        });
        // As in a wait that lasts.
        table.lock().set_away(ticket.unwrap(), None);
        let task = Caller { kind: Use::Operation, is_host_task: true };
        let read = |caller| {
            let (mut id, mut ticket) = ([0], None);
            let enter = || table.try_acquire(caller, &[wanted(0..1, false)], &mut id, &mut ticket);
            let result = thread::scope(|scope| scope.spawn(enter).join().unwrap());
            ticket.into_iter().for_each(|ticket| table.give_up(ticket));
            result.map(|()| table.release(&id))
        };
        read(task).unwrap();
        assert!(read(caller(Use::Operation)).unwrap_err().may_wait, "the writer came earlier");
        table.release(&[reading]);
        table.give_up(ticket.unwrap());
        read(caller(Use::Operation)).unwrap();
    }

    #[test]
    #[cfg_attr(miri, ignore = "an interpreter takes longer than the times of the table")]
    fn threads_that_wait_do_not_wake_each_other() {
        let table = table();
        let held = enter(&table, Use::Operation, 0..1, true).unwrap();
        let returns = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let hook = |wait: &(dyn Fn(Duration) -> bool + Sync)| {
                        while !wait(Duration::from_millis(50)) {
                            returns.fetch_add(1, Ordering::Relaxed);
                        }
                        Ok::<_, Conflict>(())
                    };
                    let mut id = [0];
                    table.acquire(Use::Operation, &[wanted(0..1, true)], &mut id, hook).unwrap();
                    table.release(&id);
                });
            }
            thread::sleep(Duration::from_millis(400));
            table.release(&[held]);
        });
        // At most one for each 50 ms of each thread; without the rule there are some hundred thousand.
        assert!(returns.into_inner() < 1000);
    }

    #[test]
    #[cfg_attr(miri, ignore = "an interpreter takes longer than the times of the table")]
    fn a_writer_comes_before_readers_that_arrive_later() {
        const READERS: u64 = 6;
        let table = table();
        let (num_reads, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
        let access = |writes| {
            // As a program that does something else in between.
            let hook = |wait: &(dyn Fn(Duration) -> bool + Sync)| {
                while !wait(Duration::from_millis(2)) {
                    thread::sleep(Duration::from_millis(1));
                }
                Ok::<_, Conflict>(())
            };
            let mut id = [0];
            table.acquire(Use::Operation, &[wanted(0..1, writes)], &mut id, hook).unwrap();
            id
        };
        thread::scope(|scope| {
            for n in 0..READERS {
                let (num_reads, is_over, access, table) = (&num_reads, &is_over, &access, &table);
                scope.spawn(move || {
                    while !is_over.load(Ordering::Relaxed) {
                        let id = access(false);
                        num_reads.fetch_add(1, Ordering::Relaxed);
                        thread::sleep(Duration::from_millis(3 + n));
                        table.release(&id);
                    }
                });
            }
            let mut num_late = 0;
            for _ in 0..10 {
                thread::sleep(Duration::from_millis(5));
                let before = num_reads.load(Ordering::Relaxed);
                let id = access(true);
                // Each of them may have come a moment earlier.
                let found = num_reads.load(Ordering::Relaxed) - before;
                num_late += u32::from(found > 2 * READERS);
                table.release(&id);
            }
            is_over.store(true, Ordering::Relaxed);
            // A machine with other work may keep the writer away for longer than the readers stand behind it.
            assert!(num_late <= 5, "{num_late} of 10 writes came late");
        });
    }

    #[test]
    fn stripes_without_a_common_byte_are_no_conflict() {
        let table = table();
        let column = |index: usize| {
            let stripes = Some(Stripes { period_bytes: 32, width_bytes: 8 });
            [Wanted { range: 8 * index..8 * index + 320, stripes, writes: true }]
        };
        for index in 0..4 {
            table.try_acquire(caller(Use::Operation), &column(index), &mut [0], &mut None).unwrap();
        }
        for index in 0..4 {
            table.try_acquire(caller(Use::View), &column(index), &mut [0], &mut None).unwrap_err();
        }
        enter(&table, Use::Operation, 33..34, false).unwrap_err();
    }

    #[test]
    fn readers_that_come_later_stand_behind_a_writer() {
        let table = table();
        let [reader, writer] = [new_number(), new_number()];
        let reading = as_thread(reader, || enter(&table, Use::Operation, 0..1, false).unwrap());
        let (mut line, mut write) = (None, [0]);
        let mut try_to_write = || {
            let wanted = [wanted(0..1, true)];
            as_thread(writer, || table.try_acquire(caller(Use::Operation), &wanted, &mut write, &mut line))
        };
        assert!(try_to_write().unwrap_err().may_wait);
        let ticket = table.lock().waiting[0].ticket;
        // As in a wait that lasts, whatever this thread does meanwhile.
        table.lock().set_away(ticket, None);
        assert!(enter(&table, Use::Operation, 0..1, false).unwrap_err().may_wait);
        // An operation that has entries already comes to its end.
        let own = enter(&table, Use::Operation, 8..9, false).unwrap();
        let further = enter(&table, Use::Operation, 0..1, false).unwrap();
        for id in [further, own, reading] {
            table.release(&[id]);
        }
        assert!(table.wait_once(ticket, Duration::ZERO), "nothing is in the way any more");
        try_to_write().unwrap();
        assert!(table.lock().waiting.is_empty());
        table.release(&write);
        enter(&table, Use::Operation, 0..1, false).unwrap();
    }

    #[test]
    fn nobody_stands_behind_a_writer_that_has_left_its_wait() {
        let table = table();
        let [reader, writer] = [new_number(), new_number()];
        let reading = as_thread(reader, || enter(&table, Use::Operation, 0..1, false).unwrap());
        let left = as_thread(writer, || {
            let leave = |_: &(dyn Fn(Duration) -> bool + Sync)| {
                let conflict = enter(&table, Use::Operation, 0..1, true).unwrap_err();
                assert_eq!(table.lock().waiting.len(), 1);
                Err(conflict)
            };
            table.acquire(Use::Operation, &[wanted(0..1, true)], &mut [0], leave)
        });
        assert!(left.unwrap_err().may_wait && table.lock().waiting.is_empty());
        enter(&table, Use::Operation, 0..1, false).unwrap();
        table.release(&[reading]);
    }

    #[test]
    fn code_that_runs_between_the_waits_of_its_thread_is_not_behind_it() {
        let table = table();
        let reading = thread::scope(|scope| {
            scope.spawn(|| enter(&table, Use::Operation, 0..1, false).unwrap()).join().unwrap()
        });
        let handler = |wait_once: &(dyn Fn(Duration) -> bool + Sync)| {
            assert!(!wait_once(Duration::from_millis(1)));
            let read = enter(&table, Use::Operation, 0..1, false)?;
            table.release(&[read]);
            table.release(&[reading]);
            Ok::<_, Conflict>(())
        };
        table.acquire(Use::Operation, &[wanted(0..1, true)], &mut [0], handler).unwrap();
    }

    #[test]
    fn a_worker_of_a_thread_with_entries_does_not_stand_in_line() {
        let table = table();
        let read = enter(&table, Use::Operation, 0..1, false).unwrap();
        let (this, worker, other) = (this_thread(), new_number(), new_number());
        let mut line = None;
        let writer = || table.try_acquire(caller(Use::Operation), &[wanted(0..1, true)], &mut [0], &mut line);
        assert!(as_thread(other, writer).unwrap_err().may_wait);
        table.lock().set_away(line.unwrap(), None); // it waits
        let by_worker = || as_thread(worker, || enter(&table, Use::Operation, 0..1, false));
        assert!(by_worker().unwrap_err().may_wait, "it works for nobody yet");
        table.begin_errand(this, worker);
        table.release(&[by_worker().unwrap()]);
        table.end_errand(worker);
        assert!(by_worker().is_err());
        table.give_up(line.unwrap());
        table.release(&[read]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "waits for seconds")]
    fn a_thread_that_runs_other_code_in_a_wait_is_waited_for_a_while() {
        let table = table();
        let _read = enter(&table, Use::Operation, 0..1, false).unwrap();
        let other = new_number();
        let write = || as_thread(other, || wait(&table, Use::Operation, 0..1, true));
        table.begin_interlude();
        let start = Instant::now();
        assert!(!write().unwrap_err().may_wait);
        assert!(start.elapsed() >= LONG_INTERLUDE);
        table.end_interlude();
        let write = || as_thread(other, || enter(&table, Use::Operation, 0..1, true));
        assert!(write().unwrap_err().may_wait);
    }

    #[test]
    fn a_forked_child_keeps_what_does_not_end_with_other_threads() {
        let table = table();
        let view = thread::scope(|scope| {
            let enter = |kind, at: usize| enter(&table, kind, at..at + 1, true).unwrap();
            scope.spawn(move || enter(Use::Operation, 0)).join().unwrap();
            scope.spawn(move || enter(Use::View, 1)).join().unwrap()
        });
        let own = enter(&table, Use::Operation, 2..3, true).unwrap();
        table.lock().forget_other_threads();
        assert!(table.during(&wanted(0..1, true), || ()).is_some());
        assert!(table.during(&wanted(1..2, true), || ()).is_none());
        assert!(table.during(&wanted(2..3, true), || ()).is_none());
        table.release(&[view]);
        table.release(&[own]);
        assert!(table.during(&wanted(0..9, true), || ()).is_some());
    }
}
