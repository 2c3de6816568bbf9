//! Parts of a large copy on several threads

use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::tiles;
use crate::copy::cast::Cast;
use crate::copy::plan::{CopyPlan, Loop, Tiles};

/// Below so many bytes waking a thread costs more than it saves.
const PARALLEL_BYTES: usize = 4 << 20;

/// Parts are taken one after the other, several for each thread: threads are not equally fast.
const PARTS_PER_THREAD: usize = 8;

/// A wait for the last part spins this often before it sleeps.
const SPINS: u32 = 2000;

/// The most threads of one copy; 0 is no limit.
static LIMIT: AtomicUsize = AtomicUsize::new(0);

/// Limits the threads that one copy uses, the calling one included. 0 stands for as many as rayon has, which is the default.
///
/// Copies of less than some megabytes use one thread anyway.
///
/// ```
/// usm_array::set_num_threads(1);
/// assert_eq!(usm_array::num_threads(), 1);
/// usm_array::set_num_threads(0);
/// ```
pub fn set_num_threads(limit: usize) {
    LIMIT.store(limit, Ordering::Relaxed);
}

/// The most threads that one copy uses, the calling one included: the limit, and at most as many as rayon has.
#[must_use]
pub fn num_threads() -> usize {
    match LIMIT.load(Ordering::Relaxed) {
        1 => 1, // without waking rayon
        0 => rayon::current_num_threads(),
        limit => limit.min(rayon::current_num_threads()),
    }
}

/// The loop that parts are cut along: the outermost one, or where blocks are transposed one that keeps them whole.
pub(super) fn axis_to_cut(plan: &CopyPlan, cast: Cast) -> usize {
    let itemsize = cast.src.itemsize_bytes();
    let Some(tiles) = Tiles::new(plan, itemsize, tiles::side(itemsize)) else {
        return 0;
    };
    let size = |group: &[Loop]| group.iter().map(|axis| axis.count).product::<usize>();
    let larger = if size(&tiles.across) >= size(&tiles.along) { &tiles.across } else { &tiles.along };
    let around = if tiles.outer.is_empty() { &larger[..1] } else { &tiles.outer[..] };
    // Blocks may be walked the other way round.
    let same = |a: &Loop, b: &Loop| a.dst.abs() == b.dst.abs() && a.src.abs() == b.src.abs();
    plan.loops.iter().position(|axis| around.iter().any(|around| same(around, axis))).unwrap_or(0)
}

/// The parts to copy a plan in, which is one of `whole_size` elements or a piece of it.
pub(super) fn parts(plan: CopyPlan, cast: Cast, whole_size: usize) -> Vec<CopyPlan> {
    let itemsize = cast.src.itemsize_bytes().max(cast.dst.itemsize_bytes());
    if !is_shared(whole_size * itemsize) {
        return vec![plan];
    }
    let threads = num_threads();
    let min_size = PARALLEL_BYTES / PARTS_PER_THREAD / itemsize;
    plan.parts(threads * PARTS_PER_THREAD, min_size, &|plan| axis_to_cut(plan, cast))
}

/// Both ends of a copy.
#[derive(Clone, Copy)]
struct Ends(*mut u8, *const u8);

// SAFETY: only pointers; who follows them promises for each part that nobody else touches its memory.
unsafe impl Send for Ends {}
// SAFETY: as above.
unsafe impl Sync for Ends {}

impl Ends {
    fn pointers(self) -> (*mut u8, *const u8) {
        (self.0, self.1)
    }
}

/// Work that several threads share.
struct Shared<F> {
    parts: usize,
    work: F,
    next: AtomicUsize,
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
        self.0.next.fetch_max(self.0.parts, Ordering::AcqRel);
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
    fn work(&self) {
        loop {
            let _busy = Busy::new(self);
            let part = self.next.fetch_add(1, Ordering::AcqRel);
            if part >= self.parts {
                return;
            }
            (self.work)(part);
        }
    }
}

/// Calls `work` with each number below `parts`, on several threads. When it returns, nobody works any more.
///
/// Nobody waits for a helper that has not come yet: all threads of rayon may be waiting for this very copy, which then runs on
/// one that is none of them, or, in a forked child, not be there.
pub(super) fn share(parts: usize, work: impl Fn(usize) + Send + Sync + 'static) {
    let helpers = num_threads().min(parts).saturating_sub(1);
    let (next, busy) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let shared = Arc::new(Shared { parts, work, next, busy, lock: Mutex::new(()), idle: Condvar::new() });
    let _end = End(&shared);
    for _ in 0..helpers {
        let shared = Arc::clone(&shared);
        rayon::spawn(move || shared.work());
    }
    shared.work();
}

/// Whether so many bytes are worth another thread.
pub(super) fn is_shared(bytes: usize) -> bool {
    bytes >= PARALLEL_BYTES && num_threads() > 1
}

/// Calls `copy` with each part and both pointers, on several threads if there are several parts.
pub(super) fn for_each(
    parts: Vec<CopyPlan>,
    dst: *mut u8,
    src: *const u8,
    copy: impl Fn(&CopyPlan, *mut u8, *const u8) + Send + Sync + 'static,
) {
    if let [part] = &parts[..] {
        return copy(part, dst, src);
    }
    let ends = Ends(dst, src);
    share(parts.len(), move |number| {
        let (dst, src) = ends.pointers();
        copy(&parts[number], dst, src);
    });
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;
    use crate::layout::{Layout, Order};

    /// A copy of so many bytes, in more parts than there are threads.
    fn copied(len: usize) -> bool {
        let layout = Layout::contiguous(&[len], Order::C).unwrap();
        let plan = CopyPlan::new(&layout, &layout).unwrap();
        let parts = plan.parts(16, 1, &|_| 0);
        let source: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
        let mut target = vec![0_u8; len];
        for_each(parts, target.as_mut_ptr(), source.as_ptr(), |part, dst, src| {
            let from = src.wrapping_offset(part.src_start);
            // SAFETY: the parts are dense runs of both vectors, none twice.
            unsafe { dst.wrapping_offset(part.dst_start).copy_from_nonoverlapping(from, part.size()) };
        });
        target == source
    }

    #[test]
    fn all_parts_are_done_in_the_end() {
        assert!((1..200).all(|len| copied(len * 97)));
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
        let outside = thread::spawn(|| copied(1 << 20));
        assert!(outside.join().unwrap());
        done.wait();
    }
}
