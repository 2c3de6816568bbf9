//! Entering the SYCL runtime, which a process can do neither after a `fork` nor at its end.
//!
//! A forked child has no threads of the runtime, and maybe locks that nobody opens. At the end of a process the runtime takes itself
//! down while other threads may be inside of it, which crashes them. So calls are counted, and before the runtime goes down no more
//! calls are let in and those that are inside are waited for. The C library runs destructors of the ending thread's own variables
//! first, then handlers from the youngest to the oldest, where the runtime and its drivers have theirs. The first is early enough for
//! all of them, but happens only where the thread has such a variable: the main thread, if it was ever inside. The second is for the
//! others, and too late for what a driver sets up in a call that is still under way, as the first use of its compiler.

use std::ops::Deref;
use std::path::Path;
use std::process;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sycl_sys::Api;

use crate::{Error, Result, fork};

/// How long the end of the process waits for calls that are inside. A kernel can run for ever.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks.
const PAUSE: Duration = Duration::from_micros(100);

/// Calls that are inside of the runtime, of all backends of this copy of the library.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
/// Whether the process ends, so that no more calls are let in.
static ENDING: AtomicBool = AtomicBool::new(false);
/// The thread that ends the process.
static ENDER: AtomicU64 = AtomicU64::new(0);
/// Of the process that has the threads which [`INSIDE`] counts.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// The functions of the runtime, in the process that loaded it.
#[derive(Debug)]
pub(super) struct Runtime {
    api: Api,
    /// Of the process that loaded it.
    generation: u64,
}

/// The functions of the runtime for one call into it, which ends with this value.
pub(super) struct Inside<'a>(&'a Api);

/// What has been loaded when [`Runtime::wait_at_exit`] is called: each brings libraries with handlers of their own.
#[derive(Clone, Copy)]
pub(super) enum Loaded {
    /// The table of functions and the libraries that it needs.
    Table,
    /// The drivers of the devices.
    Devices,
    /// What a queue works with.
    Queue,
    /// The compiler of a device.
    Kernels,
}

impl Runtime {
    pub(super) fn new(api: Api) -> Self {
        let runtime = Self { api, generation: fork::generation() };
        runtime.wait_at_exit(Loaded::Table);
        runtime
    }

    pub(super) fn path(&self) -> &Path {
        self.api.path()
    }

    /// Whether calls are let in.
    pub(super) fn check(&self) -> Result<()> {
        if self.is_forked() {
            return Err(Error::ForkedRuntime);
        }
        if ENDING.load(Ordering::SeqCst) { Err(Error::ProcessEnding) } else { Ok(()) }
    }

    /// Whether this is a child of the process that loaded the runtime.
    pub(super) fn is_forked(&self) -> bool {
        fork::generation() != self.generation
    }

    /// Counts the caller in, if calls are let in.
    pub(super) fn enter(&self) -> Result<Inside<'_>> {
        let _ = AT_END.try_with(|_| ()); // gone where the thread is at its end
        let inside = Inside::of(&self.api);
        self.check()?;
        Ok(inside)
    }

    /// Counts the caller in to wait for work that uses its memory. At the end of the process it waits for ever, since the work goes on,
    /// unless it is the thread that ends the process.
    pub(super) fn enter_to_wait(&self) -> Result<Inside<'_>> {
        loop {
            match self.enter() {
                Err(Error::ProcessEnding) if !is_ender() => thread::park(),
                entered => return entered,
            }
        }
    }

    /// Counts the caller in, for questions that a live object answers in a forked child too.
    pub(super) fn look(&self) -> Inside<'_> {
        Inside::of(&self.api)
    }

    /// Has the end of the process wait for calls. What is loaded later goes down earlier, so this is called after each such step.
    pub(super) fn wait_at_exit(&self, loaded: Loaded) {
        static STEPS: [Once; 4] = [const { Once::new() }; 4];
        STEPS[loaded as usize].call_once(|| {
            GENERATION.store(self.generation, Ordering::Relaxed);
            // SAFETY: the handler is a function that does not unwind and lives as long as the process: neither this library nor the
            // runtime is unloaded.
            unsafe { libc::atexit(close) };
        });
    }
}

impl<'a> Inside<'a> {
    fn of(api: &'a Api) -> Self {
        // Sequentially consistent, as is the handler: either it sees the caller or the caller sees it.
        INSIDE.fetch_add(1, Ordering::SeqCst);
        Self(api)
    }
}

impl Deref for Inside<'_> {
    type Target = Api;

    fn deref(&self) -> &Api {
        self.0
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        INSIDE.fetch_sub(1, Ordering::SeqCst);
    }
}

fn is_ender() -> bool {
    ENDER.load(Ordering::SeqCst) == this_thread()
}

/// The library's own number, as the standard library's may be gone when handlers run.
fn this_thread() -> u64 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::pthread_self() }
}

/// Lets no more calls in and waits for those that are inside.
extern "C" fn close() {
    // The threads that a forked child's number counts are the parent's.
    let is_forked = fork::generation() != GENERATION.load(Ordering::Relaxed);
    if is_forked || ENDING.load(Ordering::SeqCst) {
        return;
    }
    ENDER.store(this_thread(), Ordering::SeqCst);
    ENDING.store(true, Ordering::SeqCst);
    let begin = Instant::now();
    while INSIDE.load(Ordering::SeqCst) != 0 && begin.elapsed() < PATIENCE {
        thread::sleep(PAUSE);
    }
}

/// A variable of each thread that was inside: that of the main thread goes when the process ends, before all handlers.
struct AtEnd;

thread_local! {
    static AT_END: AtEnd = const { AtEnd };
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        // SAFETY: takes nothing and cannot fail.
        let thread = unsafe { libc::gettid() };
        // Of the main thread it is that of the process.
        if u32::try_from(thread) == Ok(process::id()) {
            close();
        }
    }
}
