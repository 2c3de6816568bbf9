//! Operations under way whose submitter keeps nothing but events. USM remembers them itself; host memory that they work on is kept here.
//!
//! A program that owns such host memory may have to take a lock of its own where that is released. It must not hold that lock in a call
//! of this module.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use usm_core::fork::{ForkMutex, PerProcess};
use usm_core::{Error as CoreError, Event, Queue};

use crate::access::Completion;
use crate::error::{Error, Result};
use crate::tracker::waits;

/// An operation that was submitted to a queue. It may run on another one: that of its memory.
struct Flight {
    queue: Queue,
    events: Vec<Event>,
    is_barrier: bool,
    /// Releases the host memory of a complete operation.
    finish: Box<dyn FnOnce() -> Result<()> + Send>,
}

impl Flight {
    fn is_complete(events: &[Event]) -> bool {
        events.iter().all(Event::is_complete)
    }
}

/// The operations that were not found complete yet, by their numbers, in the order of their submission.
static FLIGHTS: ForkMutex<Flights> = ForkMutex::new(Flights { number: 0, list: Vec::new() });
/// Held while host memory is released: whoever waits for that returns afterwards.
static RELEASE: PerProcess<Mutex<()>> = PerProcess::new(Mutex::new(()));

struct Flights {
    number: u64,
    list: Vec<(u64, Flight)>,
}

impl Flights {
    fn add(&mut self, flight: Flight) {
        self.number += 1;
        self.list.push((self.number, flight));
    }

    fn of<'a>(&'a self, queue: &'a Queue) -> impl DoubleEndedIterator<Item = &'a Flight> {
        self.list.iter().map(|(_, flight)| flight).filter(|flight| flight.queue == *queue)
    }
}

/// A thread that releases host memory. A finalizer of that memory may come here again, and must not wait for its own thread.
struct Inside;

thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

impl Inside {
    /// `None` in such a finalizer: the sweep that called it goes on.
    fn enter() -> Option<Self> {
        (!IS_INSIDE.replace(true)).then_some(Self)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        IS_INSIDE.set(false);
    }
}

/// Submits an operation, and keeps its host memory until it is complete. `start` gets the events that it starts after: the given ones,
/// and those of what was launched before where the queue says so. The operation may run on another queue, that of its memory.
///
/// The operation is complete when the returned events are; the first one is that of its last step.
///
/// ```
/// use usm_memory::usm_core::{Event, Runtime, UsmKind};
/// use usm_memory::{UsmBuffer, flight};
///
/// # fn main() -> usm_memory::Result<()> {
/// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
/// let buffer = UsmBuffer::allocate(&queue, UsmKind::Device, 4)?;
/// let upload = flight::launch(&queue, vec![], |after| {
///     Ok(buffer.copy_from_owned_async(vec![1_u8, 2, 3, 4], 0, after)?)
/// })?;
/// flight::wait(&queue)?;
/// assert!(upload.iter().all(Event::is_complete));
/// assert_eq!(buffer.to_vec()?, [1, 2, 3, 4]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Those of `start`.
pub fn launch<H: Send + 'static>(
    queue: &Queue,
    mut after: Vec<Event>,
    start: impl FnOnce(&[Event]) -> Result<Completion<H>>,
) -> Result<Vec<Event>> {
    // A finalizer of another thread may take long, and this call promises nothing about host memory.
    if let (Some(_inside), Ok(_lock)) = (Inside::enter(), RELEASE.get().try_lock()) {
        release();
    }
    let is_in_order = queue.properties().in_order;
    let is_before = |flight: &&Flight| is_in_order || flight.is_barrier;
    after.extend(
        FLIGHTS.lock().of(queue).rfind(is_before).into_iter().flat_map(|flight| flight.events.clone()),
    );
    let completion = start(&after)?;
    let events = completion.all_events();
    let finish = Box::new(move || completion.wait().map(drop));
    FLIGHTS.lock().add(Flight { queue: queue.clone(), events: events.clone(), is_barrier: false, finish });
    Ok(events)
}

/// Submits a barrier: what is [launched](launch) on the queue afterwards starts after the given events, or without any after all that was
/// submitted to the queue before. Operations that the queue cannot [take](Queue::takes) are waited for.
///
/// # Errors
/// [`Error::Core`] when the barrier cannot be submitted; [`Error::Interrupted`] when a wait was broken off.
pub fn barrier(queue: &Queue, mut after: Vec<Event>) -> Result<Event> {
    if after.is_empty() {
        after = events_of(queue);
        after.retain(|event| !event.is_complete());
        if !after.is_empty() {
            after.push(queue.barrier(&[])?);
        }
    }
    waits::across_contexts(queue, &mut after)?;
    let event = queue.barrier(&after)?;
    let (queue, events) = (queue.clone(), vec![event.clone()]);
    FLIGHTS.lock().add(Flight { queue, events, is_barrier: true, finish: Box::new(|| Ok(())) });
    Ok(event)
}

/// Waits until all that was submitted to a queue is complete, also what was [launched](launch) there and runs on another queue, and until
/// its host memory is released.
///
/// # Errors
/// The first error of those operations; [`Error::Interrupted`] when the wait was broken off, and the operations go on.
pub fn wait(queue: &Queue) -> Result<()> {
    let launched = events_of(queue);
    let mut result = waits::for_queue(queue);
    for event in launched {
        if matches!(result, Err(Error::Interrupted)) {
            return result;
        }
        match waits::for_event(&event) {
            // An operation that was pending in the parent of a forked child. To wait for the queue is no question about it.
            Err(Error::Core(CoreError::Forked)) => {}
            waited => result = result.and(waited),
        }
    }
    sweep();
    result
}

/// The events of what was launched on a queue and may be under way.
fn events_of(queue: &Queue) -> Vec<Event> {
    let events = |flight: &Flight| flight.events.clone();
    let mut events: Vec<_> = FLIGHTS.lock().of(queue).flat_map(events).collect();
    events.retain(|event| event.capture().is_none());
    events
}

/// The events of all operations that may be under way.
#[must_use]
pub fn events_under_way() -> Vec<Event> {
    let launched: Vec<_> = FLIGHTS.lock().list.iter().flat_map(|(_, flight)| flight.events.clone()).collect();
    launched.into_iter().chain(Queue::all_under_way()).collect()
}

/// Releases the host memory of all complete operations. When this returns, no other thread is releasing it, either.
pub fn sweep() {
    let Some(_inside) = Inside::enter() else { return };
    let _lock = RELEASE.get().lock().unwrap_or_else(PoisonError::into_inner);
    release();
}

fn release() {
    // No lock is held while a backend is asked.
    let mut complete: Vec<_> =
        FLIGHTS.lock().list.iter().map(|(number, flight)| (*number, flight.events.clone())).collect();
    complete.retain(|(_, events)| Flight::is_complete(events));
    let is_complete = |number: u64| complete.binary_search_by_key(&number, |(number, _)| *number).is_ok();
    let flights: Vec<_> = FLIGHTS.lock().list.extract_if(.., |(number, _)| is_complete(*number)).collect();
    for (_, flight) in flights {
        // The error is for whoever waits for an event or for memory.
        drop((flight.finish)());
    }
}
