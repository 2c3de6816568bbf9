//! Work that several threads share
//!
//! Nobody waits for a thread that has not come: it may be asleep or busy.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::fork::{self, PerProcess, is_forked_child};

/// Below this length one thread finishes before a helper starts, which takes some 10 µs.
const SHARED_BYTES: usize = 1 << 20;

/// As many bytes are worth each thread that comes: they wake each other, so that many come as soon as two.
const BYTES_PER_THREAD: usize = 128 << 10;

/// Parts per thread. Threads take parts one after the other, since they are not equally fast.
const PARTS_PER_THREAD: usize = 8;

/// The least length of a part. The atomic operations of a shorter part cost more than they gain.
pub const MIN_PART_BYTES: usize = 64 << 10;

/// A wait for the last part spins this often before it sleeps.
const SPINS: u32 = 2000;

/// The most threads of one copy; 0 is no limit.
static LIMIT: AtomicUsize = AtomicUsize::new(0);

/// Limits the threads that one copy uses, the calling one included. 0 stands for as many as rayon has, which is the default.
///
/// Copies of less than some hundred kilobytes use one thread anyway.
///
/// ```
/// usm_core::bulk::set_num_threads(1);
/// assert_eq!(usm_core::bulk::num_threads(), 1);
/// usm_core::bulk::set_num_threads(0);
/// ```
pub fn set_num_threads(limit: usize) {
    LIMIT.store(limit, Ordering::Relaxed);
}

/// The most threads that one copy uses, the calling one included: the limit, and at most as many as rayon has.
#[must_use]
pub fn num_threads() -> usize {
    match LIMIT.load(Ordering::Relaxed) {
        1 => 1, // without waking rayon
        0 => all_threads(),
        limit => limit.min(all_threads()),
    }
}

/// How many threads share work on so many bytes, the calling one included.
#[must_use]
pub fn threads_for(bytes: usize) -> usize {
    if bytes < SHARED_BYTES { 1 } else { num_threads().min(bytes / BYTES_PER_THREAD) }
}

/// Number of parts of `len_bytes` bytes; 1 for work by one thread.
#[must_use]
pub fn parts_for(bytes: usize) -> usize {
    match threads_for(bytes) {
        1 => 1,
        threads => (threads * PARTS_PER_THREAD).min(bytes / MIN_PART_BYTES),
    }
}

/// As many threads as rayon had in the parent; 0 is as many as it takes by itself.
static PARENTS: AtomicUsize = AtomicUsize::new(0);

fn all_threads() -> usize {
    if is_forked_child() {
        return pool_of_child().map_or(1, ThreadPool::current_num_threads);
    }
    // Starts the threads.
    let threads = fork::hold_off(rayon::current_num_threads);
    PARENTS.store(threads, Ordering::Relaxed);
    threads
}

/// The threads of a forked child, where rayon's own are missing, and a question to rayon may never be answered.
fn pool_of_child() -> Option<&'static ThreadPool> {
    static POOL: PerProcess<OnceLock<Option<ThreadPool>>> = PerProcess::new(OnceLock::new());
    let build = || {
        fork::hold_off(|| ThreadPoolBuilder::new().num_threads(PARENTS.load(Ordering::Relaxed)).build().ok())
    };
    POOL.get().get_or_init(build).as_ref()
}

/// Has another thread do a job, if there is one.
fn spawn(job: impl FnOnce() + Send + 'static) {
    if is_forked_child() {
        if let Some(pool) = pool_of_child() {
            pool.spawn(job);
        }
    } else {
        rayon::spawn(job);
    }
}

/// Work that several threads share.
struct Shared<F> {
    parts: usize,
    threads: usize,
    work: F,
    // Each thread begins with a range of parts of its own, the same one in one copy after the other: what is in its cache is what it needs.
    // T2. For each range the number of its next part, which is counted up without an end.
    next: Vec<AtomicUsize>,
    // T1. At least the number of threads that work on a part: a thread is counted before it takes one.
    busy: AtomicUsize,
    lock: Mutex<()>,
    idle: Condvar,
}

/// Counts a thread (T1).
struct Busy<'a, F>(&'a Shared<F>);

impl<'a, F> Busy<'a, F> {
    fn new(shared: &'a Shared<F>) -> Self {
        shared.busy.fetch_add(1, Ordering::AcqRel);
        Self(shared)
    }
}

impl<F> Drop for Busy<'_, F> {
    fn drop(&mut self) {
        if self.0.busy.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Whoever waits has seen the count before, and waits by now, or sees this one.
            drop(self.0.lock.lock());
            self.0.idle.notify_all();
        }
    }
}

/// Ends when nobody works any more, and nobody starts to.
struct End<'a, F>(&'a Shared<F>);

impl<F> Drop for End<'_, F> {
    fn drop(&mut self) {
        // Whoever takes a part from here on gets none; who has taken one is counted.
        self.0.next.iter().for_each(|next| {
            next.fetch_max(self.0.parts, Ordering::AcqRel);
        });
        let is_busy = || self.0.busy.load(Ordering::Acquire) > 0;
        for _ in 0..SPINS {
            if !is_busy() {
                return;
            }
            spin_loop();
        }
        let mut guard = self.0.lock.lock().unwrap_or_else(PoisonError::into_inner);
        while is_busy() {
            guard = self.0.idle.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<F: Fn(usize)> Shared<F> {
    /// The first part of a range.
    fn start(&self, range: usize) -> usize {
        self.parts * range / self.threads
    }

    fn is_done(&self) -> bool {
        let is_done =
            |(range, next): (usize, &AtomicUsize)| next.load(Ordering::Relaxed) >= self.start(range + 1);
        self.next.iter().enumerate().all(is_done)
    }

    /// Does what is left, from a range on.
    fn work(&self, first: usize) {
        for range in (first..self.threads).chain(0..first) {
            loop {
                let _busy = Busy::new(self);
                let part = self.next[range].fetch_add(1, Ordering::AcqRel);
                if part >= self.start(range + 1) {
                    break;
                }
                (self.work)(part);
            }
        }
    }
}

impl<F: Fn(usize) + Send + Sync + 'static> Shared<F> {
    /// Wakes two helpers, which wake two each in turn: nobody wakes all of them.
    fn wake(self: &Arc<Self>, number: usize) {
        for helper in [2 * number + 1, 2 * number + 2] {
            if helper < self.threads {
                let shared = Arc::clone(self);
                spawn(move || {
                    if !shared.is_done() {
                        shared.wake(helper);
                        // The first range is that of the calling thread.
                        let thread = rayon::current_thread_index().unwrap_or(helper);
                        shared.work(1 + thread % (shared.threads - 1));
                    }
                });
            }
        }
    }
}

/// Calls `work` with each number below `parts`, on up to `threads` threads, of which the calling one is the first. When it returns,
/// nobody works any more.
///
/// Nobody waits for a helper that has not come yet: all threads of rayon may be waiting for this very copy, which then runs on
/// one that is none of them.
pub fn share(parts: usize, threads: usize, work: impl Fn(usize) + Send + Sync + 'static) {
    let threads = threads.min(parts);
    if threads <= 1 {
        return (0..parts).for_each(work);
    }
    let next = (0..threads).map(|range| AtomicUsize::new(parts * range / threads)).collect();
    let busy = AtomicUsize::new(0);
    let shared =
        Arc::new(Shared { parts, threads, work, next, busy, lock: Mutex::new(()), idle: Condvar::new() });
    let _end = End(&shared);
    shared.wake(0);
    shared.work(0);
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
    fn needs_no_thread_of_rayon() {
        let threads = rayon::current_num_threads();
        let (taken, done) = (Arc::new(Barrier::new(threads + 1)), Arc::new(Barrier::new(threads + 1)));
        for _ in 0..threads {
            let (taken, done) = (Arc::clone(&taken), Arc::clone(&done));
            rayon::spawn(move || {
                taken.wait();
                done.wait();
            });
        }
        taken.wait();
        let outside = thread::spawn(|| counts(50, 8));
        assert_eq!(outside.join().unwrap(), [1; 50]);
        done.wait();
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
