//! A lock for what one thread uses all the time and others hardly ever.

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// A value behind a flag. Closing it is one exchange and opening it one store, half of what a `Mutex` takes; who finds it closed does
/// something else or comes again.
pub(super) struct Latch<T> {
    is_held: AtomicBool,
    /// Invariant H1: only reached through the one [`Held`] that has set the flag.
    value: UnsafeCell<T>,
}

// SAFETY: H1: one thread at a time reaches the value.
unsafe impl<T: Send> Sync for Latch<T> {}

/// Access to the value of a [`Latch`], which is let go when this is dropped. Nothing slow or foreign happens meanwhile.
/// It is `Send` and `Sync` as an exclusive reference is: only where the value is.
pub(super) struct Held<'a, T>(&'a Latch<T>, PhantomData<&'a mut T>);

/// Compiles only where `Held<Cell<u8>>` is not `Sync`: with two fitting implementations the path is ambiguous.
const _: fn() = || {
    trait NotSync<A> {
        fn check() {}
    }
    impl<T> NotSync<()> for T {}
    impl<T: Sync> NotSync<u8> for T {}
    <Held<'static, std::cell::Cell<u8>> as NotSync<_>>::check();
};

impl<T> Latch<T> {
    pub(super) const fn new(value: T) -> Self {
        Self { is_held: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// `None` where another thread has it.
    #[inline(always)]
    pub(super) fn try_hold(&self) -> Option<Held<'_, T>> {
        (!self.is_held.swap(true, Ordering::Acquire)).then(|| Held(self, PhantomData))
    }

    /// Comes again until no other thread has it.
    pub(super) fn hold(&self) -> Held<'_, T> {
        loop {
            if let Some(held) = self.try_hold() {
                return held;
            }
            // A thread keeps it for some nanoseconds, unless the system has taken its processor away.
            thread::yield_now();
        }
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: H1: this has set the flag.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Held<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: H1: this has set the flag, and is borrowed as a whole.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Held<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.is_held.store(false, Ordering::Release);
    }
}

impl<T> fmt::Debug for Latch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Latch")
    }
}
