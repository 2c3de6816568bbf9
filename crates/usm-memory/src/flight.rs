//! Operations under way, whether or not their submitter keeps an event. USM remembers them itself; host memory that they work on is kept
//! here.
//!
//! A program that owns such host memory may have to take a lock of its own where that is released. It must not hold that lock in a call
//! of this module.

use std::cell::Cell;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use usm_core::fork::{ForkMutex, PerProcess};
use usm_core::{Error as CoreError, Event, Queue};

use crate::access::Completion;
use crate::error::{Error, Result};

/// The operations that were not found complete yet, in the order of their submission.
static FLIGHTS: ForkMutex<Vec<Arc<Flight>>> = ForkMutex::new(Vec::new());
/// As many as there are, for a look without the lock.
static LEN: AtomicUsize = AtomicUsize::new(0);

type Finish = Box<dyn FnOnce() -> Result<()> + Send>;

enum State {
    /// Waits for the operation and releases its host memory.
    Flying(Finish),
    /// What became of it, until somebody asked.
    Complete(Result<()>),
}

thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// A thread that lets host memory go. A finalizer of that memory may come here again, and must not wait for its own thread.
struct Inside;

impl Inside {
    /// `None` in such a finalizer: what it is about goes when the finalizer is done.
    fn enter() -> Option<Self> {
        (!IS_INSIDE.replace(true)).then_some(Self)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        IS_INSIDE.set(false);
    }
}

fn change(job: impl FnOnce(&mut Vec<Arc<Flight>>)) {
    let mut flights = FLIGHTS.lock();
    job(&mut flights);
    LEN.store(flights.len(), Ordering::Release);
}

/// Whether no operation may be under way. Takes no lock.
#[must_use]
pub fn are_none() -> bool {
    LEN.load(Ordering::Acquire) == 0
}

/// The events of all operations that may be under way.
#[must_use]
pub fn events_under_way() -> Vec<Event> {
    let mut events: Vec<_> = FLIGHTS.lock().iter().flat_map(|flight| flight.events.clone()).collect();
    events.extend(Queue::all_under_way());
    events
}

/// An operation under way, which keeps its host memory.
///
/// ```
/// use usm_memory::usm_core::{Runtime, UsmKind};
/// use usm_memory::{UsmBuffer, flight::{self, Flight}};
///
/// # fn main() -> usm_memory::Result<()> {
/// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
/// let buffer = UsmBuffer::allocate(&queue, UsmKind::Device, 4)?;
/// let upload = Flight::launch(&queue, vec![], |after| {
///     Ok(buffer.copy_from_owned_async(vec![1_u8, 2, 3, 4], 0, after)?)
/// })?;
/// upload.finish()?;
/// assert!(upload.is_complete());
/// assert_eq!(buffer.to_vec()?, [1, 2, 3, 4]);
/// flight::sweep();
/// # Ok(())
/// # }
/// ```
pub struct Flight {
    queue: Queue,
    events: Vec<Event>,
    state: ForkMutex<State>,
    /// Held by who lets the host memory go, so that others who want that wait for it.
    finish_lock: PerProcess<Mutex<()>>,
}

impl Flight {
    /// Submits an operation, and keeps its host memory until it is complete. `start` gets the events that it starts after: the given ones,
    /// and in an in-order queue those of the last operation.
    ///
    /// # Errors
    /// Those of `start`.
    pub fn launch<H: Send + 'static>(
        queue: &Queue,
        mut after: Vec<Event>,
        start: impl FnOnce(&[Event]) -> Result<Completion<H>>,
    ) -> Result<Arc<Self>> {
        sweep();
        after.extend(earlier(queue));
        let completion = start(&after)?;
        let events = completion.events().to_vec();
        let finish: Finish = Box::new(move || completion.wait().map(drop));
        let (state, finish_lock) = (ForkMutex::new(State::Flying(finish)), PerProcess::default());
        let flight = Arc::new(Self { queue: queue.clone(), events, state, finish_lock });
        change(|flights| flights.push(Arc::clone(&flight)));
        Ok(flight)
    }

    /// The events after which the operation is complete.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Whether the operation is complete, without waiting.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.events.iter().all(Event::is_complete)
    }

    /// Lets the host memory go, which waits for the operation.
    ///
    /// # Errors
    /// The error of the operation, which comes out once.
    pub fn finish(&self) -> Result<()> {
        let Some(_inside) = Inside::enter() else { return Ok(()) };
        let _lock = self.finish_lock();
        match self.take() {
            State::Flying(finish) => finish(),
            State::Complete(result) => result,
        }
    }

    /// As `finish`, but keeps the error.
    fn land(&self) {
        let Some(_inside) = Inside::enter() else { return };
        let _lock = self.finish_lock();
        let complete = match self.take() {
            State::Flying(finish) => State::Complete(finish()),
            complete @ State::Complete(_) => complete,
        };
        *self.state.lock() = complete;
    }

    fn take(&self) -> State {
        mem::replace(&mut *self.state.lock(), State::Complete(Ok(())))
    }

    fn finish_lock(&self) -> MutexGuard<'_, ()> {
        self.finish_lock.get().lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an operation that is submitted to an in-order queue comes after, should the last operation of the queue have run on another one.
/// Nothing on other queues.
fn earlier(queue: &Queue) -> Vec<Event> {
    if !queue.properties().in_order || are_none() {
        return Vec::new();
    }
    let flights = FLIGHTS.lock();
    let last = flights.iter().rev().find(|flight| flight.queue == *queue);
    last.map(|flight| flight.events.clone()).unwrap_or_default()
}

/// What host code in place of an operation of a queue comes after: the given events, and in an in-order queue all earlier operations.
///
/// # Errors
/// [`Error::Core`] when the queue takes no barrier.
pub fn before_host_code(queue: &Queue, mut after: Vec<Event>) -> Result<Vec<Event>> {
    if queue.properties().in_order {
        after.push(queue.barrier(&[])?);
    }
    Ok(after)
}

/// Releases the host memory of all complete operations.
pub fn sweep() {
    if IS_INSIDE.get() {
        return; // in a finalizer: the sweep that called it goes on
    }
    let mut complete = FLIGHTS.lock().clone();
    complete.retain(|flight| flight.is_complete());
    if complete.is_empty() {
        return;
    }
    // Still in the list: whoever else sweeps waits for the same locks, and returns when the host memory is free.
    complete.iter().for_each(|flight| flight.land());
    change(|flights| flights.retain(|flight| !complete.iter().any(|other| Arc::ptr_eq(flight, other))));
}

/// After a wait for the queue: its operations are complete.
///
/// # Errors
/// The first of their errors.
pub fn settle(queue: &Queue) -> Result<()> {
    let flights: Vec<_> = FLIGHTS.lock().iter().filter(|flight| flight.queue == *queue).cloned().collect();
    sweep();
    let complete = flights.iter().filter(|flight| flight.is_complete());
    complete.map(|flight| flight.finish()).filter(|result| !is_of_parent(result)).fold(Ok(()), Result::and)
}

/// Whether a forked child has asked for an operation that was pending in its parent. To wait for the queue is no such question.
fn is_of_parent(result: &Result<()>) -> bool {
    matches!(result, Err(Error::Core(CoreError::Forked)))
}
