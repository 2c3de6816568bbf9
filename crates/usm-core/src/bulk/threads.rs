//! Work that several threads share
//!
//! The calling thread never waits for a helper that has not started: a helper may be asleep or busy.

use std::any::Any;
use std::env;
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use super::{Machine, Steps};
use crate::fork::{self, ForkOnce, PerProcess};

/// Below this length one thread finishes before a helper starts, which takes some 10 µs.
const SHARED_BYTES: usize = 1 << 20;

/// The share of each thread is at least so large.
const BYTES_PER_THREAD: usize = 256 << 10;

/// Parts per thread. Threads take parts one after the other, since they are not equally fast.
const PARTS_PER_THREAD: usize = 8;

/// The least length of a part. The atomic operations of a shorter part cost more than they gain.
pub const MIN_PART_BYTES: usize = 64 << 10;

/// A helper stays awake for this time after its work, which is about the time that a sleeping thread takes to wake up: 10 to 50 µs.
const AWAKE: Duration = Duration::from_micros(50);

/// A thread wakes so many helpers. A wake-up takes a tenth of the time until the helper works, so a flat tree is sooner complete.
const WAKES: usize = 4;

/// The most threads of one process: a larger number in the environment would only exhaust the system.
const MAX_THREADS: usize = 1024;

/// A wait for the last part spins this often before it sleeps.
const SPINS: u32 = 2000;

/// The most threads of one copy; 0 is no limit.
static LIMIT: AtomicUsize = AtomicUsize::new(0);

/// Limits the threads that one copy uses, the calling one included. 0 stands for no limit, which is the default: as many
/// threads as this process has processors, or as the environment variable `USM_NUM_THREADS` said on first use, up to 1,024.
///
/// Copies of less than 1 MiB use one thread anyway.
///
/// ```
/// usm_core::bulk::set_num_threads(1);
/// assert_eq!(usm_core::bulk::num_threads(), 1);
/// usm_core::bulk::set_num_threads(0);
/// ```
pub fn set_num_threads(limit: usize) {
    LIMIT.store(limit, Ordering::Relaxed);
}

/// The most threads that one copy uses, the calling one included.
#[must_use]
pub fn num_threads() -> usize {
    match LIMIT.load(Ordering::Relaxed) {
        0 => all_threads(),
        limit => limit.min(all_threads()),
    }
}

fn all_threads() -> usize {
    static ALL: ForkOnce<usize> = ForkOnce::new();
    let wanted = || env::var("USM_NUM_THREADS").ok()?.parse().ok().filter(|&threads| threads > 0);
    *ALL.get_or_init(|| wanted().unwrap_or_else(|| Machine::this().cpus()).min(MAX_THREADS))
}

/// Number of threads that share work on `len_bytes` bytes, the calling one included.
#[must_use]
pub fn threads_for(len_bytes: usize) -> usize {
    if len_bytes < SHARED_BYTES { 1 } else { num_threads().min(len_bytes / BYTES_PER_THREAD) }
}

/// Number of parts of `len_bytes` bytes; 1 for work by one thread.
#[must_use]
pub fn parts_for(len_bytes: usize) -> usize {
    match threads_for(len_bytes) {
        1 => 1,
        threads => (threads * PARTS_PER_THREAD).min(len_bytes / MIN_PART_BYTES),
    }
}

/// Work that helpers join.
trait Join: Send + Sync {
    /// Does a part of the work, as the helper of this number.
    fn join(self: Arc<Self>, helper: usize);
}

/// Where a helper gets its work.
type Helper = Sender<Arc<dyn Join>>;

/// The helpers by their numbers; `None` where the system had no more threads.
type Helpers = Vec<OnceLock<Option<Helper>>>;

/// Each helper is a thread with a channel of its own, so that a helper does the same part of one copy after the other: the
/// memory is in the cache of its processor. A helper starts with the first work for so many threads and stays as long as the process.
fn helper(number: usize) -> Option<&'static Helper> {
    // A forked child has none of the threads.
    static HELPERS: PerProcess<OnceLock<Helpers>> = PerProcess::new(OnceLock::new());
    let helpers = HELPERS.get().get_or_init(|| (1..all_threads()).map(|_| OnceLock::new()).collect());
    helpers.get(number)?.get_or_init(|| start_helper(number)).as_ref()
}

fn start_helper(number: usize) -> Option<Helper> {
    let (sender, receiver): (Helper, _) = channel();
    let serve = move || {
        while let Ok(work) = next_work(&receiver) {
            // The helper stays, also when a destructor of the work panics.
            let _ = catch_unwind(AssertUnwindSafe(|| work.join(number)));
        }
    };
    fork::spawn(Builder::new().name("usm-copy".to_owned()), serve).ok().map(|_| sender)
}

/// Spins before it sleeps: another copy often follows at once.
fn next_work(receiver: &Receiver<Arc<dyn Join>>) -> Result<Arc<dyn Join>, RecvError> {
    let start = Instant::now();
    while start.elapsed() < AWAKE {
        if let Ok(work) = receiver.try_recv() {
            return Ok(work);
        }
        spin_loop();
    }
    receiver.recv()
}

/// The panic of a part, which goes on in the caller of [`share`].
type Panic = Box<dyn Any + Send>;

/// A number in a cache line of its own: processors fetch two lines of 64 bytes at once.
#[repr(align(128))]
struct Counter(AtomicUsize);

/// Work that several threads share.
struct SharedWork<F> {
    parts: usize,
    threads: usize,
    work: F,
    // Each thread begins with a range of parts of its own, the same one in one copy after the other: its cache has the memory.
    // Invariant T2: For each range the number of its next part, which is counted up without an end.
    next: Vec<Counter>,
    // Invariant T1: At least the number of threads that work on a part: a thread is counted before it takes one.
    busy: Counter,
    panic: Mutex<Option<Panic>>,
    idle: Condvar,
}

/// Counts a thread (T1).
struct Busy<'a, F>(&'a SharedWork<F>);

impl<'a, F> Busy<'a, F> {
    fn new(shared: &'a SharedWork<F>) -> Self {
        shared.busy.0.fetch_add(1, Ordering::AcqRel);
        Self(shared)
    }
}

impl<F> Drop for Busy<'_, F> {
    fn drop(&mut self) {
        if self.0.busy.0.fetch_sub(1, Ordering::AcqRel) == 1 {
            // A waiting thread has either seen the count before and sleeps by now, or sees this one.
            drop(self.0.panic());
            self.0.idle.notify_all();
        }
    }
}

/// Returns from its drop when no thread works on a part any more, and no further part is handed out.
struct End<'a, F>(&'a SharedWork<F>);

impl<F> Drop for End<'_, F> {
    fn drop(&mut self) {
        // From here on no thread gets a part; each thread that has one is counted.
        self.0.next.iter().for_each(|next| {
            next.0.fetch_max(self.0.parts, Ordering::AcqRel);
        });
        let is_busy = || self.0.busy.0.load(Ordering::Acquire) > 0;
        for _ in 0..SPINS {
            if !is_busy() {
                return;
            }
            spin_loop();
        }
        let mut guard = self.0.panic();
        while is_busy() {
            guard = self.0.idle.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The first part of a range of the `parts` that `threads` threads share. Does not overflow.
fn first_part(parts: usize, threads: usize, range: usize) -> usize {
    parts / threads * range + parts % threads * range / threads
}

impl<F> SharedWork<F> {
    fn panic(&self) -> MutexGuard<'_, Option<Panic>> {
        self.panic.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: Fn(usize)> SharedWork<F> {
    /// The first part of a range.
    fn start(&self, range: usize) -> usize {
        first_part(self.parts, self.threads, range)
    }

    /// Whether all parts of a range are handed out.
    fn is_taken(&self, range: usize) -> bool {
        self.next.get(range).is_none_or(|next| next.0.load(Ordering::Relaxed) >= self.start(range + 1))
    }

    /// A part of a range, which no other thread gets; `None` when all are handed out.
    fn take(&self, range: usize) -> Option<usize> {
        let part = self.next.get(range)?.0.fetch_add(1, Ordering::AcqRel);
        (part < self.start(range + 1)).then_some(part)
    }

    /// Works on the parts that are left, from a range on. The thread is counted (T1).
    fn work(&self, first: usize) {
        for range in (first..self.threads).chain(0..first) {
            // A look costs less than counting up: several threads can have a line that nobody writes.
            while !self.is_taken(range) {
                if let Some(part) = self.take(range) {
                    (self.work)(part);
                }
            }
        }
    }
}

impl<F: Fn(usize) + Send + Sync + 'static> SharedWork<F> {
    /// Thread `number` wakes [`WAKES`] helpers, each of which wakes as many in turn: no thread wakes all of them.
    fn wake(self: &Arc<Self>, number: usize) {
        for thread in (WAKES * number + 1..self.threads).take(WAKES) {
            if let Some(helper) = helper(thread - 1) {
                // A helper cannot end: its channel stays open.
                let _ = helper.send(Arc::clone(self) as Arc<dyn Join>);
            }
        }
    }
}

impl<F: Fn(usize) + Send + Sync + 'static> Join for SharedWork<F> {
    fn join(self: Arc<Self>, helper: usize) {
        let thread = helper + 1; // the calling thread is the first
        if !(0..self.threads).all(|range| self.is_taken(range)) {
            self.wake(thread);
            let _busy = Busy::new(&self); // until the panic is there
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.work(thread))) {
                *self.panic() = Some(panic);
            }
        }
    }
}

/// Calls `work` with each number below `parts`, on up to `threads` threads, of which the calling one is the first. When it returns,
/// no thread works any more.
///
/// The calling thread never waits for a helper that has not started: the helpers may all be busy with the work of other threads.
///
/// # Panics
/// A panic of `work` goes on in the calling thread, also when it was on another one.
pub fn share(parts: usize, threads: usize, work: impl Fn(usize) + Send + Sync + 'static) {
    let steps = Steps::of(parts);
    let done = steps.counter();
    let work = move |part| {
        work(part);
        done();
    };
    if parts.min(threads) <= 1 {
        return (0..parts).for_each(work);
    }
    let threads = threads.min(parts).min(all_threads());
    let counter = |count| Counter(AtomicUsize::new(count));
    let shared = Arc::new(SharedWork {
        parts,
        threads,
        work,
        next: (0..threads).map(|range| counter(first_part(parts, threads, range))).collect(),
        busy: counter(0),
        panic: Mutex::new(None),
        idle: Condvar::new(),
    });
    {
        let _end = End(&shared);
        shared.wake(0);
        let _busy = Busy::new(&shared);
        shared.work(0);
    }
    let panic = shared.panic().take();
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    /// How often each part was done.
    fn counts(parts: usize, threads: usize) -> Vec<usize> {
        let counts: Arc<Vec<AtomicUsize>> = Arc::new((0..parts).map(|_| AtomicUsize::new(0)).collect());
        let work = Arc::clone(&counts);
        share(parts, threads, move |part| {
            work[part].fetch_add(1, Ordering::Relaxed);
        });
        counts.iter().map(|count| count.load(Ordering::Relaxed)).collect()
    }

    #[test]
    fn each_part_is_done_once() {
        for parts in 0..100 {
            for threads in [0, 1, 2, 3, 16, 1000] {
                assert!(
                    counts(parts, threads).iter().all(|&count| count == 1),
                    "{parts} parts, {threads} threads"
                );
            }
        }
    }

    #[test]
    fn ranges_follow_each_other_for_any_number_of_parts() {
        for parts in [2, 7, 1000, usize::MAX - 1, usize::MAX] {
            for threads in [2, 3, 7, MAX_THREADS].into_iter().filter(|threads| *threads <= parts) {
                let starts: Vec<_> = (0..=threads).map(|range| first_part(parts, threads, range)).collect();
                assert_eq!((starts[0], starts[threads]), (0, parts));
                assert!(starts.is_sorted());
            }
        }
    }

    #[test]
    fn busy_helpers_are_not_waited_for() {
        let threads = all_threads();
        let (taken, done) = (Arc::new(Barrier::new(threads + 1)), Arc::new(Barrier::new(threads + 1)));
        let work = {
            let (taken, done) = (Arc::clone(&taken), Arc::clone(&done));
            move |_| {
                taken.wait();
                done.wait();
            }
        };
        // Each thread takes one part and keeps it.
        let outside = thread::spawn(move || share(threads, threads, work));
        taken.wait();
        assert_eq!(counts(50, 8), [1; 50]);
        done.wait();
        outside.join().unwrap();
    }

    #[test]
    fn a_panic_of_any_part_reaches_the_caller() {
        for bad in [0, 7] {
            let run = || share(8, 2, move |part| assert_ne!(part, bad, "the part {bad}"));
            let panic = catch_unwind(run).unwrap_err();
            assert!(panic.downcast_ref::<String>().is_some_and(|text| text.contains("the part")), "{bad}");
        }
        assert_eq!(counts(50, 8), [1; 50], "the helpers are still there");
    }

    #[test]
    fn a_destructor_that_shares_work_during_a_panic_does_not_abort() {
        struct Shares<'a>(&'a AtomicUsize);
        impl Drop for Shares<'_> {
            fn drop(&mut self) {
                self.0.store(counts(50, 8).len(), Ordering::Relaxed);
            }
        }
        let done = AtomicUsize::new(0);
        let outcome = catch_unwind(|| {
            let _shares = Shares(&done);
            panic!("of a user");
        });
        assert!(outcome.is_err() && done.load(Ordering::Relaxed) == 50);
    }

    #[test]
    fn few_bytes_have_one_thread() {
        assert_eq!((threads_for(0), parts_for(0)), (1, 1));
        assert_eq!((threads_for(SHARED_BYTES - 1), parts_for(SHARED_BYTES - 1)), (1, 1));
        for bytes in [SHARED_BYTES, 1 << 20, 1 << 30] {
            let (threads, parts) = (threads_for(bytes), parts_for(bytes));
            assert!(threads <= num_threads() && (threads == 1) == (parts == 1), "{bytes}");
            assert!(bytes / parts >= MIN_PART_BYTES, "{bytes}");
        }
    }
}
