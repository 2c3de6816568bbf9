//! Knows whether this process was forked, since a child has no worker threads and maybe a lock that nobody opens; and lets a fork wait for
//! what a child has to find whole.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, Once, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// 0 until forks are noticed: the one number that is never given out, so that one look tells both.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// A number that is another one in each forked child.
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

/// A lock that a forked child finds open, and what it guards whole: a fork waits until nobody holds one. To be held for a short time, and by
/// no thread together with another one.
#[derive(Debug)]
pub struct ForkMutex<T> {
    value: Mutex<T>,
}

/// Opens the lock before it lets a fork happen.
#[derive(Debug)]
pub struct ForkMutexGuard<'a, T> {
    value: MutexGuard<'a, T>,
    _no_fork: RwLockReadGuard<'static, ()>,
}

impl<T> ForkMutex<T> {
    /// An open one.
    pub const fn new(value: T) -> Self {
        Self { value: Mutex::new(value) }
    }

    /// Waits for who holds it. A panic while it was held changes nothing: what it guards must be whole wherever one can happen.
    pub fn lock(&self) -> ForkMutexGuard<'_, T> {
        generation(); // registers
        let no_fork = FORK.read().unwrap_or_else(PoisonError::into_inner);
        ForkMutexGuard { value: self.value.lock().unwrap_or_else(PoisonError::into_inner), _no_fork: no_fork }
    }
}

impl<T> Deref for ForkMutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for ForkMutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

/// Held by who changes something that a child uses, and alone by a fork until both processes go on.
static FORK: RwLock<()> = RwLock::new(());

thread_local! {
    /// From before a fork of this thread to after it.
    static FORKING: Cell<Option<RwLockWriteGuard<'static, ()>>> = const { Cell::new(None) };
}

/// What [`around_forks`] was given.
static AROUND: OnceLock<Around> = OnceLock::new();

struct Around {
    before: fn(),
    after: fn(),
}

/// Calls two functions on the thread that forks, from now on: one before each fork, and one after it in both processes. For the one lock of
/// a layer above that would take longer as a [`ForkMutex`], which is in `usm-memory`: false, and no call, when somebody was here before.
#[doc(hidden)]
pub fn around_forks(before: fn(), after: fn()) -> bool {
    generation(); // registers
    AROUND.set(Around { before, after }).is_ok()
}

/// What [`in_forked_children`] was given.
static IN_CHILD: OnceLock<fn()> = OnceLock::new();

/// Calls a function in each forked child from now on, on its only thread, before anything else happens there: for what that thread must
/// forget. False, and no call, when somebody was here before.
#[doc(hidden)]
pub fn in_forked_children(tell: fn()) -> bool {
    generation(); // registers
    IN_CHILD.set(tell).is_ok()
}

#[cold]
fn register() -> u64 {
    static REGISTER: Once = Once::new();
    REGISTER.call_once(|| {
        // SAFETY: the handlers take a lock of ours, give it back on either side, and add to a number; they live as long as this code.
        unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
        // To the handlers of a fork meanwhile, which may have counted already.
        GENERATION.fetch_add(1, Ordering::Relaxed);
    });
    GENERATION.load(Ordering::Relaxed)
}

extern "C" fn before() {
    // A thread that ends has nothing left to keep the lock in, and forks without.
    _ = FORKING.try_with(|held| held.set(Some(FORK.write().unwrap_or_else(PoisonError::into_inner))));
    if let Some(around) = AROUND.get() {
        (around.before)();
    }
}

extern "C" fn in_parent() {
    if let Some(around) = AROUND.get() {
        (around.after)();
    }
    _ = FORKING.try_with(Cell::take);
}

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    if let Some(tell) = IN_CHILD.get() {
        tell();
    }
    in_parent();
}
