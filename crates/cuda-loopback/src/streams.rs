//! Streams: operations in order, each after a random delay, and what waits for what.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use crate::clock::{Clock, Point};
use crate::kernels::Launch;

/// What an operation does when it runs.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    Copy {
        to: usize,
        from: Source,
        len_bytes: usize,
    },
    Set {
        to: usize,
        value: Vec<u8>,
        count: usize,
    },
    Launch(Launch),
    /// Memory of a pool comes to life.
    Allocate {
        block: usize,
    },
    /// Memory of a pool is overwritten and given back.
    Free {
        block: usize,
    },
    /// The event with this handle.
    Record {
        event: usize,
    },
    Prefetch {
        address: usize,
        len_bytes: usize,
    },
    /// A launch of a graph is complete, which kept these user objects.
    Release {
        users: Vec<usize>,
    },
    /// Starts when an operation of another stream is complete.
    Wait(Point),
}

/// Where the bytes of a copy come from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Address(usize),
    /// Pageable memory, which the call has read.
    Staged(Vec<u8>),
    /// Pageable memory that a graph reads when it runs.
    Pageable(usize),
}

/// Work at its place in the order.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) at: Point,
    /// The operations before it, and itself.
    pub(crate) clock: Clock,
    pub(crate) work: Work,
}

#[derive(Debug)]
pub(crate) struct Stream {
    /// The device of its context.
    pub(crate) device: usize,
    /// `None` for a stream without an implicit order.
    implicit: Option<Implicit>,
    queue: VecDeque<Operation>,
    submitted: u64,
    complete: u64,
    /// What the next operation is ordered after.
    clock: Clock,
    /// When the first operation of the queue starts; `None` before it may start.
    starts: Option<Instant>,
    is_destroyed: bool,
}

/// The implicit order with other streams of the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Implicit {
    /// The legacy default stream, which waits for the other ones.
    Legacy,
    /// A stream that waits for the legacy default stream.
    Blocking,
}

/// What a worker does next.
#[derive(Debug)]
pub(crate) enum Next {
    Run(Operation),
    WaitUntil(Instant),
    WaitForWork,
}

/// All streams of all devices.
#[derive(Debug)]
pub(crate) struct Streams {
    streams: BTreeMap<u32, Stream>,
    newest: u32,
    /// The operations that host code knows to be complete.
    host: Clock,
    random: u64,
    pub(crate) delay: Duration,
    /// Nothing runs until then.
    pub(crate) held_until: Option<Instant>,
}

impl Streams {
    pub(crate) fn new(delay: Duration, seed: u64) -> Self {
        let mut streams = Self {
            streams: BTreeMap::new(),
            newest: 0,
            host: Clock::default(),
            random: 1,
            delay,
            held_until: None,
        };
        streams.seed(seed);
        streams
    }

    pub(crate) fn seed(&mut self, seed: u64) {
        // Any seed but 0 gives a sequence of xorshift.
        self.random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    }

    pub(crate) fn create(&mut self, device: usize, implicit: Option<Implicit>) -> u32 {
        self.newest += 1;
        let stream = Stream {
            device,
            implicit,
            queue: VecDeque::new(),
            submitted: 0,
            complete: 0,
            clock: Clock::default(),
            starts: None,
            is_destroyed: false,
        };
        self.streams.insert(self.newest, stream);
        self.newest
    }

    pub(crate) fn is_legacy(&self, stream: u32) -> bool {
        self.get(stream).is_some_and(|stream| stream.implicit == Some(Implicit::Legacy))
    }

    /// Whether the legacy default stream of a device waits for a stream.
    pub(crate) fn is_blocking(&self, stream: u32, device: usize) -> bool {
        let is_blocking =
            |stream: &Stream| stream.implicit == Some(Implicit::Blocking) && stream.device == device;
        self.get(stream).is_some_and(is_blocking)
    }

    /// A number below the given one, which is not 0.
    pub(crate) fn pick(&mut self, count: usize) -> usize {
        let longest = Duration::from_nanos(count as u64 - 1);
        usize::try_from(random(&mut self.random, longest).as_nanos()).unwrap_or(0)
    }

    pub(crate) fn get(&self, stream: u32) -> Option<&Stream> {
        self.streams.get(&stream)
    }

    /// Lets a stream go when its work is complete.
    pub(crate) fn destroy(&mut self, stream: u32) {
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.is_destroyed = true;
        }
        self.remove_if_done(stream);
    }

    /// Adds an operation to a live stream; its place in the order.
    pub(crate) fn submit(&mut self, stream: u32, work: Work) -> Point {
        for (other, clock) in self.implicit_order(stream) {
            self.order(stream, other, &clock);
        }
        let host = self.host.clone();
        self.push(stream, &host, work)
    }

    /// Lets the later operations of a stream start when another operation is complete, of which the clock is given.
    pub(crate) fn order(&mut self, stream: u32, after: Point, clock: &Clock) {
        if after.stream != stream && !self.is_complete(after) {
            self.push(stream, clock, Work::Wait(after));
        } else if let Some(stream) = self.streams.get_mut(&stream) {
            stream.clock.join(clock);
        }
    }

    fn push(&mut self, number: u32, after: &Clock, work: Work) -> Point {
        let Some(stream) = self.streams.get_mut(&number) else {
            return Point { stream: number, position: 0 };
        };
        stream.submitted += 1;
        let at = Point { stream: number, position: stream.submitted };
        stream.clock.join(after);
        stream.clock.add(at);
        stream.queue.push_back(Operation { at, clock: stream.clock.clone(), work });
        at
    }

    /// The operations of other streams of the context that come before the next one of this stream.
    fn implicit_order(&self, number: u32) -> Vec<(Point, Clock)> {
        let Some(stream) = self.streams.get(&number) else { return Vec::new() };
        let Some(implicit) = stream.implicit else { return Vec::new() };
        let waits_for = |other: &Stream| {
            other.device == stream.device
                && other
                    .implicit
                    .is_some_and(|other| implicit == Implicit::Legacy || other == Implicit::Legacy)
        };
        let others = self.streams.iter().filter(|(other, of)| **other != number && waits_for(of));
        let points =
            others.map(|(&other, of)| (Point { stream: other, position: of.submitted }, of.clock.clone()));
        points.filter(|(point, _)| !stream.clock.covers(*point)).collect()
    }

    /// The last operation of a stream, and all that is complete when it is.
    pub(crate) fn last(&self, stream: u32) -> (Point, Clock) {
        let of = self.streams.get(&stream);
        let position = of.map_or(0, |of| of.submitted);
        (Point { stream, position }, of.map(|of| of.clock.clone()).unwrap_or_default())
    }

    pub(crate) fn is_complete(&self, point: Point) -> bool {
        self.streams.get(&point.stream).is_none_or(|stream| point.position <= stream.complete)
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.streams.values().all(|stream| stream.complete == stream.submitted)
    }

    /// Whether a stream has work that is not complete.
    pub(crate) fn has_pending(&self, is_wanted: impl Fn(&Work) -> bool) -> bool {
        self.streams.values().any(|stream| stream.queue.iter().any(|operation| is_wanted(&operation.work)))
    }

    pub(crate) fn is_idle_on(&self, device: usize) -> bool {
        self.streams.values().all(|stream| stream.device != device || stream.complete == stream.submitted)
    }

    /// Host code has learned that all operations of a device are complete.
    pub(crate) fn host_learns_all(&mut self, device: usize) {
        let of_device = self.streams.values().filter(|stream| stream.device == device);
        let clocks: Vec<_> = of_device.map(|stream| stream.clock.clone()).collect();
        clocks.iter().for_each(|clock| self.host_learns(clock));
    }

    /// Whether an operation is surely complete before others start that have this clock. Those of a stream that is gone are.
    pub(crate) fn is_before(&self, point: Point, clock: &Clock) -> bool {
        clock.covers(point) || !self.streams.contains_key(&point.stream)
    }

    /// Host code has learned that an operation is complete, and so all before it.
    pub(crate) fn host_learns(&mut self, clock: &Clock) {
        self.host.join(clock);
        for stream in clock.points().map(|point| point.stream) {
            if !self.streams.contains_key(&stream) {
                self.host.forget(stream);
            }
        }
    }

    /// Whether host code knows that an operation is complete.
    pub(crate) fn host_knows(&self, point: Point) -> bool {
        self.is_before(point, &self.host)
    }

    /// Takes the operation that is due.
    pub(crate) fn next(&mut self, now: Instant) -> Next {
        if let Some(until) = self.held_until.filter(|until| now < *until) {
            return Next::WaitUntil(until);
        }
        let blocked: Vec<u32> =
            self.streams.iter().filter(|(_, of)| self.is_blocked(of)).map(|(&n, _)| n).collect();
        let mut first: Option<(Instant, u32)> = None;
        for (&number, stream) in self.streams.iter_mut().filter(|(number, _)| !blocked.contains(number)) {
            let starts = *stream.starts.get_or_insert_with(|| now + random(&mut self.random, self.delay));
            first = Some(first.map_or((starts, number), |first| first.min((starts, number))));
        }
        match first {
            None => Next::WaitForWork,
            Some((starts, _)) if now < starts => Next::WaitUntil(starts),
            Some((_, number)) => {
                let operation = self.streams.get_mut(&number).and_then(|stream| {
                    stream.starts = None;
                    stream.queue.pop_front()
                });
                operation.map_or(Next::WaitForWork, Next::Run)
            }
        }
    }

    /// Whether a stream has nothing that may start.
    fn is_blocked(&self, stream: &Stream) -> bool {
        match stream.queue.front() {
            None => true,
            Some(Operation { work: Work::Wait(after), .. }) => !self.is_complete(*after),
            Some(_) => false,
        }
    }

    /// Notes that an operation has run.
    pub(crate) fn complete(&mut self, at: Point) {
        if let Some(stream) = self.streams.get_mut(&at.stream) {
            stream.complete = at.position;
        }
        self.remove_if_done(at.stream);
    }

    fn remove_if_done(&mut self, number: u32) {
        let is_done = |stream: &Stream| stream.is_destroyed && stream.complete == stream.submitted;
        if self.streams.get(&number).is_some_and(is_done) {
            self.streams.remove(&number);
            self.host.forget(number);
            self.streams.values_mut().for_each(|stream| stream.clock.forget(number));
        }
    }
}

/// A duration up to the given one.
fn random(state: &mut u64, longest: Duration) -> Duration {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    let nanoseconds = u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX);
    Duration::from_nanos(*state % nanoseconds.saturating_add(1).max(1))
}
