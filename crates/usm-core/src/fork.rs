//! State across `fork`: a child has a copy of all memory, but only the thread that forked.
//!
//! A lock that another thread of the parent held at the fork stays locked in the child for ever, and the guarded state may be half
//! changed. Three types keep state that other threads change:
//!
//! | type | in a child | for |
//! |---|---|---|
//! | [`ForkMutex`] | unchanged: a fork waits until no thread holds the lock | state that the child needs, locked for a short time |
//! | [`PerProcess`] | new; the parent's value is leaked | state of the parent's threads and work; locks that are held for long |
//! | [`ForkOnce`] | there or not there, never half there | values that are made at the first use |
//!
//! Each copy of this library in a process registers one handler with `pthread_atfork`. The rule for holders: a thread that holds a
//! `ForkMutex` waits only for another `ForkMutex`. It never waits for an event, a thread, or the lock of a language's interpreter,
//! which the forking thread may hold. It calls no code that could wait: no code or destructor of users, and only
//! [`same`](crate::backend::Backend::same) of a backend. So no fork waits for ever.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::process;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::os;

/// 0 until the handlers are registered, 1 from then on, and one more in each forked child.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// A number that differs in each forked child. Never 0.
#[inline]
pub(crate) fn generation() -> u64 {
    match GENERATION.load(Ordering::Relaxed) {
        0 => register(),
        known => known,
    }
}

/// Whether [`generation`] gave that number in this process.
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

/// The pause between two checks for the end of a fork.
const PAUSE: Duration = Duration::from_micros(50);

/// Threads that hold a `ForkMutex`.
static HOLDERS: AtomicUsize = AtomicUsize::new(0);
/// Forks under way.
static FORKS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// How many `ForkMutex`es this thread holds. Without a destructor, so that it is there as long as the thread.
    static HELD: Cell<usize> = const { Cell::new(0) };
    /// Whether this thread forks, and the functions to call after the fork.
    static FORKING: Cell<Option<Hooks>> = const { Cell::new(None) };
}

/// Keeps forks from happening, until it is dropped.
#[derive(Debug)]
struct NoFork;

impl NoFork {
    fn new() -> Self {
        let held = HELD.get();
        if held == 0 {
            generation(); // registers
            // Sequentially consistent on both sides: the fork sees the holder, or the holder sees the fork.
            HOLDERS.fetch_add(1, Ordering::SeqCst);
            while FORKS.load(Ordering::SeqCst) != 0 {
                HOLDERS.fetch_sub(1, Ordering::SeqCst);
                // Copying the page tables of a large process takes many milliseconds.
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

/// Runs a short job that no fork may interrupt. The [rule for holders](self) holds for `job`, too.
pub fn hold_off<T>(job: impl FnOnce() -> T) -> T {
    let _no_fork = NoFork::new();
    job()
}

/// Starts a thread. All threads of this library are started here or within [`hold_off`].
///
/// The C library reuses the stacks of finished threads. Assume a fork while another thread is about to reuse a stack. The child
/// then frees the memory of that stack a second time as soon as it starts a thread itself. `get_cached_stack` of glibc 2.36
/// does so: it unlocks the list of stacks before it frees.
///
/// In a Rust program, each thread also takes a lock of Rust's standard library when it begins and ends. A child that was forked
/// at that moment cannot start threads. A library in a program of another language does not have that lock.
///
/// # Errors
/// The system has no more threads.
pub fn spawn<T: Send + 'static>(
    thread: thread::Builder,
    job: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    hold_off(|| thread.spawn(job))
}

/// A lock that is open in a forked child, over a value that is whole there: a fork waits until no thread holds one. See the
/// [rule for holders](self).
#[derive(Default)]
pub struct ForkMutex<T: ?Sized> {
    value: Mutex<T>,
}

/// Access to the value of a [`ForkMutex`].
#[derive(Debug)]
pub struct ForkMutexGuard<'a, T: ?Sized> {
    /// Dropped before forks may happen again.
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
    /// Waits until no other thread holds it. A panic of a holder does not poison the lock: the value must be whole wherever a
    /// panic can happen.
    pub fn lock(&self) -> ForkMutexGuard<'_, T> {
        let no_fork = NoFork::new();
        ForkMutexGuard { value: self.value.lock().unwrap_or_else(PoisonError::into_inner), _no_fork: no_fork }
    }

    /// The value, which no other thread reaches.
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

/// A value that is set once. A forked child finds it set or not set, never half set.
///
/// No lock is held while the value is made. Several threads may each make a value at the same time; one of them stays.
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
    /// The error of `make`.
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
        // A late value is dropped after the lock, since its destructor may run any code.
        set.is_ok()
    }
}

impl<T> Default for ForkOnce<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// A value per process: each forked child makes its own at the first use, and leaks the value of the parent.
///
/// The thread that makes the value of a child is any that asks first, and another one may drop it. So threads share a `PerProcess` only if
/// the value may move between them, as with a [`Mutex`]:
///
/// ```compile_fail,E0277
/// fn share<T: Sync>() {}
/// share::<usm_core::fork::PerProcess<std::sync::MutexGuard<'static, u8>>>(); // is `Sync`, but not `Send`
/// ```
pub struct PerProcess<T> {
    /// Generation of the process that `first` belongs to; 0 until the first use.
    generation: AtomicU64,
    /// Invariant L2: dropped by the destructor alone.
    first: ManuallyDrop<T>,
    /// The value of a child. Invariant L1: null, or a box that only the destructor of this value frees.
    later: AtomicPtr<Later<T>>,
    /// An `AtomicPtr` is `Sync` whatever it points to; a `Mutex` is so only where the value may move between threads.
    moves: PhantomData<Mutex<T>>,
}

struct Later<T> {
    generation: u64,
    value: T,
}

impl<T> PerProcess<T> {
    /// The value of the first process that uses it.
    pub const fn new(first: T) -> Self {
        let later = AtomicPtr::new(ptr::null_mut());
        Self { generation: AtomicU64::new(0), first: ManuallyDrop::new(first), later, moves: PhantomData }
    }
}

impl<T: Default> PerProcess<T> {
    /// The value of this process.
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
                // SAFETY: the box from `into_raw` above, which is not the one of L1.
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
            // SAFETY: L2: this is the destructor.
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

/// The hooks of all layers.
type Hooks = [Option<ForkHooks>; 4];

/// Functions of a layer above for a fork. The forking thread calls them.
#[derive(Clone, Copy, Debug)]
pub struct ForkHooks {
    /// Called before the fork waits for holders of a [`ForkMutex`].
    pub before: fn(),
    /// Called after the fork, in both processes.
    pub after: fn(),
    /// Called in the child, before `after`.
    pub in_child: fn(),
}

/// Those of pages that other processes map, those of the crate above, those of its sockets, and those of leases.
static HOOKS: [ForkOnce<ForkHooks>; 4] = [const { ForkOnce::new() }; 4];

fn hooks() -> Hooks {
    HOOKS.each_ref().map(|hooks| hooks.get().copied())
}

/// As [`set_fork_hooks`], for pages that other processes map.
#[cfg(not(windows))]
pub(crate) fn set_hooks_of_pages(hooks: ForkHooks) -> bool {
    HOOKS[0].set(hooks)
}

/// Calls these functions at each fork from now on. The first call in a process counts; later calls return `false`.
pub fn set_fork_hooks(hooks: ForkHooks) -> bool {
    HOOKS[1].set(hooks)
}

/// As [`set_fork_hooks`], for sockets at which other processes ask.
pub fn set_hooks_of_sockets(hooks: ForkHooks) -> bool {
    HOOKS[2].set(hooks)
}

/// As [`set_fork_hooks`], for files of other processes that a child does not hold.
#[cfg(all(not(windows), any(feature = "sycl", feature = "cuda")))]
pub(crate) fn set_hooks_of_leases(hooks: ForkHooks) -> bool {
    HOOKS[3].set(hooks)
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
            os::at_fork(before, in_parent, in_child);
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
        let hooks = hooks();
        hooks.iter().flatten().for_each(|hooks| (hooks.before)());
        FORKS.fetch_add(1, Ordering::SeqCst);
        // This thread may be a holder. It does not wait for itself.
        while HOLDERS.load(Ordering::SeqCst) != own_holders() {
            thread::yield_now();
        }
        // Hooks are set by holders only, so they stay as they are until this fork is over.
        if HOOKS.iter().zip(&hooks).all(|(now, then)| now.get().is_some() == then.is_some()) {
            FORKING.set(Some(hooks));
            return;
        }
        FORKS.fetch_sub(1, Ordering::SeqCst);
    }
}

extern "C" fn in_parent() {
    // Some C libraries call this even if the handlers were registered too late for `before`.
    let Some(hooks) = FORKING.take() else { return };
    FORKS.fetch_sub(1, Ordering::SeqCst);
    hooks.iter().flatten().for_each(|hooks| (hooks.after)());
}

extern "C" fn in_child() {
    // The first number belongs to the process that registered the handlers.
    GENERATION.store(GENERATION.load(Ordering::Relaxed).max(1) + 1, Ordering::Relaxed);
    // The child does not have the threads that other forks or waits have counted.
    FORKS.store(0, Ordering::SeqCst);
    HOLDERS.store(own_holders(), Ordering::SeqCst);
    let prepared = FORKING.take().unwrap_or_else(hooks);
    for hooks in prepared.iter().flatten() {
        (hooks.in_child)();
        (hooks.after)();
    }
}

fn own_holders() -> usize {
    usize::from(HELD.get() > 0)
}

#[cfg(all(test, not(windows), feature = "testing"))]
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
