//! What happened to memory over time: recording it, and what can be said about it afterwards.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use usm_core::UsmKind;
use usm_core::fork::ForkMutex;

use super::{MAX_BARS, Moment, TagId};

/// Whether somebody records. All that allocations and releases ask while nobody does.
static IS_RECORDING: AtomicBool = AtomicBool::new(false);
static LOGS: ForkMutex<Vec<Arc<Log>>> = ForkMutex::new(Vec::new());

#[derive(Debug)]
struct Log {
    max_events: usize,
    events: ForkMutex<Events>,
}

#[derive(Debug, Default)]
struct Events {
    /// Never more than the log's `max_events`.
    list: VecDeque<Event>,
    dropped_count: u64,
}

#[derive(Clone, Copy, Debug)]
struct Event {
    time: Moment,
    is_release: bool,
    address: usize,
    len_bytes: usize,
    kind: UsmKind,
    tag: TagId,
}

/// Whether [`record`] is to be called. One relaxed load.
#[inline]
pub(crate) fn is_recording() -> bool {
    IS_RECORDING.load(Ordering::Relaxed)
}

/// Notes that memory was handed out, or is about to go back.
#[cold]
pub(crate) fn record(is_release: bool, address: usize, len_bytes: usize, kind: UsmKind, tag: TagId) {
    for log in &*LOGS.lock() {
        let mut events = log.events.lock();
        if events.list.len() == log.max_events {
            events.list.pop_front();
            events.dropped_count += 1;
        }
        // Under the lock, so that the times are in order.
        events.list.push_back(Event { time: Moment::now(), is_release, address, len_bytes, kind, tag });
    }
}

/// Notes what happens to memory until it is finished or dropped. Several may record at a time.
#[derive(Debug)]
#[must_use = "recording ends when this is dropped"]
pub struct Recording {
    log: Arc<Log>,
    began: Moment,
}

impl Recording {
    /// What was recorded so far.
    #[must_use]
    pub fn timeline(&self) -> Timeline {
        let duration = Moment::now().since(self.began);
        let events = self.log.events.lock();
        let (list, dropped_count) = (events.list.clone(), events.dropped_count);
        drop(events);
        let bars = bars(&list, self.began);
        Timeline { bars, duration, dropped_count, max_events: self.log.max_events }
    }

    /// Ends the recording.
    #[must_use]
    pub fn finish(self) -> Timeline {
        self.timeline()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let mut logs = LOGS.lock();
        logs.retain(|log| !Arc::ptr_eq(log, &self.log));
        IS_RECORDING.store(!logs.is_empty(), Ordering::Relaxed);
    }
}

/// One buffer's memory over time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bar {
    /// Address of the first byte.
    pub address: usize,
    /// Length in bytes.
    pub len_bytes: usize,
    /// Kind of the memory.
    pub kind: UsmKind,
    /// Whether a pool took it to hand out parts.
    pub is_reserve: bool,
    /// The label, the last one that it had.
    pub tag: Option<Arc<str>>,
    /// When it was allocated, from the start of the recording; `None` when that was before what is kept of the recording.
    pub start: Option<Duration>,
    /// When it was released; `None` when it was still live at the end.
    pub end: Option<Duration>,
}

/// What happened to the memory of this process while it was recorded.
///
/// It knows the memory that was allocated or released meanwhile. The log has a limit: when it is full, the oldest events are
/// dropped, and [`dropped_count`](Self::dropped_count) and the drawings say how many. Memory of which no event is left is not
/// part of it.
///
/// ```
/// use usm_memory::UsmBuffer;
/// use usm_memory::snapshot::{Tag, Timeline};
/// use usm_memory::usm_core::{Runtime, UsmKind};
///
/// # fn main() -> usm_memory::Result<()> {
/// # let runtime = Runtime::global();
/// # let queue = runtime.default_queue(runtime.host_device())?;
/// let recording = Timeline::record(10_000);
/// {
///     let _tag = Tag::enter("doctest");
///     UsmBuffer::allocate(&queue, UsmKind::Host, 100)?;
/// }
/// let timeline = recording.finish();
/// let bar = timeline.bars().iter().find(|bar| bar.tag.as_deref() == Some("doctest")).unwrap();
/// assert!(bar.len_bytes == 100 && bar.start < bar.end);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Timeline {
    bars: Vec<Bar>,
    duration: Duration,
    dropped_count: u64,
    max_events: usize,
}

impl Timeline {
    /// Starts to record, keeping at most the last `max_events` allocations and releases (at least one).
    pub fn record(max_events: usize) -> Recording {
        let log = Arc::new(Log { max_events: max_events.max(1), events: ForkMutex::default() });
        let began = Moment::now();
        let mut logs = LOGS.lock();
        logs.push(Arc::clone(&log));
        IS_RECORDING.store(true, Ordering::Relaxed);
        Recording { log, began }
    }

    /// The memory, in the order of allocation; that which was there before comes first.
    #[must_use]
    pub fn bars(&self) -> &[Bar] {
        &self.bars
    }

    /// How long it was recorded.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.duration
    }

    /// The number of events that were dropped, the oldest ones.
    #[must_use]
    pub fn dropped_count(&self) -> u64 {
        self.dropped_count
    }

    /// Bytes in use over time, without what pools keep in reserve: the first entry is for the start, then one for each change.
    #[must_use]
    pub fn steps(&self, kind: UsmKind) -> Vec<(Duration, usize)> {
        let bars = || self.bars.iter().filter(|bar| bar.kind == kind && !bar.is_reserve);
        let mut used_bytes: usize = bars().filter(|bar| bar.start.is_none()).map(|bar| bar.len_bytes).sum();
        let starts = bars().filter_map(|bar| Some((bar.start?, false, bar.len_bytes)));
        let ends = bars().filter_map(|bar| Some((bar.end?, true, bar.len_bytes)));
        let mut changes: Vec<_> = starts.chain(ends).collect();
        // Allocations first where the clock sees no difference, so that nothing is released before it is there.
        changes.sort_unstable();
        let mut steps = vec![(Duration::ZERO, used_bytes)];
        steps.extend(changes.into_iter().map(|(time, is_release, len_bytes)| {
            used_bytes = if is_release { used_bytes - len_bytes } else { used_bytes + len_bytes };
            (time, used_bytes)
        }));
        steps
    }

    /// The most bytes in use at a time.
    #[must_use]
    pub fn peak_bytes(&self, kind: UsmKind) -> usize {
        self.steps(kind).into_iter().map(|(_, bytes)| bytes).max().unwrap_or(0)
    }
}

/// Pairs allocations with the releases that follow at the same address.
fn bars(events: &VecDeque<Event>, began: Moment) -> Vec<Bar> {
    let (mut before, mut bars): (Vec<Bar>, Vec<Bar>) = (Vec::new(), Vec::new());
    // Memory of several holders may start at one address: a pool's slab, and its first block. All of a buffer may be leased: then
    // the last one ends first.
    let mut live: HashMap<(usize, usize, bool), Vec<usize>> = HashMap::new();
    for event in events {
        let Event { time, address, len_bytes, kind, tag, is_release } = *event;
        let (is_reserve, time) = (tag == TagId::RESERVE, time.since(began));
        let bar = Bar { address, len_bytes, kind, is_reserve, tag: tag.label(), start: None, end: None };
        let key = (address, len_bytes, is_reserve);
        if !is_release {
            live.entry(key).or_default().push(bars.len());
            bars.push(Bar { start: Some(time), ..bar });
        } else if let Some(index) = live.get_mut(&key).and_then(Vec::pop) {
            let start = bars[index].start;
            bars[index] = Bar { start, end: Some(time), ..bar };
        } else {
            before.push(Bar { end: Some(time), ..bar });
        }
    }
    before.extend(bars);
    before
}

/// How much is drawn, and what is missing.
impl fmt::Display for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left_out = self.bars.len().saturating_sub(MAX_BARS);
        let (count, seconds) = (self.bars.len(), self.duration.as_secs_f64());
        write!(f, "{count} buffers in {seconds:.3} s, {left_out} smaller ones left out; ")?;
        write!(f, "{} older events dropped at a limit of {}", self.dropped_count, self.max_events)
    }
}

/// `weights: 100 B shared at 0x7f00, 0.001 s to 0.002 s`.
impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tag = if self.is_reserve { "(pool)" } else { self.tag.as_deref().unwrap_or("-") };
        write!(f, "{tag}: {} B {} at {:#x}, ", self.len_bytes, self.kind, self.address)?;
        match self.start {
            Some(start) => write!(f, "{:.6} s to ", start.as_secs_f64())?,
            None => f.write_str("before to ")?,
        }
        match self.end {
            Some(end) => write!(f, "{:.6} s", end.as_secs_f64()),
            None => f.write_str("the end"),
        }
    }
}
