//! Operations under way whose submitter keeps nothing but events. USM remembers them itself; host memory that they work on is kept here.
//!
//! A program that owns such host memory may have to take a lock of its own where that is released. It must not hold that lock in a call
//! of this module.

use std::cell::Cell;
use std::time::{Duration, Instant};
use std::{mem, thread};

use usm_core::fork::ForkMutex;
use usm_core::{Error as CoreError, Event, Queue, Runtime, Unclaimed};

use crate::access::Completion;
use crate::error::{Error, Result};
use crate::tracker::waits;

/// An operation that was submitted to a queue. It may run on another one: that of its memory.
struct Flight {
    number: u64,
    queue: Queue,
    events: Vec<Event>,
    is_barrier: bool,
    state: State,
}

/// Releases the host memory of a complete operation.
type Finish = Box<dyn FnOnce() -> Result<()> + Send>;

enum State {
    Flying(Finish),
    /// A thread of this [generation of processes](Runtime::fork_generation) releases the host memory.
    Landing(u64),
}

/// The operations whose host memory is not released yet, in the order of their submission.
static FLIGHTS: ForkMutex<Flights> = ForkMutex::new(Flights { number: 0, list: Vec::new() });

struct Flights {
    number: u64,
    list: Vec<Flight>,
}

impl Flights {
    fn add(&mut self, queue: &Queue, events: Vec<Event>, is_barrier: bool, finish: Finish) {
        self.number += 1;
        let (number, queue, state) = (self.number, queue.clone(), State::Flying(finish));
        self.list.push(Flight { number, queue, events, is_barrier, state });
    }

    /// What releases the host memory of a flight, for the first thread that asks.
    fn take(&mut self, number: u64) -> Option<Finish> {
        let flight = self.list.iter_mut().find(|flight| flight.number == number)?;
        match mem::replace(&mut flight.state, State::Landing(Runtime::fork_generation())) {
            State::Flying(finish) => Some(finish),
            landing @ State::Landing(_) => {
                flight.state = landing;
                None
            }
        }
    }

    fn of<'a>(&'a self, queue: &'a Queue) -> impl DoubleEndedIterator<Item = &'a Flight> {
        self.list.iter().filter(|flight| flight.queue == *queue)
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
    sweep();
    let is_in_order = queue.properties().in_order;
    let is_before = |flight: &&Flight| is_in_order || flight.is_barrier;
    after.extend(
        FLIGHTS.lock().of(queue).rfind(is_before).into_iter().flat_map(|flight| flight.events.clone()),
    );
    let completion = start(&after)?;
    let events = completion.all_events();
    let finish = Box::new(move || completion.wait().map(drop));
    FLIGHTS.lock().add(queue, events.clone(), false, finish);
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
    FLIGHTS.lock().add(queue, vec![event.clone()], true, Box::new(|| Ok(())));
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
    if launched.is_empty() {
        return result;
    }
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
    result.and(wait_for_release(|flight| flight.queue == *queue))
}

/// After a wait for operations that were [launched](launch): releases their host memory, or waits until another thread has done so.
///
/// # Errors
/// [`Error::Interrupted`] when that wait was broken off.
pub fn finish(events: &[Event]) -> Result<()> {
    wait_for_release(|flight| flight.events.iter().any(|one| events.iter().any(|other| one.is_same(other))))
}

/// Releases what is complete, and waits while other threads release such flights. In a finalizer of host memory it waits for nobody.
fn wait_for_release(is_asked: impl Fn(&Flight) -> bool + Sync) -> Result<()> {
    const LOOK_AGAIN: Duration = Duration::from_millis(1);
    sweep();
    // A thread of the parent of a forked child never ends.
    let is_landing = |flight: &Flight| matches!(flight.state, State::Landing(process) if Runtime::is_fork_generation(process));
    let is_over = || !FLIGHTS.lock().list.iter().any(|flight| is_landing(flight) && is_asked(flight));
    if IS_INSIDE.get() || is_over() {
        return Ok(());
    }
    waits::for_operation(&|time| {
        let start = Instant::now();
        while !is_over() {
            if start.elapsed() >= time {
                return false;
            }
            thread::sleep(LOOK_AGAIN);
        }
        true
    })
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
    let launched: Vec<_> = FLIGHTS.lock().list.iter().flat_map(|flight| flight.events.clone()).collect();
    launched.into_iter().chain(Queue::all_under_way()).collect()
}

/// Releases the host memory of all complete operations, but what other threads release already.
pub fn sweep() {
    let Some(_inside) = Inside::enter() else { return };
    // No lock is held while a backend is asked, nor in a finalizer.
    let mut complete: Vec<_> =
        FLIGHTS.lock().list.iter().map(|flight| (flight.number, flight.events.clone())).collect();
    complete.retain(|(_, events)| events.iter().all(Event::is_complete));
    for (number, _) in complete {
        let finish = FLIGHTS.lock().take(number);
        let Some(finish) = finish else { continue };
        let _landed = Landed(number);
        // An error is for whoever waits for an event or for memory, or for a queue where the runtime reports it once.
        drop(Unclaimed::of(finish));
    }
}

/// Takes a flight out of the list when its host memory is released, also after a panic of a finalizer.
struct Landed(u64);

impl Drop for Landed {
    fn drop(&mut self) {
        let mut flights = FLIGHTS.lock();
        let index = flights.list.iter().position(|flight| flight.number == self.0);
        // Dropped without the lock.
        let _landed = index.map(|index| flights.list.remove(index));
        drop(flights);
    }
}
