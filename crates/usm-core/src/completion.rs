//! Completion as a future: waiting for an event without a thread that blocks for it.
//!
//! The runtimes have no callback that is safe for all events: they call some on threads that must not call the runtime again, and tell
//! nothing of others in a forked child. So one thread of the process looks at the events that futures wait for, and wakes the futures
//! of the complete ones. It sleeps between two looks, each time twice as long, up to 1 ms. It sleeps on while nobody waits.

use std::io;
use std::mem;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use crate::fork::{self, PerProcess};
use crate::unwind::contained;
use crate::{Event, Result};

/// The first pause between two looks.
const SHORTEST: Duration = Duration::from_micros(50);
/// The longest pause between two looks.
const LONGEST: Duration = Duration::from_millis(1);

static WATCH: PerProcess<Watch> = PerProcess::new(Watch::new());
/// Numbers of entries. A forked child goes on counting, so that no number of its parent's futures is given again.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The completion of an operation as a future, for any executor. Its output is that of [`Event::wait`].
///
/// The executor polls again when the operation is complete, at most about 1 ms later. To drop the future ends the waiting, not the
/// operation. In a forked child a poll waits in place: its parent's operations never complete there.
///
/// ```
/// use std::future::Future;
/// use std::pin::pin;
/// use std::sync::Arc;
/// use std::task::{Context, Poll, Wake};
/// use std::thread::{self, Thread};
///
/// use usm_core::{QueueProperties, Runtime};
///
/// /// The smallest executor: a thread that sleeps until it is woken.
/// struct Unpark(Thread);
///
/// impl Wake for Unpark {
///     fn wake(self: Arc<Self>) {
///         self.0.unpark();
///     }
/// }
///
/// fn block_on<F: Future>(future: F) -> F::Output {
///     let (waker, mut future) = (Arc::new(Unpark(thread::current())).into(), pin!(future));
///     loop {
///         match future.as_mut().poll(&mut Context::from_waker(&waker)) {
///             Poll::Ready(output) => return output,
///             Poll::Pending => thread::park(),
///         }
///     }
/// }
///
/// # fn main() -> usm_core::Result<()> {
/// let device = Runtime::global().host_device();
/// let queue = device.default_context()?.create_queue(device, QueueProperties::OUT_OF_ORDER)?;
/// block_on(async { queue.barrier(&[])?.await })
/// # }
/// ```
#[derive(Debug)]
#[must_use = "futures do nothing unless they are polled"]
pub struct Completion {
    event: Event,
    /// Number of the entry in the list of the thread, from the first poll on.
    entry: Option<u64>,
}

impl Event {
    /// The completion as a future. `event.await` is the same.
    pub fn completion(&self) -> Completion {
        Completion { event: self.clone(), entry: None }
    }
}

impl IntoFuture for Event {
    type Output = Result<()>;
    type IntoFuture = Completion;

    fn into_future(self) -> Completion {
        Completion { event: self, entry: None }
    }
}

impl Future for Completion {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        if self.event.is_complete() || fork::is_forked_child() {
            return Poll::Ready(self.event.wait());
        }
        match WATCH.get().add(&self.event, context.waker(), self.entry) {
            Ok(entry) => {
                self.entry = Some(entry);
                Poll::Pending
            }
            // There is no thread to wake the future.
            Err(_) => Poll::Ready(self.event.wait()),
        }
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        if let Some(entry) = self.entry {
            WATCH.get().remove(entry);
        }
    }
}

/// The events that futures of this process wait for.
#[derive(Debug)]
struct Watch {
    state: Mutex<State>,
    added: Condvar,
}

#[derive(Debug)]
struct State {
    /// In the order of their numbers.
    entries: Vec<WatchedEvent>,
    has_thread: bool,
    pause: Duration,
}

#[derive(Debug)]
struct WatchedEvent {
    number: u64,
    event: Event,
    waker: Waker,
}

impl Default for Watch {
    fn default() -> Self {
        Self::new()
    }
}

impl Watch {
    const fn new() -> Self {
        let state = State { entries: Vec::new(), has_thread: false, pause: SHORTEST };
        Self { state: Mutex::new(state), added: Condvar::new() }
    }

    /// The lock is held for moments. No code of others runs under it.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the thread wake a future when the event is complete. `entry` is what an earlier poll of the same future got.
    fn add(&self, event: &Event, waker: &Waker, entry: Option<u64>) -> io::Result<u64> {
        let mut waker = waker.clone();
        let mut state = self.lock();
        if let Some(known) = state.entries.iter_mut().find(|known| Some(known.number) == entry) {
            mem::swap(&mut known.waker, &mut waker);
            let number = known.number;
            drop(state);
            drop(waker); // the former one, whose destructor may be of any kind
            return Ok(number);
        }
        if !state.has_thread {
            fork::spawn(thread::Builder::new().name("usm-events".to_owned()), || WATCH.get().run())?;
            state.has_thread = true;
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        state.entries.push(WatchedEvent { number, event: event.clone(), waker });
        state.pause = SHORTEST;
        drop(state);
        self.added.notify_one();
        Ok(number)
    }

    fn remove(&self, number: u64) {
        let mut state = self.lock();
        let place = state.entries.iter().position(|entry| entry.number == number);
        let removed = place.map(|place| state.entries.remove(place));
        drop(state);
        drop(removed);
    }

    /// The thread.
    fn run(&self) {
        let mut state = self.lock();
        loop {
            if state.entries.is_empty() {
                state = self.added.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let events: Vec<_> =
                state.entries.iter().map(|entry| (entry.number, entry.event.clone())).collect();
            drop(state);
            let is_complete = |(number, event): (u64, Event)| event.is_complete().then_some(number);
            let complete: Vec<u64> = events.into_iter().filter_map(is_complete).collect();
            state = self.lock();
            let is_over = |entry: &mut WatchedEvent| complete.binary_search(&entry.number).is_ok();
            let over: Vec<WatchedEvent> = state.entries.extract_if(.., is_over).collect();
            if over.is_empty() {
                let pause = state.pause;
                state.pause = (2 * pause).min(LONGEST);
                let waited = self.added.wait_timeout(state, pause);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            state.pause = SHORTEST;
            drop(state);
            for entry in over {
                // A waker is code of the executor. Its panic must not end the thread that others rely on.
                _ = contained("waker", || entry.waker.wake());
            }
            state = self.lock();
        }
    }
}
