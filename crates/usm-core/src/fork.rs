//! What a forked child finds: a copy of all memory, but no thread other than the one that forked.
//!
//! A lock that another thread of the parent held at the fork stays locked in the child for ever, and what it guards may be half changed.
//! So state that other threads change is kept in one of three ways:
//!
//! | type | in a child | for |
//! |---|---|---|
//! | [`ForkMutex`] | as it was: a fork waits until nobody holds the lock | what the child needs, locked for a short time |
//! | [`PerProcess`] | made anew, and what the parent had is leaked | what belongs to the parent's threads and work; locks that are held for long |
//! | [`ForkOnce`] | there or not there, never half there | values that are made at the first use |
//!
//! One handler is registered with `pthread_atfork` for each copy of this library in a process. A thread that holds a `ForkMutex` waits
//! for nothing but a `ForkMutex`: neither for an event, nor for another thread, nor for the lock of a language's interpreter, which the
//! thread that forks may hold. It calls nothing that could: no code of users, no destructor of theirs, and of a backend only
//! [`same`](crate::backend::Backend::same). So a fork never waits for ever, and with it the parent.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::process;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// 0 until the handlers are registered, 1 from then on, and one more in each forked child.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// A number that is another one in each forked child. Never 0.
#[inline]
pub(crate) fn generation() -> u64 {
    match GENERATION.load(Ordering::Relaxed) {
        0 => register(),
        known => known,
    }
}

/// Whether this is the process, or the forked child, in which [`generation`] gave that number.
#[inline]
pub(crate) fn is_generation(number: u64) -> bool {
    GENERATION.load(Ordering::Relaxed) == number
}

/// Whether this is the child, or a child of a child, of a process that used this library.
#[must_use]
#[inline]
pub fn is_forked_child() -> bool {
    generation() > 1
}

/// Between two looks at whether a fork is over.
const PAUSE: Duration = Duration::from_micros(50);

/// Threads that hold a `ForkMutex`.
static HOLDERS: AtomicUsize = AtomicUsize::new(0);
/// Forks under way.
static FORKS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// How many `ForkMutex`es this thread holds. Without a destructor, so that it is there as long as the thread.
    static HELD: Cell<usize> = const { Cell::new(0) };
    /// Whether this thread forks, and what is to be called after it.
    static FORKING: Cell<Option<Option<ForkHooks>>> = const { Cell::new(None) };
}

/// Keeps forks from happening, until it is dropped.
#[derive(Debug)]
struct NoFork;

impl NoFork {
    fn new() -> Self {
        let held = HELD.get();
        if held == 0 {
            generation(); // registers
            // Sequentially consistent, as is a fork: either it sees the holder or the holder sees it.
            HOLDERS.fetch_add(1, Ordering::SeqCst);
            while FORKS.load(Ordering::SeqCst) != 0 {
                HOLDERS.fetch_sub(1, Ordering::SeqCst);
                // To copy the tables of a large process takes many milliseconds.
                while FORKS.load(Ordering::SeqCst) != 0 {
                    thread::sleep(PAUSE);
                }
                HOLDERS.fetch_add(1, Ordering::SeqCst);
            }
        }
        HELD.set(held + 1);
        Self
    }
}

impl Drop for NoFork {
    fn drop(&mut self) {
        let held = HELD.get() - 1;
        HELD.set(held);
        if held == 0 {
            HOLDERS.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Does something short that a fork must not come in between of. The [rule for holders](self) is that of `job`, too.
pub fn hold_off<T>(job: impl FnOnce() -> T) -> T {
    let _no_fork = NoFork::new();
    job()
}

/// Starts a thread. All threads of this library are started here or within [`hold_off`].
///
/// The C library reuses the stacks of threads that have ended. A child that was forked while
/// another thread was about to reuse one frees
/// what belonged to it a second time, as soon as it starts a thread itself (seen in
/// `get_cached_stack` of glibc 2.36, which unlocks the list of
/// stacks before it frees).
///
/// Rust's standard library has a lock of its own, which each thread takes when it begins and when
/// it ends. It has that lock in Rust
/// programs only, not in a library of another language's program. A child that was forked in between cannot start threads.
///
/// # Errors
/// The system has no more threads.
pub fn spawn<T: Send + 'static>(
    thread: thread::Builder,
    job: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    hold_off(|| thread.spawn(job))
}

/// A lock that a forked child finds unlocked, and what it guards whole: a fork waits until nobody holds one. See the
/// [rule for holders](self).
#[derive(Default)]
pub struct ForkMutex<T: ?Sized> {
    value: Mutex<T>,
}

/// Access to the value of a [`ForkMutex`].
#[derive(Debug)]
pub struct ForkMutexGuard<'a, T: ?Sized> {
    /// Unlocked before forks may happen.
    value: MutexGuard<'a, T>,
    _no_fork: NoFork,
}

impl<T> ForkMutex<T> {
    /// An unlocked one.
    pub const fn new(value: T) -> Self {
        Self { value: Mutex::new(value) }
    }
}

impl<T: ?Sized> ForkMutex<T> {
    /// Waits until no other thread holds it. A panic of a holder changes nothing: what the lock
    /// guards must be whole wherever one can
    /// happen.
    pub fn lock(&self) -> ForkMutexGuard<'_, T> {
        let no_fork = NoFork::new();
        ForkMutexGuard { value: self.value.lock().unwrap_or_else(PoisonError::into_inner), _no_fork: no_fork }
    }

    /// The value, which nobody else reaches.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for ForkMutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ForkMutex").field(&&*self.lock()).finish()
    }
}

impl<T: ?Sized> Deref for ForkMutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: ?Sized> DerefMut for ForkMutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

/// A value that is set once, which a forked child finds set or not set.
///
/// Nothing is locked while the value is made. Threads that need it at the same time may each make one, of which one stays.
#[derive(Debug)]
pub struct ForkOnce<T>(OnceLock<T>);

impl<T> ForkOnce<T> {
    /// One that is not set.
    #[must_use]
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The value, if it is set.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.0.get()
    }

    /// The value; `make` makes it unless it is set.
    #[inline]
    pub fn get_or_init(&self, make: impl Fn() -> T) -> &T {
        loop {
            if let Some(value) = self.0.get() {
                return value;
            }
            self.set(make());
        }
    }

    /// The value; `make` makes it unless it is set.
    ///
    /// # Errors
    /// That of `make`.
    pub fn get_or_try_init<E>(&self, make: impl Fn() -> Result<T, E>) -> Result<&T, E> {
        loop {
            if let Some(value) = self.0.get() {
                return Ok(value);
            }
            self.set(make()?);
        }
    }

    /// Sets the value; `false` when it was set before.
    #[cold]
    pub fn set(&self, value: T) -> bool {
        let no_fork = NoFork::new();
        let set = self.0.set(value);
        drop(no_fork);
        // A value that came too late is dropped from here on, where its destructor may do anything.
        set.is_ok()
    }
}

impl<T> Default for ForkOnce<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// A value of which each forked child has one of its own, made at the first use there. That of the parent is leaked in the child.
pub struct PerProcess<T> {
    /// Of the process that `first` belongs to; 0 until its first use.
    generation: AtomicU64,
    first: ManuallyDrop<T>,
    /// That of a child. Invariant L1: null, or a box that nobody but the destructor of this value frees.
    later: AtomicPtr<Later<T>>,
}

struct Later<T> {
    generation: u64,
    value: T,
}

impl<T> PerProcess<T> {
    /// The value of the process that first uses it.
    pub const fn new(first: T) -> Self {
        let later = AtomicPtr::new(ptr::null_mut());
        Self { generation: AtomicU64::new(0), first: ManuallyDrop::new(first), later }
    }
}

impl<T: Default> PerProcess<T> {
    /// That of this process.
    #[inline]
    pub fn get(&self) -> &T {
        let now = generation();
        if self.generation.load(Ordering::Relaxed) == now { &self.first } else { self.find(now) }
    }

    #[cold]
    fn find(&self, now: u64) -> &T {
        let of = self.generation.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
        if of.unwrap_or_else(|of| if of == now { 0 } else { of }) == 0 {
            return &self.first;
        }
        loop {
            let known = self.later.load(Ordering::Acquire);
            // SAFETY: L1.
            if let Some(later) = unsafe { known.as_ref() }
                && later.generation == now
            {
                return &later.value;
            }
            let new = Box::into_raw(Box::new(Later { generation: now, value: T::default() }));
            let set = self.later.compare_exchange(known, new, Ordering::AcqRel, Ordering::Acquire);
            if set.is_err() {
                // SAFETY: the box from above, which nobody else knows.
                drop(unsafe { Box::from_raw(new) });
            }
        }
    }
}

impl<T> Drop for PerProcess<T> {
    fn drop(&mut self) {
        let now = generation();
        let of = *self.generation.get_mut();
        if of == 0 || of == now {
            // SAFETY: dropped here only.
            unsafe { ManuallyDrop::drop(&mut self.first) };
        }
        let later = *self.later.get_mut();
        // SAFETY: L1.
        if unsafe { later.as_ref() }.is_some_and(|later| later.generation == now) {
            // SAFETY: L1: this is the destructor.
            drop(unsafe { Box::from_raw(later) });
        }
    }
}

impl<T: Default> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> fmt::Debug for PerProcess<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PerProcess")
    }
}

/// What a layer above does when a process forks, on the thread that forks.
#[derive(Clone, Copy, Debug)]
pub struct ForkHooks {
    /// Before the fork, and before it waits for holders of a [`ForkMutex`].
    pub before: fn(),
    /// After it, in both processes.
    pub after: fn(),
    /// In the child, before `after`.
    pub in_child: fn(),
}

static HOOKS: ForkOnce<ForkHooks> = ForkOnce::new();

/// Calls these functions from now on, at each fork. The first ones of the process count; `false` for later ones.
pub fn set_fork_hooks(hooks: ForkHooks) -> bool {
    HOOKS.set(hooks)
}

/// The number of the process whose thread registers the handlers.
static REGISTRAR: AtomicU32 = AtomicU32::new(0);

#[cold]
fn register() -> u64 {
    let this = process::id();
    loop {
        let registrar = REGISTRAR.load(Ordering::Acquire);
        // In a child, the thread that was about to register may be missing.
        if registrar != this
            && REGISTRAR.compare_exchange(registrar, this, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        {
            // SAFETY: the handlers do not unwind, and live as long as this code.
            unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
            _ = GENERATION.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed);
        }
        match GENERATION.load(Ordering::Relaxed) {
            0 => thread::yield_now(),
            known => return known,
        }
    }
}

extern "C" fn before() {
    loop {
        let hooks = HOOKS.get();
        if let Some(hooks) = hooks {
            (hooks.before)();
        }
        FORKS.fetch_add(1, Ordering::SeqCst);
        // This thread may be a holder itself, and then it does not wait for itself.
        while HOLDERS.load(Ordering::SeqCst) != own_holders() {
            thread::yield_now();
        }
        // A holder sets hooks: now they stay as they are until this fork is over.
        if hooks.is_some() == HOOKS.get().is_some() {
            FORKING.set(Some(hooks.copied()));
            return;
        }
        FORKS.fetch_sub(1, Ordering::SeqCst);
    }
}

extern "C" fn in_parent() {
    // Some C libraries call this where the handlers were registered after `before` would have been called.
    let Some(hooks) = FORKING.take() else { return };
    FORKS.fetch_sub(1, Ordering::SeqCst);
    if let Some(hooks) = hooks {
        (hooks.after)();
    }
}

extern "C" fn in_child() {
    // The first number is that of the process which has registered.
    GENERATION.store(GENERATION.load(Ordering::Relaxed).max(1) + 1, Ordering::Relaxed);
    // Threads that other forks or waits have counted are missing here.
    FORKS.store(0, Ordering::SeqCst);
    HOLDERS.store(own_holders(), Ordering::SeqCst);
    let prepared = FORKING.take();
    if let Some(hooks) = prepared.unwrap_or_else(|| HOOKS.get().copied()) {
        (hooks.in_child)();
        (hooks.after)();
    }
}

fn own_holders() -> usize {
    usize::from(HELD.get() > 0)
}

#[cfg(all(test, feature = "testing"))]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::thread;

    use super::*;
    use crate::testing::forks::{fork_beside, one};

    #[test]
    fn a_child_has_a_value_of_its_own() {
        static COUNT: PerProcess<AtomicUsize> = PerProcess::new(AtomicUsize::new(0));
        COUNT.get().store(5, Ordering::Relaxed);
        let local = PerProcess::<Mutex<Vec<u8>>>::default();
        let locked = local.get().lock().unwrap();
        let grandchild = || COUNT.get().load(Ordering::Relaxed) == 0 && local.get().try_lock().is_ok();
        let child = || {
            let is_new = COUNT.get().load(Ordering::Relaxed) == 0 && local.get().try_lock().is_ok();
            COUNT.get().store(7, Ordering::Relaxed);
            local.get().lock().unwrap().push(1);
            is_new
                && COUNT.get().load(Ordering::Relaxed) == 7
                && is_forked_child()
                && one(&grandchild).is_ok()
        };
        one(&child).unwrap();
        assert_eq!(COUNT.get().load(Ordering::Relaxed), 5);
        drop(locked);
    }

    #[test]
    fn all_threads_of_a_child_find_one_value() {
        let values = PerProcess::<AtomicUsize>::default();
        values.get();
        let count = || {
            thread::scope(|scope| {
                (0..4).for_each(|_| drop(scope.spawn(|| values.get().fetch_add(1, Ordering::Relaxed))));
            });
            values.get().load(Ordering::Relaxed) == 4
        };
        for _ in 0..100 {
            one(&count).unwrap();
        }
    }

    #[test]
    fn a_child_finds_locks_open_and_values_whole() {
        let (outer, inner) = (ForkMutex::new([0_u32; 64]), ForkMutex::new([0_u32; 64]));
        let step = |values: &mut [u32]| values.iter_mut().for_each(|value| *value = value.wrapping_add(1));
        let is_whole = |values: &[u32]| values.iter().all(|value| *value == values[0]);
        let busy = || {
            let mut outer = outer.lock();
            step(&mut *outer);
            step(&mut *inner.lock());
        };
        let child = || is_whole(&*outer.lock()) && is_whole(&*inner.lock());
        fork_beside(1000, &[&busy, &busy, &|| step(&mut *inner.lock())], &child).unwrap();
    }

    #[test]
    fn a_fork_waits_for_who_holds_it_off() {
        let (inside, is_over) = (Barrier::new(2), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                hold_off(|| {
                    inside.wait();
                    thread::sleep(Duration::from_millis(20));
                    is_over.store(true, Ordering::Relaxed);
                });
            });
            inside.wait();
            one(&|| is_over.load(Ordering::Relaxed)).unwrap();
        });
    }

    #[test]
    fn a_holder_may_fork() {
        let lock = ForkMutex::new(1);
        let held = lock.lock();
        one(&|| *held == 1 && *ForkMutex::new(2).lock() == 2).unwrap();
        drop(held);
        assert_eq!(*lock.lock(), 1);
    }

    #[test]
    fn a_child_finds_first_values_set_or_not_set() {
        let newest = AtomicPtr::new(Box::into_raw(Box::new(ForkOnce::new())));
        // SAFETY: a leaked box.
        let known = || unsafe { &*newest.load(Ordering::Acquire) };
        let busy = || {
            thread::sleep(PAUSE); // so that few are leaked
            newest.store(Box::into_raw(Box::new(ForkOnce::new())), Ordering::Release);
            known().get_or_init(|| 7);
        };
        fork_beside(1000, &[&busy, &busy], &|| *known().get_or_init(|| 7) == 7).unwrap();
        assert!(!known().set(8) || *known().get_or_init(|| 7) == 8);
    }
}
