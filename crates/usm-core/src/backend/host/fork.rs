//! Knows whether this process was forked, since a child has no worker threads and maybe a lock that nobody opens.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

static GENERATION: AtomicU64 = AtomicU64::new(0);

/// A number that is another one in each forked child.
#[inline]
pub(crate) fn generation() -> u64 {
    if !REGISTER.is_completed() {
        register();
    }
    GENERATION.load(Ordering::Relaxed)
}

static REGISTER: Once = Once::new();

#[cold]
fn register() {
    REGISTER.call_once(|| {
        // SAFETY: the handler only adds to a number, which is allowed after a fork; it lives as long as this code.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}
