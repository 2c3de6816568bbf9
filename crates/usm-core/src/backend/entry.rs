//! The entry guard of a driver or runtime outside of this library: a process enters neither after a `fork` nor at its end.
//!
//! A forked child has no threads of the runtime, and perhaps locked locks. At the end of a process the runtime shuts down while
//! other threads may be inside of it, and they crash. So this module counts the calls. Before the shutdown it lets no more calls in,
//! and waits for the calls inside and for work under way. It acts at two moments, in the order of the C library:
//!
//! 1. The destructors of the ending thread's own variables run first. They are early enough for all cases, but the thread has such a
//!    variable only if it was ever inside.
//! 2. Exit handlers run from the youngest to the oldest, those of the runtime and its drivers among them. They are too late for the
//!    handlers of libraries that a driver loads in a call under way, such as the first use of its compiler.

use std::ops::Deref;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::fork::ForkOnce;
use crate::unwind::contained;
use crate::{Error, Result, fork, os};

/// The longest wait for calls inside at the end of the process. A kernel can run for ever.
const PATIENCE: Duration = Duration::from_secs(5);
/// The pause between two checks.
const PAUSE: Duration = Duration::from_micros(100);

/// Number of calls inside a runtime, for all backends of this copy of the library.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
/// Set when the process ends. No more calls are let in then.
static ENDING: AtomicBool = AtomicBool::new(false);
/// The thread that ends the process.
static ENDER: AtomicU64 = AtomicU64::new(0);
/// Waits for work under way, for at most that time.
static FINISH: ForkOnce<fn(Duration)> = ForkOnce::new();
/// Set while the thread that ends the process calls that.
static FINISHING: AtomicBool = AtomicBool::new(false);
/// Number of the process whose threads [`INSIDE`] counts.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// The functions of a runtime, in the process that loaded it.
#[derive(Debug)]
pub(super) struct Entry<T> {
    functions: T,
    /// Generation of the process that loaded the runtime.
    generation: u64,
}

/// The functions of a runtime for one call into it, which ends with this value.
pub(super) struct Inside<'a, T>(&'a T);

/// The part that is loaded before a call of [`Entry::wait_at_exit`]. Each part brings libraries with handlers of their own.
#[derive(Clone, Copy)]
#[cfg_attr(
    not(all(feature = "sycl", feature = "cuda")),
    allow(dead_code, reason = "a backend that is left out loads nothing")
)]
pub(super) enum Loaded {
    /// The table of functions of SYCL and the libraries that it needs.
    Table,
    /// The drivers of the devices.
    Devices,
    /// The libraries of a queue.
    Queue,
    /// The compiler of a device.
    Kernels,
    /// The CUDA driver.
    CudaDriver,
    /// The libraries of a CUDA context.
    CudaContext,
    /// The compiler of the CUDA driver.
    CudaKernels,
}

impl<T> Entry<T> {
    /// `loaded`: the library of the functions, which was just loaded.
    pub(super) fn new(functions: T, loaded: Loaded) -> Self {
        let entry = Self { functions, generation: fork::generation() };
        entry.wait_at_exit(loaded);
        entry
    }

    /// The functions, for code that calls none of them.
    #[cfg(feature = "sycl")]
    pub(super) fn functions(&self) -> &T {
        &self.functions
    }

    /// Whether calls are let in.
    pub(super) fn check(&self) -> Result<()> {
        if self.is_forked() {
            return Err(Error::ForkedRuntime);
        }
        let is_open = !ENDING.load(Ordering::SeqCst) || (FINISHING.load(Ordering::SeqCst) && is_ender());
        if is_open { Ok(()) } else { Err(Error::ProcessEnding) }
    }

    /// Whether this is a child of the process that loaded the runtime.
    pub(super) fn is_forked(&self) -> bool {
        fork::generation() != self.generation
    }

    /// Counts the caller in, if calls are let in.
    pub(super) fn enter(&self) -> Result<Inside<'_, T>> {
        let _ = AT_END.try_with(|_| ()); // gone where the thread is at its end
        let inside = Inside::of(&self.functions);
        self.check()?;
        Ok(inside)
    }

    /// Counts the caller in for a wait for work on its memory. At the end of the process the call never returns, since the work goes
    /// on, unless the caller is the thread that ends the process.
    pub(super) fn enter_to_wait(&self) -> Result<Inside<'_, T>> {
        loop {
            match self.enter() {
                Err(Error::ProcessEnding) if !is_ender() => thread::park(),
                entered => return entered,
            }
        }
    }

    /// Counts the caller in, for facts that a live object has in a forked child, too.
    pub(super) fn look(&self) -> Inside<'_, T> {
        Inside::of(&self.functions)
    }

    /// Makes the end of the process wait for calls. Libraries that are loaded later shut down earlier, so the backend calls this after
    /// each load.
    pub(super) fn wait_at_exit(&self, loaded: Loaded) {
        static STEPS: [Once; 7] = [const { Once::new() }; 7];
        STEPS[loaded as usize].call_once(|| {
            GENERATION.store(self.generation, Ordering::Relaxed);
            os::at_exit(close);
        });
    }
}

impl<'a, T> Inside<'a, T> {
    fn of(functions: &'a T) -> Self {
        // Sequentially consistent on both sides: the handler sees the caller, or the caller sees the handler.
        INSIDE.fetch_add(1, Ordering::SeqCst);
        Self(functions)
    }
}

impl<T> Deref for Inside<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0
    }
}

impl<T> Drop for Inside<'_, T> {
    fn drop(&mut self) {
        INSIDE.fetch_sub(1, Ordering::SeqCst);
    }
}

fn is_ender() -> bool {
    ENDER.load(Ordering::SeqCst) == os::this_thread()
}

/// Has the end of the process wait for work under way: a runtime that shuts down under it crashes.
#[cfg(feature = "sycl")]
pub(crate) fn finish_with(finish: fn(Duration)) {
    FINISH.set(finish);
}

/// Lets no more calls in, and waits for the calls inside and for work under way.
extern "C" fn close() {
    _ = contained("end of the process", close_contained);
}

fn close_contained() {
    // In a forked child the number counts threads of the parent.
    let is_forked = fork::generation() != GENERATION.load(Ordering::Relaxed);
    if is_forked || ENDING.load(Ordering::SeqCst) {
        return;
    }
    ENDER.store(os::this_thread(), Ordering::SeqCst);
    ENDING.store(true, Ordering::SeqCst);
    if os::has_lost_threads() {
        return;
    }
    let begin = Instant::now();
    while INSIDE.load(Ordering::SeqCst) != 0 && begin.elapsed() < PATIENCE {
        thread::sleep(PAUSE);
    }
    if INSIDE.load(Ordering::SeqCst) == 0
        && let Some(finish) = FINISH.get()
    {
        FINISHING.store(true, Ordering::SeqCst);
        finish(PATIENCE.saturating_sub(begin.elapsed()));
        FINISHING.store(false, Ordering::SeqCst);
    }
}

/// A variable of each thread that was inside. The destructor on the main thread runs at the end of the process, before all handlers.
struct AtEnd;

thread_local! {
    static AT_END: AtEnd = const { AtEnd };
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        if os::is_main_thread() {
            close();
        }
    }
}
